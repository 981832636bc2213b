"""What a corrected query teaches. Pure: two texts and the question in, changes and lessons out.

`compared` reads both queries into the same plain form and compares them clause by clause; `lessons` turns the changes
into what `Engine.learn` takes. The host that answers questions over databases calls both; `python -m bench corrections`
measures them. The parser is loaded on the first comparison. See docs/why/sql-gate-and-corrections.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from recollect.apps.ask.corrections.change import Change, ChangeKind, Correction
from recollect.apps.ask.corrections.correction_lessons import lessons
from recollect.apps.ask.corrections.question_words import named
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Change", "ChangeKind", "Correction", "compared", "lessons"]


def compared(
    generated_sql: str,
    corrected_sql: str,
    dialect: str,
    question: str = "",
    schema: Mapping[str, Iterable[str]] | None = None,
) -> Correction:
    """`schema` is tables with their columns, where known: it tells whose an unqualified column is."""
    try:
        changes = _changes(generated_sql, corrected_sql, dialect, schema)
    except RecursionError:
        raise InvalidInput("corrected_sql", "one of the queries is nested too deeply to be compared") from None
    return Correction(tuple(named(change, question) for change in changes), not changes)


def _changes(
    generated_sql: str, corrected_sql: str, dialect: str, schema: Mapping[str, Iterable[str]] | None
) -> list[Change]:
    from recollect.apps.ask.corrections.canonical_forms import plain
    from recollect.apps.ask.corrections.clauses import read
    from recollect.apps.ask.corrections.compare import differences
    from recollect.apps.ask.corrections.compare_items import Replaced
    from recollect.apps.ask.corrections.compare_tables import follows, once, substitutes
    from recollect.apps.ask.corrections.qualified_names import renamed

    before, after = _named(generated_sql, corrected_sql, dialect, schema)
    tables = substitutes(before, after)
    renamed(before, tables)
    changes = [Change("table_substitution", new, old, new) for old, new in once(tables).items()]
    old, new = (read(plain(query, dialect), dialect) for query in (before, after))
    found = differences(old, new, Replaced(tables=frozenset(tables.values())))
    changes += [change for change in found if not follows(change, tables)]
    # What no rule has a name for must not pass for a confirmation.
    return changes or ([] if old.sense == new.sense else [Change("projection")])


def _named(
    generated: str, corrected: str, dialect: str, schema: Mapping[str, Iterable[str]] | None
) -> tuple[exp.Query, exp.Query]:
    """Both trees, each column with its table. The first pass is for what each query tells about the other's names."""
    from recollect.apps.ask.corrections.inlined_ctes import merged, parsed, without_ctes
    from recollect.apps.ask.corrections.qualified_names import Known, is_plain, plain_schema, resolved

    fields = ("generated_sql", generated), ("corrected_sql", corrected)
    before, after = (merged(without_ctes(parsed(field, sql, dialect))) for field, sql in fields)
    columns, known = plain_schema(schema), Known()
    if not (is_plain(before) and is_plain(after)):
        for query in (before, after):
            resolved(query.copy(), columns, known)
    return resolved(before, columns, known), resolved(after, columns, known)
