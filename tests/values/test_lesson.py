"""lesson: what a person tells outright, checked, and whose it is by its wording."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from recollect import InvalidInput, Lesson
from recollect.values.lesson import build_lesson_evidence

NOW = datetime(2025, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("answer", "owner"),
    [
        ("I call them clients", "user"),
        ("For me, recent means the last week", "user"),
        ("I MEAN the ones with an open order", "user"),
        ("I prefer the fiscal one", "user"),
        ("对我来说是最近七天", "user"),
        ("我说的最近是指过去7天", "user"),
        ("logged in within 30 days", "user"),
        ("the last week", "user"),
        ("active means logged in within 30 days", "project"),
        ("it is defined as revenue without tax", "project"),
        ("We count everybody who paid", "project"),
        ("the fiscal year starts in April", "project"),
        ("company-wide it is net revenue", "project"),
        ("excludes refunds", "project"),
        ("我们只算付费用户", "project"),
        ("公司规定是30天", "project"),
    ],
)
def test_whose_an_answer_is_follows_from_its_wording(answer: str, owner: str) -> None:
    lesson = Lesson.clarification("active", answer, "active in what way?")

    assert lesson.owned_by == owner
    assert Lesson(answer).owned_by == "user"


def test_a_backslash_before_a_word_is_no_nul() -> None:
    assert Lesson("fine", data={"a": "C:\\u0000"}).data


@pytest.mark.parametrize("owner", ["user", "project"])
def test_who_says_whose_it_is_is_obeyed(owner: Any) -> None:
    assert Lesson("we mean this", key="this", kind="definition", source="clarification", owner=owner).owned_by == owner


def test_a_lesson_becomes_evidence_of_who_made_it() -> None:
    said = build_lesson_evidence(Lesson.clarification("Active  User", " paid ", "which?"), "alex", NOW)

    assert (said.kind, said.key, said.value, said.source, said.confidence) == (
        *("definition", "active user", "paid", "clarification", 0.9),
    )
    assert (said.learned_by, said.author, said.ref, said.data, said.is_outright) == (
        *("person", "alex", "@alex", {"question": "which?"}, True),
    )
    assert build_lesson_evidence(Lesson("x", source="qa_turn", learned_by="rules"), "alex", NOW).learned_by == "rules"
    assert (
        build_lesson_evidence(Lesson("x", pending=True, confidence=0.3, data={"a": 1}), "alex", NOW).act == "proposes"
    )


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"value": ""}, "value"),
        ({"value": " "}, "value"),
        ({"value": "x" * 4001}, "value"),
        ({"value": 3}, "value"),
        ({"key": ""}, "key"),
        ({"key": "k" * 201}, "key"),
        ({"kind": "rumour"}, "kind"),
        ({"source": "hearsay"}, "source"),
        ({"learned_by": "hearsay"}, "learned_by"),
        ({"owner": "everybody"}, "owner"),
        ({"confidence": 1.1}, "confidence"),
        ({"confidence": True}, "confidence"),
        ({"importance": -0.1}, "importance"),
        ({"importance": "high"}, "importance"),
        ({"question": ""}, "question"),
        ({"data": ["a"]}, "data"),
        ({"data": {"a": {1}}}, "data"),
        ({"data": {"a": float("nan")}}, "data"),
        ({"data": {"a": "\0"}}, "data"),
        ({"data": {"a": "x" * 20_001}}, "data"),
        ({"data": {"a": "\ud800"}}, "data"),
        ({"data": {"a": ["\\\0"]}}, "data"),
        ({"pending": "yes"}, "pending"),
    ],
)
def test_a_lesson_that_cannot_be_kept_names_its_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Lesson(**({"value": "fine"} | given))

    assert error.value.field == field
