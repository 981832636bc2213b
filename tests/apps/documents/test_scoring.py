"""Which memories are used besides documents, and which sentences answer: arithmetic, without a database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recollect.apps.documents.answer_text import take_fitting, trim_history
from recollect.apps.documents.memory import MAX_BOOST, jaccard, score_memory, select_memories
from recollect.apps.documents.question import Recollection
from recollect.apps.documents.quotes import quote_answer
from recollect.recall.lexemes import count_tokens
from recollect.values.conversation import Turn

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def recollection(text: str, score: float) -> Recollection:
    return Recollection(text, "manual", text, score)


def test_importance_and_being_recent_raise_a_score_but_never_far() -> None:
    old = NOW - timedelta(days=3650)
    plain = score_memory(0.5, 0.0, None, NOW)
    assert plain == 0.5
    assert score_memory(0.5, 1.0, old, NOW) == pytest.approx(0.525, abs=1e-3)
    assert score_memory(0.5, 0.0, NOW, NOW) == pytest.approx(0.55)
    assert score_memory(0.5, 0.0, NOW - timedelta(days=30), NOW) == pytest.approx(0.525)
    assert score_memory(0.5, 1000.0, NOW, NOW) == pytest.approx(0.5 * MAX_BOOST)
    assert score_memory(-1.0, 1.0, NOW, NOW) == 0


def test_a_memory_that_a_chunk_says_too_is_left_out() -> None:
    chunk = "A tyre change costs forty euros and takes half an hour."
    same, other = recollection("A tyre change costs forty euros, takes half an hour", 0.9), recollection("Roses", 0.2)
    assert jaccard(same.text, chunk) > 0.8
    assert select_memories([same, other], [chunk], 3) == (other,)
    assert select_memories([other, same], [], 3) == (same, other)
    assert select_memories([other, same], [], 1) == (same,)
    assert select_memories([same, same], [], 3) == (same,)
    assert select_memories([same], [], 0) == ()


@pytest.mark.parametrize("room", [0, 5, 20, 1000])
def test_history_is_the_last_turns_that_fit_without_errors(room: int) -> None:
    failed = Turn("assistant", "I could not answer.", data={"error_stage": "llm_reply"})
    turns = [Turn("user", f"question number {n}?") for n in range(5)] + [failed, Turn("system", "x")]
    chosen, used = trim_history(turns, room)
    assert used == sum(count_tokens(turn.text) for turn in chosen) <= room
    assert chosen == turns[5 - len(chosen) : 5]
    assert len(chosen) == (5 if room == 1000 else room // count_tokens("question number 0?"))


def test_a_first_passage_that_is_too_long_is_cut_rather_than_left_out() -> None:
    long = "word " * 1000
    [cut] = take_fitting([long, "short"], 100)
    assert count_tokens(cut) <= 102
    assert cut.endswith(" …")
    assert take_fitting(["one", "two", long], 100) == ["one", "two"]


@pytest.mark.parametrize(
    ("question", "is_told"), [("What rent is paid in Seville?", True), ("What rent is paid in Malmo?", False)]
)
def test_what_is_remembered_of_another_question_is_not_told_as_the_answer(question: str, is_told: bool) -> None:
    memory = Recollection("memory:1", "qa_turn", "What rent is paid in Seville?: 5410 euros a month", 0.9)
    assert (quote_answer(question, [], [memory]).memory is not None) is is_told
