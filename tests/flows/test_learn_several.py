"""Several lessons are learned in one change, and what they take the place of ends in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect import Engine, InvalidInput, Lesson, Memory, NotFound, Scope, Turn

ALEX = Scope("alex")


def shown(memories: list[Memory]) -> dict[str, str]:
    return {memory.value: memory.status for memory in memories}


async def test_each_lesson_has_its_memory_in_the_order_given_whoever_owns_it(memory: Engine) -> None:
    lessons = [
        Lesson("tea", key="drink"),
        Lesson("a paying customer", key="client", kind="definition", owner="project"),
        Lesson("rice", key="food"),
        Lesson("tea", key="drink"),
    ]

    learned = await memory.learn(ALEX, lessons)

    assert [(each.key, each.value) for each in learned] == [(lesson.key, lesson.value) for lesson in lessons]
    assert learned[0].id == learned[3].id
    assert {each.key for each in await memory.memories(ALEX)} == {"drink", "food"}
    assert {each.key for each in await memory.memories(ALEX, owner="project")} == {"client"}
    assert await memory.learn(ALEX, []) == []


async def test_what_a_lesson_takes_the_place_of_ends_with_it_and_nothing_else_does(memory: Engine) -> None:
    old, other, elsewhere = await memory.learn(
        ALEX, [Lesson("tea", key="drink"), Lesson("milk", key="drink"), Lesson("rice", key="food")]
    )

    await memory.learn(ALEX, Lesson("coffee", key="drink"), ending=[old.id, str(elsewhere.id)])

    assert shown(await memory.memories(ALEX, key="drink", status=None)) == {
        "tea": "superseded",
        "milk": "active",
        "coffee": "active",
    }
    assert shown(await memory.memories(ALEX, key="food")) == {"rice": "active"}
    assert other.status == "active"


async def test_of_several_lessons_with_a_wrong_one_nothing_is_learned(memory: Engine) -> None:
    with pytest.raises(InvalidInput):
        await memory.learn(ALEX, [Lesson("tea"), 5])  # type: ignore[list-item]

    assert await memory.memories(ALEX) == []


async def test_memories_are_listed_by_several_keys(memory: Engine) -> None:
    await memory.learn(ALEX, [Lesson("tea", key="drink"), Lesson("rice", key="food"), Lesson("york", key="home")])

    assert shown(await memory.memories(ALEX, key=["drink", "home", "none"])) == {"tea": "active", "york": "active"}
    assert await memory.memories(ALEX, key=[]) == []


async def test_a_lesson_that_comes_from_a_turn_is_forgotten_with_its_session(memory: Engine) -> None:
    monday = await memory.record(
        Scope("alex", "monday"), [("user", "What is a tyre change?"), ("assistant", "40 euros")]
    )
    lesson = Lesson(
        "40 euros", key="tyre change", kind="question", source="qa_turn", owner="user", said_in=monday.refs[1]
    )
    learned = await memory.learn(ALEX, lesson)
    await memory.learn(ALEX, Lesson("tea", key="drink"))

    assert learned.refs == ("monday#1",)
    with pytest.raises(NotFound):
        await memory.learn(ALEX, replace(lesson, said_in="tuesday#0"))
    with pytest.raises(InvalidInput, match="said_in"):
        replace(lesson, said_in="monday")

    await memory.forget(Scope("alex", "monday"))
    assert shown(await memory.memories(ALEX, status=None)) == {"tea": "active"}


@pytest.mark.parametrize(("data", "learned"), [(None, ["name", "fact"]), ({"host": "sql", "source": "shop"}, ["name"])])
async def test_questions_to_a_database_state_nothing(
    memory: Engine, data: dict[str, str] | None, learned: list[str]
) -> None:
    alex = Scope("alex", session="monday")
    await memory.record(
        alex, Turn("user", "My name is Alex. Our sales team uses the old warehouse in Leeds.", data=data)
    )
    await memory.settle(alex)
    assert [each.key for each in await memory.memories(ALEX)] == learned
