"""The terms of a source: its semantic model and catalog as the mapping that Engine.import_ontology takes, so that
`resolve` knows its tables, columns, values, relationships and measures by the names people use.

Values of sensitive columns are not in the catalog, so they are not here. Bounded: what a project may hold in terms is
shared by its sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recollect.apps.ask.semantic.catalog import Catalog, Column, Table
from recollect.apps.ask.semantic.model import Definition, Measure, SemanticModel

MOST_VALUES = 200  # of one column; more are looked up in the database when they are asked for
MOST_TERMS = 15_000
AGGREGATES = {"count_distinct": "COUNT(DISTINCT {})"}
Body = dict[str, Any]


def ontology_terms(model: SemanticModel, catalog: Catalog, source: str) -> Body:
    """`tables`, `relationships` and `glossary`; words of the glossary say which source they are from."""
    room = [MOST_TERMS - sum(len(table.columns) + 1 for table in catalog.tables)]
    tables = {table.name: table_body(model, table, room) for table in catalog.tables}
    made = {"tables": tables, "relationships": list(relationships(model)), "glossary": glossary(model, source)}
    return {part: content for part, content in made.items() if content}


def table_body(model: SemanticModel, table: Table, room: list[int]) -> Body:
    entity = next((each for each in model.entities if each.table == table.name), None)
    names = said(model, table.name)
    columns = {column.name: column_body(column, names.get(column.name, ()), room) for column in table.columns}
    description = (entity.description if entity else "") or table.comment
    return told(description=description, synonyms=synonyms(table.name, entity.names if entity else ()), columns=columns)


def said(model: SemanticModel, table: str) -> Mapping[str, tuple[str, ...]]:
    """What people call each column: as a dimension, a moment or a measure of that column alone."""
    dimensions = {each.column: each.names for each in model.dimensions if each.table == table}
    moments = {each.column: each.names for each in model.moments if each.table == table}
    measures = {each.expression.strip('"'): each.names for each in model.measures if each.table == table}
    return {**measures, **dimensions, **moments}


def column_body(column: Column, names: tuple[str, ...], room: list[int]) -> Body:
    values = column.values if column.is_complete and len(column.values) <= min(MOST_VALUES, room[0]) else ()
    room[0] -= len(values)
    # A term's name has no blanks around it, so values that differ only in them ("North", "North ") are one term.
    kept: Body = {name: {} for value in values if (name := value.strip())}
    return told(type=column.type, description=column.comment, synonyms=synonyms(column.name, names), values=kept)


def relationships(model: SemanticModel) -> Iterator[Body]:
    for join in model.joins:
        if len(join.columns) == 1:
            ends = {"from": f"{join.table}.{join.columns[0]}", "to": f"{join.to}.{join.to_columns[0]}"}
            yield {**ends, **told(synonyms=list(join.names))}


def glossary(model: SemanticModel, source: str) -> Body:
    """Each word once: the first that claims it keeps it."""
    made: Body = {}
    taken: set[str] = set()
    words: list[Definition | Measure] = [*model.definitions, *made_measures(model)]
    for each in words:
        free = [name for name in each.names if name not in taken]
        if free:
            taken.update(free)
            made[free[0]] = {**word_body(each), **told(aliases=free[1:], data_source=source)}
    return made


def made_measures(model: SemanticModel) -> list[Measure]:
    """Those that no column is: a product, an aggregate's own name."""
    columns = {name for each in model.measures for name in (each.expression,) if name.strip('"').isidentifier()}
    return [each for each in model.measures if each.expression not in columns]


def word_body(each: Definition | Measure) -> Body:
    if isinstance(each, Definition):
        return told(definition=each.meaning, defining_sql=each.condition, base_table=each.table)
    total = AGGREGATES.get(each.aggregate, f"{each.aggregate.upper()}({{}})").format(each.expression)
    return told(definition=each.description or f"{total} of {each.table}", defining_sql=total, base_table=each.table)


def synonyms(name: str, names: tuple[str, ...]) -> list[str]:
    return [each for each in names if each != name][:50]


def told(**given: Any) -> Body:
    return {name: value for name, value in given.items() if value}
