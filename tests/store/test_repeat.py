"""When the store sends a transaction again: a read after a lost answer, a write only if the server rolled it back."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import AsyncCursor
from psycopg.errors import AdminShutdown, DeadlockDetected, QueryCanceled, SerializationFailure
from psycopg_pool import PoolTimeout

from recollect import Engine, Scope, StoreUnavailable
from recollect.store.database import TRIES, can_repeat, translate_error

# Raises the error of a rolled back transaction for the first two turns. A sequence counts also what is rolled back.
FAIL_TWICE = """
CREATE SEQUENCE recollect.attempts;
GRANT USAGE ON recollect.attempts TO public;
CREATE FUNCTION recollect.fail_twice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('recollect.attempts') < 3 THEN
        RAISE EXCEPTION 'could not serialize access' USING ERRCODE = '40001';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fail_twice AFTER INSERT ON recollect.turn FOR EACH STATEMENT EXECUTE FUNCTION recollect.fail_twice();
"""


class LostAnswers:
    """Lets the server run each statement and then fails to read the answer, a number of times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.times, self.lost = times, 0
        read = AsyncCursor.fetchall

        async def fetchall(cursor: AsyncCursor[tuple[object, ...]]) -> list[tuple[object, ...]]:
            if self.lost < self.times:
                self.lost += 1
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return await read(cursor)

        monkeypatch.setattr(AsyncCursor, "fetchall", fetchall)


async def test_write_without_an_answer_is_not_sent_again(
    memory: Engine, alex: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.record(alex, [("user", "hello")])
    answers = LostAnswers(monkeypatch, times=1)

    with pytest.raises(StoreUnavailable, match="repeat the request, a write with the same idempotency key"):
        await memory.record(alex, [("user", "the code word is heron")])

    assert answers.lost == 1
    assert [turn.text for turn in await memory.history(alex)] == ["hello", "the code word is heron"]


async def test_pipelined_write_without_an_answer_is_not_sent_again(
    memory: Engine, alex: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.record(alex, [("user", "hello")])
    answers = LostAnswers(monkeypatch, times=1)

    with pytest.raises(StoreUnavailable):
        await memory.rename(alex, "greetings")

    assert answers.lost == 1
    conversation = await memory.conversation(alex)
    assert conversation is not None
    assert conversation.name == "greetings"


async def test_read_without_an_answer_is_sent_again(
    memory: Engine, alex: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.record(alex, [("user", "hello")])
    answers = LostAnswers(monkeypatch, times=TRIES - 1)

    assert [turn.text for turn in await memory.history(alex)] == ["hello"]
    assert answers.lost == TRIES - 1


async def test_read_is_given_up_after_the_last_attempt(
    memory: Engine, alex: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.record(alex, [("user", "hello")])
    answers = LostAnswers(monkeypatch, times=100)

    with pytest.raises(StoreUnavailable):
        await memory.history(alex)

    assert answers.lost == TRIES


async def test_write_that_was_rolled_back_is_sent_again(memory: Engine, database: str, alex: Scope) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(FAIL_TWICE.encode())

    recorded = await memory.record(alex, [("user", "the code word is heron")])

    assert list(recorded.refs) == ["monday#0"]
    assert [turn.text for turn in await memory.history(alex)] == ["the code word is heron"]


@pytest.mark.parametrize(
    ("error", "read", "write"),
    [
        (SerializationFailure(), True, True),
        (DeadlockDetected(), True, True),
        (AdminShutdown(), True, False),
        (psycopg.OperationalError("connection lost"), True, False),
        (QueryCanceled(), False, False),
        (psycopg.IntegrityError(), False, False),
        (PoolTimeout(), False, False),
    ],
)
def test_errors_after_which_a_transaction_is_sent_again(error: Exception, read: bool, write: bool) -> None:
    assert can_repeat(error, write=False) is read
    assert can_repeat(error, write=True) is write


@pytest.mark.parametrize("sqlstate", ["25006", "53100", "53300", "57P03", "58030", "XX000"])
def test_a_server_that_cannot_serve_now_is_not_the_request_s_fault(sqlstate: str) -> None:
    assert isinstance(translate_error(psycopg.errors.lookup(sqlstate)("no")), StoreUnavailable)
