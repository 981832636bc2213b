"""What the memory page shows: names of kinds and statuses, counts by kind, the history of a memory, the sections of a
context. Pure functions; memory.py loads the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import get_args

from recollect.errors import InvalidInput
from recollect.server.console.render import group_in_order
from recollect.values.memory import Memory, MemoryKind, Status, find_linked, is_single
from recollect.values.query import Context, Line

KINDS: Mapping[str, tuple[str, str]] = {  # title of a group, and what belongs to it
    "identity": ("Profile", "name, location, job"),
    "preference": ("Preferences", "likes, dislikes and style"),
    "constraint": ("Constraints", "allergies, budgets, deadlines"),
    "instruction": ("Instructions", "how answers should be written"),
    "fact": ("Facts", "anything else about the user's world"),
    "decision": ("Decisions", "what was agreed"),
    "todo": ("To-dos", "open tasks"),
    "terminology": ("Terminology", "the user's names for things"),
    "definition": ("Definitions", "what a term means"),
    "correction": ("Corrections", "answers the user corrected"),
    "question": ("Questions", "past questions and their answers"),
    "note": ("Notes", "everything else"),
}
CURRENT: tuple[Status, ...] = ("active", "pending")
STATUSES: Mapping[str, tuple[str, Sequence[Status] | None]] = {
    "": ("Active and pending", CURRENT),
    "pending": ("Pending approval", ("pending",)),
    "ended": ("Ended", ("superseded", "retracted")),
    "all": ("All", None),
}
REJECTION_REASONS: Mapping[str, str] = {  # reason: what it means; what is in quotes must be rejected for this reason
    "question": "It was a question, not a statement: “am I allergic to nuts?”",
    "hypothetical": "It was hypothetical: “if I lived in Porto …”",
    "reported": "It was somebody else's claim: “he says I live in Porto”.",
    "others": "It was about somebody else: “he lives in Porto”.",
    "denied": "It was denied: “it is not true that I live in Porto”.",
    "negated": "It was negated: “I am not a doctor” does not give a job.",
    "past": "It is no longer true: “I used to live in Porto”.",
    "temporary": "It is only temporary: “I am in Porto this week”.",
    "request": "It was a request: “write a letter to my bank”.",
    "joke": "It was a joke: “I live in Porto, just kidding”.",
    "small talk": "It was small talk: “good morning”.",
    "role play": "It was role play: “pretend I am a doctor”.",
    "quoted": "It was quoted text, code, or text recalled from memory.",
    "not the user": "It came from the assistant or a tool. Only the user's own messages are learned from.",
    "forget": "The user asked to forget it in the same message.",
    "weak": "The confidence or the importance was too low.",
    "too many": "The message had more statements than are learned from one message.",
    "too short": "The statement was too short.",
    "too long": "The statement was too long for one memory.",
    "known already": "It is already remembered.",
    "vague": "It was vague: “I like that”.",
    "less sure than what is known": "It contradicts a memory that has higher confidence.",
    "not in the text": "The model quoted text that is not in the message.",
    "not in the quote": "The model's quote does not support the statement.",
    "no such turn": "The model referred to a message that does not exist.",
    "no such category": "The model used a kind of memory that does not exist.",
    "no usable key": "The model did not say what the statement is about.",
}
SEARCH_ARMS: Mapping[str, str] = {"bm25": "keywords", "vector": "meaning", "trigram": "spelling"}
SECTIONS: Mapping[str, str] = {
    "terms": "Definitions",
    "known": "Memories",
    "episodes": "Summaries of earlier messages",
    "recalled": "Relevant messages",
    "recent": "Latest messages of the session",
}


@dataclass(frozen=True, slots=True)
class KindCounts:
    """The number of memories of each kind; `is_more` where there are more than were counted."""

    kinds: Mapping[str, int]
    is_more: bool = False

    @property
    def total(self) -> str:
        return f"{sum(self.kinds.values()):,}{'+' if self.is_more else ''}"


@dataclass(frozen=True, slots=True)
class History:
    """The values a memory had, newest first. `related` have the same key but are independent, as notes are."""

    memory: Memory
    values: Sequence[Memory]
    related: Sequence[Memory]

    @property
    def current(self) -> Memory:
        return next((each for each in self.values if each.status in CURRENT), self.memory)


def count_kinds(memories: Sequence[Memory], limit: int) -> KindCounts:
    counts = Counter(memory.kind for memory in memories)
    return KindCounts({kind: counts[kind] for kind in get_args(MemoryKind) if counts[kind]}, len(memories) == limit)


def build_history(memory: Memory, same_key: Iterable[Memory]) -> History:
    newest = sorted(same_key, key=lambda each: (each.valid_from, each.id), reverse=True)
    if is_single(memory.kind, memory.key):
        return History(memory, newest, ())
    linked = find_linked(memory.id, newest)
    values = [each for each in newest if each.id in linked]
    return History(memory, values, [each for each in newest if each.id not in linked and each.kind == memory.kind])


def group_lines(context: Context) -> list[tuple[str, list[Line], int]]:
    """Return the lines of a context by section: title, lines, tokens."""
    groups = group_in_order(context.lines, lambda line: line.section, SECTIONS)
    return [(SECTIONS[name], lines, sum(line.tokens for line in lines)) for name, lines in groups]


def parse_end_of_day(field: str, text: str) -> datetime | None:
    """Return the last moment of a day; None for an empty field."""
    if not text.strip():
        return None
    try:
        return datetime.combine(date.fromisoformat(text.strip()), time.max, UTC)
    except ValueError:
        raise InvalidInput(field, f"must be a date such as 2026-03-31, got {text!r}") from None
