"""Clauses: what a query says, clause by clause, in a form in which two queries can be compared.

`read` takes the tree that clause_source, clause_names and clause_forms have made plain. A query inside a condition or
a FROM is not part of the text around it; it is kept beside it and compared on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from recollect.apps.ask.corrections.canonical_forms import conjuncts
from recollect.apps.ask.corrections.date_parts import as_written, text
from recollect.apps.ask.corrections.inlined_ctes import is_inner, sources
from recollect.apps.ask.corrections.qualified_names import DERIVED

HOLE = "subquery"
OUTER = " (outer join)"  # ends the text of what is said in the ON of one: it keeps rows that WHERE would not


@dataclass(frozen=True, slots=True)
class Item:
    """An expression: `text` is compared, `shown` is for people, `inner` are the queries that `node` has holes for."""

    text: str
    node: exp.Expr
    whole: exp.Expr
    dialect: str
    ending: str = ""
    inner: tuple[Clauses, ...] = ()

    @property
    def shown(self) -> str:
        return text(as_written(self.whole), self.dialect) + self.ending.removesuffix(OUTER)

    @property
    def columns(self) -> tuple[str, ...]:
        found = (column_name(column) for column in self.node.find_all(exp.Column) if column.name != HOLE)
        return tuple(dict.fromkeys(found))

    @property
    def tables(self) -> set[str]:
        return {column.table for column in self.node.find_all(exp.Column) if column.table}

    def with_columns(self, names: Mapping[str, str]) -> str:
        """The text if these columns were others. Every column `?`: the shape."""
        node = self.node.copy()
        for column in list(node.find_all(exp.Column)):
            new = names.get(column_name(column)) or names.get("*")
            if new and column.name != HOLE:
                column.replace(exp.to_column(new)) if node is not column else None
                node = exp.to_column(new) if node is column else node
        return text(node)

    @property
    def shape(self) -> str:
        return self.with_columns({"*": "x"})


@dataclass(frozen=True, slots=True)
class Clauses:
    tables: Mapping[str, str]  # name to how it is joined: "" or "left", "full", ...
    links: tuple[Item, ...] = ()  # columns of two tables that are equal
    conditions: tuple[Item, ...] = ()
    projection: tuple[Item, ...] = ()
    is_distinct: bool = False
    grouping: tuple[Item, ...] = ()
    order: tuple[Item, ...] = ()
    limit: str = ""
    inner: Mapping[str, Clauses] = field(default_factory=dict)
    rest: str = ""  # what is not looked into: windows, samples, DISTINCT ON

    @property
    def is_united(self) -> bool:
        return not self.tables and bool(self.inner)

    @property
    def items(self) -> tuple[Item, ...]:
        """Everything but the joins."""
        return (*self.conditions, *self.projection, *self.grouping, *self.order)

    @property
    def rows(self) -> set[str]:
        """What there is one row of: SELECT DISTINCT a is SELECT a GROUP BY a."""
        return {item.text for item in (self.projection if self.is_distinct else self.grouping)}

    @property
    def sense(self) -> tuple[object, ...]:
        """Equal for two queries that say the same."""
        return (
            sorted(self.tables.items()),
            sorted(_senses(self.links)),
            sorted(_senses(self.conditions)),
            _senses(self.projection),
            sorted(self.rows),
            self.is_united and self.is_distinct,
            _senses(self.order),
            self.limit,
            {name: inner.sense for name, inner in self.inner.items()},
            self.rest,
        )


def _senses(items: Iterable[Item]) -> list[tuple[str, str]]:
    return [(item.text, repr([inner.sense for inner in item.inner])) for item in items]


def column_name(column: exp.Column) -> str:
    return f"{column.table}.{column.name}" if column.table else column.name


def read(query: exp.Expr, dialect: str) -> Clauses:
    if isinstance(query, exp.SetOperation):
        return _united(query, dialect)
    assert isinstance(query, exp.Select)
    outer, links, conditions = _conditions(query, dialect)
    projection = tuple(_item(one, dialect) for one in query.expressions)
    grouping, is_distinct = _grouping(query, dialect), bool(query.args.get("distinct"))
    if not is_distinct and grouping and {item.text for item in grouping} == {item.text for item in projection}:
        grouping, is_distinct = (), True
    return Clauses(
        tables=_tables(query),
        links=links,
        conditions=(*conditions, *outer),
        projection=() if isinstance(query.parent, exp.Exists) else projection,
        is_distinct=is_distinct,
        grouping=grouping,
        order=_order(query, dialect),
        limit=_limit(query),
        inner=_derived(query, dialect),
        rest=_rest(query),
    )


def _united(query: exp.SetOperation, dialect: str) -> Clauses:
    sides = [node for node in (query.this.unnest(), query.expression.unnest()) if isinstance(node, exp.Query)]
    return Clauses(
        tables={},
        is_distinct=bool(query.args.get("distinct")),
        order=_order(query, dialect),
        limit=_limit(query),
        inner={f"{query.key} {place}": read(side, dialect) for place, side in enumerate(sides)},
    )


def _tables(select: exp.Select) -> dict[str, str]:
    start, *rest = [source.meta.get("label", source.alias_or_name) for source in sources(select)] or [""]
    joins = select.args.get("joins") or []
    how = {name: (join.args.get("side") or "").lower() for name, join in zip(rest, joins, strict=True)}
    if list(how.values()) == ["right"]:  # b RIGHT JOIN a is a LEFT JOIN b
        return {start: "left", rest[0]: ""}
    return {start: "", **how} if start else {}


def _conditions(select: exp.Select, dialect: str) -> tuple[tuple[Item, ...], tuple[Item, ...], tuple[Item, ...]]:
    """Of outer joins, links, and the rest. An inner join's ON and WHERE are one."""
    outer: list[exp.Expr] = []
    links: list[exp.Expr] = []
    every = [select.args[name].this for name in ("where", "having") if select.args.get(name)]
    rest = [part for condition in every for part in conjuncts(condition)]
    labels = [source.meta.get("label", "") for source in sources(select)]
    for place, join in enumerate(select.args.get("joins") or [], 1):
        parts = conjuncts(join.args.get("on")) + _using(join, labels, place)
        links += [part for part in parts if _is_link(part)]
        (rest if is_inner(join) else outer).extend(part for part in parts if not _is_link(part))
    links += [part for part in rest if _is_link(part)]
    return (
        tuple(_item(part, dialect, OUTER) for part in outer),
        _unique(links, dialect),
        _unique([part for part in rest if not _is_link(part)], dialect),
    )


def _using(join: Any, labels: list[str], place: int) -> list[exp.Expr]:
    names = [identifier.name for identifier in join.args.get("using") or []]
    sides = sorted((labels[0], labels[place]))
    return [exp.EQ(this=exp.column(name, sides[0]), expression=exp.column(name, sides[1])) for name in names]


def _is_link(part: exp.Expr) -> bool:
    if not isinstance(part, exp.EQ) or not isinstance(part.this, exp.Column):
        return False
    return isinstance(part.expression, exp.Column) and part.this.table != part.expression.table


def _unique(parts: list[exp.Expr], dialect: str) -> tuple[Item, ...]:
    return tuple({item.text: item for item in (_item(part, dialect) for part in parts)}.values())


def _grouping(select: exp.Select, dialect: str) -> tuple[Item, ...]:
    group = select.args.get("group")
    return _unique(list(group.expressions), dialect) if group else ()


def _order(query: exp.Query, dialect: str) -> tuple[Item, ...]:
    order = query.args.get("order")
    ways = [(one.this, " DESC" if one.args.get("desc") else "") for one in order.expressions] if order else []
    return tuple(_item(node, dialect, way) for node, way in ways)


def _limit(query: exp.Query) -> str:
    limit, offset = query.args.get("limit"), query.args.get("offset")
    count = (limit.args.get("expression") or limit.args.get("count")) if limit else None
    skipped = f" OFFSET {offset.expression.sql()}" if offset and offset.expression.name != "0" else ""
    return (count.sql() if count is not None else "") + skipped


def _rest(select: exp.Select) -> str:
    distinct = select.args.get("distinct")
    nodes = [select.args.get(name) for name in ("qualify", "windows", "laterals")] + [
        distinct and distinct.args.get("on")
    ]
    nodes += [source.args.get("sample") for source in sources(select)]
    return " ".join(text(one) for node in nodes if node for one in (node if isinstance(node, list) else [node]))


def _derived(select: exp.Select, dialect: str) -> dict[str, Clauses]:
    found = {source.meta.get("label", ""): source for source in sources(select) if isinstance(source, exp.Subquery)}
    queries = {name: source.unnest() for name, source in found.items() if name.startswith(DERIVED)}
    return {name: read(query, dialect) for name, query in queries.items() if isinstance(query, exp.Query)}


def _item(node: exp.Expr, dialect: str, ending: str = "") -> Item:
    inner = [found for found in node.find_all(exp.Select, exp.SetOperation) if _is_outermost(found, node)]
    if not inner:
        return Item(text(node) + ending, node, node, dialect, ending)
    read_inner = tuple(read(found, dialect) for found in inner)
    bare = node.copy()
    for found in [one for one in bare.find_all(exp.Select, exp.SetOperation) if _is_outermost(one, bare)]:
        found.replace(exp.column(HOLE))
    return Item(text(bare) + ending, bare, node, dialect, ending, read_inner)


def _is_outermost(query: exp.Expr, within: exp.Expr) -> bool:
    above = query.parent
    while above is not None and above is not within.parent:
        if isinstance(above, (exp.Select, exp.SetOperation)):
            return False
        above = above.parent
    return True
