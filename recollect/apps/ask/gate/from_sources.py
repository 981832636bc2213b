"""What FROM names, as the rest of a query sees it: sources with columns, in scopes that lie inside each other.

gate_names builds these and binds columns to them. A source that is no table of the catalog was itself checked, so all
that it gives may be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from recollect.apps.ask.gate.name_catalog import Seen
from recollect.errors import StatementDenied

Columns = Sequence[exp.Identifier | None]  # None: a column without a name


@dataclass(slots=True)
class Source:
    """Something that a query selects from, under the name it has there."""

    alias: exp.Identifier
    columns: Columns
    table: Seen | None = None
    is_small: bool = False  # a row or a few: joining it to all costs nothing
    is_function: bool = False
    item: exp.Expr | None = None  # where it stands

    def column(self, name: exp.Identifier) -> exp.Identifier | None:
        named = [column for column in self.columns if column is not None]
        exact = next((column for column in named if column.this == name.this), None)
        return exact or next((column for column in named if column.this.lower() == name.this.lower()), None)

    def value(self, name: exp.Identifier) -> exp.Identifier | None:
        """The one column of a function, which its bare alias stands for."""
        if self.is_function and len(self.columns) == 1 and self.alias.this.lower() == name.this.lower():
            return self.columns[0]
        return None


@dataclass(frozen=True, slots=True)
class Cte:
    alias: exp.Identifier
    columns: Columns
    is_small: bool


@dataclass(slots=True)
class Scope:
    """One SELECT: its sources, what its USING merged, what it gives, and the scope around it."""

    parent: Scope | None
    ctes: Mapping[str, Cte]
    sources: list[Source] = field(default_factory=list)
    merged: dict[str, exp.Identifier] = field(default_factory=dict)
    outputs: list[exp.Identifier | None] = field(default_factory=list)
    select: exp.Select | None = None

    def add(self, source: Source) -> None:
        if self.named(source.alias):
            raise StatementDenied(f"{source.alias.this} names two tables in one FROM; give one of them another alias")
        self.sources.append(source)

    def named(self, name: exp.Identifier) -> Source | None:
        return next((each for each in self.sources if each.alias.this.lower() == name.this.lower()), None)

    def outward(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope:
            yield scope
            scope = scope.parent

    def output(self, name: exp.Identifier) -> exp.Identifier | None:
        same = [each for each in self.outputs if each is not None and each.this.lower() == name.this.lower()]
        return next((each for each in same if each.this == name.this), same[0] if same else None)


def renamed(columns: Columns, alias: exp.Expr | None) -> Columns:
    """The columns after `AS name(a, b)`: the first ones are called so."""
    names = alias.args.get("columns") if alias else None
    if not names:
        return columns
    if len(names) > len(columns):
        raise StatementDenied(f"the alias {alias.name if alias else ''} names more columns than there are")
    return [*(name_of(each) for each in names), *columns[len(names) :]]


def name_of(node: exp.Expr) -> exp.Identifier:
    name = node.this if isinstance(node, exp.ColumnDef) else node
    if not isinstance(name, exp.Identifier):
        raise StatementDenied(f"{node.sql()[:60]} is not the name of a column")
    return name


def output_name(node: exp.Expr, dialect: str) -> exp.Identifier | None:
    """What a database calls this column of a result; None if that cannot be relied on."""
    if isinstance(node, exp.Alias):
        alias = node.args["alias"]
        return alias if isinstance(alias, exp.Identifier) else None
    if isinstance(node, exp.Column):
        return node.this if isinstance(node.this, exp.Identifier) else None
    if dialect != "postgres":
        return None
    if isinstance(node, (exp.Paren, exp.Window, exp.Filter, exp.WithinGroup)) or (
        isinstance(node, exp.Cast) and isinstance(node.this, exp.Column)
    ):
        return output_name(node.this, dialect)
    return exp.to_identifier(node.sql(dialect).partition("(")[0].lower()) if isinstance(node, exp.AggFunc) else None


def is_small(query: exp.Expr) -> bool:
    """Whether it gives a row or a few: no FROM, a total, or a small LIMIT."""
    query = query.unnest() if isinstance(query, exp.Subquery) else query
    limit = query.args.get("limit")
    if isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Literal):
        return len(limit.expression.this) <= 2
    if not isinstance(query, exp.Select):
        return isinstance(query, exp.Values)
    total = any(isinstance(each.unalias(), exp.AggFunc) for each in query.expressions)
    return not query.args.get("from_") or (total and not query.args.get("group"))
