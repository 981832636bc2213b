"""What a corrected query changes: `compare_queries` returns a `Correction`.

Pure: two texts and the question in, changes out. lessons.py turns them into what `Engine.learn` takes;
`python -m bench corrections` measures both. The parser is loaded on the first comparison. See
docs/why/sql-gate-and-corrections.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from recollect.errors import InvalidInput

ChangeKind = Literal[
    "table_substitution",
    "column_substitution",
    "filter_addition",
    "filter_removal",
    "filter_change",
    "aggregation",
    "grouping",
    "grain",
    "join",
    "order",
    "limit",
    "projection",
]


@dataclass(frozen=True, slots=True)
class Change:
    """One way in which a corrected query differs. `before` and `after` are names for substitutions, units for a grain,
    and otherwise SQL with full table names. `table` is the one that `after` (or, for a removal, `before`) is about.
    `word` is the question's own word that the wrong name came from, or the vague word whose meaning was changed."""

    kind: ChangeKind
    table: str | None = None
    before: str | None = None
    after: str | None = None
    word: str | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """All changes. `equivalent`: both queries say the same, so the first one is confirmed and nothing is learned."""

    changes: tuple[Change, ...]
    equivalent: bool


def compare_queries(
    generated_sql: str,
    corrected_sql: str,
    dialect: str,
    question: str = "",
    schema: Mapping[str, Iterable[str]] | None = None,
) -> Correction:
    """Return the changes from one query to the other. `schema` is tables with their columns, where known: it tells
    which table an unqualified column belongs to."""
    from recollect.apps.ask.corrections.compare import find_changes
    from recollect.apps.ask.corrections.lessons import add_question_word

    try:
        changes = find_changes(generated_sql, corrected_sql, dialect, schema)
    except RecursionError:
        raise InvalidInput("corrected_sql", "one of the queries is nested too deeply to be compared") from None
    return Correction(tuple(add_question_word(change, question) for change in changes), not changes)
