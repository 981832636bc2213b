"""Usage: counted in memory, written now and then, and never in anybody's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from recollect import Engine, Scope, StoreUnavailable, connect
from recollect.flows import request_log
from recollect.flows.request_log import UsageCounter, build_message_row
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.settings import Settings
from recollect.values.audit import Outcome
from recollect.values.scope import MemoryId, ScopeId, uuid7

ALEX, BLAKE = Scope("alex", "monday"), Scope("blake", "monday")


@pytest.fixture
async def memory(settings: Settings, clock: FakeClock) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as engine:
        for person in (ALEX, BLAKE):
            await engine.record(person, [("user", "My name is Robin. I am vegetarian.")])
            await engine.settle(person)
        yield engine


@pytest.fixture
def counting(memory: Engine, clock: FakeClock) -> UsageCounter:
    return UsageCounter(memory._deps.store, clock)


async def ids(memory: Engine, scope: Scope) -> list[MemoryId]:
    return [m.id for m in await memory._deps.store.memories.list_memories(scope.id, limit=10)]


async def used(memory: Engine, scope: Scope) -> list[int]:
    return sorted(m.usage_count for m in await memory._deps.store.memories.list_memories(scope.id, limit=10))


@contextmanager
def away(database: str) -> Iterator[None]:
    """Nobody may write to memories for a while."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("REVOKE UPDATE ON recollect.memory FROM recollect_app")
        yield
        owner.execute("GRANT UPDATE ON recollect.memory TO recollect_app")


async def test_uses_gather_and_are_written_in_one_statement_per_scope(
    memory: Engine, counting: UsageCounter, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = await ids(memory, ALEX)
    for _ in range(5):
        counting.add(ALEX.id, [one])
    counting.add(ALEX.id, [one, two])
    counting.add(BLAKE.id, (await ids(memory, BLAKE))[:1])
    assert await used(memory, ALEX) == [0, 0]

    memory._deps.store._database._echo = True
    with caplog.at_level("INFO", "recollect.store"):
        await counting.flush()

    assert [record.getMessage() for record in caplog.records].count("memory.use") == 2
    assert (await used(memory, ALEX), await used(memory, BLAKE)) == ([1, 6], [0, 1])
    [latest, *_] = await memory._deps.store.memories.find(ALEX.id, [one])
    assert latest.last_used_at == clock.now()
    await counting.close()
    assert await used(memory, ALEX) == [1, 6]


async def test_uses_are_written_by_themselves_before_long(
    memory: Engine, counting: UsageCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_log, "USAGE_PAUSE", 0.01)
    counting.add(ALEX.id, await ids(memory, ALEX))
    for _ in range(1000):
        if await used(memory, ALEX) == [1, 1]:
            break
        await asyncio.sleep(0.01)
    assert await used(memory, ALEX) == [1, 1]

    # A write that is cancelled by closing may be counted twice: nothing may be under way then.
    monkeypatch.setattr(counting, "pause", 60)
    counting.add(ALEX.id, await ids(memory, ALEX))
    await counting.close()
    assert await used(memory, ALEX) == [2, 2]


async def test_counts_that_cannot_be_written_wait_for_better_times_and_nobody_is_told_but_the_log(
    memory: Engine,
    counting: UsageCounter,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(request_log, "USAGE_PAUSE", 0.0)
    known = await ids(memory, ALEX)
    with away(database):
        counting.add(ALEX.id, known)
        for _ in range(1000):
            if "not written yet: the use of 1 memories" in caplog.text:
                break
            await asyncio.sleep(0.01)
        assert "permission denied" in caplog.text
    counting.add(ALEX.id, known)
    await counting.flush()

    assert await used(memory, ALEX) == [2, 2]
    await counting.close()


async def test_closing_without_a_database_loses_counts_and_says_so(
    settings: Settings, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        counting = UsageCounter(memory._deps.store, clock)
        counting.add(ALEX.id, [MemoryId(uuid7())])
    with pytest.raises(StoreUnavailable):
        await counting.flush()
    await counting.close()

    assert "not written yet: the use of 1 memories" in caplog.text


async def test_only_so_many_memories_are_counted_at_a_time(
    memory: Engine, counting: UsageCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_log, "MAX_COUNTED", 3)
    known = await ids(memory, ALEX)
    counting.add(ALEX.id, known)
    for _ in range(5):
        counting.add(ScopeId(uuid7()), [MemoryId(uuid7())])
    counting.add(BLAKE.id, await ids(memory, BLAKE))
    counting.add(ALEX.id, known)
    await counting.flush()
    assert (await used(memory, ALEX), await used(memory, BLAKE)) == ([2, 2], [0, 0])

    counting.add(BLAKE.id, await ids(memory, BLAKE))
    await counting.close()
    assert await used(memory, BLAKE) == [1, 1]


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
async def test_a_request_that_cannot_be_logged_holds_back_no_other(
    memory: Engine, clock: FakeClock, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    rows = [build_message_row(ALEX, each, clock.now(), Outcome()) for each in ("before", text, "after")]
    for row in rows:
        memory._deps.request_log.add(ALEX.id, row)

    await memory._deps.request_log.flush()

    logged = [(await memory.explain(ALEX, row["id"])).query for row in rows[::2]]
    assert logged == ["before", "after"]
    assert f"request {rows[1]['id']} is not logged" in caplog.text
