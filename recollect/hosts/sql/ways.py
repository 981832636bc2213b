"""Ways to an answer without a model, in the order in which they are tried: the same question approved or found right
before; an approved question with parameters; the question read as a frame, alone or as a change of the last one.

Each gives a Proposal, or None where it does not fit. Nothing runs here; whatever is proposed passes the gate first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from recollect.errors import InvalidInput
from recollect.hosts.sql.asking import Ask, Way
from recollect.hosts.sql.library import Shelf, View
from recollect.hosts.sql.remembering import Remembered
from recollect.hosts.sql.running import Rows
from recollect.model.memory import Memory
from recollect.model.text import is_cjk
from recollect.sql.explain import explained
from recollect.sql.frame import Frame
from recollect.sql.gate import Passed
from recollect.sql.known import FoundValue
from recollect.sql.patterns import Pattern, filled, fitted, normal, pattern_of
from recollect.sql.reading import Assumption, Clarification, Reading, read_question
from recollect.sql.render import sql_of
from recollect.sql.told import Open, Told

PER_TERM = 0.15  # confidence that each open word costs
WHOSE = {"question": "found right by you before", "correction": "put right by you before"}


@dataclass(frozen=True, slots=True)
class Case:
    """A question with everything that is known about it."""

    ask: Ask
    shelf: Shelf
    view: View
    told: Told
    approved: tuple[Memory, ...]
    memory: Remembered | None
    today: date
    values: tuple[FoundValue, ...] = ()

    @property
    def question(self) -> str:
        return self.ask.question

    @property
    def last(self) -> Frame | None:
        """The frame of the session's last answer, if it was asked of this source and may still be seen."""
        data = self.memory.last if self.memory else None
        if not data or data.get("source") != self.shelf.kept.name or not data.get("frame"):
            return None
        frame = Frame.from_data(data["frame"])
        return frame if frame and self.view.has(frame) else None

    @property
    def unanswered(self) -> str:
        """The question before, if it was asked back: nothing goes on from an older one over its head."""
        data = self.memory.last if self.memory else None
        if not data or data.get("host") != "sql" or data.get("sql") or not data.get("clarifications"):
            return ""
        return self.memory.asked if self.memory else ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """SQL that would answer, or the questions back that stand in its way."""

    way: Way
    sql: str = ""
    explanation: str = ""
    confidence: float = 1.0
    clarifications: tuple[Clarification, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    frame: Frame | None = None
    pattern: str | None = None
    examples: int = 0
    vetted: Memory | None = None  # whose statement this is
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """A proposal that passed the gate, and what the database said."""

    proposal: Proposal
    passed: Passed
    rows: Rows | None = None
    error: str | None = None


def repeated(case: Case) -> Proposal | None:
    """The very question that this user put right or found right before, or that the project approved."""
    wanted = normal(case.question)
    own = case.memory.rated if case.memory else ()
    for memory in valid(case, (*own, *case.approved)):
        if normal(asked_in(memory)) == wanted and "{{" not in memory.value:
            told = f"This question was {WHOSE.get(memory.kind, '') if memory in own else 'approved for the project'}"
            return Proposal("repeat", memory.value, told, pattern=memory.key, vetted=memory)
    return None


def asked_in(memory: Memory) -> str:
    """The question of a vetted statement; as a key it may have been too long."""
    data = memory.data or {}
    return str(data.get("original_query") or data.get("question") or memory.key)


def fitting(case: Case) -> Proposal | None:
    """An approved question of the same form, with values that can be put in."""
    for memory in valid(case, case.approved):
        pattern = pattern_of(memory.key, memory.value, (memory.data or {}).get("parameters") or ())
        values = fitted(pattern, case.question)
        if values is not None and (proposal := filled_in(pattern, values, memory)):
            return proposal
    return None


def filled_in(pattern: Pattern, values: Mapping[str, str], memory: Memory) -> Proposal | None:
    said = ", ".join(f"{name} = {value}" for name, value in values.items())
    told = f'The approved question "{pattern.prompt}"' + (f" with {said}" if said else "")
    try:
        return Proposal("pattern", filled(pattern, values), told, pattern=pattern.prompt, vetted=memory)
    except InvalidInput:
        return None


def valid(case: Case, memories: Iterable[Memory]) -> Iterable[Memory]:
    """Those of this source, in the shape that they were approved for."""
    kept = case.shelf.kept
    for memory in memories:
        data = memory.data or {}
        if data.get("source") in (None, kept.name) and data.get("fingerprint") in (None, kept.fingerprint):
            yield memory


def framed(case: Case, read: Reading) -> Proposal:
    """The question read as a frame. Where words stay open it is a question back."""
    if read.frame is None:
        return asked_back(case, read)
    way: Way = "edit" if read.is_followup else "frame"
    noted = {each.term.casefold() for each in read.assumptions}
    known = known_assumptions(case, read.frame.tables)
    assumed = (*read.assumptions, *(each for each in known if each.term.casefold() not in noted))
    sure = min((each.confidence for each in assumed), default=1.0)
    return Proposal(
        way,
        sql_of(read.frame, case.view.model, case.view.catalog),
        told_in_words(read, case),
        max(0.0, sure - PER_TERM * len(read.clarifications)),
        read.clarifications,
        assumed,
        read.frame,
    )


def known_assumptions(case: Case, tables: Collection[str] | None = None) -> tuple[Assumption, ...]:
    """Of the words that somebody explained, those that this question uses; with `tables`, only what is about them: of a
    word with two meanings, the other was not assumed."""
    known = case.told.known
    made = [
        Assumption(word, target.meaning or target.name, target.source, target.confidence)
        for word, target in known.synonyms.items()
        if tables is None or target.table in tables
    ]
    made += [
        Assumption(each.names[0], each.meaning or each.condition, each.source, each.confidence)
        for each in known.definitions
        if tables is None or each.table in tables
    ]
    return tuple(each for each in made if each.source and is_said(each.term, case.question))


def is_said(word: str, question: str) -> bool:
    if is_cjk(word):
        return word in question
    return re.search(rf"\b{re.escape(word)}\b", question, re.IGNORECASE) is not None


def reading(case: Case) -> Reading:
    return read_as(case, case.question, case.last)


def read_as(case: Case, question: str, last: Frame | None) -> Reading:
    return read_question(
        question,
        case.view.model,
        case.view.catalog,
        known=case.told.known,
        values=case.values,
        last=last,
        unanswered="" if last else case.unanswered,
        today=case.today,
    )


def told_in_words(read: Reading, case: Case) -> str:
    if read.frame is None:
        return ""
    words = explained(read.frame, case.view.model, case.view.catalog)
    kept = f" (kept: {', '.join(read.kept)})" if read.kept else ""
    changed = f" (changed: {', '.join(read.changed)})" if read.changed else ""
    return f"{words}{kept}{changed}" if read.is_followup else words


def asked_back(case: Case, read: Reading) -> Proposal:
    open_words = {each.term.casefold(): each for each in case.told.open}
    questions = tuple(with_meaning(each, open_words) for each in read.clarifications)
    return Proposal(
        "frame",
        confidence=max(0.0, 1.0 - PER_TERM * max(1, len(questions)) - 0.2),
        clarifications=questions,
        assumptions=read.assumptions,
        refused=read.refused,
    )


def with_meaning(each: Clarification, known: Mapping[str, Open]) -> Clarification:
    """A word that somebody explained, but not in terms of this source: say so, instead of asking as if it were new."""
    said = known.get(each.term.casefold())
    if said is None:
        return each
    return replace(
        each,
        question=f'"{each.term}" is known as "{said.meaning}" ({said.source}), but not which column says so.'
        " Which condition is that?",
    )


def lookups(case: Case, phrases: Sequence[str]) -> list[tuple[str, str]]:
    """The columns in which an unknown name could stand: texts of which the catalog does not show all values."""
    return [
        (table.name, column.name)
        for table in case.view.catalog.tables
        for column in table.columns
        if phrases and column.type == "text" and not column.is_complete and not column.is_sensitive
    ]
