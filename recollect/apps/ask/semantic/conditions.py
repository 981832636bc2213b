"""Conditions that people write as SQL, for example `last_login_at > NOW() - INTERVAL '30 days'`, in any dialect.

`ground_condition` rewrites one for a source: in its dialect, with moments such as NOW() - INTERVAL '30 days' as dates.
`find_tables_for` says which tables it can be about.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from recollect.apps.ask.semantic.catalog import Catalog, Table
from recollect.apps.ask.sql_text import write_sql

DAYS = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
MAX_CHARS = 2_000


def ground_condition(condition: str, dialect: str, today: date) -> str | None:
    """Return the condition in the source's dialect over unqualified columns, or None if it is no condition."""
    from sqlglot import exp

    tree = parse_condition(condition, dialect)
    if tree is None or isinstance(tree, exp.Alias) or tree.find(exp.Query, exp.DML, exp.DDL, exp.Command):
        return None
    made = tree.transform(lambda node: replace_now(node, today))
    for column in made.find_all(exp.Column):
        column.set("table", None)
        column.set("db", None)
    return write_sql(made, dialect)


def parse_condition(condition: str, dialect: str) -> Any:
    """Return the syntax tree, read in the source's dialect or else in PostgreSQL's; None if neither fits."""
    import sqlglot

    for each in dict.fromkeys((dialect, "postgres")):
        try:
            return sqlglot.parse_one(condition[:MAX_CHARS], dialect=each)
        except (sqlglot.errors.SqlglotError, RecursionError):
            continue
    return None


def find_columns(condition: str, dialect: str) -> list[tuple[str, str]]:
    """Return (table or "", column) for each column that the condition names."""
    from sqlglot import exp

    tree = parse_condition(condition, dialect)
    return [] if tree is None else [(each.table, each.name) for each in tree.find_all(exp.Column)]


def find_tables_for(condition: str, catalog: Catalog, preferred: tuple[str, ...] = ()) -> list[Table]:
    """Return the tables that have all columns of the condition: the preferred ones, if any of them fits."""
    named = find_columns(condition, catalog.dialect)
    if not named:
        return []
    fits = [table for table in catalog.tables if all(has_column(table, *each) for each in named)]
    wanted = {name.casefold() for name in preferred}
    return [table for table in fits if table.name.casefold() in wanted] or fits


def has_column(table: Table, owner: str, column: str) -> bool:
    own = table.name.casefold().rpartition(".")[2]
    return (not owner or owner.casefold() in (own, table.name.casefold())) and table.column(column) is not None


def replace_now(node: Any, today: date) -> Any:
    """Return NOW(), alone or with an interval, as a date; any other node as it is. MySQL also writes
    DATE_SUB(NOW(), INTERVAL 30 DAY), PostgreSQL CURRENT_DATE - 30."""
    from sqlglot import exp

    if is_now(node):
        return exp.Literal.string(today.isoformat())
    if isinstance(node, exp.Sub | exp.Add | exp.DateSub | exp.DateAdd) and is_now(node.this):
        days = count_days(node)
        if days is not None:
            shift = timedelta(days=days if isinstance(node, exp.Add | exp.DateAdd) else -days)
            return exp.Literal.string((today + shift).isoformat())
    return node


def is_now(node: Any) -> bool:
    from sqlglot import exp

    kinds = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentDatetime, exp.Localtimestamp)
    bare = node.unnest()
    return isinstance(bare, kinds) or (isinstance(bare, exp.Anonymous) and bare.name.upper() == "NOW")


def count_days(shift: Any) -> int | None:
    """Return by how many days a moment is shifted: an interval, or a number of days."""
    from sqlglot import exp

    by, unit = shift.expression, shift.args.get("unit")
    if isinstance(by, exp.Interval):
        by, unit = by.this, by.args.get("unit")
    count, name = by.name if by is not None else "", str(unit or "day").casefold().removesuffix("s")
    if name not in DAYS or not count.isdecimal() or len(count) > 5:
        return None
    return int(count) * DAYS[name]
