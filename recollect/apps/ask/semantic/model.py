"""The semantic model of a data source: what its tables are about, in the words people use.

Drafted from the catalog (draft.py), then edited by people as YAML (semantic_file.py) or over the API; the terms that
`resolve` knows of the source come from it. Frames (frame.py) are read against it and rendered through it. `names` are
what people say, lower case, the first one is how we say it; expressions and conditions are SQL over the table's own
columns, unqualified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recollect.apps.ask.semantic.catalog import ColumnType

Aggregate = Literal["sum", "avg", "min", "max", "count", "count_distinct"]


@dataclass(frozen=True, slots=True)
class Entity:
    """What a row of a table is: "customer". A person names one by `label`; `key` identifies it."""

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
    """Something to add up or to average: `expression` per row of the table, `aggregate` when nothing else is said."""

    table: str
    expression: str
    names: tuple[str, ...]
    aggregate: Aggregate = "sum"
    description: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """A column that says when. The main one of a table is meant when only a period is said."""

    table: str
    column: str
    names: tuple[str, ...]
    type: ColumnType = "date"
    is_main: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """A row of `table` names one of `to`."""

    table: str
    columns: tuple[str, ...]
    to: str
    to_columns: tuple[str, ...]
    names: tuple[str, ...] = ()  # what the other is to this one: "manager", "billing country"


@dataclass(frozen=True, slots=True)
class Definition:
    """A word that stands for a condition: "active" where last_login > ... `source` is who says so."""

    names: tuple[str, ...]
    table: str
    condition: str
    source: str = "ontology"
    confidence: float = 0.8
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class SemanticModel:
    entities: tuple[Entity, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    measures: tuple[Measure, ...] = ()
    moments: tuple[Moment, ...] = ()
    joins: tuple[Join, ...] = ()
    definitions: tuple[Definition, ...] = ()
