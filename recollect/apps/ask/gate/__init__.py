"""The one gate of SQL: every statement that is run against a customer's database passes here.

`check_sql` parses the text, checks every part of it against lists of what is allowed, and returns a text of its own:
rendered from the tree that was checked, with each name bound to the table it was checked for, and with a row cap. Only
that text is run. What it promises: one statement, which only reads, only from the tables and columns in `Allowed`, with
functions that have no effect and read nothing else. A refusal is a StatementDenied that names the offending part.

It is one of several guards: sources/ runs the result in a read-only transaction with a time limit, under a role that
cannot write. sqlglot is imported with the first statement, not before.

    statement.py   text to tree (size, one statement, placeholders, depth), the order of the checks, cost (cross joins,
                   endless recursion, the row cap), tree to text
    nodes.py       every node of the tree against the lists in functions.toml; sizes
    scopes.py      the tables that the caller may see, and what FROM names
    names.py       every column bound to its source; stars written out
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from recollect.errors import StatementDenied

__all__ = ["Allowed", "CheckedSql", "StatementDenied", "check_sql", "list_tables"]


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the caller may see. A table is named as in the catalog, optionally `schema.table`; its columns in the order
    in which `SELECT *` returns them (a set is sorted by name). Case does not matter."""

    tables: Mapping[str, Collection[str]]
    default_schema: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedSql:
    """A statement that may be run as it is in `sql`; never run the text it was made from."""

    sql: str
    tables: tuple[str, ...]  # names of the catalog, in order of first use
    columns: tuple[str, ...]  # "table.column", likewise
    full_sql: str = ""  # without the row cap; check it again before it is run


def check_sql(sql: str, dialect: str, allowed: Allowed, *, rows: int = 100) -> CheckedSql:
    """Return the statement to run instead of `sql`, which returns at most `rows` rows; or raise StatementDenied."""
    from recollect.apps.ask.gate.statement import check_statement

    return check_statement(sql, dialect, allowed, rows)


def list_tables(sql: str, dialect: str) -> tuple[str, ...]:
    """Return the tables that a stored statement names, as written, without its CTEs; none if it cannot be parsed."""
    from recollect.apps.ask.gate.statement import find_tables

    return find_tables(sql, dialect)
