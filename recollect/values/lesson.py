"""Lesson: something that a person or an application explicitly asks to remember, and who owns it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from recollect.errors import InvalidInput
from recollect.values.memory import DEFINES, Evidence, LearnedBy, MemoryKind, Source
from recollect.values.query import check_choice, check_range
from recollect.values.scope import MAX_NAME, uuid7
from recollect.values.text import check_data, check_optional_text, check_text

Owner = Literal["user", "project"]
MAX_VALUE_CHARS = 4000
MAX_DATA_CHARS = 20_000
CONFIDENCE: Mapping[Source, float] = {
    "explicit": 1.0,
    "manual": 1.0,
    "correction": 0.95,
    "clarification": 0.9,
    "qa_turn": 0.8,
    "inferred": 0.7,
    "summary": 0.7,
}
IMPORTANCE = 0.6
TURN = re.compile(r"(.{1,200})#(\d{1,9})", re.DOTALL)
# Who owns the answer to a clarification, by its wording. Personal wording is the user's, even if it defines a term.
PERSONAL = re.compile(
    r"\b(?:i call|i refer to|i mean|i'd say|i say|i prefer|for me|to me|personally|in my)\b"
    r"|我(?:说的|指的|的意思|叫|称|习惯|喜欢|个人)|对我来说",
    re.IGNORECASE,
)
SHARED = re.compile(
    r"\b(?:means?|(?:is |are )?defined as|fiscal|we|our|us|company|company-wide|organi[sz]ation|business"
    r"|everyone|official\w*|policy|includes?|excludes?)\b|我们|公司|部门|定义为|是指|财年|规定|口径",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A statement to remember. `key` is the term or the topic; without one it is a note. `owner` None: decided by the
    wording."""

    value: str
    key: str = "note"
    kind: MemoryKind = "note"
    source: Source = "explicit"
    owner: Owner | None = None
    confidence: float | None = None  # None: by the source
    importance: float = IMPORTANCE
    data: Mapping[str, Any] | None = None
    question: str | None = None  # what was asked when this was learned
    pending: bool = False  # somebody has to approve it first
    said_in: str | None = None  # the turn of the user's that it comes from; forgotten with its session
    learned_by: LearnedBy = "person"  # "rules" or "model" if an application generated it

    def __post_init__(self) -> None:
        check_text("value", self.value, MAX_VALUE_CHARS)
        check_text("key", self.key, MAX_NAME)
        check_choice("kind", self.kind, get_args(MemoryKind))
        check_choice("source", self.source, get_args(Source))
        check_choice("learned_by", self.learned_by, get_args(LearnedBy))
        check_choice("owner", self.owner, get_args(Owner), optional=True)
        check_range("confidence", self.confidence, 0, 1, whole=False, optional=True)
        check_range("importance", self.importance, 0, 1, whole=False)
        if not isinstance(self.pending, bool):
            raise InvalidInput("pending", f"{self.pending!r} is neither True nor False")
        check_optional_text("question", self.question, MAX_VALUE_CHARS)
        check_data("data", self.data, MAX_DATA_CHARS)
        if self.said_in is not None and not TURN.fullmatch(self.said_in):
            raise InvalidInput("said_in", f"{self.said_in!r} names no turn; that is `session#index`")

    @classmethod
    def clarification(cls, term: str, answer: str, question: str | None = None) -> Lesson:
        """Return the lesson of a user's answer to what a word means."""
        return cls(answer, key=term, kind="definition", source="clarification", question=question)

    @property
    def owned_by(self) -> Owner:
        if self.owner is not None:
            return self.owner
        is_shared = self.source == "clarification" and not PERSONAL.search(self.value) and SHARED.search(self.value)
        return "project" if is_shared else "user"


def build_lesson_evidence(lesson: Lesson, author: str, now: datetime) -> Evidence:
    asked = {"question": lesson.question} if lesson.question else {}
    data = {**(lesson.data or {}), **asked}
    return Evidence(
        id=uuid7(),
        act="proposes" if lesson.pending else "says",
        kind=lesson.kind,
        key=" ".join(lesson.key.split()).casefold() if lesson.kind in DEFINES else lesson.key,
        value=lesson.value.strip(),
        confidence=lesson.confidence if lesson.confidence is not None else CONFIDENCE[lesson.source],
        importance=lesson.importance,
        source=lesson.source,
        learned_by=lesson.learned_by,
        said_at=now,
        data=data or None,
        author=author,
    )
