"""Catalog: a data source as it is: tables, columns, keys, and some of the values that stand in them.

Read by hosts/sql (reading a database is I/O), kept with the source, and drafted into a semantic model (draft.py). Names
are written as the database writes them; a table outside the default schema is known as `schema.table`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

ColumnType = Literal["text", "integer", "number", "date", "datetime", "time", "boolean", "other"]


@dataclass(frozen=True, slots=True)
class Column:
    """`values` are distinct ones, all of them if `is_complete`; a sensitive column shows none."""

    name: str
    type: ColumnType
    native: str = ""  # NVARCHAR(160)
    nullable: bool = True
    comment: str = ""
    values: tuple[str, ...] = ()
    is_complete: bool = False
    is_unique: bool = False
    is_sensitive: bool = False
    low: str | None = None  # of numbers and times: the least and the greatest
    high: str | None = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """These columns name a row of another table: many to one."""

    columns: tuple[str, ...]
    table: str
    refers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    name: str  # `schema.table` outside the default schema
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    comment: str = ""
    rows: int | None = None
    is_view: bool = False

    def column(self, name: str) -> Column | None:
        return next((each for each in self.columns if each.name.casefold() == name.casefold()), None)


@dataclass(frozen=True, slots=True)
class Catalog:
    """`dialect` as sqlglot names it: sqlite, postgres, mysql, ..."""

    dialect: str
    tables: tuple[Table, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Another one means another shape: tables, columns, types or keys; what stands in them does not count."""
        shape = [[t.name, [[c.name, c.type] for c in t.columns], t.primary_key, keys(t)] for t in self.tables]
        return hashlib.sha256(json.dumps([self.dialect, sorted(shape, key=str)]).encode()).hexdigest()[:16]

    def table(self, name: str) -> Table | None:
        return next((each for each in self.tables if each.name.casefold() == name.casefold()), None)

    def only(self, names: Iterable[str]) -> Catalog:
        """What somebody sees who may see these tables."""
        wanted = {name.casefold() for name in names}
        return replace(self, tables=tuple(each for each in self.tables if each.name.casefold() in wanted))

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Catalog:
        return cls(data["dialect"], tuple(table_from(each) for each in data["tables"]))


def keys(table: Table) -> list[list[object]]:
    return [[key.columns, key.table, key.refers] for key in table.foreign_keys]


def table_from(data: Mapping[str, Any]) -> Table:
    columns = tuple(Column(**{**each, "values": tuple(each["values"])}) for each in data["columns"])
    foreign = tuple(ForeignKey(tuple(k["columns"]), k["table"], tuple(k["refers"])) for k in data["foreign_keys"])
    return Table(**{**data, "columns": columns, "primary_key": tuple(data["primary_key"]), "foreign_keys": foreign})
