"""A query clause by clause, in a form in which two queries can be compared. `read_clauses` is the entry point.

It takes a tree that query_tree.py and canonical_forms.py have prepared. A query inside a condition or a FROM is not
part of the text around it; it is kept beside it and compared on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse

from sqlglot import exp

from recollect.apps.ask.corrections.canonical_forms import render, restore_date_parts, split_conjuncts
from recollect.apps.ask.corrections.query_tree import DERIVED, is_inner_join, list_joins, list_sources

HOLE = "subquery"
OUTER = " (outer join)"  # ends the text of a condition in the ON of an outer join, which keeps rows that WHERE drops
NOT_COMPARED = ("qualify", "windows", "laterals")


@dataclass(frozen=True, slots=True)
class Item:
    """An expression, or all conditions on one subject: `text` is compared, `shown` is for people, `inner` are the
    queries that `node` has holes for."""

    node: exp.Expr
    whole: exp.Expr
    dialect: str
    ending: str = ""
    inner: tuple[Clauses, ...] = ()

    @property
    def text(self) -> str:
        return self.replace_columns({}) + self.ending

    @property
    def meaning(self) -> str:
        return self.text + "".join(inner.meaning for inner in self.inner)

    @property
    def shown(self) -> str:
        return render(restore_date_parts(self.whole), self.dialect) + self.ending.removesuffix(OUTER)

    @property
    def columns(self) -> tuple[str, ...]:
        found = (name_column(column) for column in self.node.find_all(exp.Column) if column.name != HOLE)
        return tuple(dict.fromkeys(found))

    @property
    def tables(self) -> set[str]:
        return {column.table for column in self.node.find_all(exp.Column) if column.table}

    @property
    def is_measure(self) -> bool:
        return self.node.find(exp.AggFunc) is not None

    @property
    def subject(self) -> str:
        """The column or the measure that a condition is about, or all its columns if there are several."""
        measure = self.node.find(exp.AggFunc)
        return measure.sql() if measure is not None else ", ".join(sorted(self.columns)) or self.text

    @property
    def shape(self) -> str:
        """The text with all columns alike."""
        return self.replace_columns({"*": "x"})

    def replace_columns(self, names: Mapping[str, str]) -> str:
        """Return the text with other columns, and with its conditions sorted; `*` stands for every column that is not
        named."""

        def replace(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or node.name == HOLE:
                return node
            new = names.get(name_column(node)) or names.get("*")
            return exp.to_column(new) if new else node

        made = self.node.transform(replace) if names else self.node
        return " AND ".join(sorted(map(render, made.flatten() if isinstance(made, exp.And) else [made])))


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
    rest: str = ""  # compared as text only: windows, samples, DISTINCT ON

    @property
    def set_operation(self) -> list[str]:
        """The names of the two sides of a set operation; a SELECT has none."""
        return [] if self.tables else list(self.inner)

    @property
    def items(self) -> tuple[Item, ...]:
        """Everything but the joins."""
        return (*self.conditions, *self.projection, *self.grouping, *self.order)

    @property
    def row_key(self) -> set[str]:
        """What there is one row of: SELECT DISTINCT a is SELECT a GROUP BY a."""
        return {*list_texts(self.projection if self.is_distinct else self.grouping)}

    @property
    def meaning(self) -> str:
        """Equal for two queries that say the same."""
        sets, lists = (self.links, self.conditions), (self.projection, self.order)
        return repr(
            (
                sorted(self.tables.items()),
                *(sorted(item.meaning for item in items) for items in sets),
                *([item.meaning for item in items] for items in lists),
                sorted(self.row_key),
                bool(self.set_operation) and self.is_distinct,
                self.limit,
                {name: inner.meaning for name, inner in self.inner.items()},
                self.rest,
            )
        )


def list_texts(items: Sequence[Item]) -> list[str]:
    return [item.text for item in items]


def name_column(column: exp.Column) -> str:
    return f"{column.table}.{column.name}" if column.table else column.name


def read_clauses(query: exp.Expr, dialect: str) -> Clauses:
    """Return the clauses of a query and of the queries inside it."""
    if isinstance(query, exp.SetOperation):
        return _read_set_operation(query, dialect)
    assert isinstance(query, exp.Select)
    links, conditions = _read_conditions(query, dialect)
    projection = tuple(_read_item(one, dialect) for one in query.expressions)
    group, is_distinct = query.args.get("group"), bool(query.args.get("distinct"))
    grouping = _read_unique(group.expressions, dialect) if group else ()
    if grouping and not is_distinct and {*list_texts(grouping)} == {*list_texts(projection)}:
        grouping, is_distinct = (), True
    return Clauses(
        tables=_read_tables(query),
        links=links,
        conditions=conditions,
        projection=() if isinstance(query.parent, exp.Exists) else projection,
        is_distinct=is_distinct,
        grouping=grouping,
        order=_read_order(query, dialect),
        limit=_read_limit(query),
        inner=_read_derived_tables(query, dialect),
        rest=_read_rest(query),
    )


def _read_set_operation(query: exp.SetOperation, dialect: str) -> Clauses:
    sides = [node for node in (query.this.unnest(), query.expression.unnest()) if isinstance(node, exp.Query)]
    return Clauses(
        tables={},
        is_distinct=bool(query.args.get("distinct")),
        order=_read_order(query, dialect),
        limit=_read_limit(query),
        inner={f"{query.key} {place}": read_clauses(side, dialect) for place, side in enumerate(sides)},
    )


def _read_tables(select: exp.Select) -> dict[str, str]:
    names = [source.meta.get("label", source.alias_or_name) for source in list_sources(select)]
    joined = [(join.args.get("side") or "").lower() for join in list_joins(select)]
    if joined == ["right"]:  # b RIGHT JOIN a is a LEFT JOIN b
        return dict(zip(names, ("left", ""), strict=True))
    return dict(zip(names, ("", *joined), strict=False))


def _read_conditions(select: exp.Select, dialect: str) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Return the links between tables, and the other conditions. The ON of an inner join and WHERE are one."""
    links: list[exp.Expr] = []
    outer: list[exp.Expr] = []
    inner: list[exp.Expr] = []
    for clause in filter(None, map(select.args.get, ("where", "having"))):
        inner += split_conjuncts(clause.this)
    labels = [source.meta.get("label", "") for source in list_sources(select)]
    for place, join in enumerate(list_joins(select), 1):
        one, other = sorted((labels[0], labels[place]))
        parts = split_conjuncts(join.args.get("on"))
        for key in join.args.get("using") or []:
            parts.append(exp.EQ(this=exp.column(key.name, one), expression=exp.column(key.name, other)))
        links += filter(_is_link, parts)
        (inner if is_inner_join(join) else outer).extend(filterfalse(_is_link, parts))
    links += filter(_is_link, inner)
    filters = [*_read_filters(filterfalse(_is_link, inner), dialect), *_read_filters(outer, dialect, OUTER)]
    return _read_unique(links, dialect), tuple(filters)


def _is_link(part: exp.Expr) -> bool:
    if not isinstance(part, exp.EQ) or not isinstance(part.this, exp.Column):
        return False
    return isinstance(part.expression, exp.Column) and part.this.table != part.expression.table


def _read_unique(parts: Iterable[exp.Expr], dialect: str) -> tuple[Item, ...]:
    return tuple({item.text: item for item in (_read_item(part, dialect) for part in parts)}.values())


def _read_filters(parts: Iterable[exp.Expr], dialect: str, ending: str = "") -> Iterator[Item]:
    """Yield all conditions on one subject as one item."""
    by_subject: dict[str, dict[str, exp.Expr]] = {}
    for part in parts:
        item = _read_item(part, dialect)
        by_subject.setdefault(item.subject, {})[item.text] = part
    for conditions in by_subject.values():
        yield _read_item(exp.and_(*conditions.values(), wrap=False), dialect, ending)


def _read_order(query: exp.Query, dialect: str) -> tuple[Item, ...]:
    order = query.args.get("order")
    keys = order.expressions if order else []
    return tuple(_read_item(one.this, dialect, " DESC" if one.args.get("desc") else "") for one in keys)


def _read_limit(query: exp.Query) -> str:
    limit, offset = query.args.get("limit"), query.args.get("offset")
    count = (limit.args.get("expression") or limit.args.get("count")) if limit else None
    skipped = f" OFFSET {offset.expression.sql()}" if offset and offset.expression.name != "0" else ""
    return (count.sql() if count is not None else "") + skipped


def _read_rest(select: exp.Select) -> str:
    distinct = select.args.get("distinct") or exp.Distinct()
    found = [*map(select.args.get, NOT_COMPARED), distinct.args.get("on")]
    found += [source.args.get("sample") for source in list_sources(select)]
    lists = (nodes if isinstance(nodes, list) else [nodes] for nodes in filter(None, found))
    return " ".join(render(node) for nodes in lists for node in nodes)


def _read_derived_tables(select: exp.Select, dialect: str) -> dict[str, Clauses]:
    found = {}
    for source in list_sources(select):
        name, query = source.meta.get("label", ""), source.unnest()
        if isinstance(source, exp.Subquery) and name.startswith(DERIVED) and isinstance(query, exp.Query):
            found[name] = read_clauses(query, dialect)
    return found


def _read_item(node: exp.Expr, dialect: str, ending: str = "") -> Item:
    inner = tuple(read_clauses(query, dialect) for query in _list_outermost_queries(node))
    hollow = node.copy() if inner else node
    for query in _list_outermost_queries(hollow) if inner else ():
        query.replace(exp.column(HOLE))
    return Item(hollow, node, dialect, ending, inner)


def _list_outermost_queries(node: exp.Expr) -> list[exp.Expr]:
    kinds = (exp.Select, exp.SetOperation)
    return [one for one in node.walk(prune=lambda one: isinstance(one, kinds)) if isinstance(one, kinds)]
