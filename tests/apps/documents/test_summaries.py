"""After every six answered questions of a session a summary of them is remembered; it goes with what it rests on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from recollect import Engine, Scope, Turn, Upload, connect
from recollect.apps.documents.librarian import Librarian
from recollect.apps.documents.memory import has_content
from recollect.apps.documents.question import Answered, Question
from recollect.learning.document_turns import select_for_summary
from recollect.settings import Settings
from recollect.values.conversation import Episode
from recollect.values.query import EpisodeHit
from recollect.values.scope import uuid7

from .library_door import ALEX, GARDEN, PRICES

MONDAY = Scope("alex", "monday")
QUESTIONS = (
    "How much is a tyre change?",
    "How much is a service?",
    "Who is the mayor of Lisbon?",
    "What is free for members of the club?",
    "When is the workshop open?",
    "How long does a tyre change take?",
)


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, worker=False) as memory:
        for name, content in (("prices.md", PRICES), ("garden.md", GARDEN)):
            await memory.documents.add(ALEX, Upload(name, content))
        await memory.settle(ALEX)
        yield memory


async def asked(engine: Engine, settings: Settings, scope: Scope, *questions: str, **more: Any) -> list[Answered]:
    librarian = Librarian(engine, settings)
    answers = [await librarian.query(scope, Question(each, include_history=False, **more)) for each in questions]
    await engine.settle(ALEX)
    return answers


def summaries(answer: Answered) -> list[str]:
    return [each.text for each in answer.memories if each.source == "summary"]


async def test_six_answers_are_summed_up_and_told_where_they_matter(engine: Engine, settings: Settings) -> None:
    await asked(engine, settings, MONDAY, *QUESTIONS[:5])
    assert await engine.episodes(MONDAY) == []
    await asked(engine, settings, MONDAY, QUESTIONS[5], "When are roses pruned?")
    [episode] = await engine.episodes(MONDAY)
    assert (episode.first, episode.last, episode.learned_by) == (0, 11, "rules")
    assert "tyre change" in episode.text
    assert "Doc " not in episode.text
    assert "I do not know" not in episode.text
    assert "Lisbon" not in episode.text

    question = "What did I ask about the workshop and the tyre change?"
    [there] = await asked(engine, settings, Scope("alex", "tuesday"), question, top_memories=20)
    assert summaries(there) == [episode.summary]
    assert (await Librarian(engine, settings).again(ALEX, there.ref or "")).memories == there.memories
    [prices] = [each for each in await engine.documents.find(ALEX) if each.title == "prices.md"]
    await engine.documents.drop(ALEX, prices.id)
    [gone] = await asked(engine, settings, Scope("alex", "friday"), question, top_memories=20)
    assert summaries(gone) == []


async def test_questions_that_were_not_answered_are_never_remembered_as_an_answer(
    engine: Engine, settings: Settings
) -> None:
    refused = [f"Who is the mayor of {city}?" for city in ("Lisbon", "Porto", "Turin", "Ghent", "Basel", "Malaga")]
    await asked(engine, settings, MONDAY, *refused)
    [episode] = await engine.episodes(MONDAY)
    assert "mayor" not in episode.text
    [there] = await asked(engine, settings, Scope("alex", "tuesday"), "Is the mayor of Porto known?", top_memories=20)
    assert (there.refused, there.memories) == (True, ())


@pytest.mark.parametrize(
    ("summary", "answered", "is_told"),
    [
        ('User asked: "Who approves trips?" "Who is the tenant?"', True, False),
        ('用户问："年假有几天？"', True, False),
        ('User asked: "Who approves trips?" Assistant: "Ms Okafor does."', True, True),
        ('User asked: "Who approves trips?" Assistant: "Ms Okafor does."', False, False),
    ],
)
def test_a_summary_that_only_tells_questions_is_not_offered(summary: str, answered: bool, is_told: bool) -> None:
    source = {"document": "01890000-0000-7000-8000-000000000000", "cited": answered}
    turns = [Turn("assistant", "As written.", data={"host": "documents", "sources": [source]})]
    now = datetime(2026, 3, 2, tzinfo=UTC)
    lists = ((), (), (), (), ())
    episode = Episode(uuid7(), "monday", 0, 1, summary, *lists, "rules", None, 9, now, now, now)
    assert has_content(EpisodeHit(episode, "user", 1.0, None), turns) == is_told


@pytest.mark.parametrize(("every", "ranges"), [(2, [(0, 3), (4, 7), (8, 11)]), (0, [])])
async def test_how_many_answers_make_a_summary_can_be_set(
    settings: Settings, engine: Engine, every: int, ranges: list[tuple[int, int]]
) -> None:
    chosen = replace(settings, summary_every=every)
    async with connect(chosen, worker=False) as memory:
        await asked(memory, chosen, MONDAY, *QUESTIONS)
        assert [(each.first, each.last) for each in await memory.episodes(MONDAY)] == ranges


async def test_other_conversations_are_summed_up_as_before(engine: Engine) -> None:
    await engine.record(MONDAY, [Turn("user", f"The heron stood at pond {n}.") for n in range(12)])
    await engine.settle(ALEX)
    assert await engine.episodes(MONDAY) == []


@pytest.mark.parametrize(
    ("data", "left"),
    [
        ({"host": "documents", "error_stage": "llm_reply"}, []),
        ({"host": "documents", "refused": True}, []),
        ({"host": "documents", "refused": False}, ["It costs 40 euros, as written."]),
        (None, ["It costs 40 euros (Doc 01890000-0000-7000-8000-000000000000/Chunk 3), as written."]),
    ],
)
def test_a_summary_is_made_of_answers_without_stopgaps_and_citations(
    data: dict[str, object] | None, left: list[str]
) -> None:
    turn = Turn(
        "assistant", "It costs 40 euros (Doc 01890000-0000-7000-8000-000000000000/Chunk 3), as written.", data=data
    )
    assert [each.text for each in select_for_summary([turn])] == left
