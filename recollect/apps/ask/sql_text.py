"""SQL as a syntax tree: written so that every server of a dialect reads it (`write_sql`), described in words, and
conditions over the columns of one table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.generator import Generator

from recollect.apps.ask.semantic.catalog import Catalog, Table
from recollect.errors import InvalidInput

CLAUSES = {"where": "where", "group": "by", "having": "having", "order": "ordered by"}


def write_sql(tree: exp.Expr, dialect: str | Dialect, **options: Any) -> str:
    """Return the statement in this dialect; `options` are those of sqlglot's generator."""
    chosen = Dialect.get_or_raise(dialect)
    return generator_class(type(chosen))(dialect=chosen, **options).generate(tree)


@cache
def generator_class(dialect: type[Dialect]) -> type[Generator]:
    """sqlglot writes REGEXP_LIKE for MySQL, which MariaDB does not have; both have the operator."""
    base: type[Generator] = dialect.generator_class
    if dialect.__name__ != "MySQL":
        return base
    transforms = {**base.TRANSFORMS, exp.RegexpLike: lambda writer, node: writer.binary(node, "REGEXP")}
    return type(base.__name__, (base,), {"TRANSFORMS": transforms})


def find_first_select(tree: exp.Expr) -> exp.Select | None:
    """Return the SELECT that names the columns of a statement; None if it is not a query."""
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    return tree if isinstance(tree, exp.Select) else None


def describe_sql(sql: str, dialect: str) -> str:
    """Return what a statement that was checked gives, in a line: its columns, tables, conditions, groups and limit."""
    tree = sqlglot.parse_one(sql, dialect=dialect)
    first = find_first_select(tree) or exp.Select()
    # Table names say nothing more where there is one table, and aliases never do.
    tables = {table.alias_or_name: table.name for table in tree.find_all(exp.Table)}
    for column in tree.find_all(exp.Column):
        column.set("table", exp.to_identifier(tables.get(column.table, "")) if len(tables) > 1 else None)

    def write(nodes: list[exp.Expr]) -> str:
        return ", ".join(each.unalias().sql(dialect) for each in nodes)

    clauses = {word: first.args.get(clause) for clause, word in CLAUSES.items()}
    limit = tree.args.get("limit")
    return ", ".join(
        (
            f"{write(first.selects)} from {', '.join(dict.fromkeys(tables.values()))}",
            *(f"{word} {write(node.expressions or [node.this])}" for word, node in clauses.items() if node),
            *([f"first {write([limit.expression])}"] if limit else []),
        )
    )


def add_conditions(sql: str, dialect: str, conditions: Mapping[str, str]) -> str:
    """Return a statement with a condition on the rows of each of these tables, wherever it reads them."""
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
    tree = parse_condition(condition, dialect)
    if tree is None or isinstance(tree, exp.Alias) or tree.find(exp.Query, exp.DML, exp.DDL, exp.Command):
        return None
    made = tree.transform(lambda node: replace_now(node, today))
    for column in made.find_all(exp.Column):
        column.set("table", None)
        column.set("db", None)
    return write_sql(made, dialect)


def check_expression(field: str, sql: str, dialect: str) -> exp.Expr:
    """Return the tree of a condition or an expression over the columns of one row, or raise InvalidInput."""
    try:
        tree, *others = sqlglot.parse(sql, dialect=dialect)
    except sqlglot.errors.SqlglotError as error:
        raise InvalidInput(field, f"{sql!r} is not a condition or an expression: {str(error)[:200]}") from None
    if tree is None or others:
        raise InvalidInput(field, f"{sql!r} is not one expression")
    if tree.find(exp.Query, exp.DDL, exp.DML, exp.Command):
        raise InvalidInput(field, "may use its table's own columns only; a subquery or statement cannot stand here")
    return tree


def parse_condition(condition: str, dialect: str) -> Any:
    """Return the syntax tree, read in the source's dialect or else in PostgreSQL's; None if neither fits."""
    for each in dict.fromkeys((dialect, "postgres")):
        try:
            return sqlglot.parse_one(condition[:MAX_CHARS], dialect=each)
        except (sqlglot.errors.SqlglotError, RecursionError):
            continue
    return None


def find_columns(condition: str, dialect: str) -> list[tuple[str, str]]:
    """Return (table or "", column) for each column that the condition names."""
    tree = parse_condition(condition, dialect)
    return [(each.table, each.name) for each in tree.find_all(exp.Column)] if tree else []


def find_tables_for(condition: str, catalog: Catalog, preferred: tuple[str, ...] = ()) -> list[Table]:
    """Return the tables that have all columns of the condition: the preferred ones, if any of them fits."""
    named = find_columns(condition, catalog.dialect)
    if not named:
        return []

    def has_column(table: Table, owner: str, column: str) -> bool:
        names = ("", table.name.casefold(), table.name.casefold().rpartition(".")[2])
        return owner.casefold() in names and table.column(column) is not None

    fits = [table for table in catalog.tables if all(has_column(table, *each) for each in named)]
    wanted = {name.casefold() for name in preferred}
    return [table for table in fits if table.name.casefold() in wanted] or fits


def replace_now(node: Any, today: date) -> Any:
    """Return NOW(), alone or with an interval, as a date; any other node as it is. MySQL also writes
    DATE_SUB(NOW(), INTERVAL 30 DAY), PostgreSQL CURRENT_DATE - 30."""
    if is_now(node):
        return exp.Literal.string(today.isoformat())
    if isinstance(node, exp.Sub | exp.Add | exp.DateSub | exp.DateAdd) and is_now(node.this):
        days = count_days(node)
        if days is not None:
            shift = timedelta(days=days if isinstance(node, exp.Add | exp.DateAdd) else -days)
            return exp.Literal.string((today + shift).isoformat())
    return node


def is_now(node: Any) -> bool:
    kinds = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentDatetime, exp.Localtimestamp)
    bare = node.unnest()
    return isinstance(bare, kinds) or (isinstance(bare, exp.Anonymous) and bare.name.upper() == "NOW")


def count_days(shift: Any) -> int | None:
    """Return by how many days a moment is shifted: an interval, or a number of days."""
    by, unit = shift.expression, shift.args.get("unit")
    if isinstance(by, exp.Interval):
        by, unit = by.this, by.args.get("unit")
    count, name = by.name if by is not None else "", str(unit or "day").casefold().removesuffix("s")
    if name not in DAYS or not count.isdecimal() or len(count) > 5:
        return None
    return int(count) * DAYS[name]
