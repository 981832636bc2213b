"""Upkeep: what has expired, is idle, old or too much goes, once, whole, and nothing else does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Engine, Scope, connect
from recollect.flows.dependencies import Dependencies
from recollect.flows.maintain import run_upkeep
from recollect.learning.reconcile import reconcile
from recollect.learning.upkeep import Decay, IdleMemory, UpkeepSummary, compute_decay
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.settings import Settings, read_settings
from recollect.store import upkeep as walking
from recollect.store.connection import format_session_options
from recollect.store.memories import Holder, Learned
from recollect.values.memory import Evidence, Memory
from recollect.values.scope import ScopeId, uuid7
from tests.citus_database import WAITS

ALEX = Scope("alex", "monday")
SMALL: dict[str, Any] = {"cleanup_batch": 2, "memory_limit": 3}


@pytest.fixture
async def memory(database: str, clock: FakeClock) -> AsyncIterator[Engine]:
    """An engine whose upkeep takes small bites, and a clock that a test moves."""
    settings = read_settings({}, dsn=database, retention_days=7, **SMALL)
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as engine:
        yield engine


@pytest.fixture
def deps(memory: Engine) -> Dependencies:
    return memory._deps


async def tell(deps: Dependencies, key: str, *values: str, user: str | None = "alex", **given: Any) -> ScopeId:
    """What people said about a key, one value after the other."""
    scope = Scope(user).id if user else ScopeId(UUID(int=7))
    for value in values:
        said = evidence(deps.clock.now(), key, value, **given)
        known = await deps.store.memories.load_keys(scope, [key])
        changes = reconcile(known.memories, [*known.evidence, said])
        holder = Holder(scope, "default", user)
        await deps.store.memories.write(holder, known.version, Learned(changes, [said]), deps.clock.now())
    return scope


def evidence(at: datetime, key: str, value: str, confidence: float = 0.9, importance: float = 0.3) -> Evidence:
    return Evidence(uuid7(), "says", "fact", key, value, confidence, importance, "inferred", "rules", at)


async def known(deps: Dependencies, scope: ScopeId) -> dict[str, Memory]:
    return {m.value: m for m in await deps.store.memories.list_memories(scope, limit=1000)}


async def left(deps: Dependencies, scope: ScopeId) -> dict[str, float]:
    """What is known, and how sure it still is."""
    return {value: round(m.confidence, 4) for value, m in (await known(deps, scope)).items()}


async def trail(deps: Dependencies, scope: ScopeId, action: str) -> list[Any]:
    rows = await deps.store.memories.list_audit(scope)
    return [(row.actor, dict(row.detail)) for row in rows if row.action == action]


def rows(database: str, table: str, scope: Scope = ALEX) -> int:
    with psycopg.connect(database) as owner:
        found = owner.execute(f"SELECT count(*) FROM recollect.{table} WHERE scope_id = %s".encode(), [scope.id])
        [(count,)] = found.fetchall()
        return int(count)


# Memories -------------------------------------------------------------------------------------------------------------


async def test_idle_memories_fade_once_per_period_however_many_look_at_once(
    deps: Dependencies, clock: FakeClock
) -> None:
    scope = await tell(deps, "hobby", *(f"hobby {n}" for n in range(3)))
    clock.advance(days=200)

    rounds = await asyncio.gather(*(run_upkeep(deps) for _ in range(4)))

    assert sum(done.decayed for done in rounds) == 3
    assert set((await left(deps, scope)).values()) == {0.7}
    clock.advance(days=69)
    assert (await run_upkeep(deps)).decayed == 0
    clock.advance(days=1)
    assert (await run_upkeep(deps)).decayed == 3
    assert set((await left(deps, scope)).values()) == {0.6}


async def test_what_a_project_knows_fades_more_slowly(deps: Dependencies, clock: FakeClock) -> None:
    scopes = await tell(deps, "rule", "own"), await tell(deps, "rule", "shared", user=None)
    clock.advance(days=179)
    await run_upkeep(deps)
    assert [await left(deps, scope) for scope in scopes] == [{"own": 0.8}, {"shared": 0.9}]

    clock.advance(days=1)
    await run_upkeep(deps)

    assert [await left(deps, scope) for scope in scopes] == [{"own": 0.7}, {"shared": 0.8}]


async def test_what_is_used_or_said_again_does_not_fade(deps: Dependencies, clock: FakeClock) -> None:
    scope = await tell(deps, "pet", "a cat")
    await tell(deps, "sport", "rowing")
    clock.advance(days=80)
    cat = (await known(deps, scope))["a cat"]
    await deps.store.memories.count_use(scope, {cat.id: 1}, clock.now())
    await tell(deps, "sport", "rowing")
    clock.advance(days=89)

    assert (await run_upkeep(deps)).decayed == 0
    assert min((await left(deps, scope)).values()) >= 0.9


async def test_a_memory_that_faded_away_leaves_a_trail_and_no_older_value_behind(
    deps: Dependencies, clock: FakeClock, database: str
) -> None:
    scope = await tell(deps, "location", "Paris", "Berlin", confidence=0.5)
    await tell(deps, "location", "Rome", confidence=0.45)
    clock.advance(days=269)
    assert (await run_upkeep(deps)).decayed_away == 0

    clock.advance(days=1)
    done = await run_upkeep(deps)

    assert (done.decayed, done.decayed_away) == (0, 1)
    assert await trail(deps, scope, "decayed away") == [("upkeep", {"evidence": 3, "earlier": 1})]
    assert (rows(database, "memory"), rows(database, "evidence")) == (0, 0)
    await tell(deps, "location", "Oslo", confidence=0.4)
    assert {m.value: m.status for m in (await known(deps, scope)).values()} == {"Oslo": "active"}


async def test_a_memory_that_is_being_used_is_left_alone_and_not_waited_for(
    deps: Dependencies, clock: FakeClock, database: str
) -> None:
    scope = await tell(deps, "pet", "a cat", confidence=0.4)
    await tell(deps, "hobby", "chess", confidence=0.4)
    clock.advance(days=180)
    with psycopg.connect(database) as user:
        user.execute("UPDATE recollect.memory SET last_used_at = %s WHERE key = 'pet'", [clock.now()])
        assert (await asyncio.wait_for(run_upkeep(deps), 20)).decayed_away == 1

    await run_upkeep(deps)
    assert await left(deps, scope) == {"a cat": 0.4}


async def test_a_learner_who_read_before_a_memory_was_forgotten_finds_out(deps: Dependencies, clock: FakeClock) -> None:
    scope = await tell(deps, "pet", "a cat", confidence=0.4)
    clock.advance(days=180)
    before = await deps.store.memories.load_keys(scope, ["pet"])
    await run_upkeep(deps)

    after = await deps.store.memories.load_keys(scope, ["pet"])
    assert (len(before.memories), len(after.memories)) == (1, 0)
    assert after.version > before.version


async def test_ended_memories_do_not_fade_and_go_when_their_time_is_over(deps: Dependencies, clock: FakeClock) -> None:
    scope = await tell(deps, "location", "Paris", "Berlin")
    for _ in range(40):  # Berlin stays in use
        clock.advance(days=90)
        berlin = (await known(deps, scope))["Berlin"]
        await deps.store.memories.count_use(scope, {berlin.id: 1}, clock.now())
        await run_upkeep(deps)
    assert await left(deps, scope) == {"Paris": 0.9, "Berlin": 0.9}

    clock.advance(days=51)
    done = await run_upkeep(deps)

    assert (done.outlived, list(await left(deps, scope))) == (1, ["Berlin"])
    assert await trail(deps, scope, "outlived") == [("upkeep", {"evidence": 1, "earlier": 0})]


async def test_of_too_many_minor_memories_the_least_important_and_then_the_oldest_go(
    deps: Dependencies, clock: FakeClock
) -> None:
    kept = (("old and weighty", 0.45), ("new", 0.2), ("newest", 0.2))
    for value, importance in (("trifle", 0.1), ("old and weighty", 0.45), *((f"old {n}", 0.2) for n in range(3))):
        scope = await tell(deps, "note", value, importance=importance)
        clock.advance(minutes=1)
    for value, importance in (*kept[1:], *((f"vital {n}", 0.5) for n in range(5))):
        await tell(deps, "note", value, importance=importance)
        clock.advance(minutes=1)

    done = await run_upkeep(deps)

    assert done.pruned == 4
    assert set(await known(deps, scope)) == {value for value, _ in kept} | {f"vital {n}" for n in range(5)}
    assert await trail(deps, scope, "pruned") == [("upkeep", {"evidence": 1, "earlier": 0})] * 4


# Conversations --------------------------------------------------------------------------------------------------------


async def converse(memory: Engine, *scopes: Scope) -> None:
    for scope in scopes:
        await memory.record(
            scope, [("user", "I live in Porto."), ("assistant", "Noted.")], idempotency_key=scope.session
        )
        await memory.recall(scope, "where do I live?")
        await memory.settle(scope)


async def test_an_expired_conversation_goes_whole_and_what_was_learned_from_it_stays(
    memory: Engine, deps: Dependencies, clock: FakeClock, database: str
) -> None:
    await converse(memory, ALEX, *(Scope("alex", f"session {n}") for n in range(4)))
    clock.advance(days=6)
    await converse(memory, Scope("alex", "friday"))
    clock.advance(days=1)

    done = await run_upkeep(deps)

    assert done.conversations == 5
    assert done.rows["turn"] == done.rows["sketch"] == done.rows["embedding"] == 10
    assert done.rows["request"] == done.rows["idempotency"] == done.rows["conversation"] == 5
    left_over = {
        t: rows(database, t) for t in ("conversation", "turn", "sketch", "embedding", "request", "idempotency")
    }
    assert left_over == dict.fromkeys(left_over, 1) | dict.fromkeys(("turn", "sketch", "embedding"), 2)
    found = await known(deps, ALEX.id)
    assert [m.refs[:2] for m in found.values()] == [("friday#0", "session 3#0")]
    assert rows(database, "evidence") == 6
    expired = await trail(deps, ALEX.id, "expired")
    assert [detail["turn"] for _, detail in expired] == [2] * 5
    assert (await memory.history(Scope("alex", "friday")))[0].text == "I live in Porto."


async def test_what_was_not_learned_from_yet_is_learned_from_before_it_goes(
    memory: Engine, deps: Dependencies, clock: FakeClock, database: str
) -> None:
    await memory.record(ALEX, [("user", "I live in Porto.")])
    clock.advance(days=30)

    assert (await run_upkeep(deps)).conversations == 1
    assert rows(database, "turn") == 0
    assert [m.key for m in (await known(deps, ALEX.id)).values()] == ["location"]


async def test_a_message_that_comes_while_its_conversation_is_being_erased_saves_it_whole(
    memory: Engine, deps: Dependencies, clock: FakeClock, database: str
) -> None:
    await converse(memory, ALEX)
    clock.advance(days=8)
    with psycopg.connect(database) as writer:
        writer.execute(
            "UPDATE recollect.conversation SET expires_at = %s WHERE scope_id = %s",
            [clock.now() + timedelta(days=7), ALEX.id],
        )
        erasing = asyncio.create_task(run_upkeep(deps))
        await somebody_waits(database)
        assert not erasing.done()
        writer.commit()

    assert (await erasing).conversations == 0
    assert [turn.text for turn in await memory.history(ALEX)] == ["I live in Porto.", "Noted."]


async def somebody_waits(database: str) -> None:
    """Until a statement waits for another's lock."""
    with psycopg.connect(database, autocommit=True) as owner:
        for _ in range(1000):
            if owner.execute(WAITS).fetchone() is not None:
                return
            await asyncio.sleep(0.01)
    raise AssertionError("nobody waited")


async def test_of_four_rounds_at_once_each_conversation_is_erased_by_one(
    memory: Engine, deps: Dependencies, clock: FakeClock, database: str
) -> None:
    people = [Scope(f"user {n}", "monday") for n in range(6)]
    await converse(memory, *people)
    clock.advance(days=8)

    rounds = await asyncio.gather(*(run_upkeep(deps) for _ in range(4)))

    assert sum(done.conversations for done in rounds) == 6
    assert [len(await trail(deps, person.id, "expired")) for person in people] == [1] * 6


async def test_retention_of_zero_days_keeps_every_conversation(database: str, clock: FakeClock) -> None:
    settings = read_settings({}, dsn=database, retention_days=0)
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        await memory.record(ALEX, [("user", "for ever")])
        clock.advance(days=4000)
        assert (await run_upkeep(memory._deps)).conversations == 0


# The diary, and the round itself --------------------------------------------------------------------------------------


async def test_requests_and_idempotency_keys_go_when_they_are_old(
    memory: Engine, deps: Dependencies, clock: FakeClock, database: str
) -> None:
    parts_of_a_day = [0, 0, 0, 30 * 24 - 1, 1]
    for hours in parts_of_a_day:
        clock.advance(hours=hours)
        await memory.record(ALEX, [("user", "hello")], idempotency_key=str(uuid7()))
        await memory.recall(ALEX, "hello")
    await deps.request_log.flush()
    clock.advance(minutes=1)

    done = await run_upkeep(deps)

    assert (done.requests, rows(database, "request")) == (3, 2)
    assert (done.keys, rows(database, "idempotency")) == (3, 2)
    assert done.conversations == 0


async def test_every_scope_is_found_whatever_the_size_of_a_page(
    memory: Engine, deps: Dependencies, clock: FakeClock, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walking, "LOOKED_AT", 3)
    monkeypatch.setattr(walking, "HOLDERS", 2)
    people = [f"user {n}" for n in range(5)]
    young = [Scope(f"young {n}", "monday") for n in range(9)] + [Scope("user 2", f"young {n}") for n in range(5)]
    # Of one user more than a page comes before the conversation that has expired; of some users nothing has.
    await converse(memory, *young, *(Scope(user, "old") for user in people))
    clock.advance(days=5)
    for scope in young:
        await memory.record(scope, [("user", "still here")])
    clock.advance(days=3)
    assert (await run_upkeep(deps)).conversations == 5

    clock.advance(days=365)
    done = await run_upkeep(deps)

    assert (done.conversations, done.decayed, done.requests) == (14, 14, 0)
    assert await run_upkeep(deps) == UpkeepSummary()


async def test_a_scope_where_something_fails_is_put_off_and_the_others_are_tended(
    memory: Engine, deps: Dependencies, clock: FakeClock, database: str
) -> None:
    people = [Scope(f"user {n}", "monday") for n in range(4)]
    await converse(memory, *people)
    with psycopg.connect(database, autocommit=True) as owner:
        # A division by zero; a cluster has no triggers.
        [(rule,)] = owner.execute("SELECT qual FROM pg_policies WHERE (tablename, policyname) = ('turn', 'scope')")
        fails = f"CASE WHEN scope_id = '{people[1].id}' THEN 1 / (turn_index - turn_index) = 0 ELSE {rule} END"
        owner.execute(f"ALTER POLICY scope ON recollect.turn USING ({fails})".encode())
        clock.advance(days=8)
        done = await run_upkeep(deps)
        assert (done.conversations, done.put_off) == (3, 1)
        assert (rows(database, "turn", people[1]), rows(database, "sketch", people[1])) == (2, 2)

        owner.execute(f"ALTER POLICY scope ON recollect.turn USING {rule}".encode())
        assert (await run_upkeep(deps)).conversations == 1


async def test_an_error_of_our_own_in_one_scope_does_not_stop_the_others(
    memory: Engine, deps: Dependencies, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [Scope(f"user {n}", "monday") for n in range(4)]
    await converse(memory, *people)
    broken = {each.id for each in await memory.memories(people[1])}

    def decay(idle: IdleMemory, *more: Any) -> Decay:
        if idle.id in broken:
            raise KeyError(idle.key)
        return compute_decay(idle, *more)

    monkeypatch.setattr(walking, "compute_decay", decay)
    clock.advance(days=365)
    done = await run_upkeep(deps)

    assert (done.decayed + done.decayed_away, done.put_off) == (3, 1)


@pytest.mark.parametrize("name", ["find_expired", "find_old_requests", "find_old_keys"])
async def test_what_is_found_in_every_scope_are_ids_and_nothing_else(
    memory: Engine, deps: Dependencies, database: str, settings: Settings, name: str
) -> None:
    people = [Scope(f"user {n}", "monday") for n in range(3)]
    await converse(memory, *people)
    await deps.request_log.flush()
    with psycopg.connect(make_conninfo(database, options=format_session_options(settings))) as app:
        app.execute("SET ROLE recollect_operator")
        cursor = app.execute(f"SELECT * FROM {name}('3000-01-01', '{UUID(int=0)}', 100)".encode())
        assert columns(cursor.description) == ["scope_id"]
        assert {row[0] for row in cursor} == {person.id for person in people}


def columns(description: Sequence[Any] | None) -> list[str]:
    return [column.name for column in description or ()]
