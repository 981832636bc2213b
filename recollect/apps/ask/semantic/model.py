"""The semantic model of a data source: what its tables are about, in the words people use.

Drafted from the catalog (draft.py), then edited by people as YAML (model_file.py) or over the API. `list_terms` returns
the terms that `resolve` knows of the source. `names` are what people say, in lower case, the first one is shown;
expressions and conditions are SQL over the table's own columns, unqualified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from recollect.apps.ask.semantic.catalog import Catalog, Column, ColumnType

Aggregate = Literal["sum", "avg", "min", "max", "count", "count_distinct"]
MomentType = Literal["date", "datetime"]


@dataclass(frozen=True, slots=True)
class Entity:
    """What a row of a table is: "customer". People name one by `label`; `key` identifies it."""

    table: str
    names: tuple[str, ...]
    key: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A column to group and to filter by."""

    table: str
    column: str
    names: tuple[str, ...]
    type: ColumnType = "text"
    description: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number to aggregate: `expression` per row of the table, `aggregate` unless the question names another."""

    table: str
    expression: str
    names: tuple[str, ...]
    aggregate: Aggregate = "sum"
    description: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or time column. A question that names only a period means the main one of its table."""

    table: str
    column: str
    names: tuple[str, ...]
    type: MomentType = "date"
    is_main: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """A row of `table` refers to one row of `to`."""

    table: str
    columns: tuple[str, ...]
    to: str
    to_columns: tuple[str, ...]
    names: tuple[str, ...] = ()  # what the other is to this one: "manager", "billing country"


@dataclass(frozen=True, slots=True)
class Definition:
    """A word that stands for a condition: "active" for last_login > ... `source` says where it comes from."""

    names: tuple[str, ...]
    table: str
    condition: str
    source: str = "ontology"
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.8
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class SemanticModel:
    entities: tuple[Entity, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    measures: tuple[Measure, ...] = ()
    moments: tuple[Moment, ...] = ()
    joins: tuple[Join, ...] = ()
    definitions: tuple[Definition, ...] = ()


# Terms ----------------------------------------------------------------------------------------------------------------

MAX_VALUES = 200  # of one column; more are looked up in the database when they are needed
MAX_TERMS = 15_000  # the terms of a project are shared by its sources
MAX_SYNONYMS = 50
AGGREGATES = {"count_distinct": "COUNT(DISTINCT {})"}


def list_terms(model: SemanticModel, catalog: Catalog, source: str) -> dict[str, Any]:
    """Return `tables`, `relationships` and `glossary` as Engine.import_ontology takes them, so that `resolve` knows
    tables, columns, values and measures by the names people use. Words of the glossary name their source."""
    room = MAX_TERMS - sum(len(table.columns) + 1 for table in catalog.tables)
    tables: dict[str, Any] = {}
    for table in catalog.tables:
        entity = next((each for each in model.entities if each.table == table.name), Entity(table.name, ()))
        names = _list_column_names(model, table.name)
        columns = {}
        for column in table.columns:
            columns[column.name] = _describe_column(column, names.get(column.name, ()), min(MAX_VALUES, room))
            room -= len(columns[column.name].get("values", ()))
        tables[table.name] = drop_empty(
            description=entity.description or table.comment,
            synonyms=_list_synonyms(table.name, entity.names),
            columns=columns,
        )
    relationships = [
        {"from": f"{join.table}.{join.columns[0]}", "to": f"{join.to}.{join.to_columns[0]}"}
        | drop_empty(synonyms=list(join.names))
        for join in model.joins
        if len(join.columns) == 1
    ]
    return drop_empty(tables=tables, relationships=relationships, glossary=_list_glossary(model, source))


def drop_empty(**given: Any) -> dict[str, Any]:
    """Return the arguments that have a value."""
    return {name: value for name, value in given.items() if value}


def _list_column_names(model: SemanticModel, table: str) -> Mapping[str, tuple[str, ...]]:
    """Return what people call each column: as a measure of that column alone, a dimension or a moment."""
    names = {each.expression.strip('"'): each.names for each in model.measures if each.table == table}
    columns: list[Dimension | Moment] = [*model.dimensions, *model.moments]
    return names | {each.column: each.names for each in columns if each.table == table}


def _describe_column(column: Column, names: tuple[str, ...], max_values: int) -> dict[str, Any]:
    values = column.values if column.is_complete and len(column.values) <= max_values else ()
    # A term's name has no blanks around it, so values that differ only in them ("North", "North ") are one term.
    terms: dict[str, Any] = {name: {} for name in filter(None, map(str.strip, values))}
    synonyms = _list_synonyms(column.name, names)
    return drop_empty(type=column.type, description=column.comment, synonyms=synonyms, values=terms)


def _list_synonyms(name: str, names: tuple[str, ...]) -> list[str]:
    return [each for each in names if each != name][:MAX_SYNONYMS]


def _list_glossary(model: SemanticModel, source: str) -> dict[str, Any]:
    """Return definitions and computed measures by name; of two that claim a name, the first keeps it."""
    glossary: dict[str, Any] = {}
    taken: set[str] = set()
    words: list[Definition | Measure] = [*model.definitions]
    words += [each for each in model.measures if not each.expression.strip('"').isidentifier()]
    for each in words:
        free = [name for name in each.names if name not in taken]
        if free:
            taken.update(free)
            glossary[free[0]] = _describe_word(each) | drop_empty(aliases=free[1:], data_source=source)
    return glossary


def _describe_word(each: Definition | Measure) -> dict[str, Any]:
    if isinstance(each, Definition):
        return drop_empty(definition=each.meaning, defining_sql=each.condition, base_table=each.table)
    total = AGGREGATES.get(each.aggregate, f"{each.aggregate.upper()}({{}})").format(each.expression)
    meaning = each.description or f"{total} of {each.table}"
    return drop_empty(definition=meaning, defining_sql=total, base_table=each.table)
