"""A briefing on a real database: all of it in one round trip, of this user and his project, as of this moment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from recollect import Engine, Lesson, Scope, connect
from recollect.settings import Settings
from recollect.store.database import Database
from recollect.values.resolution import Brief
from recollect.values.term import Term

ALEX = Scope("alex", "monday", "shop")
QUESTION = "How many regulars bought something in 2024?"
WANTED = Brief(
    QUESTION,
    terms=("regulars", "basket"),
    kinds=("question",),
    status=("active", "retracted"),
    habits=("time_grain", "default_filter"),
)


async def teach(memory: Engine) -> None:
    await memory.record(ALEX, [("user", "hello"), ("assistant", "hi")])
    for lesson in (
        Lesson("week", kind="preference", key="time_grain"),
        Lesson("tea", kind="preference", key="drink"),
        Lesson("SELECT 1", kind="question", key="one"),
        Lesson("a customer who comes back", kind="definition", key="regulars"),
        Lesson("orders.is_test = 0", kind="preference", key="default_filter:orders.is_test", owner="project"),
    ):
        await memory.learn(ALEX, lesson)
    await memory.terms.put(ALEX, Term("basket", description="What is bought together."))


async def test_all_of_a_briefing_takes_one_round_trip(memory: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    await teach(memory)
    trips = list[tuple[str, ...]]()
    run = Database.run

    async def counting(self: Database, scope: Any, *statements: Any, **how: Any) -> Any:
        trips.append(tuple(name for name, _ in statements))
        return await run(self, scope, *statements, **how)

    monkeypatch.setattr(Database, "run", counting)
    told = await memory.runtime.brief(ALEX, WANTED)

    assert len(trips) == 1
    assert [turn.text for turn in told.turns] == ["hello", "hi"]
    assert {each.value for each in told.own} == {"week", "SELECT 1"}
    assert [each.value for each in told.shared] == ["orders.is_test = 0"]
    assert [(each.term, each.tier) for each in told.resolved or ()] == [("regulars", "user"), ("basket", "ontology")]
    assert (told.standalone, told.is_summarized) == (QUESTION, False)


@pytest.mark.parametrize("scope", [Scope("blake", "monday", "shop"), Scope("alex", "monday", "bank")])
async def test_a_briefing_tells_nothing_of_other_users_and_projects(memory: Engine, scope: Scope) -> None:
    await teach(memory)

    told = await memory.runtime.brief(scope, WANTED)

    is_shared = scope.project == "shop"
    assert (told.turns, told.own, len(told.shared)) == ([], [], int(is_shared))
    assert [each.tier for each in told.resolved or ()] == [None, "ontology" if is_shared else None]


async def test_what_is_promoted_or_ended_counts_in_the_next_briefing(memory: Engine) -> None:
    await teach(memory)
    told = await memory.runtime.brief(ALEX, WANTED)
    [grain] = [each for each in told.own if each.key == "time_grain"]
    [asked] = [each for each in told.own if each.key == "one"]

    await memory.promote(ALEX, grain.id)
    await memory.close(ALEX, asked.id)

    told = await memory.runtime.brief(ALEX, WANTED)
    assert [each.value for each in told.own if each.status == "active"] == []
    assert {each.value for each in told.shared} == {"week", "orders.is_test = 0"}


async def test_a_follow_up_stands_alone_and_its_words_are_left_to_the_caller(memory: Engine) -> None:
    await memory.record(ALEX, [("user", QUESTION), ("assistant", "12")])

    told = await memory.runtime.brief(ALEX, replace(WANTED, question="And in 2023?", terms=("2023",)))

    assert (told.standalone, told.resolved) == ("How many regulars bought something in 2023?", None)


async def test_a_meaning_that_a_briefing_gives_counts_as_used_unless_it_is_of_another_question(memory: Engine) -> None:
    await teach(memory)
    await memory.record(ALEX, [("user", QUESTION), ("assistant", "12")])

    await memory.runtime.brief(ALEX, replace(WANTED, question="And in 2023?"))
    await memory.runtime.brief(ALEX, WANTED)
    await memory._deps.usage.flush()

    [known] = await memory.memories(ALEX, kinds=("definition",))
    assert known.usage_count == 1


async def test_switched_off_a_briefing_has_what_the_request_itself_defines(settings: Settings) -> None:
    async with connect(replace(settings, enabled=False), worker=False) as memory:
        told = await memory.runtime.brief(ALEX, replace(WANTED, definitions={"basket": "a bag"}))

    assert (told.standalone, told.turns, told.own) == (QUESTION, (), ())
    assert [each.meaning for each in told.resolved or ()] == [None, "a bag"]


async def test_a_briefing_says_whether_its_own_session_was_summed_up(memory: Engine) -> None:
    await memory.record(ALEX, [("user", f"I moved to house number {n} in Leeds.") for n in range(100)])
    await memory.record(replace(ALEX, session="tuesday"), [("user", "hello")])
    before = await memory.runtime.brief(ALEX, WANTED)
    await memory.settle(ALEX)

    told = [await memory.runtime.brief(replace(ALEX, session=name), WANTED) for name in ("monday", "tuesday")]

    assert [each.is_summarized for each in (before, *told)] == [False, True, False]
