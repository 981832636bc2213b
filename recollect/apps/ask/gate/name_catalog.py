"""The names that this person may see, and how a name in a statement is bound to one of them.

Case does not matter when a name is looked up, but it does to most databases. So a name that means something else to the
database than the name it was checked as is written again: what runs is what was checked.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import exp

from recollect.apps.ask.gate.check import Allowed

CASE_BLIND = {"sqlite", "duckdb"}  # names of tables and columns, quoted or not
LOWERING = {"postgres", "redshift", "materialize", "risingwave"}  # unquoted names are lowered


@dataclass(frozen=True, slots=True)
class Seen:
    """A table that may be seen: its name in the catalog, how to write it, and its columns."""

    name: str
    parts: tuple[str, ...]
    columns: tuple[str, ...]

    def column(self, name: str) -> str | None:
        return best_match(name, self.columns)


class Catalog:
    """The tables of an Allowed, found by any spelling."""

    def __init__(self, allowed: Allowed, dialect: str) -> None:
        self.allowed, self.dialect = allowed, dialect
        self.default = allowed.default_schema or ("main" if dialect in CASE_BLIND else None)
        self.names: dict[str, list[str]] = {}
        for name in allowed.tables:
            self.names.setdefault(name.lower(), []).append(name)

    def find(self, table: exp.Table) -> Seen | None:
        parts = tuple(part.name for part in table.parts)
        if any("." in part for part in parts):
            return None
        for spelling in self.spellings(parts):
            name = ".".join(spelling)
            if names := self.names.get(name.lower()):
                return self.seen(best_match(name, names) or names[0], parts)
        return None

    def spellings(self, parts: tuple[str, ...]) -> list[tuple[str, ...]]:
        """As written, and with or without the default schema."""
        found = [parts]
        if self.default and len(parts) == 1:
            found.append((self.default, *parts))
        if self.default and len(parts) == 2 and parts[0].lower() == self.default.lower():
            found.append(parts[1:])
        return found

    def seen(self, name: str, parts: tuple[str, ...]) -> Seen:
        own = tuple(name.split("."))
        written = (str(self.default), *own) if len(parts) > len(own) else own
        return Seen(name, written, ordered(self.allowed.tables[name]))

    def bound(self, name: exp.Identifier, catalog_name: str) -> exp.Identifier:
        """The identifier as written if the database takes it for the catalog's name; else that name, quoted."""
        if self.means(name) == (catalog_name.lower() if self.dialect in CASE_BLIND else catalog_name):
            return name
        return exp.to_identifier(catalog_name, quoted=True)

    def means(self, name: exp.Identifier) -> str:
        lowered = self.dialect in CASE_BLIND or (self.dialect in LOWERING and not name.quoted)
        return name.this.lower() if lowered and name.this.isascii() else str(name.this)


def best_match(name: str, names: Collection[str]) -> str | None:
    """The same name, or else one that differs in case only."""
    if name in names:
        return name
    return next((each for each in names if each.lower() == name.lower()), None)


def ordered(columns: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(columns)) if isinstance(columns, (set, frozenset)) else tuple(columns)
