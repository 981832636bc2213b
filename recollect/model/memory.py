"""Memory: one thing known about a user or a project, and the evidence it rests on.

Evidence is what somebody said, once; a memory is what all the evidence of its key comes to (reconcile.py). A new value
never overwrites an old one: it ends its validity, says why, and is named by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from recollect.model.fact import SINGLE_KEYS, Fact
from recollect.model.ids import ConversationId, MemoryId
from recollect.model.term import term_stem

MemoryKind = Literal[
    "identity",
    "preference",
    "constraint",
    "instruction",
    "fact",
    "decision",
    "todo",
    "terminology",
    "definition",
    "correction",
    "question",
    "note",
]
Act = Literal["says", "proposes", "refuses", "retracts", "completes", "promotes"]
Source = Literal["clarification", "correction", "explicit", "inferred", "summary", "qa_turn", "manual"]
LearnedBy = Literal["rules", "model", "person"]
Status = Literal["active", "pending", "superseded", "retracted"]

ALWAYS_ON = 0.5  # importance from which a memory is in every context
DEFINES = ("definition", "terminology")
OUTRIGHT = ("clarification", "correction", "explicit", "manual")  # a person said so, for that purpose


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something said about one key, at one place in the log, or by a person outright."""

    id: UUID
    act: Act
    kind: MemoryKind
    key: str
    value: str
    confidence: float
    importance: float
    source: Source
    learned_by: LearnedBy
    said_at: datetime
    corrects: bool = False
    old: str | None = None
    data: Mapping[str, Any] | None = None
    conversation: ConversationId | None = None
    session: str | None = None
    turn: int | None = None
    author: str | None = None
    memory: MemoryId | None = None

    @property
    def ref(self) -> str:
        """The turn it was said in, or who said it."""
        return f"{self.session}#{self.turn}" if self.turn is not None else f"@{self.author or 'somebody'}"

    @property
    def is_outright(self) -> bool:
        return self.corrects or self.source in OUTRIGHT


@dataclass(frozen=True, slots=True)
class Memory:
    """`refs` are the turns it rests on, newest first; `confidence` is what time has left of it."""

    id: MemoryId
    kind: MemoryKind
    key: str
    value: str
    confidence: float
    importance: float
    source: Source
    learned_by: LearnedBy
    status: Status
    valid_from: datetime
    valid_to: datetime | None = None
    reason: str | None = None
    replaced_by: MemoryId | None = None
    refs: tuple[str, ...] = ()
    data: Mapping[str, Any] | None = None
    terms: tuple[str, ...] = ()
    usage_count: int = 0
    last_used_at: datetime | None = None
    created_at: datetime | None = None

    @property
    def ref(self) -> str:
        """How citations and `explain` name this memory."""
        return f"memory:{self.id}"

    @property
    def is_always_on(self) -> bool:
        return self.status == "active" and self.importance >= ALWAYS_ON

    @property
    def text(self) -> str:
        """As a person reads it."""
        return self.value if self.kind in ("note", "todo", "decision", "instruction") else f"{self.key}: {self.value}"


def slot(kind: MemoryKind, key: str) -> tuple[str, str]:
    """What competes: of a single-valued key and of a term there is one value at a time, whatever kind it came as."""
    return ("", key) if is_single(kind, key) else (kind, key)


def is_single(kind: MemoryKind, key: str) -> bool:
    return key in SINGLE_KEYS or kind in DEFINES or key.startswith("default_filter:")


def kind_and_key(fact: Fact) -> tuple[MemoryKind, str]:
    """Where a fact belongs. What a rule found about a term is a definition, or the term's other name."""
    if fact.key.startswith("definition:"):
        kind: MemoryKind = "terminology" if fact.category == "instruction" else "definition"
        return kind, fact.key.removeprefix("definition:")
    return ("note", "note") if fact.key == "note" else (fact.category, fact.key)


def lookup_terms(kind: MemoryKind, key: str, value: str) -> tuple[str, ...]:
    """What `resolve` finds a memory by: the term; of "call our customers clients" also the last word."""
    if kind not in DEFINES:
        return ()
    words = [key, value.split()[-1]] if kind == "terminology" and value.lower().startswith(("call", "refer")) else [key]
    return tuple(dict.fromkeys(filter(None, map(term_stem, words))))
