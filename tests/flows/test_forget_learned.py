"""Forgetting what was learned: what rests on that alone goes, what rests on more is made anew from the rest."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from recollect import Engine, Lesson, NotFound, Scope, connect
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.settings import Settings
from tests.citus_database import find_rows

ALEX, BLAKE = Scope("alex"), Scope("blake", "monday")
PARIS, HERON = "I live in Paris.", "Remember that the code word is heron."
TABLES = (
    *("conversation", "turn", "sketch", "embedding", "chapter", "idempotency", "request"),
    *("holder", "evidence", "memory", "tally", "episode", "audit"),
)


@pytest.fixture
async def engine(settings: Settings, clock: FakeClock) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        yield memory


async def say(engine: Engine, clock: FakeClock, session: str, *texts: str) -> Scope:
    """A session of its own, a day later."""
    clock.advance(days=1)
    scope = Scope("alex", session)
    await engine.record(scope, [("user", text) for text in texts])
    await engine.settle(scope)
    return scope


def rows(database: str, *words: str) -> list[str]:
    """All rows of all tables of the user that have one of the words."""
    found = [row for table in TABLES for row in find_rows(database, table, ALEX.id)]
    return [row for row in found if any(word in row.lower() for word in words)]


async def known(engine: Engine, key: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return sorted((m.value, m.status, m.refs) for m in await engine.memories(ALEX, key=key, status=None))


async def test_what_another_conversation_says_too_stays_and_names_only_that(engine: Engine, clock: FakeClock) -> None:
    monday = await say(engine, clock, "monday", PARIS)
    await say(engine, clock, "tuesday", PARIS)
    [before] = await engine.memories(ALEX)
    assert before.refs == ("tuesday#0", "monday#0")

    receipt = await engine.forget(monday)

    [after] = await engine.memories(ALEX)
    assert (after.id, after.value, after.refs) == (before.id, "Paris", ("tuesday#0",))
    assert after.valid_from > before.valid_from
    assert after.confidence < before.confidence
    assert (receipt.rows["evidence"], receipt.rows["memory"], receipt.rebuilt) == (1, 0, 1)


async def test_the_value_before_is_restored_when_the_newer_one_is_forgotten(engine: Engine, clock: FakeClock) -> None:
    await say(engine, clock, "monday", PARIS)
    tuesday = await say(engine, clock, "tuesday", "I moved to Berlin.")
    assert (await engine.recall(ALEX, "where do I live?")).memories[0].text == "location: Berlin"

    receipt = await engine.forget(tuesday)

    [paris] = await engine.memories(ALEX, status=None)
    assert (paris.value, paris.status, paris.reason, paris.valid_to, paris.replaced_by) == (
        *("Paris", "active", None, None, None),
    )
    assert (await engine.recall(ALEX, "where do I live?")).memories[0].text == "location: Paris"
    assert (receipt.rows["evidence"], receipt.rows["memory"], receipt.rebuilt) == (1, 1, 1)


async def test_forgetting_the_older_one_leaves_the_newer_alone(engine: Engine, clock: FakeClock, database: str) -> None:
    monday = await say(engine, clock, "monday", PARIS)
    await say(engine, clock, "tuesday", "I moved to Berlin.")
    [berlin] = await engine.memories(ALEX)

    receipt = await engine.forget(monday)

    assert await engine.memories(ALEX, status=None) == [berlin]
    assert (receipt.rows["memory"], receipt.rebuilt) == (1, 0)
    assert rows(database, "paris") == []


async def test_of_what_rested_on_it_alone_no_word_is_left_anywhere(
    engine: Engine, clock: FakeClock, database: str
) -> None:
    monday = await say(engine, clock, "monday", HERON, *[f"About line {n}." for n in range(20)])
    await engine.record(monday, [("user", HERON)], idempotency_key="heron")
    await engine.context(monday, "what is the code word?")
    other = await say(engine, clock, "tuesday", PARIS)
    assert rows(database, "heron")

    receipt = await engine.forget(monday)

    assert rows(database, "heron", "code", "monday") == []
    assert (receipt.rows["conversation"], receipt.rows["turn"], receipt.rows["memory"]) == (1, 22, 1)
    assert [m.value for m in await engine.memories(ALEX, status=None)] == ["Paris"]
    trail = await engine.audit(ALEX)
    assert trail[-1].action == "forgot"
    assert trail[-1].detail["rows"] == receipt.rows
    assert [turn.text for turn in await engine.history(other)] == [PARIS]


@pytest.mark.parametrize("how", ["forget", "close", "correct", "promote"])
async def test_what_ended_it_elsewhere_does_not_quote_it(
    engine: Engine, clock: FakeClock, database: str, how: str
) -> None:
    monday = await say(engine, clock, "monday", HERON)
    [memory] = await engine.memories(ALEX)
    clock.advance(days=1)
    match how:
        case "forget":
            await say(engine, clock, "tuesday", "Forget the code word.")
        case "close":
            await engine.close(ALEX, memory.id)
        case "correct":
            await engine.correct(ALEX, memory.id, "the password is owl")
        case "promote":
            await engine.promote(ALEX, memory.id)
    assert [m.value for m in await engine.memories(ALEX)] == (["the password is owl"] if how == "correct" else [])

    await engine.forget(monday)

    assert rows(database, "heron") == []
    assert [m.value for m in await engine.memories(ALEX, status=None)] == (
        ["the password is owl"] if how == "correct" else []
    )


async def test_one_memory_is_forgotten_and_the_others_of_its_key_stay(
    engine: Engine, clock: FakeClock, database: str
) -> None:
    monday = await say(engine, clock, "monday", "I'm allergic to peanuts.", "I'm allergic to shellfish.")
    [peanuts] = [m for m in await engine.memories(ALEX) if m.value == "peanuts"]

    receipt = await engine.forget(ALEX, memory=peanuts.id)

    assert await known(engine, "allergy") == [("shellfish", "active", ("monday#1",))]
    assert (receipt.memory, receipt.session, receipt.rows) == (peanuts.id, None, {"evidence": 1, "memory": 1})
    assert [row for row in rows(database, "peanut") if "allergic" not in row and "allerg" not in row] == []
    assert len(await engine.history(monday)) == 2
    with pytest.raises(NotFound):
        await engine.forget(ALEX, memory=peanuts.id)
    await engine.settle(monday)
    assert len(await engine.memories(ALEX, status=None)) == 1


async def test_forgetting_the_memory_of_a_value_leaves_the_one_before_ended(engine: Engine, clock: FakeClock) -> None:
    paris = await engine.learn(ALEX, Lesson("Paris", key="location", kind="identity"))
    clock.advance(days=1)
    berlin = await engine.correct(ALEX, paris.id, "Berlin")

    receipt = await engine.forget(ALEX, memory=berlin.id)

    assert await known(engine, "location") == [("Paris", "superseded", ("@alex",))]
    assert (receipt.rows, receipt.rebuilt) == ({"evidence": 1, "memory": 1}, 1)


async def test_a_corrected_memory_that_is_forgotten_is_not_quoted_by_its_correction(
    engine: Engine, clock: FakeClock, database: str
) -> None:
    paris = await engine.learn(ALEX, Lesson("Paris", key="location", kind="identity"))
    clock.advance(days=1)
    await engine.correct(ALEX, paris.id, "Berlin")

    await engine.forget(ALEX, memory=paris.id)

    assert rows(database, "paris") == []
    assert await known(engine, "location") == [("Berlin", "active", ("@alex",))]


async def test_a_project_s_memory_is_forgotten_for_all(engine: Engine) -> None:
    ours = await engine.learn(ALEX, Lesson("net", key="revenue", kind="definition", owner="project"))

    await engine.forget(BLAKE, memory=ours.id)

    assert await engine.memories(ALEX, owner="project", status=None) == []
    assert [row.action for row in await engine.audit(ALEX, owner="project")] == ["learned", "forgot"]


async def test_a_forgotten_user_leaves_the_trail_and_nothing_said_in_it(
    engine: Engine, clock: FakeClock, database: str
) -> None:
    await say(engine, clock, "monday", HERON, PARIS)
    await engine.learn(ALEX, Lesson("an owl", key="pet", kind="fact"))

    await engine.forget(ALEX)

    assert rows(database, "heron", "paris", "owl", "alex", "monday") == []
    trail = await engine.audit(ALEX)
    assert trail[-1].subject == "everything"
    assert json.dumps(trail[-1].detail["rows"])
    assert await engine.memories(ALEX, status=None) == []
