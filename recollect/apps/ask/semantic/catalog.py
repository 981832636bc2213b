"""The catalog of a data source: tables, columns, keys, and some of the values in them.

Read by sources/catalog_reader.py, stored with the source, and drafted into a semantic model (draft.py). Names are
written as the database writes them; a table outside the default schema is called `schema.table`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import msgspec

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
    missing: float | None = None  # of numbers and times: the share of rows without a value


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns that identify a row of another table: many to one."""

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
        """A hash of tables, columns, types and keys; values do not count."""
        shape = [
            [
                table.name,
                [[each.name, each.type] for each in table.columns],
                table.primary_key,
                [[key.columns, key.table, key.refers] for key in table.foreign_keys],
            ]
            for table in self.tables
        ]
        return hashlib.sha256(json.dumps([self.dialect, sorted(shape, key=str)]).encode()).hexdigest()[:16]

    def table(self, name: str) -> Table | None:
        return next((each for each in self.tables if each.name.casefold() == name.casefold()), None)

    def column(self, table: str, name: str) -> Column | None:
        found = self.table(table)
        return found.column(name) if found else None

    def has(self, name: str, *columns: str) -> bool:
        """Whether there is a table of this name with all these columns."""
        table = self.table(name)
        return table is not None and all(table.column(column) for column in columns)

    def only(self, names: Iterable[str]) -> Catalog:
        """Return the catalog with these tables only."""
        wanted = {name.casefold() for name in names}
        return replace(self, tables=tuple(each for each in self.tables if each.name.casefold() in wanted))

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Catalog:
        return msgspec.convert(data, cls)
