"""Fact: one thing a user said about himself or his world, as an extraction found it in one turn.

`extract` makes them by rules, a model may make them too; nothing here is stored yet. An `Extraction` also says what
was turned away and why, because a memory full of junk is worse than an empty one, and the reasons are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Category = Literal["identity", "preference", "constraint", "instruction", "fact", "decision", "todo"]
Verb = Literal["remember", "forget"]
Span = tuple[int, int]

KEPT_CONFIDENCE = 0.4
KEPT_IMPORTANCE = 0.2

# A new value of these ends the old one; any other key may hold several values side by side.
SINGLE_KEYS = frozenset(
    (
        *("name", "nickname", "pronouns", "location", "hometown", "nationality", "timezone", "job", "employer", "age"),
        *("birthday", "email", "phone", "address", "fiscal_year", "budget", "deadline", "answer_language"),
    )
)


@dataclass(frozen=True, slots=True)
class Fact:
    """`value` is what was said, trimmed; `span` is where it stands in the turn; `old` is what it takes the place of."""

    category: Category
    key: str
    value: str
    confidence: float
    importance: float
    span: Span
    explicit: bool = False
    corrects: bool = False
    old: str | None = None
    rule: str = ""

    @property
    def is_kept(self) -> bool:
        return self.confidence >= KEPT_CONFIDENCE and self.importance >= KEPT_IMPORTANCE


@dataclass(frozen=True, slots=True)
class Command:
    """The user told the memory what to do: "remember that ...", "forget that ...". `text` is the rest."""

    verb: Verb
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Rejection:
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Extraction:
    facts: Sequence[Fact] = ()
    rejected: Sequence[Rejection] = ()
    commands: Sequence[Command] = ()
