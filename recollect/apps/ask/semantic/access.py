"""Access: what somebody may see of a data source, by his role. Tables and columns that he may not see are not in his
catalog, so that the gate refuses them; rows are cut by conditions that are put around each table that has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from recollect.apps.ask.semantic.catalog import Catalog, Table
from recollect.apps.ask.semantic.conditions import find_columns
from recollect.apps.ask.semantic.model import Definition, SemanticModel
from recollect.apps.ask.sql_text import write_sql
from recollect.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Access:
    """`tables` None: all. `hidden` columns per table; `rows` a condition in SQL per table, over its own columns."""

    tables: tuple[str, ...] | None = None
    hidden: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)


EVERYTHING = Access()
ALL_ROWS = 2**63 - 1


def access_of(rules: Mapping[str, Any], role: str) -> Access:
    """What the rules of a source say of a role; a role that they do not name sees everything."""
    said = rules.get(role)
    if said is None:
        return EVERYTHING
    tables = said.get("tables")
    hidden = {folded(table): tuple(map(folded, columns)) for table, columns in said.get("hidden", {}).items()}
    rows = {folded(table): condition for table, condition in said.get("rows", {}).items()}
    return Access(None if tables is None else tuple(map(folded, tables)), hidden, rows)


def checked_access(rules: Any, catalog: Catalog) -> Mapping[str, Any]:
    """The rules as callers give them; what they name must be there, and a condition must be one."""
    if not isinstance(rules, Mapping):
        raise InvalidInput("access", "give a mapping of roles to what they may see")
    for role, said in rules.items():
        _check_rules(f"access.{role}", said, catalog)
    return rules


def seen(catalog: Catalog, access: Access) -> Catalog:
    """Return the catalog as the role sees it. A table with a row rule is shown without values, ends and counts, which
    were read from all rows; values are looked up under the rule when they are asked for."""
    tables = [each for each in catalog.tables if _is_shown(each, access)]
    shown = (_without(each, access.hidden.get(folded(each.name), ())) for each in tables)
    return replace(
        catalog, tables=tuple(each if row_rule(access.rows, each.name) is None else _bare(each) for each in shown)
    )


def row_rule(rows: Mapping[str, str], table: str) -> str | None:
    """Return the condition on a table's rows, or None. A rule for `sales` also holds for `main.sales`:
    one condition too many is better than none."""
    return rows.get(folded(table)) or rows.get(folded(table.rpartition(".")[2]))


def without_read_codes(model: SemanticModel, catalog: Catalog, access: Access) -> SemanticModel:
    """Return the model without words that were drafted from the values of a table with a row rule: that such a word is
    known would tell that the value is there. Codes that a column's comment explains stay."""

    def is_read(each: Definition) -> bool:
        table = catalog.table(each.table) if row_rule(access.rows, each.table) is not None else None
        if table is None or each.source != "comment":
            return False
        columns = (table.column(name) for _, name in find_columns(each.condition, catalog.dialect))
        return any(column is None or not column.comment for column in columns)

    return replace(model, definitions=tuple(each for each in model.definitions if not is_read(each)))


def visible(model: SemanticModel, catalog: Catalog) -> SemanticModel:
    """The model without what the catalog does not show."""

    def has(table: str, *columns: str) -> bool:
        there = catalog.table(table)
        return there is not None and all(there.column(column) for column in columns)

    def has_all(table: str, expression: str) -> bool:
        return has(table, *(column for _, column in find_columns(expression, catalog.dialect)))

    return SemanticModel(
        entities=tuple(
            replace(each, label=tuple(column for column in each.label if has(each.table, column)))
            for each in model.entities
            if has(each.table)
        ),
        dimensions=tuple(each for each in model.dimensions if has(each.table, each.column)),
        measures=tuple(each for each in model.measures if has_all(each.table, each.expression)),
        moments=tuple(each for each in model.moments if has(each.table, each.column)),
        joins=tuple(each for each in model.joins if has(each.table, *each.columns) and has(each.to, *each.to_columns)),
        definitions=tuple(each for each in model.definitions if has_all(each.table, each.condition)),
    )


def restricted(sql: str, dialect: str, access: Access) -> str:
    """The statement with every table that has a condition replaced by those of its rows that he may see."""
    if not access.rows:
        return sql
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(sql, dialect=dialect)
    _check_names(tree, access)
    for table in list(tree.find_all(exp.Table)):
        condition = row_rule(access.rows, f"{table.db}.{table.name}")
        if condition is None:
            continue
        bare = table.copy()
        bare.set("alias", None)
        # The limit keeps the planner from moving the statement's own conditions inside: evaluated on hidden rows they
        # could fail, and the error would tell of a value in them (`1 / (amount - 42)`, a cast of a text).
        mine = exp.select("*").from_(bare).where(condition, dialect=dialect).limit(ALL_ROWS)
        table.replace(mine.subquery(table.alias or table.name))
    return write_sql(tree, dialect)


def folded(name: str) -> str:
    return name.casefold()


def _check_names(tree: Any, access: Access) -> None:
    """A part of the statement that is named like a table could pass for it."""
    from sqlglot import exp

    for part in tree.find_all(exp.CTE):
        if folded(part.alias) in access.rows:
            raise InvalidInput("sql", f"calls a part of itself {part.alias!r}, as a table is called; name it otherwise")


def _without(table: Table, hidden: tuple[str, ...]) -> Table:
    gone = set(hidden)
    keys = tuple(key for key in table.foreign_keys if not gone & set(map(folded, key.columns)))
    return replace(
        table, columns=tuple(each for each in table.columns if folded(each.name) not in gone), foreign_keys=keys
    )


def _is_shown(table: Table, access: Access) -> bool:
    """Whether the role sees a table. A row rule does not reach inside a view, so for a role with such rules a view must
    be named, or have a rule of its own."""
    if access.tables is not None:
        return folded(table.name) in access.tables
    return not (table.is_view and access.rows) or row_rule(access.rows, table.name) is not None


def _bare(table: Table) -> Table:
    columns = (replace(each, values=(), is_complete=False, low=None, high=None) for each in table.columns)
    return replace(table, rows=None, columns=tuple(columns))


def _check_rules(field: str, said: Any, catalog: Catalog) -> None:
    if not isinstance(said, Mapping) or set(said) - {"tables", "hidden", "rows"}:
        raise InvalidInput(
            field, "give `tables` (a list), `hidden` (columns per table) or `rows` (a condition per table)"
        )
    for name in (*(said.get("tables") or ()), *said.get("hidden", {}), *said.get("rows", {})):
        if catalog.table(str(name)) is None:
            raise InvalidInput(field, f"the source has no table {name!r}")
    for name, columns in said.get("hidden", {}).items():
        table = catalog.table(name)
        for column in columns:
            if table is None or table.column(str(column)) is None:
                raise InvalidInput(f"{field}.hidden", f"the table {name!r} has no column {column!r}")
    for name, condition in said.get("rows", {}).items():
        _check_condition(f"{field}.rows.{name}", condition, catalog.dialect)


def _check_condition(field: str, condition: Any, dialect: str) -> None:
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(str(condition), into=exp.Condition, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        raise InvalidInput(field, f"{condition!r} is not a condition like region = 'North'") from None
    if tree.find(exp.Query, exp.DML, exp.DDL):
        raise InvalidInput(field, "a condition looks at the table's own columns, at nothing else")
