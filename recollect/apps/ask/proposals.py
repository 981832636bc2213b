"""Proposals: ways to an answer without a model, in the order in which they are tried.

A choice that was offered; the same question approved or found right before; an approved question with parameters; the
question as the interpreter reads it, alone or as a change of the last one. Each gives a Proposal, or None where it does
not fit. Nothing runs here; whatever is proposed passes the gate first. `make_clarification` offers choices where an
interpretation is not clear enough, and `suggest_questions` says what to ask next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Literal

from recollect.apps.ask.gate import CheckedSql
from recollect.apps.ask.interpret import Candidate, CannotRender, Frame, SchemaIndex, render_frame, teaches
from recollect.apps.ask.interpret.decide import CHOICES
from recollect.apps.ask.interpret.explain import describe_change, label_frame, make_distinct
from recollect.apps.ask.interpret.index import Target
from recollect.apps.ask.interpret.link import named_targets
from recollect.apps.ask.interpret.words import stem_phrase
from recollect.apps.ask.interpretation import PROBE_ROWS, Interpretation, is_clear
from recollect.apps.ask.meanings import Suggestion
from recollect.apps.ask.memory import QuestionMemory, read_question
from recollect.apps.ask.patterns import fill_pattern, match_pattern, normalize_question, read_pattern
from recollect.apps.ask.question import (
    Ask,
    Assumption,
    Choice,
    Clarification,
    Way,
    find_category,
    make_clarification_id,
)
from recollect.apps.ask.semantic.model import Dimension
from recollect.apps.ask.source_registry import OpenSource, View
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sql_text import find_columns
from recollect.apps.ask.vocabulary import Taught, TaughtWord, list_assumptions
from recollect.apps.ask.wording import explain_unclear
from recollect.errors import InvalidInput
from recollect.values.memory import Memory
from recollect.values.text import is_cjk

ASKED_BACK = 0.65  # most confidence of an interpretation that is asked back
CHOSEN = 0.95  # confidence of a choice that the user made
VETTED_BY = {"question": "found right by you before", "correction": "put right by you before"}
FOLLOW_UPS = {
    "en": ("What about {}?", "Only the top {}", "And by {}?"),
    "zh": ("{}年呢？", "只看前{}名", "按{}呢？"),
}
TOP = 5  # rows that are suggested where there are more
MAX_TRIED, MAX_DIMENSIONS = 6, 12  # of suggested questions: each is interpreted before it is shown


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question at one source, with everything that is known about it."""

    ask: Ask
    source: OpenSource
    view: View
    taught: Taught
    approved: tuple[Memory, ...]
    memory: QuestionMemory | None
    today: date
    user: str | None = None  # who asks; statements of one user get a fair share of the source
    session: str | None = None
    choice: Choice | None = None  # the offered choice that the question names
    interpretation: Interpretation | None = None  # where it was needed to choose among sources

    @property
    def question(self) -> str:
        return self.ask.question

    @property
    def standalone(self) -> str:
        """The question as it can be understood alone."""
        return self.memory.standalone if self.memory else self.question

    @property
    def last_frame(self) -> Frame | None:
        """The frame that a follow-up changes, if all of it may still be seen. A question that was not understood does
        not end the thread."""
        data, _ = self.memory.find_last_frame(self.source.name) if self.memory else ({}, True)
        frame = Frame.from_data(data) if data else None
        return frame if frame and self.view.has(frame) else None

    @property
    def is_last_sure(self) -> bool:
        """Whether a follow-up can mean no other frame."""
        return self.memory is None or self.memory.find_last_frame(self.source.name)[1]


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
    refusal: str | None = None
    rows: Rows | None = None  # what the statement gave when it was tried, if that is all of it


@dataclass(frozen=True, slots=True)
class Execution:
    """A proposal that passed the gate, and what the database gave for it."""

    proposal: Proposal
    statement: CheckedSql
    rows: Rows | None = None
    error: str | None = None


def propose_repeat(inquiry: Inquiry) -> Proposal | None:
    """Return the statement for this very question that the user found or put right, or that the project approved."""
    wanted = normalize_question(inquiry.question)
    own = inquiry.memory.rated if inquiry.memory else ()
    for memory in list_vetted(inquiry):
        if normalize_question(read_question(memory)) == wanted and "{{" not in memory.value:
            data = memory.data or {}
            by_whom = VETTED_BY.get(memory.kind, "") if memory in own else "approved for the project"
            chosen = data.get("choice")
            explanation = f"{chosen}, as you chose before" if chosen else f"This question was {by_whom}"
            frame = Frame.from_data(data["frame"]) if data.get("frame") else None
            return Proposal("repeat", memory.value, explanation, frame=frame, pattern=memory.key, vetted=memory)
    return None


def propose_pattern(inquiry: Inquiry) -> Proposal | None:
    """Return an approved question of the same form, with the values of this one."""
    for memory in list_vetted(inquiry):
        if memory not in inquiry.approved:
            continue
        pattern = read_pattern(memory)
        values = match_pattern(pattern, inquiry.question)
        if values is None:
            continue
        listed = ", ".join(f"{name} = {value}" for name, value in values.items())
        explanation = f'The approved question "{pattern.prompt}"' + (f" with {listed}" if listed else "")
        try:
            sql = fill_pattern(pattern, values)
        except InvalidInput:
            continue
        return Proposal("pattern", sql, explanation, pattern=pattern.prompt, vetted=memory)
    return None


def list_vetted(inquiry: Inquiry) -> Iterator[Memory]:
    """Yield the statements for this source that a person stands for, the user's own first; none that were for another
    shape of the database."""
    entry = inquiry.source.entry
    for memory in (*(inquiry.memory.rated if inquiry.memory else ()), *inquiry.approved):
        data = memory.data or {}
        if data.get("source") in (None, entry.name) and data.get("fingerprint") in (None, entry.fingerprint):
            yield memory


def propose_choice(inquiry: Inquiry, choice: Choice) -> Proposal:
    """Return the statement of a choice. Raises InvalidInput if the database has changed since it was offered."""
    if choice.sql:
        return Proposal("model", choice.sql, choice.label, CHOSEN)
    frame, index = Frame.from_data(choice.frame), inquiry.view.index
    try:
        if frame is None or not inquiry.view.has(frame):
            raise CannotRender(choice.label)
        sql = render_frame(frame, index)
    except CannotRender:
        raise InvalidInput("choice", f"{choice.label!r} no longer fits the database; ask the question again") from None
    return Proposal("frame", sql, label_frame(frame, index, inquiry.question), CHOSEN, frame=frame)


def propose_interpretation(inquiry: Inquiry, found: Interpretation) -> Proposal:
    """Return the best interpretation with its assumptions; with a question back where it is not clear enough."""
    decision = found.decision
    if decision.kind == "unclear":
        return explain_missing_words(inquiry, found)
    best, *others = decision.candidates
    assumptions = list_assumptions(inquiry.taught, best)
    if decision.kind == "assume" and others:
        assumptions += list_guesses(best, others[0], decision.confidence)
    confidence = min([decision.confidence, *(each.confidence for each in assumptions)])
    clarifications: tuple[Clarification, ...] = ()
    if decision.kind == "choices":
        confidence = min(confidence, ASKED_BACK)
        clarifications = (make_clarification(inquiry, found),)
    last = inquiry.last_frame if best.changed else None
    changed = describe_change(best.changed, last, choose_language(inquiry)) if last else ""
    return Proposal(
        "edit" if last else "frame",
        best.sql,
        ". ".join(filter(None, (best.label, changed))),
        confidence,
        clarifications,
        assumptions,
        best.frame,
        rows=get_whole_rows(found.rows.get(best.id), inquiry.ask.rows),
    )


def explain_missing_words(inquiry: Inquiry, found: Interpretation) -> Proposal:
    """Return a refusal that names the words not understood, and a question about each."""
    questions = [
        Clarification(word, f'What does "{word}" mean?', category=find_category(word)) for word in found.missing
    ]
    names = [each.names[0] for each in inquiry.view.model.entities if each.names]
    refusal = explain_unclear(found.missing, names, inquiry.question, is_too_long=found.is_too_long)
    return Proposal("frame", confidence=0.0, clarifications=tuple(questions), refusal=refusal)


def list_guesses(best: Candidate, other: Candidate, confidence: float) -> tuple[Assumption, ...]:
    """Return the words that the next best interpretation reads otherwise."""
    return tuple(
        Assumption(words, f"{target.table}.{target.column}" if target.column else target.table, "database", confidence)
        for words, target in teaches(best, other)
        if stem_phrase(words) != stem_phrase(target.table) or target.column
    )


def get_whole_rows(rows: Rows | None, most: int) -> Rows | None:
    """Return the rows of a trial if they are all that the statement gives: a full trial may have been cut."""
    is_whole = rows is not None and not rows.is_truncated and len(rows.rows) < min(most, PROBE_ROWS)
    return rows if is_whole else None


def list_used_words(inquiry: Inquiry, statement: CheckedSql) -> tuple[Assumption, ...]:
    """Return the taught words of the question and the standing filters whose columns a statement uses."""
    columns = set(map(str.casefold, statement.columns))
    used = [
        Assumption(each.term, each.meaning, each.source, each.confidence)
        for each in inquiry.taught.words
        if any(has_words(name, inquiry.question) for name in (each.term, *each.word.names))
        and uses_word(statement, each, inquiry)
    ]
    for kept in inquiry.taught.filters:
        place = f"{kept.filter.table}.{kept.column}"
        if place.casefold() in columns:
            used.append(Assumption(place, kept.filter.condition, kept.source, kept.confidence))
    return tuple(dict.fromkeys(used))


def uses_word(statement: CheckedSql, taught: TaughtWord, inquiry: Inquiry) -> bool:
    """Return whether a statement reads what a taught word stands for: one of its targets, or all of its columns."""
    word, columns = taught.word, set(map(str.casefold, statement.columns))
    if word.target:
        places = columns.union(map(str.casefold, statement.tables))
        targets = named_targets(word.target, inquiry.view.index)
        return any(f"{one.table}.{one.column}".rstrip(".").casefold() in places for one in targets)
    text = word.condition or word.expression
    named = find_columns(text, inquiry.source.dialect) if text else []
    wanted = {f"{word.table or owner}.{column}".casefold() for owner, column in named}
    return bool(wanted) and wanted <= columns


def has_words(words: str, text: str) -> bool:
    """Return whether a text has these words, in any of their forms."""
    wanted, stems = stem_phrase(words), stem_phrase(text)
    starts = range(len(stems) - len(wanted) + 1) if wanted else ()
    return any(stems[at : at + len(wanted)] == wanted for at in starts)


# Choices -------------------------------------------------------------------------------------------------------------


def make_clarification(inquiry: Inquiry, found: Interpretation) -> Clarification:
    """Return the question back for a decision to offer choices. Its id names the session that it is stored in."""
    question, decision, index = inquiry.question, found.decision, inquiry.view.index
    unknown = next(iter(decision.unexplained), "")
    choices = offer_choices(found.suggestions, decision.candidates, index, question)
    # Without an unknown word it is about what the two best candidates read differently.
    best, *others = decision.candidates
    ambiguous = [words for other in others[:1] for words, _ in teaches(best, other)]
    known = (each for each in inquiry.taught.words if stem_phrase(each.term) == stem_phrase(unknown))
    return Clarification(
        unknown or next(iter(ambiguous), question[:80]),
        word_question(unknown, next(known, None), question, found.absent),
        tuple(each.label for each in choices),
        find_category(unknown) if unknown else "ambiguous",
        make_clarification_id(inquiry.session),
        choices,
    )


def name_left_out(label: str, words: Sequence[str], question: str) -> str:
    """Return the label of a choice with the words of the question that it leaves out."""
    if not words:
        return label
    if is_cjk(question):
        return f"{label}（不考虑“{'”、“'.join(dict.fromkeys(words))}”）"
    quoted = ", ".join(f'"{word}"' for word in dict.fromkeys(words))
    return f"{label} (without {quoted})"


def offer_choices(
    suggestions: Sequence[Suggestion], candidates: Sequence[Candidate], index: SchemaIndex, question: str
) -> tuple[Choice, ...]:
    """Return a choice for each suggested meaning of a word, which teaches it, and for the best candidates."""
    candidates = candidates[: CHOICES - len(suggestions)]
    plain = [*(each.candidate.label for each in suggestions)]
    plain += [name_left_out(each.label, each.unexplained, question) for each in candidates]
    frames = [*(each.candidate.frame for each in suggestions), *(each.frame for each in candidates)]
    labels = iter(make_distinct(plain, frames, index))
    choices = [
        Choice(str(n), next(labels), each.candidate.frame.to_data(), ((each.word, each.meaning),))
        for n, each in enumerate(suggestions, 1)
    ]
    return *choices, *(
        Choice(
            str(n),
            next(labels),
            each.frame.to_data(),
            tuple(list_lessons(each, candidates)),
            question="" if each.unexplained or each.changed else question,
        )
        for n, each in enumerate(candidates, len(choices) + 1)
    )


def word_question(term: str, known: TaughtWord | None, question: str, absent: Sequence[str] = ()) -> str:
    """Return the question that stands above the choices, in the language of the user's question. `absent` says which
    values the data do not have."""
    if is_cjk(question):
        opening = f"不明白“{term}”。" if term else ""
        opening = f"“{term}”的含义是“{known.meaning}”，但没有对应的列。" if term and known else opening
        return f"{opening}您指的是哪一个？"
    opening = f'"{term}" is not known here. ' if term else ""
    if term and known:
        opening = f'"{term}" is known as "{known.meaning}" ({known.source}), but no column fits that. '
    missing = "".join(f"There is {each}. " for each in absent)
    return f"{missing}{opening}Which of these do you mean?"


def list_lessons(chosen: Candidate, candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """Return (word, meaning) for what choosing this candidate over the best other one teaches. Something else of the
    same table, such as a date in place of a figure, is about this question only."""
    other = next((each for each in candidates if each.id != chosen.id), None)
    meant = dict(other.links) if other else {}
    return [
        (words, describe_target(target))
        for words, target in (teaches(chosen, other) if other else ())
        if target.table != meant[words].table or target.kind == meant[words].kind
    ]


def describe_target(target: Target) -> str:
    """Return a meaning that vocabulary.py reads back."""
    if target.expression:
        return f"{target.aggregate.upper() or 'SUM'}({target.expression})"
    return f"refers to {target.table}.{target.column}" if target.column else f"refers to {target.table}"


# What can be asked next ----------------------------------------------------------------------------------------------


def suggest_questions(inquiry: Inquiry, frame: Frame | None, most: int, rows: int) -> tuple[str, ...]:
    """Return questions that go on from an answer of so many rows, for when no model suggests any. Each can be
    answered."""
    if frame is None:
        return ()
    texts = islice(list_follow_ups(inquiry, frame, rows), MAX_TRIED)
    return tuple(islice((text for text in texts if is_clear(text, inquiry.view, inquiry.today, frame)), most))


def list_follow_ups(inquiry: Inquiry, frame: Frame, rows: int) -> Iterator[str]:
    """Yield the same question for the year before, the greatest only if that is fewer rows, by another dimension."""
    year_before, top, by_name = FOLLOW_UPS[choose_language(inquiry)]
    for period in frame.periods[:1]:
        start, end = period.start or "", period.end or ""
        if start[4:] == end[4:] == "-01-01" and int(end[:4]) == int(start[:4]) + 1:
            yield year_before.format(int(start[:4]) - 1)
    if frame.metrics:
        yield from [top.format(TOP)] if frame.groups and frame.limit is None and rows > TOP else []
        yield from map(by_name.format, islice(list_other_dimensions(inquiry.view, frame), MAX_DIMENSIONS))


def list_other_dimensions(view: View, frame: Frame) -> Iterator[str]:
    """Yield dimensions near the frame that it is not grouped by. A name that several have does not say which is
    meant."""
    tables = frame.tables | {join.to for join in view.model.joins if join.table in frame.tables}
    grouped = {(group.of.table, group.of.column) for group in frame.groups}
    counts = Counter(each.names[:1] for each in view.model.dimensions)
    for each in view.model.dimensions:
        is_near = each.table in tables and (each.table, each.column) not in grouped
        if is_near and each.names and counts[each.names[:1]] == 1 and can_group_by(each, view.index):
            yield each.names[0]


def can_group_by(dimension: Dimension, index: SchemaIndex) -> bool:
    """Return whether rows of this dimension say something together: keys and personal data do not."""
    table = index.tables.get(dimension.table)
    column = table.columns.get(dimension.column) if table else None
    return column is not None and not column.is_key and not column.is_sensitive


def choose_language(inquiry: Inquiry) -> Literal["en", "zh"]:
    return "zh" if is_cjk(inquiry.question) else "en"
