"""Memories, the evidence they rest on, and facts found in a turn.

A fact is what an extraction found in one turn; evidence is one statement about a key; a memory is the result of all
evidence of its key (learning/reconcile.py). A new value never overwrites an old one: the old one ends, with the reason
and a reference to its successor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.values.scope import ConversationId, MemoryId
from recollect.values.text import stem_term

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
        "answer_length",
    )
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement of a user, found in one turn. `value` is trimmed; `span` is its place in the turn; `old` is the
    value it replaces."""

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
    """An instruction of the user to the memory: "remember that ...", "forget that ...". `text` is the rest."""

    verb: Verb
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Rejection:
    """Something that was not remembered, and why."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in a turn, and what was rejected. The reasons are counted."""

    facts: Sequence[Fact] = ()
    rejected: Sequence[Rejection] = ()
    commands: Sequence[Command] = ()


MemoryKind = Literal[Category, "terminology", "definition", "correction", "question", "note"]
Act = Literal["says", "proposes", "refuses", "retracts", "completes", "promotes"]
Source = Literal["clarification", "correction", "explicit", "inferred", "summary", "qa_turn", "manual"]
LearnedBy = Literal["rules", "model", "person"]
Status = Literal["active", "pending", "superseded", "retracted"]

ALWAYS_ON = 0.5  # importance from which a memory is in every context
DEFINES = ("definition", "terminology")
# Kinds that say something in sentences, for a person or a model to read.
FACTS: tuple[MemoryKind, ...] = ("note", "fact", "instruction", "decision", "constraint", "definition", "terminology")
ABOUT_QUESTIONS = ("question", "correction")  # kinds that say what to answer: the question is part of what is known
OUTRIGHT = ("clarification", "correction", "explicit", "manual")  # sources in which a person stated it explicitly


@dataclass(frozen=True, slots=True)
class Evidence:
    """One statement about a key, made in a turn or by a person directly."""

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
    """One thing known about a user or a project. `refs` are the turns it rests on, newest first; `confidence` is after
    decay."""

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
    place: str = field(default="", repr=False)  # orders its first evidence among others of the same `valid_from`

    @property
    def ref(self) -> str:
        """How citations and `explain` name this memory."""
        return f"memory:{self.id}"

    @property
    def is_always_on(self) -> bool:
        return self.status == "active" and self.importance >= ALWAYS_ON

    @property
    def text(self) -> str:
        """The memory as a person reads it."""
        return self.value if self.is_sentence else f"{self.key}: {self.value}"

    @property
    def is_sentence(self) -> bool:
        """Whether the value says everything by itself: it was kept as it was said, or its kind has no keys."""
        return self.key == self.kind or self.kind in ("note", "todo", "decision", "instruction")


def check_current(memory: Memory) -> Memory:
    """Return the memory; raise InvalidInput, which names its successor, if it was replaced: a caller that holds an old
    id and wants to erase the memory means the current value."""
    if memory.replaced_by is not None:
        problem = f"{memory.id} was replaced; delete its current version, memory:{memory.replaced_by}"
        raise InvalidInput("memory", problem)
    return memory


def get_slot(kind: MemoryKind, key: str) -> tuple[str, str]:
    """Return what competes for one value: a kind and a key. Personal keys have no kind, because extraction may call
    where a user lives an identity or a fact."""
    return ("", key) if is_personal(kind, key) else (kind, key)


def is_single(kind: MemoryKind, key: str) -> bool:
    """Return whether a newer value of a key ends the older one."""
    return is_personal(kind, key) or kind in DEFINES or key.startswith(("default_filter:", "favourite_"))


def is_personal(kind: MemoryKind, key: str) -> bool:
    return key in SINGLE_KEYS and kind in get_args(Category)


def classify_fact(fact: Fact) -> tuple[MemoryKind, str]:
    """Return the memory kind and key of a fact. What a rule found about a term is a definition, or the term's other
    name."""
    if fact.key.startswith("definition:"):
        kind: MemoryKind = "terminology" if fact.category == "instruction" else "definition"
        return kind, fact.key.removeprefix("definition:")
    return ("note", "note") if fact.key == "note" else (fact.category, fact.key)


def list_lookup_terms(kind: MemoryKind, key: str, value: str) -> tuple[str, ...]:
    """Return what `resolve` finds a memory by: the term; of "call our customers clients" also the last word."""
    if kind not in DEFINES:
        return ()
    words = [key, value.split()[-1]] if kind == "terminology" and value.lower().startswith(("call", "refer")) else [key]
    return tuple(dict.fromkeys(filter(None, map(stem_term, words))))


def list_versions(memory: Memory, same_key: Iterable[Memory]) -> list[Memory]:
    """Return every value that a memory had, oldest first, of the memories with its key. A single key has one value at
    a time; several independent memories may share any other key, such as `note`."""
    ordered = sorted(same_key, key=lambda each: (each.valid_from, each.id))
    if is_single(memory.kind, memory.key):
        return [each for each in ordered if get_slot(each.kind, each.key) == get_slot(memory.kind, memory.key)]
    linked = find_linked(memory.id, ordered)
    return [each for each in ordered if each.id in linked]


def find_linked(start: MemoryId, memories: Iterable[Memory]) -> set[MemoryId]:
    """Return the ids of a memory, of all that it replaced and of all that replaced it."""
    links = [(memory.id, memory.replaced_by) for memory in memories if memory.replaced_by]
    linked, size = {start}, 0
    while size < len(linked):
        size = len(linked)
        linked |= {end for pair in links if linked.intersection(pair) for end in pair}
    return linked
