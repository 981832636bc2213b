"""redact: the value goes from everywhere, the turn keeps its place, what was derived is made anew, the trail stays."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from recollect import Engine, Lesson, Memory, Query, Scope, Turn, connect
from recollect.flows.forget import build_pattern
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.settings import Settings
from tests.citus_database import find_rows

MONDAY, TUESDAY, BLAKE = Scope("alex", "monday"), Scope("alex", "tuesday"), Scope("blake", "monday")
SECRET = "Kirkwall"
STEM = "kirkwal"  # as search keeps it
SMALL_TALK = [(role, f"Number {n}, about the garden.") for n in range(13) for role in ("user", "assistant")]


@pytest.fixture
async def engine(settings: Settings, clock: FakeClock) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        yield memory


@pytest.fixture
async def filled(engine: Engine, clock: FakeClock) -> Engine:
    """The secret is in every table: said twice, repeated by the assistant, asked for, corrected towards and from."""
    await engine.record(
        MONDAY,
        [
            Turn("user", f"I live in {SECRET}.", data={"city": SECRET}),
            ("assistant", f"{SECRET.upper()} is in Orkney."),
            Turn("assistant", "Looking it up.", data={"sql": f"SELECT '{SECRET}'"}),
            *SMALL_TALK,  # type: ignore[list-item]
        ],
        idempotency_key="once",
    )
    await engine.settle(MONDAY)
    clock.advance(days=1)
    await engine.record(TUESDAY, [("user", f"Remember that the ferry to {SECRET} leaves at nine.")])
    await engine.record(BLAKE, [("user", f"I live in {SECRET}.")])
    for scope in (TUESDAY, BLAKE):
        await engine.settle(scope)
    await engine.recall(TUESDAY, f"how far is {SECRET}?")
    await engine.context(TUESDAY, "where do I live?")
    await engine.settle(TUESDAY)
    return engine


async def home(engine: Engine) -> Memory:
    [memory] = await engine.memories(MONDAY, key="location")
    return memory


def kept(database: str, scope: Scope, word: str) -> dict[str, int]:
    """Which tables have a word, in how many rows of the scope; every column is looked at."""
    with psycopg.connect(database) as owner:
        tables = owner.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'recollect' AND column_name = 'scope_id'"
        ).fetchall()
    assert len(tables) > 10
    found = {table: sum(word in row.lower() for row in find_rows(database, table, scope.id)) for (table,) in tables}
    return {table: count for table, count in found.items() if count}


async def test_after_it_the_value_is_nowhere_in_the_database(filled: Engine, database: str) -> None:
    before = kept(database, MONDAY, STEM)
    everywhere = {
        "turn",
        "sketch",
        "evidence",
        "memory",
        "episode",
        "chapter",
        "request",
        "idempotency",
        "conversation",
    }
    assert everywhere <= set(before)
    blakes = kept(database, BLAKE, STEM)

    receipt = await filled.redact(MONDAY, (await home(filled)).id)

    assert kept(database, MONDAY, STEM) == {}
    await filled.settle(MONDAY)
    assert kept(database, MONDAY, STEM) == {}
    assert STEM not in "".join([line async for line in filled.export(MONDAY)]).lower()
    assert kept(database, BLAKE, STEM) == blakes
    assert {table: receipt.rows[table] for table in ("turn", "sketch", "embedding", "evidence", "memory")} == {
        "turn": 4,
        "sketch": 4,
        "embedding": 4,
        "evidence": 2,
        "memory": 2,
    }


async def test_the_turns_keep_their_places_and_the_rest_of_their_words(filled: Engine) -> None:
    before = await filled.history(MONDAY)

    await filled.redact(MONDAY, (await home(filled)).id)

    after = await filled.history(MONDAY)
    assert [(turn.index, turn.role, turn.at) for turn in after] == [(turn.index, turn.role, turn.at) for turn in before]
    assert [turn.text for turn in after[:3]] == ["I live in [redacted].", "[redacted] is in Orkney.", "Looking it up."]
    assert [turn.data for turn in after[:3]] == [None, None, None]
    assert after[3:] == before[3:]
    [other] = await filled.history(TUESDAY)
    assert other.text == "Remember that the ferry to [redacted] leaves at nine."
    [note] = await filled.memories(MONDAY, kinds=("note",))
    assert note.value == "the ferry to [redacted] leaves at nine"


async def test_it_is_not_recalled_and_what_was_derived_is_made_anew(filled: Engine) -> None:
    await filled.redact(MONDAY, (await home(filled)).id)
    assert await filled.episodes(MONDAY) == []
    await filled.settle(MONDAY)

    [first, *_] = await filled.episodes(MONDAY)
    assert (first.first, first.last) == (0, 9)
    recall = await filled.recall(MONDAY, "where do I live?")
    assert [hit for hit in recall.memories if hit.memory.key == "location"] == []
    place = await filled.recall(MONDAY, Query("I live in [redacted].", exclude=()))
    assert place.hits[0].source == "monday#0"
    assert place.hits[0].arms["vector"].rank == 1


async def test_that_something_was_there_stays_known(filled: Engine, clock: FakeClock) -> None:
    memory = await home(filled)
    asked = await filled.recall(TUESDAY, "where do I live?")
    clock.advance(days=1)

    await filled.redact(MONDAY, memory.id)

    [gone] = await filled.memories(MONDAY, key="location", status=None)
    assert (gone.id, gone.value, gone.status, gone.reason) == (memory.id, "[redacted]", "retracted", "redacted")
    assert (gone.valid_from, gone.valid_to, gone.refs) == (memory.valid_from, clock.now(), memory.refs)
    done = (await filled.audit(MONDAY))[-1]
    assert (done.actor, done.action, done.subject) == ("user", "redacted", memory.ref)
    assert SECRET not in json.dumps(done.detail)
    [told] = (await filled.explain(TUESDAY, asked.request_id)).memories
    assert [m.value for m in told.history] == ["[redacted]"]


async def test_what_is_said_afterwards_stands_beside_it_and_brings_nothing_back(
    engine: Engine, clock: FakeClock
) -> None:
    old = await engine.learn(MONDAY, Lesson("Paris", key="location", kind="identity"))
    clock.advance(days=1)
    memory = await engine.correct(MONDAY, old.id, SECRET)
    await engine.redact(MONDAY, memory.id)
    assert await engine.memories(MONDAY) == []
    clock.advance(days=1)

    await engine.record(TUESDAY, [("user", "I think I live in Ghent.")])
    await engine.settle(TUESDAY)

    told = {m.value: (m.status, m.reason) for m in await engine.memories(MONDAY, status=None)}
    assert told == {
        "Paris": ("superseded", "corrected by the user"),
        "[redacted]": ("retracted", "redacted"),
        "Ghent": ("active", None),
    }
    assert not (await engine.redact(MONDAY, memory.id)).rows


async def test_a_corrected_or_retracted_value_is_gone_from_what_ended_it_too(engine: Engine, database: str) -> None:
    await engine.record(MONDAY, [("user", "Remember that the code is heron."), ("user", "Remember that I ski.")])
    await engine.settle(MONDAY)
    await engine.record(TUESDAY, [("user", "Forget the code.")])
    await engine.settle(TUESDAY)
    [code] = await engine.memories(MONDAY, status=("retracted",))
    assert kept(database, MONDAY, "heron")["evidence"] == 2

    await engine.redact(MONDAY, code.id)

    assert kept(database, MONDAY, "heron") == {}
    assert [turn.text for turn in await engine.history(MONDAY)] == ["Remember that [redacted].", "Remember that I ski."]


async def test_a_project_s_memory_is_redacted_in_the_project(engine: Engine, database: str) -> None:
    ours = await engine.learn(MONDAY, Lesson(SECRET, key="office", kind="definition", owner="project"))

    receipt = await engine.redact(BLAKE, ours.id)

    assert (receipt.rows["memory"], receipt.rows["evidence"]) == (1, 1)
    assert (await engine.resolve(MONDAY, "office")).meaning is None
    assert SECRET not in json.dumps([m.value for m in await engine.memories(MONDAY, owner="project", status=None)])


@pytest.mark.parametrize(
    ("values", "text", "expected"),
    [
        (["Al"], "Al also said: call me AL, not alfred", "X also said: call me X, not alfred"),
        (["B12"], "我的车位是B12。B123 is another", "我的车位是X。B123 is another"),
        (["北京"], "我搬到北京了", "我搬到X了"),
        (["a.b (c)"], "a.b\n (c) and aXb (c)", "X and aXb (c)"),
        (["red bike", "bike"], "a red bike, a bike, bikes", "a X, a X, bikes"),
        (["*", "50%"], "50% of * here", "X of X here"),
    ],
)
def test_a_value_is_found_whole_and_in_any_case_here_and_in_the_database(
    database: str, values: list[str], text: str, expected: str
) -> None:
    with psycopg.connect(database) as owner:
        made: Any = owner.execute("SELECT regexp_replace(%s, %s, 'X', 'gi')", [text, build_pattern(values)]).fetchone()

    assert re.sub(build_pattern(values), "X", text, flags=re.IGNORECASE) == expected == made[0]
