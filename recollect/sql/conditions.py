"""Conditions that people gave as SQL: `last_login_at > NOW() - INTERVAL '30 days'`, whatever database they had in mind.

`grounded` writes one for the source at hand: its dialect, and moments such as NOW() - INTERVAL '30 days' as the days
they are today, which every database understands. `home_of` says which table it is about.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from recollect.sql.catalog import Catalog, Table

DAYS = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
MAX_CHARS = 2_000


def grounded(condition: str, dialect: str, today: date) -> str | None:
    """None if it is no condition over columns."""
    from sqlglot import exp

    tree = parsed(condition, dialect)
    if tree is None or tree.find(exp.Query, exp.DML, exp.DDL, exp.Command):
        return None
    made = tree.transform(lambda node: _as_day(node, today))
    for column in made.find_all(exp.Column):
        column.set("table", None)
        column.set("db", None)
    return str(made.sql(dialect=dialect))


def parsed(condition: str, dialect: str) -> Any:
    """As the source writes it, or as PostgreSQL does, in which most people give examples."""
    import sqlglot

    for each in dict.fromkeys((dialect, "postgres")):
        try:
            return sqlglot.parse_one(condition[:MAX_CHARS], dialect=each)
        except (sqlglot.errors.SqlglotError, RecursionError):
            continue
    return None


def columns_of(condition: str, dialect: str) -> list[tuple[str, str]]:
    """(table or "", column) for each column it names."""
    from sqlglot import exp

    tree = parsed(condition, dialect)
    return [] if tree is None else [(each.table, each.name) for each in tree.find_all(exp.Column)]


def home_of(condition: str, catalog: Catalog, preferred: tuple[str, ...] = ()) -> Table | None:
    """The one table that has all its columns; of several a preferred one, or none if that is not decided."""
    named = columns_of(condition, catalog.dialect)
    if not named:
        return None
    fits = [table for table in catalog.tables if all(_has(table, *each) for each in named)]
    wanted = [table for table in fits if table.name.casefold() in {name.casefold() for name in preferred}]
    chosen = wanted or fits
    return chosen[0] if len(chosen) == 1 else None


def _has(table: Table, owner: str, column: str) -> bool:
    own = table.name.casefold().rpartition(".")[2]
    return (not owner or owner.casefold() in (own, table.name.casefold())) and table.column(column) is not None


def _as_day(node: Any, today: date) -> Any:
    """`NOW()`, or `NOW()` and an interval, as a date."""
    from sqlglot import exp

    if _is_now(node):
        return exp.Literal.string(today.isoformat())
    if isinstance(node, exp.Sub | exp.Add) and _is_now(node.this) and isinstance(node.expression, exp.Interval):
        days = _days(node.expression)
        if days is not None:
            shift = timedelta(days=days if isinstance(node, exp.Add) else -days)
            return exp.Literal.string((today + shift).isoformat())
    return node


def _is_now(node: Any) -> bool:
    from sqlglot import exp

    kinds = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentDatetime, exp.Localtimestamp)
    bare = node.unnest()
    return isinstance(bare, kinds) or (isinstance(bare, exp.Anonymous) and bare.name.upper() == "NOW")


def _days(interval: Any) -> int | None:
    unit = str(interval.args.get("unit") or "").casefold().removesuffix("s")
    count = interval.this.name if interval.this is not None else ""
    if unit not in DAYS or not count.isdecimal() or len(count) > 5:
        return None
    return int(count) * DAYS[unit]
