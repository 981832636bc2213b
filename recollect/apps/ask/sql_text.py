"""Write a syntax tree as SQL that every server of a dialect reads. `write_sql` is the entry point."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from recollect.apps.ask.semantic.catalog import Catalog, Table

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.generator import Generator


def write_sql(tree: exp.Expr, dialect: str | Dialect, **options: Any) -> str:
    """Return the statement in this dialect; `options` are those of sqlglot's generator."""
    from sqlglot.dialects.dialect import Dialect

    chosen = Dialect.get_or_raise(dialect)
    return generator_class(type(chosen))(dialect=chosen, **options).generate(tree)


@cache
def generator_class(dialect: type[Dialect]) -> type[Generator]:
    """sqlglot writes REGEXP_LIKE for MySQL, which MariaDB does not have; both have the operator."""
    from sqlglot import exp

    base: type[Generator] = dialect.generator_class
    if dialect.__name__ != "MySQL":
        return base

    def write_regexp(writer: Generator, node: exp.RegexpLike) -> str:
        return writer.binary(node, "REGEXP")

    return type(base.__name__, (base,), {"TRANSFORMS": {**base.TRANSFORMS, exp.RegexpLike: write_regexp}})


def describe_sql(sql: str, dialect: str) -> str:
    """Return what a statement gives, in a line: its columns, tables, conditions, groups and limit."""
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return sql
    first: Any = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not isinstance(first, exp.Select):
        return sql
    # Table names say nothing more where there is one table, and aliases never do.
    tables = {table.alias_or_name: table.name for table in tree.find_all(exp.Table)}
    for column in tree.find_all(exp.Column):
        column.set("table", exp.to_identifier(tables.get(column.table, "")) if len(tables) > 1 else None)
    shown = ", ".join(each.unalias().sql(dialect) for each in first.selects)
    parts = [f"{shown} from {', '.join(dict.fromkeys(tables.values()))}"]
    for clause, word in (("where", "where"), ("group", "by"), ("having", "having"), ("order", "ordered by")):
        if node := first.args.get(clause):
            inside = [node.this] if clause in ("where", "having") else node.expressions
            parts.append(f"{word} {', '.join(each.sql(dialect) for each in inside)}")
    limit = tree.args.get("limit")
    parts += [f"first {limit.expression.sql(dialect)}"] if limit else []
    return ", ".join(parts)


def add_conditions(sql: str, dialect: str, conditions: Mapping[str, str]) -> str:
    """Return a statement with a condition on the rows of each of these tables, wherever it reads them."""
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(sql, dialect=dialect)
    for table in list(tree.find_all(exp.Table)):
        condition = conditions.get(table.name.casefold())
        select = table.parent_select
        if condition is None or not isinstance(select, exp.Select):
            continue
        made = sqlglot.parse_one(condition, dialect=dialect)
        for column in made.find_all(exp.Column):
            column.set("table", exp.to_identifier(table.alias_or_name))
        join = table.parent
        if isinstance(join, exp.Join) and join.side:  # in WHERE it would leave out the rows without a match
            join.on(made, copy=False)
        else:
            select.where(made, copy=False)
    return write_sql(tree, dialect)


# Conditions -----------------------------------------------------------------------------------------------------------


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
