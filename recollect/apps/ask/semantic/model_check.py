"""Checks a semantic model against the catalog: every table and column is there, and the SQL in it speaks of them only.

Called by semantic_file.py. An expression or condition reads columns of its own table, row by row: no subquery, no
aggregate (the measure's own comes on top), no second statement. What passes is spelt as the catalog spells it.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from recollect.apps.ask.semantic.catalog import Catalog, Table
from recollect.apps.ask.semantic.model import Definition, Entity, Join, Measure, SemanticModel
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from sqlglot import exp

ROOT = "model.tables"


def checked_model(model: SemanticModel, catalog: Catalog) -> SemanticModel:
    return SemanticModel(
        entities=tuple(checked_entity(catalog, each) for each in model.entities),
        dimensions=tuple(checked_column(catalog, each, "dimensions") for each in model.dimensions),
        measures=tuple(checked_measure(catalog, each) for each in model.measures),
        moments=tuple(checked_column(catalog, each, "moments") for each in model.moments),
        joins=tuple(checked_join(catalog, each) for each in model.joins),
        definitions=tuple(checked_definition(catalog, each) for each in model.definitions),
    )


def checked_entity(catalog: Catalog, each: Entity) -> Entity:
    table = table_named(catalog, f"{ROOT}.{each.table}", each.table)
    place = f"{ROOT}.{each.table}"
    key, label = columns(table, f"{place}.key", each.key), columns(table, f"{place}.label", each.label)
    return replace(each, table=table.name, key=key, label=label)


def checked_column(catalog: Catalog, each: Any, part: str) -> Any:
    """A dimension or a moment."""
    table = table_named(catalog, f"{ROOT}.{each.table}", each.table)
    [column] = columns(table, f"{ROOT}.{each.table}.{part}.{each.column}", (each.column,))
    return replace(each, table=table.name, column=column)


def checked_measure(catalog: Catalog, each: Measure) -> Measure:
    table = table_named(catalog, f"{ROOT}.{each.table}", each.table)
    check_sql(catalog, table, f"{ROOT}.{each.table}.measures.{each.names[0]}", each.expression)
    return replace(each, table=table.name)


def checked_definition(catalog: Catalog, each: Definition) -> Definition:
    table = table_named(catalog, f"{ROOT}.{each.table}", each.table)
    check_sql(catalog, table, f"{ROOT}.{each.table}.definitions.{each.names[0]}", each.condition)
    return replace(each, table=table.name)


def checked_join(catalog: Catalog, each: Join) -> Join:
    place = f"{ROOT}.{each.table}.joins"
    table = table_named(catalog, f"{ROOT}.{each.table}", each.table)
    other = table_named(catalog, f"{place}.to", each.to)
    own, others = (
        columns(table, f"{place}.columns", each.columns),
        columns(other, f"{place}.to_columns", each.to_columns),
    )
    return replace(each, table=table.name, columns=own, to=other.name, to_columns=others)


def table_named(catalog: Catalog, place: str, name: str) -> Table:
    if found := catalog.table(name):
        return found
    raise InvalidInput(place, f"there is no table {name!r}{near(name, [each.name for each in catalog.tables])}")


def columns(table: Table, place: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(column_named(table, place, name) for name in names)


def column_named(table: Table, place: str, name: str) -> str:
    if found := table.column(name):
        return found.name
    known = [column.name for column in table.columns]
    raise InvalidInput(place, f"{table.name} has no column {name!r}{near(name, known)}")


def near(name: str, known: list[str]) -> str:
    by_case = {each.casefold(): each for each in known}
    found = get_close_matches(name.casefold(), list(by_case), 1, 0.6)
    return f"; did you mean {by_case[found[0]]}?" if found else ""


def check_sql(catalog: Catalog, table: Table, place: str, sql: str) -> None:
    from sqlglot import exp

    for node in parsed(catalog, place, sql).walk():
        if isinstance(node, exp.Query | exp.DDL | exp.DML | exp.Command):
            raise InvalidInput(place, "is about one row of its table; a subquery or statement cannot stand here")
        if isinstance(node, exp.AggFunc | exp.Window):
            raise InvalidInput(place, "is about one row of its table; say the aggregate as `aggregate`")
        if isinstance(node, exp.Column):
            check_column(table, place, node)


def check_column(table: Table, place: str, node: exp.Column) -> None:
    if node.table and node.table.casefold() != table.name.rpartition(".")[2].casefold():
        raise InvalidInput(place, f"{node.sql()} is not a column of {table.name}; speak of its own columns only")
    column_named(table, place, node.name)


def parsed(catalog: Catalog, place: str, sql: str) -> exp.Expr:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        found = sqlglot.parse(sql, dialect=catalog.dialect)
    except SqlglotError as error:
        raise InvalidInput(place, f"{sql!r} is not SQL: {str(error).splitlines()[0]}") from None
    if len(found) != 1 or found[0] is None:
        raise InvalidInput(place, f"{sql!r} is not one expression")
    return found[0]
