"""Shapes of the memory room: what a page shows, from what the engine gave. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import groupby
from typing import get_args

from recollect.errors import InvalidInput
from recollect.model.ids import MemoryId
from recollect.model.memory import Memory, MemoryKind, Status, is_single
from recollect.model.search import Context, Line, Section

KINDS: Mapping[str, tuple[str, str]] = {  # what a group is called, and what belongs to it
    "identity": ("Who you are", "name, place, work"),
    "preference": ("Preferences", "what you like and how you want it"),
    "constraint": ("Limits", "what must not be: allergies, budgets, dates"),
    "instruction": ("Instructions", "how answers are to be given"),
    "fact": ("Facts", "about your world"),
    "decision": ("Decisions", "what was settled"),
    "todo": ("To do", "what is still to be done"),
    "terminology": ("Your words", "what you call things"),
    "definition": ("Definitions", "what a word means"),
    "correction": ("Corrections", "what was put right"),
    "question": ("Questions", "what was asked for"),
    "note": ("Notes", "anything else"),
}
CURRENT: tuple[Status, ...] = ("active", "pending")
STATUSES: Mapping[str, tuple[str, Sequence[Status] | None]] = {
    "": ("what counts or waits", CURRENT),
    "pending": ("waits for approval", ("pending",)),
    "ended": ("ended", ("superseded", "retracted")),
    "all": ("everything, ever", None),
}
TURNED_AWAY: Mapping[str, str] = {  # reason: what it means, with an example
    "question": "It was asked, not told: “am I allergic to nuts?”",
    "hypothetical": "It was only supposed: “if I lived in Porto …”",
    "reported": "Somebody else says so: “he says I live in Porto”.",
    "others": "It is about somebody else: “he lives in Porto”.",
    "denied": "It was denied: “it is not true that I live in Porto”.",
    "negated": "It says what is not so: “I am not a doctor” gives no job.",
    "past": "It is over: “I used to live in Porto”.",
    "temporary": "It holds for a while only: “I am in Porto this week”.",
    "request": "It asks for something to be done: “write a letter to my bank”.",
    "joke": "It was said in jest: “I live in Porto, just kidding”.",
    "small talk": "It greets, thanks or takes leave: “good morning”.",
    "role play": "It was said in a part that somebody plays: “pretend I am a doctor”.",
    "quoted": "It stood in a quotation, in code or in recalled text.",
    "not the user": "The assistant or a tool said it. Only what the user says teaches.",
    "forget": "The user asked to forget it in that message.",
    "weak": "The rule that found it was not sure enough, or it matters too little.",
    "too many": "One message said more than is taken from one.",
    "too short": "What was left of it is too short to mean something.",
    "too long": "It is too long to be one thing known.",
    "vague": "It says nothing certain: “I like that”.",
    "less sure than what is known": "It contradicts what is known, and is less sure.",
    "not in the text": "A model claimed it and quoted words that nobody said.",
    "not in the quote": "A model claimed it, and what it quoted does not say so.",
    "no such turn": "A model claimed it of a message that is not there.",
    "no such category": "A model put it into a kind that does not exist.",
    "no usable key": "A model could not say what it is about.",
}
ARMS: Mapping[str, str] = {"bm25": "words", "vector": "meaning", "trigram": "spelling"}
SECTIONS: Mapping[Section, str] = {
    "terms": "What its words mean",
    "known": "What is known",
    "episodes": "Earlier, in short",
    "recalled": "Recalled messages",
    "recent": "Just said in the session",
}


@dataclass(frozen=True, slots=True)
class Tally:
    """How many memories each kind has; `is_more`: there are more than were counted."""

    kinds: Mapping[str, int]
    is_more: bool = False

    @property
    def total(self) -> str:
        return f"{sum(self.kinds.values()):,}{'+' if self.is_more else ''}"


@dataclass(frozen=True, slots=True)
class Story:
    """`values` are what was believed in one memory's place, the newest first; `beside` what stands under the same key
    without taking its place, as notes do."""

    known: Memory
    values: Sequence[Memory]
    beside: Sequence[Memory]

    @property
    def current(self) -> Memory:
        return next((each for each in self.values if each.status in CURRENT), self.known)


def tally(memories: Sequence[Memory], most: int) -> Tally:
    counted = Counter(memory.kind for memory in memories)
    return Tally({kind: counted[kind] for kind in get_args(MemoryKind) if counted[kind]}, len(memories) == most)


def by_kind(memories: Sequence[Memory]) -> list[tuple[str, list[Memory]]]:
    """In the order of KINDS; within a kind as they came."""
    order = list(KINDS)
    ordered = sorted(memories, key=lambda memory: order.index(memory.kind))
    return [(kind, list(group)) for kind, group in groupby(ordered, key=lambda memory: memory.kind)]


def story_of(known: Memory, under_key: Iterable[Memory]) -> Story:
    newest = sorted(under_key, key=lambda memory: (memory.valid_from, memory.id), reverse=True)
    if is_single(known.kind, known.key):
        return Story(known, newest, ())
    linked = chain(known.id, newest)
    return Story(
        known,
        [memory for memory in newest if memory.id in linked],
        [memory for memory in newest if memory.id not in linked and memory.kind == known.kind],
    )


def chain(start: MemoryId, memories: Sequence[Memory]) -> set[MemoryId]:
    """The memory, what it took the place of, and what took its own."""
    links = [(memory.id, memory.replaced_by) for memory in memories if memory.replaced_by]
    found, size = {start}, 0
    while size < len(found):
        size = len(found)
        found |= {end for pair in links if found.intersection(pair) for end in pair}
    return found


def sections_of(context: Context) -> list[tuple[str, list[Line], int]]:
    """The lines of a context by section: its title, its lines, their tokens."""
    groups = {title: [line for line in context.lines if line.section == name] for name, title in SECTIONS.items()}
    return [(title, lines, sum(line.tokens for line in lines)) for title, lines in groups.items() if lines]


def end_of_day(field: str, text: str) -> datetime | None:
    """The last moment of a day that a date field names; None where it is empty."""
    if not text.strip():
        return None
    try:
        return datetime.combine(date.fromisoformat(text.strip()), time.max, UTC)
    except ValueError:
        raise InvalidInput(field, f"{text!r} is not a day such as 2026-03-31") from None


def whole_number(field: str, text: str, default: int) -> int:
    if not text.strip():
        return default
    if not text.strip().isdecimal() or len(text) > 9:
        raise InvalidInput(field, f"{text!r} is not a whole number")
    return int(text)
