"""Proposals: ways to an answer without a model, in the order in which they are tried.

A choice that was offered; the same question approved or found right before; an approved question with parameters; the
question as the interpreter reads it, alone or as a change of the last one. Each begins an Answer, or gives None where
it does not fit. Nothing runs here; whatever is proposed passes the gate first. `suggest_questions` says what to
ask next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from recollect.apps.ask.answers.wording import explain_unclear
from recollect.apps.ask.candidates.choices import make_clarification
from recollect.apps.ask.candidates.interpretation import PROBE_ROWS, Interpretation, is_clear
from recollect.apps.ask.gate import CheckedSql
from recollect.apps.ask.inquiry import Inquiry
from recollect.apps.ask.interpret import (
    CannotRender,
    Decision,
    Frame,
    SchemaIndex,
    Word,
    render_frame,
    teaches,
)
from recollect.apps.ask.interpret.explain import describe_change, label_frame
from recollect.apps.ask.interpret.link import named_targets
from recollect.apps.ask.memories.patterns import fill_pattern, match_pattern, normalize_question, read_pattern
from recollect.apps.ask.memories.reader import read_question
from recollect.apps.ask.memories.vocabulary import has_words, list_assumptions
from recollect.apps.ask.question import (
    Answer,
    Assumption,
    Choice,
    Clarification,
    find_category,
    get_data,
)
from recollect.apps.ask.semantic.model import Dimension
from recollect.apps.ask.source_registry import View
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sql_text import find_columns
from recollect.apps.ask.words import stem_phrase
from recollect.errors import InvalidInput
from recollect.values.memory import Memory

ASKED_BACK = 0.65  # most confidence of an interpretation that is asked back
CHOSEN = 0.95  # confidence of a choice that the user made
NOT_APPLIED = "which could not be applied to this database"
VETTED_BY = {"question": "found right by you before", "correction": "put right by you before"}
FOLLOW_UPS = {
    "en": ("What about {}?", "Only the top {}", "And by {}?"),
    "zh": ("{}年呢？", "只看前{}名", "按{}呢？"),
}
TOP = 5  # rows that are suggested where there are more
MAX_TRIED, MAX_DIMENSIONS = 6, 12  # of suggested questions: each is interpreted before it is shown


def propose_vetted(inquiry: Inquiry) -> list[Answer]:
    """Return the statements of this question that a person stands for, the best first."""
    return list(filter(None, (propose_repeat(inquiry), propose_pattern(inquiry))))


def propose_repeat(inquiry: Inquiry) -> Answer | None:
    """Return the statement for this very question that the user found or put right, or that the project approved."""
    wanted = normalize_question(inquiry.question)
    for memory in list_vetted(inquiry):
        if normalize_question(read_question(memory)) == wanted and "{{" not in memory.value:
            data = get_data(memory)
            by_whom = VETTED_BY.get(memory.kind, "") if memory in inquiry.memory.rated else "approved for the project"
            chosen = data.get("choice")
            explanation = f"{chosen}, as you chose before" if chosen else f"This question was {by_whom}"
            frame = Frame.from_data(data.get("frame") or {})
            begun = inquiry.begin("repeat", sql=memory.value, explanation=explanation, frame=frame)
            return replace(begun, pattern=memory.key, used=(memory.id,))
    return None


def propose_pattern(inquiry: Inquiry) -> Answer | None:
    """Return an approved question of the same form, with the values of this one."""
    for memory in list_vetted(inquiry):
        pattern = read_pattern(memory) if memory in inquiry.approved else None
        values = match_pattern(pattern, inquiry.question) if pattern else None
        if pattern is None or values is None:
            continue
        listed = ", ".join(f"{name} = {value}" for name, value in values.items())
        explanation = f'The approved question "{pattern.prompt}"' + (f" with {listed}" if listed else "")
        try:
            sql = fill_pattern(pattern, values)
        except InvalidInput:
            continue
        return inquiry.begin("pattern", sql=sql, explanation=explanation, pattern=pattern.prompt, used=(memory.id,))
    return None


def list_vetted(inquiry: Inquiry) -> Iterator[Memory]:
    """Yield the statements for this source that a person stands for, the user's own first; none that were for another
    shape of the database."""
    entry = inquiry.source.entry
    for memory in (*inquiry.memory.rated, *inquiry.approved):
        data = get_data(memory)
        if data.get("source") in (None, entry.name) and data.get("fingerprint") in (None, entry.fingerprint):
            yield memory


def propose_choice(inquiry: Inquiry, choice: Choice) -> Answer:
    """Return the statement of a choice. Raises InvalidInput if the database has changed since it was offered."""
    if choice.sql:
        return inquiry.begin("model", sql=choice.sql, explanation=choice.label, confidence=CHOSEN)
    frame, index = Frame.from_data(choice.frame), inquiry.view.index
    try:
        if frame is None or not inquiry.view.has(frame):
            raise CannotRender(choice.label)
        sql = render_frame(frame, index)
    except CannotRender:
        raise InvalidInput("choice", f"{choice.label!r} no longer fits the database; ask the question again") from None
    label = label_frame(frame, index, inquiry.question)
    return inquiry.begin("frame", sql=sql, explanation=label, confidence=CHOSEN, frame=frame)


def propose_interpretation(inquiry: Inquiry, found: Interpretation) -> Answer:
    """Return the best interpretation with its assumptions; with a question back where it is not clear enough. Notes
    name the taught meanings that it could not apply."""
    unread = dict.fromkeys(said for said, word in inquiry.taught.words if word in found.unread)
    notes = tuple(f'"{said.term}" means "{said.meaning}" ({said.source}), {NOT_APPLIED}' for said in unread)
    decision = found.decision
    if decision.kind == "unclear":
        return replace(explain_missing_words(inquiry, found), notes=notes)
    best = decision.candidates[0]
    assumptions = (*list_assumptions(inquiry.taught, best, unread), *list_guesses(decision))
    last = inquiry.last_frame if best.changed else None
    changed = describe_change(best.changed, last, inquiry.language) if last else ""
    answer = inquiry.begin(
        "edit" if last else "frame",
        sql=best.sql,
        explanation=". ".join(filter(None, (best.label, changed))),
        confidence=min([decision.confidence, *(each.confidence for each in assumptions)]),
        assumptions=assumptions,
        frame=best.frame,
        rows=get_whole_rows(found.rows.get(best.id), inquiry.ask.rows),
        notes=notes,
    )
    if decision.kind != "choices":
        return answer
    asked = make_clarification(inquiry, found)
    return replace(answer, confidence=min(answer.confidence, ASKED_BACK), clarifications=(asked,))


def explain_missing_words(inquiry: Inquiry, found: Interpretation) -> Answer:
    """Return a refusal that names the words not understood, and a question about each."""
    questions = [
        Clarification(word, f'What does "{word}" mean?', category=find_category(word)) for word in found.missing
    ]
    names = [each.names[0] for each in inquiry.view.model.entities if each.names]
    text = explain_unclear(found.missing, names, inquiry.question, is_too_long=found.is_too_long)
    return inquiry.begin("frame", confidence=0.0, clarifications=tuple(questions), text=text)


def list_guesses(decision: Decision) -> list[Assumption]:
    """Return the words that the next best interpretation reads otherwise than the one that is assumed."""
    best, *others = decision.candidates if decision.kind == "assume" else decision.candidates[:1]
    return [
        Assumption(words, f"{target.table}.{target.column}".rstrip("."), "database", decision.confidence)
        for other in others[:1]
        for words, target in teaches(best, other)
        if stem_phrase(words) != stem_phrase(target.table) or target.column
    ]


def get_whole_rows(rows: Rows | None, most: int) -> Rows | None:
    """Return the rows of a trial if they are all that the statement gives: a full trial may have been cut."""
    is_whole = rows is not None and not rows.is_truncated and len(rows.rows) < min(most, PROBE_ROWS)
    return rows if is_whole else None


def list_used_words(inquiry: Inquiry, statement: CheckedSql) -> tuple[Assumption, ...]:
    """Return the taught words of the question and the standing filters whose columns a statement uses."""
    columns = set(map(str.casefold, statement.columns))
    used = [
        said
        for said, word in inquiry.taught.words
        if has_words((said.term, *word.names), inquiry.question) and uses_word(statement, word, inquiry)
    ]
    used += [said for said, _ in inquiry.taught.filters if said.term.casefold() in columns]
    return tuple(dict.fromkeys(used))


def uses_word(statement: CheckedSql, word: Word, inquiry: Inquiry) -> bool:
    """Return whether a statement reads what a taught word stands for: one of its targets, or all of its columns."""
    columns = set(map(str.casefold, statement.columns))
    if word.target:
        places = columns.union(map(str.casefold, statement.tables))
        targets = named_targets(word.target, inquiry.view.index)
        return any(f"{one.table}.{one.column}".rstrip(".").casefold() in places for one in targets)
    named = find_columns(word.condition or word.expression, inquiry.source.dialect)
    wanted = {f"{word.table or owner}.{column}".casefold() for owner, column in named}
    return bool(wanted) and wanted <= columns


# What can be asked next ----------------------------------------------------------------------------------------------


def suggest_questions(inquiry: Inquiry, answer: Answer, most: int) -> tuple[str, ...]:
    """Return questions that go on from an answer, for when no model suggests any. Each can be answered."""
    frame, rows = answer.frame, len(answer.rows.rows) if answer.rows else 0
    if frame is None:
        return ()
    texts = islice(list_follow_ups(inquiry, frame, rows), MAX_TRIED)
    return tuple(islice((text for text in texts if is_clear(text, inquiry.view, inquiry.today, frame)), most))


def list_follow_ups(inquiry: Inquiry, frame: Frame, rows: int) -> Iterator[str]:
    """Yield the same question for the year before, the greatest only if that is fewer rows, by another dimension."""
    year_before, top, by_name = FOLLOW_UPS[inquiry.language]
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
        if is_near and counts[each.names[:1]] == 1 and can_group_by(each, view.index):
            yield from each.names[:1]


def can_group_by(dimension: Dimension, index: SchemaIndex) -> bool:
    """Return whether rows of this dimension say something together: keys and personal data do not."""
    column = index.tables[dimension.table].columns.get(dimension.column)
    return column is not None and not column.is_key and not column.is_sensitive
