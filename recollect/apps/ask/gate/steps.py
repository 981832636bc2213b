"""The way of a statement through the gate, and what the gate knows of stored ones. Called by gate only.

Text to tree, nodes against the lists, names against the catalog, cost, row cap, tree to text. Whatever goes wrong on
the way is a refusal: a statement that was not understood is not run.
"""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError

from recollect.apps.ask.gate.allow_lists import Lists, lists_of
from recollect.apps.ask.gate.bounds import check_growth_of
from recollect.apps.ask.gate.check import Allowed, CheckedSql
from recollect.apps.ask.gate.cost import capped, check_joins, check_recursion
from recollect.apps.ask.gate.name_catalog import Catalog
from recollect.apps.ask.gate.names import Binder
from recollect.apps.ask.gate.nodes import check_nodes
from recollect.apps.ask.gate.parse import tree_of
from recollect.apps.ask.sql_text import write_sql
from recollect.errors import InvalidInput, StatementDenied

ODD = re.compile(r"['\"`\\]")
PLAIN_BACKSLASH = {"sqlite", "postgres", "duckdb"}  # a backslash in '...' is an ordinary character


def checked(sql: str, dialect: str, allowed: Allowed, rows: int) -> CheckedSql:
    spoken = dialect_of(dialect)
    try:
        return through(sql, dialect, spoken, allowed, rows)
    except StatementDenied:
        raise
    except RecursionError as error:
        raise StatementDenied("it is nested too deeply; make it simpler") from error
    # sqlglot meets hostile text with errors of many kinds; none of them may become a statement that runs
    except Exception as error:
        raise StatementDenied(f"it cannot be understood ({type(error).__name__}); make it simpler") from error


def dialect_of(name: str) -> Dialect:
    try:
        return Dialect.get_or_raise(name)
    except ValueError as error:
        raise InvalidInput("dialect", f"{name[:40]!r} is not a dialect of SQL that is known here") from error


def through(sql: str, dialect: str, spoken: Dialect, allowed: Allowed, rows: int) -> CheckedSql:
    lists = lists_of(dialect)
    tree = tree_of(sql, spoken)
    check_nodes(tree, lists, backslash=dialect in PLAIN_BACKSLASH)
    check_recursion(tree)
    check_growth_of(tree)
    binder = Binder(Catalog(allowed, dialect), lists, sql)
    binder.query(tree, None, {})
    check_all_bound(tree, binder)
    check_joins(binder.scopes)
    full = write_checked(tree, spoken, lists)
    text = write_checked(capped(tree, rows), spoken, lists)
    return CheckedSql(text, tuple(binder.tables), tuple(binder.columns), full)


def write_checked(tree: exp.Expr, spoken: Dialect, lists: Lists) -> str:
    text = write_sql(tree, spoken, comments=False, unsupported_level=ErrorLevel.RAISE)
    check_text_again(text, tree, spoken, lists)
    return text


def check_all_bound(tree: exp.Expr, binder: Binder) -> None:
    """Nothing that names data may have escaped the binder, wherever sqlglot hid it."""
    for node in tree.find_all(exp.Column, exp.Table):
        if id(node) not in binder.bound:
            raise StatementDenied(f"{node.sql()[:60]} stands where no name is expected")


def check_text_again(text: str, tree: exp.Expr, spoken: Dialect, lists: Lists) -> None:
    """What will run is read once more: it must be made of allowed parts, and where a text in it has quotes or
    backslashes it must be the very same tree, so that no string can end early."""
    again = tree_of(text, spoken)
    check_nodes(again, lists, backslash=lists.dialect in PLAIN_BACKSLASH)
    is_odd = any(ODD.search(node.name) for node in tree.find_all(exp.Literal, exp.JSONPathKey))
    if is_odd and again != tree:
        raise StatementDenied("a quote or a backslash in one of its texts cannot be passed on safely")


def named_tables(sql: str, dialect: str) -> tuple[str, ...]:
    try:
        tree = tree_of(sql, Dialect.get_or_raise(dialect))
    except (StatementDenied, SqlglotError, RecursionError, ValueError):
        return ()
    named = [table for table in tree.find_all(exp.Table, bfs=False) if isinstance(table.this, exp.Identifier)]
    return tuple(dict.fromkeys(dotted(table) for table in named if not is_cte(table)))


def dotted(table: exp.Table) -> str:
    return ".".join(part.name for part in table.parts)


def is_cte(table: exp.Table) -> bool:
    """Whether a WITH around it gives it its name; inside the CTE of that name only if it is recursive."""
    if table.args.get("db"):
        return False
    inside: exp.Expr | None = table
    while inside:
        for cte in ctes_of(inside):
            if cte.alias.lower() == table.name.lower():
                return bool(cte.parent and cte.parent.args.get("recursive")) or table.find_ancestor(exp.CTE) is not cte
        inside = inside.parent
    return False


def ctes_of(node: exp.Expr) -> list[exp.CTE]:
    clause = node.args.get("with_")
    return list(clause.expressions) if clause else []
