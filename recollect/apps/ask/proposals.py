"""Ways to an answer without a model, in the order in which they are tried: a choice that was offered; the same question
approved or found right before; an approved question with parameters; the question as the interpreter reads it, alone or
as a change of the last one.

Each gives a Proposal, or None where it does not fit. Nothing runs here; whatever is proposed passes the gate first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from recollect.apps.ask.choices import find_category, make_clarification
from recollect.apps.ask.gate.check import CheckedSql
from recollect.apps.ask.interpret import Candidate, CannotRender, Frame, render_frame, teaches
from recollect.apps.ask.interpret.explain import describe_change, label_frame
from recollect.apps.ask.interpret.link import named_targets
from recollect.apps.ask.interpret.words import stem_phrase
from recollect.apps.ask.interpretation import PROBE_ROWS, Interpretation
from recollect.apps.ask.memory import Remembered
from recollect.apps.ask.patterns import Pattern, filled, fitted, normal, pattern_of
from recollect.apps.ask.question import Ask, Assumption, Choice, Clarification, Learned, Way
from recollect.apps.ask.semantic.conditions import find_columns
from recollect.apps.ask.source_registry import Shelf, View
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.vocabulary import Taught, list_assumptions
from recollect.apps.ask.wording import explain_unclear
from recollect.errors import InvalidInput
from recollect.values.memory import Memory
from recollect.values.text import is_cjk

ASKED_BACK = 0.65  # most confidence of an interpretation that is asked back
CHOSEN = 0.95  # confidence of a choice that the user made
WHOSE = {"question": "found right by you before", "correction": "put right by you before"}


@dataclass(frozen=True, slots=True)
class Case:
    """A question with everything that is known about it."""

    ask: Ask
    shelf: Shelf
    view: View
    taught: Taught
    approved: tuple[Memory, ...]
    memory: Remembered | None
    today: date
    user: str | None = None  # who asks; statements of one user get a fair share of the source
    session: str | None = None
    choice: Choice | None = None  # the offered choice that the question names
    interpretation: Interpretation | None = None  # where it was needed to choose among sources

    @property
    def question(self) -> str:
        return self.ask.question

    @property
    def last(self) -> Frame | None:
        """The frame of the last answer of this source in the session, if all of it may still be seen. A question that
        was asked back in between does not end the thread."""
        data = self.memory.last_answer(self.shelf.kept.name) if self.memory else None
        frame = Frame.from_data(data["frame"]) if data else None
        return frame if frame and self.view.has(frame) else None


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
    rows: Rows | None = None  # what the statement gave when it was tried, if that is all of it


@dataclass(frozen=True, slots=True)
class Ran:
    """A proposal that passed the gate, and what the database said."""

    proposal: Proposal
    checked: CheckedSql
    rows: Rows | None = None
    error: str | None = None
    learned: tuple[Learned, ...] = ()


def repeated(case: Case) -> Proposal | None:
    """The very question that this user put right or found right before, or that the project approved."""
    wanted = normal(case.question)
    own = case.memory.rated if case.memory else ()
    for memory in list_vetted(case):
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
    for memory in list_vetted(case):
        if memory not in case.approved:
            continue
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


def list_vetted(case: Case) -> Iterator[Memory]:
    """Yield the statements for this source that a person stands for, the user's own first; none that were for another
    shape of the database."""
    kept = case.shelf.kept
    for memory in (*(case.memory.rated if case.memory else ()), *case.approved):
        data = memory.data or {}
        if data.get("source") in (None, kept.name) and data.get("fingerprint") in (None, kept.fingerprint):
            yield memory


def propose_choice(case: Case, choice: Choice) -> Proposal:
    """Return the statement of a choice; an error says so where the database has changed since it was offered."""
    if choice.sql:
        return Proposal("model", choice.sql, choice.label, CHOSEN)
    frame = Frame.from_data(choice.frame)
    index = case.view.index
    try:
        if frame is None or not case.view.has(frame):
            raise CannotRender(choice.label)
        sql = render_frame(frame, index)
    except CannotRender:
        raise InvalidInput("choice", f"{choice.label!r} no longer fits the database; ask the question again") from None
    return Proposal("frame", sql, label_frame(frame, index, case.question), CHOSEN, frame=frame)


def propose_interpretation(case: Case, found: Interpretation) -> Proposal:
    """Return the best interpretation with its assumptions; with a question back where it is not clear enough."""
    decision = found.decision
    if decision.kind == "unclear":
        questions = tuple(
            Clarification(word, f'What does "{word}" mean?', category=find_category(word)) for word in found.missing
        )
        names = [each.names[0] for each in case.view.model.entities if each.names]
        refused = explain_unclear(found.missing, names, case.question, is_too_long=found.is_too_long)
        return Proposal("frame", confidence=0.0, clarifications=questions, refused=refused)
    best = decision.candidates[0]
    assumed = list_assumptions(case.taught, best)
    if decision.kind == "assume":
        assumed += list_guesses(best, decision.candidates[1:], case, decision.confidence)
    sure = min([decision.confidence, *(each.confidence for each in assumed)])
    asked: tuple[Clarification, ...] = ()
    if decision.kind == "choices":
        sure = min(sure, ASKED_BACK)
        asked = (
            make_clarification(decision, found.suggestions, case.taught, case.view.index, case.question, case.session),
        )
    last = case.last
    is_follow_up = bool(best.changed) and last is not None
    changed = (
        describe_change(best.changed, last, "zh" if is_cjk(case.question) else "en") if last and is_follow_up else ""
    )
    return Proposal(
        "edit" if is_follow_up else "frame",
        best.sql,
        f"{best.label}. {changed}" if changed else best.label,
        sure,
        asked,
        assumed,
        best.frame,
        rows=whole_rows(found.rows.get(best.id), case.ask.rows),
    )


def list_guesses(
    best: Candidate, others: tuple[Candidate, ...], case: Case, confidence: float
) -> tuple[Assumption, ...]:  # fmt: skip
    """Return the words that the next best interpretation reads otherwise."""
    pairs = teaches(best, others[0]) if others else []
    return tuple(
        Assumption(words, f"{target.table}.{target.column}" if target.column else target.table, "database", confidence)
        for words, target in pairs
        if stem_phrase(words) != stem_phrase(target.table) or target.column
    )


def whole_rows(rows: Rows | None, most: int) -> Rows | None:
    """Return the rows of a trial if they are all that the statement gives: a full trial may have been cut."""
    if rows is None or rows.is_truncated or len(rows.rows) >= min(most, PROBE_ROWS):
        return None
    return rows


def list_used_words(case: Case, made: CheckedSql) -> tuple[Assumption, ...]:
    """Return the taught words of the question and the standing filters whose columns a statement uses."""
    names, columns = set(map(str.casefold, made.tables)), set(map(str.casefold, made.columns))
    dialect = case.view.catalog.dialect
    used = list[Assumption]()
    for each in case.taught.words:
        word = each.word
        text = word.condition or word.expression or word.target
        found = [(word.table or owner, column) for owner, column in find_columns(text, dialect)] if text else []
        wanted = {f"{owner}.{column}".casefold() for owner, column in found}
        is_used = bool(wanted) and wanted <= columns
        if word.target:
            targets = named_targets(word.target, case.view.index)
            places = {f"{one.table}.{one.column}".casefold() if one.column else one.table.casefold() for one in targets}
            is_used = not places.isdisjoint(names | columns)
        if is_used and any(is_said(name, case.question) for name in (each.term, *word.names)):
            used.append(Assumption(each.term, each.meaning, each.source, each.confidence))
    for kept in case.taught.filters:
        place = f"{kept.filter.table}.{kept.column}"
        if place.casefold() in columns:
            used.append(Assumption(place, kept.filter.condition, kept.source, kept.confidence))
    return tuple(dict.fromkeys(used))


def is_said(word: str, text: str) -> bool:
    """Return whether a text has these words, in any of their forms."""
    wanted, stems = stem_phrase(word), stem_phrase(text)
    return (
        any(stems[at : at + len(wanted)] == wanted for at in range(len(stems) - len(wanted) + 1)) if wanted else False
    )
