"""The one gate of SQL: every statement that is run against a customer's database passes here.

`check_sql` reads the text, checks every part of it against lists of what is allowed, and gives back a text of its own:
rendered from the tree that was checked, with each name bound to the table it was checked for, and with a row cap. Only
that text is run. What it promises: one statement, which only reads, only from the tables and columns in `Allowed`, with
functions that have no effect and no view outside. A refusal is a StatementDenied that names the offending part.

It is not alone: hosts/sql runs what passed in a read-only transaction, under a role without write grants and with a
timeout. sqlglot is imported when the first statement comes, not before.

    gate_read      text -> tree: size, one statement, placeholders, depth
    gate_nodes     every node of the tree against the lists (gate_functions.toml)
    gate_catalog   the names of tables and columns that this person may see
    gate_sources   what FROM names: tables, CTEs, subqueries, functions
    gate_names     every column bound to its source; stars written out
    gate_cost      cross joins, endless recursion, the row cap
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from recollect.errors import StatementDenied

__all__ = ["Allowed", "CheckedSql", "StatementDenied", "check_sql", "list_tables"]


@dataclass(frozen=True, slots=True)
class Allowed:
    """What this person may see now. A table is named as in the catalog, optionally `schema.table`; its columns in the
    order in which `SELECT *` is to give them (a set is put in order of names). Case does not matter."""

    tables: Mapping[str, Collection[str]]
    default_schema: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedSql:
    """A statement that may be run as it stands in `sql`; never run the text it was made from."""

    sql: str
    tables: tuple[str, ...]  # names of the catalog, in order of first use
    columns: tuple[str, ...]  # "table.column", likewise
    full_sql: str = ""  # without the row cap; pass it again before it is run


def check_sql(sql: str, dialect: str, allowed: Allowed, *, rows: int = 100) -> CheckedSql:
    """The statement to run instead of `sql`, which gives at most `rows` rows; or StatementDenied."""
    from recollect.apps.ask.gate.steps import checked

    return checked(sql, dialect, allowed, rows)


def list_tables(sql: str, dialect: str) -> tuple[str, ...]:
    """The tables that a stored statement names, as written, without its CTEs; nothing if it cannot be read."""
    from recollect.apps.ask.gate.steps import named_tables

    return named_tables(sql, dialect)
