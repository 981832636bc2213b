"""The FROM of a frame: which tables are joined, under which alias, along which way. render.py asks for columns here and
gets them qualified; each way is joined once, however many columns need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recollect.sql.catalog import Catalog
from recollect.sql.frame import Ref
from recollect.sql.joins import Graph, Step, Way
from recollect.sql.semantic import SemanticModel

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(slots=True)
class Tables:
    """The tables of one SELECT. Grows while columns are asked for; `prefix` keeps a subquery's aliases apart."""

    model: SemanticModel
    catalog: Catalog
    graph: Graph
    base: str
    prefix: str = ""
    aliases: dict[tuple[str, ...], str] = field(default_factory=dict)
    joined: list[tuple[Step, str, str, bool]] = field(default_factory=list)  # step, from, alias, keeps all rows
    is_multiplied: bool = False

    def __post_init__(self) -> None:
        self.aliases[()] = self.free_alias(self.base)

    def free_alias(self, table: str) -> str:
        name = self.prefix + table.rpartition(".")[2].lower()
        taken = set(self.aliases.values())
        return next(each for n in range(1, 99) if (each := name if n == 1 else f"{name}_{n}") not in taken)

    def way(self, ref: Ref) -> Way:
        ways = self.graph.ways(self.base, ref.table, ref.via)
        return ways[0] if ways else ()

    def alias(self, way: Sequence[Step], *, keeps: bool = False) -> str:
        """Joins along the way what is not joined yet."""
        at: tuple[str, ...] = ()
        for step in way:
            here = (*at, f"{step.id}{'>' if step.is_forward else '<'}")
            if here not in self.aliases:
                alias = self.free_alias(step.table)
                self.joined.append((step, self.aliases[at], alias, keeps))
                self.aliases[here] = alias
                self.is_multiplied |= not step.is_safe
            at = here
        return self.aliases[at]

    def of(self, ref: Ref, *, keeps: bool = False) -> str:
        return self.alias(self.way(ref), keeps=keeps)

    def column(self, alias: str, name: str) -> exp.Expr:
        from sqlglot import exp

        return exp.column(name, table=alias, quoted=True)

    def value(self, ref: Ref, *, keeps: bool = False) -> exp.Expr:
        """The column, or the expression over the table's columns."""
        alias = self.of(ref, keeps=keeps)
        return self.qualified(ref.expression, alias, ref.table) if ref.expression else self.column(alias, ref.column)

    def qualified(self, sql: str, alias: str, table: str) -> exp.Expr:
        """SQL over a table's own columns, with its alias before each."""
        import sqlglot
        from sqlglot import exp

        tree = sqlglot.parse_one(sql, dialect=self.catalog.dialect)
        own = self.catalog.table(table)

        def with_alias(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not node.table:
                column = own.column(node.name) if own else None
                return exp.column(column.name if column else node.name, table=alias, quoted=True)
            return node

        found = tree.transform(with_alias)
        return exp.paren(found) if isinstance(found, exp.Binary) else found

    def key(self, table: str) -> tuple[str, ...]:
        entity = next((each for each in self.model.entities if each.table == table), None)
        found = self.catalog.table(table)
        return (entity.key if entity else ()) or (found.primary_key if found else ())

    def label(self, table: str) -> tuple[str, ...]:
        entity = next((each for each in self.model.entities if each.table == table), None)
        return (entity.label if entity else ()) or self.key(table)

    def into(self, select: exp.Select) -> exp.Select:
        select = select.from_(table_of(self.base, self.aliases[()]))
        for step, origin, alias, keeps in self.joined:
            on = self.condition(step, origin, alias)
            select = select.join(table_of(step.table, alias), on=on, join_type="left" if keeps else "")
        return select

    def condition(self, step: Step, origin: str, alias: str) -> exp.Expr:
        from sqlglot import exp

        here, there = step.join.columns, step.join.to_columns
        mine, theirs = (here, there) if step.is_forward else (there, here)
        pairs = [
            exp.EQ(this=self.column(origin, a), expression=self.column(alias, b))
            for a, b in zip(mine, theirs, strict=True)
        ]
        return exp.and_(*pairs)


def table_of(name: str, alias: str) -> exp.Expr:
    from sqlglot import exp

    schema, _, bare = name.rpartition(".")
    table = exp.Table(
        this=exp.to_identifier(bare, quoted=True), db=exp.to_identifier(schema, quoted=True) if schema else None
    )
    return exp.alias_(table, alias, quoted=True, table=True)
