"""From changes to lessons: what of a correction is worth keeping, and how sure it is.

The pair itself is always kept, as an example. Beside it, names become terminology, a changed filter explains the vague
word of the question, and an added filter, a measure, a grouping or a unit becomes a preference, unless the question
asked for it: then the first query was wrong about this question, and nothing holds for the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from recollect.apps.ask.corrections.change import Change, Correction
from recollect.apps.ask.corrections.question_words import (
    COLUMN,
    STRING,
    asked,
    columns,
    is_asked,
    is_column_asked,
    is_measure_asked,
    is_unit_asked,
)
from recollect.values.lesson import MAX_VALUE_CHARS, Lesson
from recollect.values.memory import MemoryKind
from recollect.values.scope import MAX_NAME
from recollect.values.text import check_text

MOST = 3  # changes; a query that was rewritten says nothing about any one of them
SURE = {"terminology": 0.95, "definition": 0.9, "preference": 0.7, "correction": 0.95}
EXAMPLE = 0.4  # importance: found when a question is like it, not shown in every context
TYPES = {"table_substitution": "wrong_table", "column_substitution": "wrong_column"}
MEASURE = re.compile(r"\b(?:COUNT|SUM|AVG|MIN|MAX)\(")  # a condition on groups is no filter of a table
NAMELESS = ("id",)  # says nothing about what was meant


def lessons(
    correction: Correction, question: str, generated_sql: str, corrected_sql: str, source: str | None = None
) -> list[Lesson]:
    """Ready for `Engine.learn`, the pair first. `source` names the database, if there are several."""
    if correction.equivalent:
        return []
    check_text("question", question, MAX_VALUE_CHARS)
    found = [pair(correction, question, generated_sql, corrected_sql)]
    if len(correction.changes) <= MOST:
        found += [lesson for change in correction.changes for lesson in taught(change, question)]
    unique = {(lesson.kind, lesson.key): lesson for lesson in reversed(found)}
    return [_placed(lesson, source) for lesson in reversed(unique.values())]


def _placed(lesson: Lesson, source: str | None) -> Lesson:
    return replace(lesson, data={**(lesson.data or {}), "source": source}) if source else lesson


def pair(correction: Correction, question: str, generated_sql: str, corrected_sql: str) -> Lesson:
    changes = correction.changes
    data = {
        "original_query": question,
        "generated_sql": generated_sql,
        "corrected_sql": corrected_sql,
        "correction_type": correction_type(changes[0]),
        "learned_mapping": "; ".join(map(mapping, changes[:MOST])),
        "changes": [change.kind for change in changes],
    }
    key = _cut(" ".join(question.split()), MAX_NAME)
    return replace(_lesson("correction", key, _cut(corrected_sql, MAX_VALUE_CHARS), question, data), importance=EXAMPLE)


def correction_type(change: Change) -> str:
    if change.kind.startswith("filter_"):
        return "wrong_filter"
    return TYPES.get(change.kind, f"wrong_{change.kind}")


def mapping(change: Change) -> str:
    return _cut(f"{change.before or 'nothing'} → {change.after or 'nothing'}", MAX_NAME)


def taught(change: Change, question: str) -> Iterator[Lesson]:
    match change.kind:
        case "table_substitution":
            yield from _names(change, question, "table", f"refers to {change.after} table")
        case "column_substitution":
            full = f"{change.table}.{change.after}" if change.table else change.after
            yield from _names(change, question, "column", f"refers to {full}")
        case "filter_change" | "filter_addition":
            yield from _filter(change, question)
        case "aggregation" | "grouping" | "grain":
            yield from _habit(change, question)


def _names(change: Change, question: str, entity: str, value: str) -> Iterator[Lesson]:
    data = {"entity_type": entity, "canonical_term": change.after, "table_name": change.table}
    for term in dict.fromkeys(filter(None, (change.before, change.word))):
        if term.lower() not in NAMELESS:
            yield _lesson("terminology", term.lower(), value, question, data)


def _filter(change: Change, question: str) -> Iterator[Lesson]:
    condition = change.after or ""
    if change.word:
        yield _lesson("definition", change.word, condition, question, {"sql_hint": condition})
    elif change.kind == "filter_addition" and not MEASURE.search(condition) and not is_asked(condition, question):
        about = _first_column(condition)
        if about:
            yield _lesson("preference", f"default_filter:{about}", condition, question, {"table_name": change.table})


def _habit(change: Change, question: str) -> Iterator[Lesson]:
    after = change.after or ""
    if change.kind == "grain" and after and not is_unit_asked(after, question):
        yield _lesson("preference", "time_grain", after, question, {"table_name": change.table})
    if change.kind == "aggregation" and not is_measure_asked(after, question):
        about = _first_column(after) or _first_column(change.before or "") or after.lower()
        yield _lesson("preference", f"aggregation:{about}", after, question, {"table_name": change.table})
    if change.kind == "grouping" and after and not _is_grouping_asked(change, question):
        yield _lesson("preference", f"grouping:{change.table}", f"by {after}", question, {"table_name": change.table})


def _is_grouping_asked(change: Change, question: str) -> bool:
    heard, known = asked(question), columns(change.before or "")
    return all(is_column_asked(name, heard) for name in columns(change.after or "") if name not in known)


def _first_column(sql: str) -> str | None:
    """As table.column."""
    found = dict.fromkeys(f"{table}.{name}" for table, name in COLUMN.findall(STRING.sub("''", sql)) if table)
    return next(iter(found), None)


def _lesson(kind: MemoryKind, key: str, value: str, question: str, data: dict[str, Any]) -> Lesson:
    return Lesson(
        _cut(value, MAX_VALUE_CHARS),
        key=_cut(key, MAX_NAME),
        kind=kind,
        source="correction",
        owner="user",
        confidence=SURE[kind],
        data=data,
        question=question,
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
