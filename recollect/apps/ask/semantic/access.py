"""What a role may see of a data source.

Hidden tables and columns are not in the role's catalog, so the gate refuses them. Rows are limited by conditions that
`restrict_sql` puts around each table that has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import sqlglot
from sqlglot import exp

from recollect.apps.ask.semantic.catalog import Catalog, Table
from recollect.apps.ask.semantic.model import Definition, Entity, Join, Measure, SemanticModel
from recollect.apps.ask.sql_text import check_expression, find_columns, write_sql
from recollect.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Access:
    """`tables` None: all. `hidden` columns per table; `rows` a condition in SQL per table, over its own columns."""

    tables: tuple[str, ...] | None = None
    hidden: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)


EVERYTHING = Access()
ALL_ROWS = 2**63 - 1


def read_access(rules: Mapping[str, Any], role: str) -> Access:
    """Return the access of a role by the rules of a source; a role that they do not name sees everything."""
    given = rules.get(role)
    if given is None:
        return EVERYTHING
    tables = given.get("tables")
    return Access(
        None if tables is None else tuple(map(str.casefold, tables)),
        {table.casefold(): tuple(map(str.casefold, names)) for table, names in given.get("hidden", {}).items()},
        {table.casefold(): condition for table, condition in given.get("rows", {}).items()},
    )


def find_row_rule(rows: Mapping[str, str], table: str) -> str | None:
    """Return the condition on a table's rows, or None. A rule for `sales` also holds for `main.sales`:
    one condition too many is better than none."""
    name = table.casefold()
    return rows.get(name) or rows.get(name.rpartition(".")[2])


# Rules as callers give them -------------------------------------------------------------------------------------------


def check_access(rules: Any, catalog: Catalog) -> Mapping[str, Any]:
    """Return the rules if every table and column they name exists and every condition can be parsed."""
    if not isinstance(rules, Mapping):
        raise InvalidInput("access", "give a mapping of roles to what they may see")
    for role, given in rules.items():
        _check_rules(f"access.{role}", given, catalog)
    return rules


def _check_rules(field: str, given: Any, catalog: Catalog) -> None:
    if not isinstance(given, Mapping) or set(given) - {"tables", "hidden", "rows"}:
        raise InvalidInput(
            field, "give `tables` (a list), `hidden` (columns per table) or `rows` (a condition per table)"
        )
    hidden, rows = given.get("hidden", {}), given.get("rows", {})
    for name in (*(given.get("tables") or ()), *hidden, *rows):
        if not catalog.has(str(name)):
            raise InvalidInput(field, f"the source has no table {name!r}")
    for name, columns in hidden.items():
        for column in columns:
            if not catalog.has(name, str(column)):
                raise InvalidInput(f"{field}.hidden", f"the table {name!r} has no column {column!r}")
    for name, condition in rows.items():
        check_expression(f"{field}.rows.{name}", str(condition), catalog.dialect)


# Restrictions ---------------------------------------------------------------------------------------------------------


def restrict_catalog(catalog: Catalog, access: Access) -> Catalog:
    """Return the catalog as the role sees it. A table with a row rule is shown without values, ranges and counts, which
    were read from all rows; values are looked up under the rule when they are needed."""
    tables = (_restrict_table(each, access) for each in catalog.tables if _is_shown(each, access))
    return replace(catalog, tables=tuple(tables))


def _is_shown(table: Table, access: Access) -> bool:
    """Whether the role sees a table. A row rule does not reach inside a view, so for a role with such rules a view must
    be named, or have a rule of its own."""
    if access.tables is not None:
        return table.name.casefold() in access.tables
    return not (table.is_view and access.rows) or find_row_rule(access.rows, table.name) is not None


def _restrict_table(table: Table, access: Access) -> Table:
    hidden = {*access.hidden.get(table.name.casefold(), ())}
    keys = tuple(key for key in table.foreign_keys if hidden.isdisjoint(map(str.casefold, key.columns)))
    columns = [each for each in table.columns if each.name.casefold() not in hidden]
    rows = table.rows
    if find_row_rule(access.rows, table.name) is not None:
        columns = [replace(each, values=(), is_complete=False, low=None, high=None) for each in columns]
        rows = None
    return replace(table, columns=tuple(columns), foreign_keys=keys, rows=rows)


def restrict_model(model: SemanticModel, catalog: Catalog) -> SemanticModel:
    """Return the model without the parts whose tables or columns the catalog does not show."""
    parts: dict[str, Any] = {}
    for part in fields(model):
        parts[part.name] = tuple(each for each in getattr(model, part.name) if _is_visible(each, catalog))
    parts["entities"] = tuple(
        replace(each, label=tuple(column for column in each.label if catalog.has(each.table, column)))
        for each in parts["entities"]
    )
    return SemanticModel(**parts)


def _is_visible(part: Any, catalog: Catalog) -> bool:
    match part:
        case Entity():
            return catalog.has(part.table)
        case Measure(expression=sql) | Definition(condition=sql):
            return catalog.has(part.table, *(column for _, column in find_columns(sql, catalog.dialect)))
        case Join():
            return catalog.has(part.table, *part.columns) and catalog.has(part.to, *part.to_columns)
    return catalog.has(part.table, part.column)


def restrict_sql(sql: str, dialect: str, access: Access) -> str:
    """Return the statement with every table that has a condition replaced by the rows that the role may see."""
    if not access.rows:
        return sql
    tree = sqlglot.parse_one(sql, dialect=dialect)
    for part in tree.find_all(exp.CTE):
        if part.alias.casefold() in access.rows:  # it could pass for the table
            raise InvalidInput("sql", f"calls a part of itself {part.alias!r}, as a table is called; name it otherwise")
    for table in list(tree.find_all(exp.Table)):
        condition = find_row_rule(access.rows, f"{table.db}.{table.name}")
        if condition is None:
            continue
        own = table.copy()
        own.set("alias", None)
        # The limit keeps the planner from moving the statement's own conditions inside: evaluated on hidden rows they
        # could fail, and the error would reveal a value (`1 / (amount - 42)`, a cast of a text).
        seen = exp.select("*").from_(own).where(condition, dialect=dialect).limit(ALL_ROWS)
        table.replace(seen.subquery(table.alias or table.name))
    return write_sql(tree, dialect)
