"""forget, export and history: everything that is kept can be seen, taken along and erased, and nothing else is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from recollect import Engine, InvalidInput, Lesson, NotFound, Query, Scope, Turn, Upload, connect
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings
from tests.citus_database import find_rows

MONDAY, TUESDAY, BLAKE = Scope("alex", "monday"), Scope("alex", "tuesday"), Scope("blake", "monday")
TABLES = (
    *("conversation", "turn", "sketch", "embedding", "chapter", "idempotency", "request"),
    *("holder", "evidence", "memory", "tally", "episode"),
    *("document", "document_part", "chunk", "posting", "chunk_vector"),
)


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        yield memory


@pytest.fixture
async def filled(engine: Engine) -> Engine:
    """Three conversations of two users, with something in every table."""
    for scope in (MONDAY, TUESDAY, BLAKE):
        said = [("user", f"Remember that the code word on {scope.session} is heron."), ("assistant", "noted")] * 10
        await engine.record(scope, said, idempotency_key=f"{scope.session}")  # type: ignore[arg-type]
        await engine.recall(scope, Query("code word", scope="session"))
        await engine.context(scope, Query("code word", scope="session"))
        await engine.documents.add(scope, Upload("birds.txt", f"A heron was seen by {scope.user}.".encode()))
        await engine.settle(scope)
        await engine.documents.add(scope, Upload("later.txt", f"{scope.user} saw another on {scope.session}.".encode()))
    return engine


def counts(database: str, scope: Scope | None = None) -> dict[str, int]:
    with psycopg.connect(database) as owner:
        found = {
            table: owner.execute(
                f"SELECT count(*) FROM recollect.{table} WHERE scope_id = %s OR %s".encode(),
                [scope.id if scope else None, scope is None],
            ).fetchone()
            for table in TABLES
        }
    return {table: row[0] for table, row in found.items() if row}


async def exported(engine: Engine, scope: Scope) -> list[dict[str, Any]]:
    return [json.loads(line) async for line in engine.export(scope)]


async def test_forgetting_a_user_erases_every_row_and_counts_it(filled: Engine, database: str) -> None:
    mine, all_before = counts(database, MONDAY), counts(database)
    assert all(mine.values())

    receipt = await filled.forget(Scope("alex"))

    assert (receipt.rows, receipt.user, receipt.session) == (mine, "alex", None)
    assert receipt.total == sum(mine.values())
    assert counts(database, MONDAY) == dict.fromkeys(TABLES, 0)
    assert counts(database) == {table: all_before[table] - mine[table] for table in TABLES}


async def test_forgetting_a_session_erases_it_and_leaves_the_others(filled: Engine, database: str) -> None:
    mine, blakes = counts(database, MONDAY), counts(database, BLAKE)

    receipt = await filled.forget(MONDAY)

    left = counts(database, MONDAY)
    gone = {table: mine[table] - left[table] for table in receipt.rows}
    assert receipt.rows == gone
    assert (gone["conversation"], gone["turn"], gone["sketch"], gone["embedding"]) == (1, 20, 20, 20)
    assert (gone["chapter"], gone["request"], gone["episode"], gone["evidence"], gone["memory"]) == (1, 2, 1, 10, 1)
    assert counts(database, BLAKE) == blakes
    assert len(await filled.history(TUESDAY)) == 20
    with pytest.raises(NotFound):
        await filled.history(MONDAY)
    with pytest.raises(NotFound):
        await filled.forget(MONDAY)


async def test_after_forgetting_nothing_of_the_words_is_left_anywhere(filled: Engine, database: str) -> None:
    await filled.forget(Scope("alex"))

    assert [table for table in TABLES if "alex" in "".join(find_rows(database, table))] == []
    assert "heron" not in "".join(find_rows(database, "audit"))


async def test_a_word_that_only_the_forgotten_turn_spelt_does_not_live_on_in_explanations(engine: Engine) -> None:
    await engine.record(MONDAY, [("user", "the password is flamingo")])
    asked = await engine.recall(TUESDAY, "flamngo pasword before")
    assert asked.hits[0].words == ("flamingo", "password")

    await engine.forget(MONDAY)

    told = str(await engine.explain(TUESDAY, asked.request_id))
    assert "flamngo" in told
    assert "flamingo" not in told


async def test_a_key_of_a_forgotten_session_can_be_used_again(engine: Engine) -> None:
    await engine.record(MONDAY, [("user", "once")], idempotency_key="k1")
    await engine.forget(MONDAY)

    again = await engine.record(MONDAY, [("user", "once")], idempotency_key="k1")

    assert not again.replayed
    assert len(await engine.history(MONDAY)) == 1


async def test_a_forgotten_session_can_begin_anew(filled: Engine) -> None:
    await filled.forget(MONDAY)

    assert (await filled.record(MONDAY, [("user", "a fresh start")])).refs == ["monday#0"]
    assert [turn.text for turn in await filled.history(MONDAY)] == ["a fresh start"]


@pytest.mark.parametrize("scope", [MONDAY, Scope("alex")])
async def test_forgetting_while_others_write_breaks_nothing_and_leaves_no_orphan(
    engine: Engine, database: str, scope: Scope
) -> None:
    async def write(writer: int) -> None:
        for n in range(12):
            size = 220 if n % 6 == 5 else 2
            await engine.record(MONDAY, [("user", f"{writer}:{n}:{i}") for i in range(size)])
            await engine.recall(MONDAY, "anything")

    async def erase() -> None:
        for _ in range(12):
            await asyncio.sleep(0.01)
            try:
                await engine.forget(scope)
            except NotFound:
                continue

    await asyncio.gather(*map(write, range(4)), erase(), erase())

    with psycopg.connect(database) as owner:
        for table in ("turn", "sketch", "embedding"):
            orphans = owner.execute(
                f"SELECT count(*) FROM recollect.{table} t WHERE NOT EXISTS (SELECT FROM recollect.conversation c"
                " WHERE (c.scope_id, c.id) = (t.scope_id, t.conversation_id) AND t.turn_index < c.turn_count)".encode()
            ).fetchone()
            assert orphans == (0,)
    left = counts(database)
    assert left["turn"] == left["sketch"] == left["embedding"]


async def test_an_export_has_every_conversation_turn_and_request_as_lines_of_json(engine: Engine) -> None:
    said = Turn("user", "line\ntwo 你好", speaker="Alex", data={"sql": "select 1"}, high_value=True)
    await engine.record(MONDAY, [said] * 1500)
    await engine.record(TUESDAY, [("user", "hello")])
    answer = await engine.context(TUESDAY, "hello?")
    await engine.record(BLAKE, [("user", "not yours")])

    lines = await exported(engine, Scope("alex"))

    kinds = [line["kind"] for line in lines]
    assert (kinds.count("conversation"), kinds.count("turn"), kinds.count("request")) == (2, 1501, 1)
    turns = [line for line in lines if line["kind"] == "turn"]
    assert [(turn["session"], turn["index"]) for turn in turns] == [("monday", n) for n in range(1500)] + [
        ("tuesday", 0)
    ]
    assert (turns[7]["text"], turns[7]["speaker"], turns[7]["data"]) == (said.text, "Alex", {"sql": "select 1"})
    assert lines[-1]["id"] == str(answer.request_id)
    assert "not yours" not in repr(lines)


async def test_history_is_paged_backwards(engine: Engine) -> None:
    await engine.record(MONDAY, [("user", f"line {n}") for n in range(25)])

    pages, before = [], None
    while page := await engine.history(MONDAY, limit=10, before=before):
        pages.append([turn.index for turn in page])
        before = page[0].index

    assert pages == [list(range(15, 25)), list(range(5, 15)), list(range(5))]
    assert await engine.history(MONDAY, before=0) == []
    assert len(await engine.history(MONDAY, limit=1000, before=2**31 - 1)) == 25


@pytest.mark.parametrize("kind_and_key", [("identity", "location"), ("note", "locker")], ids=["one value", "several"])
async def test_forgetting_a_value_does_not_bring_back_the_one_it_had_replaced(
    memory: Engine, kind_and_key: tuple[Any, str]
) -> None:
    kind, key = kind_and_key
    alex = Scope("alex")
    old = await memory.learn(alex, Lesson("Rome", key=key, kind=kind))
    new = await memory.correct(alex, old.id, "Paris")
    await memory.forget(alex, memory=new.id)

    [left] = await memory.memories(alex, key=key, status=None)
    assert (left.id, left.value, left.status) == (old.id, "Rome", "superseded")
    assert left.reason == "what took its place was forgotten"
    assert "Paris" not in "".join([line async for line in memory.export(alex)])

    await memory.learn(alex, Lesson("Rome", key=key, kind=kind))  # said again, it is so again
    assert "Rome" in [each.value for each in await memory.memories(alex, key=key)]


async def test_what_was_replaced_is_not_corrected_but_what_took_its_place(memory: Engine) -> None:
    alex = Scope("alex")
    old = await memory.learn(alex, Lesson("Dentist on 3 May", key="note"))
    new = await memory.correct(alex, old.id, "Dentist on 4 May")
    with pytest.raises(InvalidInput, match=str(new.id)):
        await memory.correct(alex, old.id, "Dentist on 5 May")
    assert [each.value for each in await memory.memories(alex)] == ["Dentist on 4 May"]
