"""The tables that a caller may see, and what FROM makes of them: sources with columns, in scopes inside each other.

names.py builds these and binds columns to them. A source that is not a table of the catalog was itself checked, so all
its columns may be seen. Case does not matter when a name is looked up, but it does to most databases: a name that means
something else to the database than the name it was checked as is written again, so that what runs is what was checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from recollect.errors import StatementDenied

CASE_BLIND = {"sqlite", "duckdb"}  # names of tables and columns, quoted or not
LOWERING = {"postgres", "redshift", "materialize", "risingwave"}  # unquoted names are lowered
Columns = Sequence[exp.Identifier | None]  # None: a column without a name


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the caller may see. A table is named as in the catalog, optionally `schema.table`; its columns in the order
    in which `SELECT *` returns them (a set is sorted by name). Case does not matter."""

    tables: Mapping[str, Collection[str]]
    default_schema: str | None = None


@dataclass(frozen=True, slots=True)
class VisibleTable:
    """A table that may be seen: its name in the catalog, how to write it, and its columns."""

    name: str
    parts: tuple[str, ...]
    columns: tuple[str, ...]


class VisibleTables:
    """The tables of an Allowed, found by any spelling."""

    def __init__(self, allowed: Allowed, dialect: str) -> None:
        self.allowed, self.dialect = allowed, dialect
        self.default = allowed.default_schema or ("main" if dialect in CASE_BLIND else None)
        self.names: dict[str, list[str]] = {}
        for name in allowed.tables:
            self.names.setdefault(name.lower(), []).append(name)

    def find(self, table: exp.Table) -> VisibleTable | None:
        """Return the table that a name means: as written, or with or without the default schema."""
        parts = tuple(part.name for part in table.parts)
        if any("." in part for part in parts):
            return None
        name = next(filter(None, map(self._match, self._list_spellings(parts))), None)
        if name is None:
            return None
        own, columns = tuple(name.split(".")), self.allowed.tables[name]
        return VisibleTable(
            name,
            (str(self.default), *own) if len(parts) > len(own) else own,
            tuple(sorted(columns) if isinstance(columns, (set, frozenset)) else columns),
        )

    def _list_spellings(self, parts: tuple[str, ...]) -> Iterator[str]:
        yield ".".join(parts)
        if self.default and len(parts) == 1:
            yield f"{self.default}.{parts[0]}"
        if self.default and len(parts) == 2 and parts[0].lower() == self.default.lower():
            yield parts[1]

    def _match(self, name: str) -> str | None:
        names = self.names.get(name.lower(), [])
        return name if name in names else next(iter(names), None)

    def spell(self, name: exp.Identifier, catalog_name: str) -> exp.Identifier:
        """Return the identifier as written if the database takes it for the catalog's name; else that name, quoted."""
        is_blind = self.dialect in CASE_BLIND
        is_lowered = name.this.isascii() and (is_blind or (self.dialect in LOWERING and not name.quoted))
        meaning = name.this.lower() if is_lowered else name.this
        is_same = meaning == (catalog_name.lower() if is_blind else catalog_name)
        return name if is_same else exp.to_identifier(catalog_name, quoted=True)


@dataclass(slots=True)
class Source:
    """Something that a query selects from, or a CTE, under the name it has there."""

    alias: exp.Identifier
    columns: Columns
    table: VisibleTable | None = None
    is_small: bool = False  # a row or a few: joining it to all costs nothing
    is_function: bool = False
    item: exp.Expr | None = None  # its node in FROM

    def find_column(self, name: exp.Identifier) -> exp.Identifier | None:
        return find_identifier(name, self.columns)

    def find_value(self, name: exp.Identifier) -> exp.Identifier | None:
        """Return the one column of a function, if the name is the function's alias."""
        is_value = self.is_function and len(self.columns) == 1 and self.alias.this.lower() == name.this.lower()
        return self.columns[0] if is_value else None


@dataclass(slots=True)
class Scope:
    """One SELECT: its sources by name in lower case, the columns that USING merged, its outputs, and the scope around
    it."""

    parent: Scope | None
    ctes: Mapping[str, Source]
    sources: dict[str, Source] = field(default_factory=dict)
    merged: dict[str, exp.Identifier] = field(default_factory=dict)
    outputs: list[exp.Identifier | None] = field(default_factory=list)
    select: exp.Select | None = None

    def find_source(self, name: exp.Identifier) -> Source | None:
        return self.sources.get(name.this.lower())

    def walk_outward(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope:
            yield scope
            scope = scope.parent


def find_identifier(name: exp.Identifier, among: Columns) -> exp.Identifier | None:
    """Return the same name, or else one that differs in case only."""
    same = [each for each in among if each is not None and each.this.lower() == name.this.lower()]
    return min(same, key=lambda each: each.this != name.this, default=None)


def rename_columns(columns: Columns, alias: exp.Expr | None) -> Columns:
    """Return the columns after `AS name(a, b)`, which renames the first ones."""
    names = alias.args.get("columns") if alias else None
    if not alias or not names:
        return columns
    if len(names) > len(columns):
        raise StatementDenied(f"the alias {alias.name} names more columns than there are")
    return [*map(read_column_name, names), *columns[len(names) :]]


def read_column_name(node: exp.Expr) -> exp.Identifier:
    name = node.this if isinstance(node, exp.ColumnDef) else node
    if not isinstance(name, exp.Identifier):
        raise StatementDenied(f"{node.sql()[:60]} is not the name of a column")
    return name


def name_output(node: exp.Expr, dialect: str) -> exp.Identifier | None:
    """Return what a database calls this column of a result; None if that cannot be relied on."""
    if isinstance(node, (exp.Alias, exp.Column)):
        name = node.args["alias"] if isinstance(node, exp.Alias) else node.this
        return name if isinstance(name, exp.Identifier) else None
    if dialect != "postgres":
        return None
    is_cast = isinstance(node, exp.Cast) and isinstance(node.this, exp.Column)
    if is_cast or isinstance(node, (exp.Paren, exp.Window, exp.Filter, exp.WithinGroup)):
        return name_output(node.this, dialect)
    return exp.to_identifier(node.sql(dialect).partition("(")[0].lower()) if isinstance(node, exp.AggFunc) else None


def is_small_query(query: exp.Expr) -> bool:
    """Whether a query returns a row or a few: no FROM, a total, or a small LIMIT."""
    query = query.unnest() if isinstance(query, exp.Subquery) else query
    limit = query.args.get("limit")
    if isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Literal):
        return len(limit.expression.this) <= 2
    if not isinstance(query, exp.Select):
        return isinstance(query, exp.Values)
    is_total = any(isinstance(each.unalias(), exp.AggFunc) for each in query.expressions)
    return not query.args.get("from_") or (is_total and not query.args.get("group"))


def list_from_items(select: exp.Expr) -> list[tuple[exp.Expr, exp.Expr | None]]:
    """Return what FROM names, each with the join that brought it; joins in parentheses are flattened."""
    clause = select.args.get("from_")
    stack = [(clause.this, None)] if clause else []
    stack += [(join.this, join) for join in select.args.get("joins") or ()]
    items: list[tuple[exp.Expr, exp.Expr | None]] = []
    while stack:
        item, join = stack.pop(0)
        items.append((item, join))
        inside = item.this if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table) else item
        stack[:0] = [(inner.this, inner) for inner in inside.args.get("joins") or ()]
    return items
