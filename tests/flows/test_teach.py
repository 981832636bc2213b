"""Teaching: people add to what is known, correct it, close it, approve it and share it; each change is noted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from recollect import Engine, InvalidInput, Lesson, Memory, NotFound, Scope, connect
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.settings import Settings
from recollect.values.scope import MemoryId

ALEX, BLAKE = Scope("alex", "monday", "acme"), Scope("blake", "monday", "acme")
ELSEWHERE = Scope("alex", "monday", "umbrella")
EDITOR = Lesson("vim", key="editor", kind="preference")
HOME = Lesson("Paris", key="location", kind="identity")


@pytest.fixture
async def engine(settings: Settings, clock: FakeClock) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        yield memory


@pytest.fixture
async def careful(settings: Settings, clock: FakeClock) -> AsyncIterator[Engine]:
    """What is taught to the project has to be approved here."""
    chosen = replace(settings, project_approval=True)
    async with connect(chosen, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        yield memory


def told(memories: list[Memory]) -> set[tuple[str, str, str | None]]:
    return {(memory.value, memory.status, memory.reason) for memory in memories}


async def trail(engine: Engine, scope: Scope, **owner: Any) -> list[str]:
    """The actions, in order; that no row has words of what is known is asserted on the way."""
    rows = await engine.audit(scope, **owner)
    for word in ("vim", "emacs", "Paris", "Berlin", "clients", "passport", "editor", "location"):
        assert word not in json.dumps([row.detail for row in rows]) + "".join(row.subject for row in rows)
    return [row.action for row in rows]


async def test_a_text_is_learned_as_a_note_of_the_user_and_recalled_at_once(engine: Engine) -> None:
    note = await engine.learn(ALEX, "the spare key is under the mat")

    assert (note.kind, note.key, note.status, note.source, note.learned_by) == (
        *("note", "note", "active", "explicit", "person"),
    )
    assert (note.confidence, note.refs) == (1.0, ("@alex",))
    assert (await engine.recall(ALEX, "where is the key?")).memories[0].memory.id == note.id
    assert await trail(engine, ALEX) == ["learned"]


@pytest.mark.parametrize(
    ("answer", "owner"),
    [
        ("I call them clients", "user"),
        ("active means logged in within 30 days", "project"),
        ("we count everybody who paid", "project"),
        ("as in the fiscal report", "project"),
        ("company-wide: paid once", "project"),
        ("paid once", "user"),
    ],
)
async def test_a_clarification_belongs_to_whom_its_wording_speaks_for(engine: Engine, answer: str, owner: Any) -> None:
    learned = await engine.learn(ALEX, Lesson.clarification("Active", answer, "which are active?"))

    assert (learned.kind, learned.key, learned.source, learned.confidence) == (
        *("definition", "active", "clarification", 0.9),
    )
    assert [m.id for m in await engine.memories(ALEX, owner=owner)] == [learned.id]
    resolved = [(await engine.resolve(scope, "active")).meaning for scope in (ALEX, BLAKE, ELSEWHERE)]
    assert resolved == [answer, answer if owner == "project" else None, None]


async def test_a_correction_ends_the_old_value_and_is_named_by_it(engine: Engine, clock: FakeClock) -> None:
    old = await engine.learn(ALEX, HOME)
    clock.advance(days=3)
    new = await engine.correct(ALEX, old.id, "Berlin")

    [before] = await engine.memories(ALEX, key="location", status=("superseded",))
    assert (before.id, before.reason, before.replaced_by, before.valid_to) == (
        *(old.id, "corrected by the user", new.id, clock.now()),
    )
    assert (new.value, new.status, new.source) == ("Berlin", "active", "correction")
    believed = [
        [m.value for m in await engine.memories(ALEX, key="location", as_of=clock.now() - timedelta(days=days))]
        for days in (4, 1, 0)
    ]
    assert believed == [[], ["Paris"], ["Berlin"]]
    assert sorted(await trail(engine, ALEX)) == ["learned", "learned", "superseded"]


async def test_one_of_several_values_is_corrected_and_the_others_stay(engine: Engine) -> None:
    first = await engine.learn(ALEX, EDITOR)
    await engine.learn(ALEX, replace(EDITOR, value="nano"))

    await engine.correct(ALEX, f"memory:{first.id}", "emacs")
    assert {m.value for m in await engine.memories(ALEX, key="editor")} == {"nano", "emacs"}

    [nano] = [m for m in await engine.memories(ALEX, key="editor") if m.value == "nano"]
    merged = await engine.correct(ALEX, nano.id, "Emacs")
    assert [(m.id, m.value) for m in await engine.memories(ALEX, key="editor")] == [(merged.id, "Emacs")]


async def test_what_is_less_sure_than_what_is_known_is_refused_with_advice(engine: Engine) -> None:
    await engine.learn(ALEX, HOME)

    with pytest.raises(InvalidInput, match="higher confidence"):
        await engine.learn(ALEX, Lesson("Rome", key="location", kind="identity", source="inferred"))
    assert [m.value for m in await engine.memories(ALEX, key="location")] == ["Paris"]


async def test_a_closed_todo_is_done_and_no_longer_told(engine: Engine, clock: FakeClock) -> None:
    todo = await engine.learn(ALEX, Lesson("renew my passport", key="todo", kind="todo"))
    clock.advance(days=1)
    closed = await engine.close(ALEX, todo.id)
    again = await engine.close(ALEX, todo.id)

    assert (closed.id, closed.status, closed.reason, closed.valid_to) == (todo.id, "superseded", "done", clock.now())
    assert again == closed
    assert "passport" not in (await engine.context(ALEX, "what are my tasks?")).text
    assert await trail(engine, ALEX) == ["learned", "superseded"]


async def test_identity_of_a_user_cannot_be_shared(engine: Engine) -> None:
    mine = await engine.learn(ALEX, Lesson("Alex", kind="identity", key="name"))
    with pytest.raises(InvalidInput, match="about one person"):
        await engine.promote(ALEX, mine.id)
    assert [memory.status for memory in await engine.memories(ALEX, key="name")] == ["active"]


async def test_a_promoted_memory_is_the_project_s_and_everybody_is_told(engine: Engine) -> None:
    mine = await engine.learn(ALEX, Lesson("logged in", key="active", kind="definition"))
    ours = await engine.promote(ALEX, mine.id)

    assert (ours.id != mine.id, ours.value, ours.source, ours.data) == (
        *(True, "logged in", "manual", {"from": str(mine.id)}),
    )
    [before] = await engine.memories(ALEX, status=None)
    assert (before.status, before.reason) == ("superseded", "the project knows it now")
    hit = (await engine.recall(BLAKE, "how many active users?")).memories[0]
    assert (hit.tier, hit.memory.id) == ("project", ours.id)
    for memory, problem in ((mine, "superseded"), (ours, "already")):
        with pytest.raises(InvalidInput, match=problem):
            await engine.promote(ALEX, memory.id)
    assert await trail(engine, ALEX) == ["learned", "superseded"]
    [row] = await engine.audit(ALEX, owner="project")
    assert (row.actor, row.action, row.subject) == ("alex", "learned", ours.ref)


async def test_a_promotion_that_broke_off_in_between_can_be_repeated(engine: Engine, database: str) -> None:
    mine = await engine.learn(ALEX, EDITOR)
    with psycopg.connect(database) as owner:
        owner.execute("SELECT version FROM recollect.holder WHERE scope_id = %s FOR UPDATE", [ALEX.id])
        promotion = asyncio.create_task(engine.promote(ALEX, mine.id))
        for _ in range(1000):
            if await engine.memories(ALEX, owner="project"):
                break
            await asyncio.sleep(0.01)
        promotion.cancel()
        await asyncio.wait([promotion])
    assert promotion.cancelled()
    [half] = await engine.memories(ALEX, owner="project")
    assert [m.status for m in await engine.memories(ALEX)] == ["active"]

    ours = await engine.promote(ALEX, mine.id)

    assert [m.id for m in await engine.memories(ALEX, owner="project", status=None)] == [ours.id] == [half.id]
    assert [m.status for m in await engine.memories(ALEX, status=None)] == ["superseded"]


@pytest.mark.parametrize("approve", [True, False])
async def test_what_waits_for_approval_counts_only_once_approved(
    careful: Engine, clock: FakeClock, approve: bool
) -> None:
    lesson = Lesson.clarification("active", "active means paid", "?")
    waiting = await careful.learn(ALEX, lesson)
    same = await careful.learn(BLAKE, lesson)
    assert (waiting.status, same.id, (await careful.resolve(ALEX, "active")).meaning) == ("pending", waiting.id, None)

    clock.advance(days=1)
    decided = await (careful.approve if approve else careful.reject)(BLAKE, waiting.id)

    assert decided.id == waiting.id
    if approve:
        assert (decided.status, decided.reason, decided.valid_from) == ("active", None, clock.now())
    else:
        assert (decided.status, decided.reason) == ("retracted", "not approved")
    assert (await careful.resolve(ALEX, "active")).meaning == ("active means paid" if approve else None)
    with pytest.raises(InvalidInput, match="only a pending memory"):
        await careful.approve(ALEX, waiting.id)
    assert [row.actor for row in await careful.audit(ALEX, owner="project")] == ["alex", "blake", "blake"]


async def test_what_waits_for_approval_cannot_be_changed_on_the_way(engine: Engine) -> None:
    waiting = await engine.learn(ALEX, replace(EDITOR, pending=True))

    for change in (engine.correct(ALEX, waiting.id, "emacs"), engine.close(ALEX, waiting.id)):
        with pytest.raises(InvalidInput, match="approve or reject it first"):
            await change
    assert told(await engine.memories(ALEX, status=None)) == {("vim", "pending", "waits for approval")}


async def test_memories_are_listed_by_kind_key_status_and_owner(engine: Engine, clock: FakeClock) -> None:
    home = await engine.learn(ALEX, HOME)
    await engine.learn(ALEX, EDITOR)
    clock.advance(days=1)
    await engine.correct(ALEX, home.id, "Berlin")
    await engine.learn(ALEX, replace(EDITOR, value="emacs", pending=True, importance=0.1))
    await engine.learn(ALEX, Lesson("net", key="revenue", kind="definition", owner="project"))

    async def values(**given: Any) -> list[str]:
        return [memory.value for memory in await engine.memories(ALEX, **given)]

    assert await values() == ["Berlin", "vim", "emacs"]
    assert await values(status=("active",)) == ["Berlin", "vim"]
    assert await values(status=("pending",)) == ["emacs"]
    assert sorted(await values(status=None)) == ["Berlin", "Paris", "emacs", "vim"]
    assert await values(kinds=("preference",)) == ["vim", "emacs"]
    assert await values(key="location") == ["Berlin"]
    assert await values(owner="project") == ["net"]
    assert await values(limit=1) == ["Berlin"]
    assert sorted(await values(as_of=clock.now() - timedelta(hours=1))) == ["Paris", "vim"]


@pytest.mark.parametrize("scope", [BLAKE, ELSEWHERE])
async def test_another_s_memory_is_as_if_there_were_none(engine: Engine, scope: Scope) -> None:
    mine = await engine.learn(ALEX, EDITOR)
    verbs: list[Callable[[], Awaitable[Any]]] = [
        lambda: engine.correct(scope, mine.id, "nano"),
        lambda: engine.close(scope, mine.id),
        lambda: engine.promote(scope, mine.id),
        lambda: engine.approve(scope, mine.id),
        lambda: engine.reject(scope, mine.id),
        lambda: engine.redact(scope, mine.id),
        lambda: engine.forget(scope, memory=mine.id),
    ]
    for verb in verbs:
        with pytest.raises(NotFound):
            await verb()

    assert await engine.memories(scope, status=None) == []
    assert await engine.audit(scope) == []
    assert told(await engine.memories(ALEX, status=None)) == {("vim", "active", None)}


@pytest.mark.parametrize(
    ("verb", "arguments", "options", "field"),
    [
        ("learn", ["x", ""], {}, "value"),
        ("learn", ["x", 3], {}, "value"),
        ("correct", ["x", "no id", "value"], {}, "memory"),
        ("correct", ["x", uuid4(), ""], {}, "value"),
        ("correct", ["x", uuid4(), "x" * 4001], {}, "value"),
        ("close", ["x", 7], {}, "memory"),
        ("promote", ["x", ""], {}, "memory"),
        ("memories", ["x"], {"kinds": ("rumour",)}, "kinds"),
        ("memories", ["x"], {"status": ("asleep",)}, "status"),
        ("memories", ["x"], {"owner": "everybody"}, "owner"),
        ("memories", ["x"], {"limit": 0}, "limit"),
        ("memories", ["x"], {"as_of": "yesterday"}, "as_of"),
        ("audit", ["x"], {"owner": "everybody"}, "owner"),
        ("forget", ["x"], {"memory": "no id"}, "memory"),
        ("redact", ["x", "no id"], {}, "memory"),
    ],
)
async def test_bad_input_names_its_field(
    engine: Engine, verb: str, arguments: list[Any], options: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        await getattr(engine, verb)(ALEX, *arguments[1:], **options)

    assert error.value.field == field


async def test_sensitive_words_are_masked_in_what_is_taught_too(settings: Settings) -> None:
    chosen = replace(settings, mask_sensitive=True)
    async with connect(chosen, embedder=FakeEmbedder(), worker=False) as memory:
        learned = await memory.learn(ALEX, Lesson("mail kim@example.com", question="is it kim@example.com?"))
        corrected = await memory.correct(ALEX, learned.id, "mail lee@example.com")

    assert "@example.com" not in f"{learned}{corrected}"


async def test_teaching_one_key_at_once_leaves_one_value_and_loses_no_evidence(engine: Engine) -> None:
    first = await engine.learn(ALEX, HOME)
    cities = [f"city {n}" for n in range(10)]

    await asyncio.gather(
        *(engine.learn(ALEX, replace(HOME, value=city)) for city in cities),
        *(engine.correct(ALEX, first.id, f"corrected {city}") for city in cities),
    )

    everything = await engine.memories(ALEX, key="location", status=None)
    assert sum(memory.status == "active" for memory in everything) == 1
    said = [json.loads(line) async for line in engine.export(ALEX)]
    values = {line["value"] for line in said if line["kind"] == "evidence"}
    assert values == {"Paris", *cities, *(f"corrected {city}" for city in cities)}
    assert {memory.value for memory in everything} == values


async def test_an_unknown_memory_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFound, match="there is no memory"):
        await engine.close(ALEX, MemoryId(uuid4()))
