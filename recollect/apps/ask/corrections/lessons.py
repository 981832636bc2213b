"""From the changes of a correction to lessons. `draw_lessons` is the entry point.

The pair of queries is always kept, as an example. In addition, names become terminology, a changed filter explains the
vague word of the question, and an added filter, a measure, a grouping or a unit becomes a preference. If the question
asked for it, the first query was wrong about this question only, and no preference is learned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from recollect.apps.ask.corrections.correction import Change, Correction
from recollect.apps.ask.corrections.question_words import (
    QuestionWords,
    is_column_asked,
    is_condition_asked,
    is_measure_asked,
    is_unit_asked,
    list_columns,
    list_qualified_columns,
)
from recollect.values.lesson import MAX_VALUE_CHARS, Lesson
from recollect.values.memory import MemoryKind
from recollect.values.scope import MAX_NAME
from recollect.values.text import check_text

MAX_CHANGES = 3  # a query that was rewritten says nothing about any one change
CONFIDENCE = {"terminology": 0.95, "definition": 0.9, "preference": 0.7, "correction": 0.95}
EXAMPLE_IMPORTANCE = 0.4  # found when a question is like it, not shown in every context
TYPES = {"table_substitution": "wrong_table", "column_substitution": "wrong_column"}
MEASURE = re.compile(r"\b(?:COUNT|SUM|AVG|MIN|MAX)\(")  # a condition on groups is not a filter of a table
NOT_TERMS = ("id",)  # says nothing about what was meant


def draw_lessons(
    correction: Correction, question: str, generated_sql: str, corrected_sql: str, source: str | None = None
) -> list[Lesson]:
    """Return the lessons for `Engine.learn`, the pair first. `source` names the database, if there are several."""
    if correction.equivalent:
        return []
    check_text("question", question, MAX_VALUE_CHARS)
    found = [_make_example(correction.changes, question, generated_sql, corrected_sql)]
    if len(correction.changes) <= MAX_CHANGES:
        found += [lesson for change in correction.changes for lesson in _draw_from_change(change, question)]
    unique = {(lesson.kind, lesson.key): lesson for lesson in reversed(found)}
    place = {"source": source} if source else {}
    return [replace(lesson, data={**(lesson.data or {}), **place}) for lesson in reversed(unique.values())]


def _make_example(changes: tuple[Change, ...], question: str, generated_sql: str, corrected_sql: str) -> Lesson:
    mappings = (f"{change.before or 'nothing'} → {change.after or 'nothing'}" for change in changes[:MAX_CHANGES])
    kind = "filter" if changes[0].kind.startswith("filter_") else changes[0].kind
    data = {
        "original_query": question,
        "generated_sql": generated_sql,
        "corrected_sql": corrected_sql,
        "correction_type": TYPES.get(kind, f"wrong_{kind}"),
        "learned_mapping": "; ".join(_shorten(each, MAX_NAME) for each in mappings),
        "changes": [change.kind for change in changes],
    }
    lesson = _make_lesson("correction", " ".join(question.split()), corrected_sql, question, data)
    return replace(lesson, importance=EXAMPLE_IMPORTANCE)


def _draw_from_change(change: Change, question: str) -> Iterator[Lesson]:
    after = change.after or ""
    if change.kind == "table_substitution":
        yield from _draw_terms(change, question, "table", f"refers to {after} table")
    elif change.kind == "column_substitution":
        full = ".".join(filter(None, (change.table, after)))
        yield from _draw_terms(change, question, "column", f"refers to {full}")
    elif change.word:
        yield _make_lesson("definition", change.word, after, question, {"sql_hint": after})
    elif change.kind in PREFERENCES:
        key = PREFERENCES[change.kind](change, after, question)
        value = f"by {after}" if change.kind == "grouping" else after
        if key:
            yield _make_lesson("preference", key, value, question, {"table_name": change.table})


def _draw_terms(change: Change, question: str, entity: str, value: str) -> Iterator[Lesson]:
    data = {"entity_type": entity, "canonical_term": change.after, "table_name": change.table}
    for term in dict.fromkeys(filter(None, (change.before, change.word))):
        if term.lower() not in NOT_TERMS:
            yield _make_lesson("terminology", term.lower(), value, question, data)


# Each returns the key of the preference that a change shows, or None if the question asked for it.


def _prefer_filter(change: Change, after: str, question: str) -> str | None:
    columns = list_qualified_columns(after)
    if not columns or MEASURE.search(after) or is_condition_asked(after, question):
        return None
    return f"default_filter:{columns[0]}"


def _prefer_measure(change: Change, after: str, question: str) -> str | None:
    about = [*list_qualified_columns(after), *list_qualified_columns(change.before or ""), after.lower()][0]
    return None if is_measure_asked(after, question) else f"aggregation:{about}"


def _prefer_unit(change: Change, after: str, question: str) -> str | None:
    return None if not after or is_unit_asked(after, question) else "time_grain"


def _prefer_grouping(change: Change, after: str, question: str) -> str | None:
    words, known = QuestionWords.of(question), list_columns(change.before or "")
    new = [name for name in list_columns(after) if name not in known]
    is_asked = all(is_column_asked(name, words) for name in new)
    return None if not after or is_asked else f"grouping:{change.table}"


PREFERENCES = {
    "filter_addition": _prefer_filter,
    "aggregation": _prefer_measure,
    "grain": _prefer_unit,
    "grouping": _prefer_grouping,
}


def _make_lesson(kind: MemoryKind, key: str, value: str, question: str, data: dict[str, Any]) -> Lesson:
    return Lesson(
        _shorten(value, MAX_VALUE_CHARS),
        key=_shorten(key, MAX_NAME),
        kind=kind,
        source="correction",
        owner="user",
        confidence=CONFIDENCE[kind],
        data=data,
        question=question,
    )


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
