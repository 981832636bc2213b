"""A query clause by clause, in a form in which two queries can be compared. `read_clauses` is the entry point.

It takes a tree that query_tree.py has prepared, and changes it into canonical forms. A query inside another one is not
part of the text around it; it has clauses of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse

from sqlglot import exp

from recollect.apps.ask.corrections.canonical_forms import canonicalize, render, restore_date_parts, split_conjuncts
from recollect.apps.ask.corrections.query_tree import is_inner_join, list_joins, list_sources

HOLE = "subquery"
OUTER = " (outer join)"  # ends the text of a condition in the ON of an outer join, which keeps rows that WHERE drops
NOT_COMPARED = ("qualify", "windows", "laterals")
QUERIES = (exp.Select, exp.SetOperation)


@dataclass(frozen=True, slots=True)
class Item:
    """An expression, or all conditions on one subject: `text` is compared, `shown` is for people."""

    node: exp.Expr
    dialect: str
    ending: str = ""

    @property
    def text(self) -> str:
        return self.replace_columns({}) + self.ending

    @property
    def shown(self) -> str:
        return render(restore_date_parts(self.node), self.dialect) + self.ending.removesuffix(OUTER)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns outside of inner queries."""
        found = (node for node in self.node.walk(prune=is_query) if isinstance(node, exp.Column))
        return tuple(dict.fromkeys(map(name_column, found)))

    @property
    def tables(self) -> set[str]:
        return {name.rpartition(".")[0] for name in self.columns if "." in name}

    @property
    def measure(self) -> exp.Expr | None:
        return next((node for node in self.node.walk(prune=is_query) if isinstance(node, exp.AggFunc)), None)

    @property
    def subject(self) -> str:
        """The column or the measure that a condition is about, or all its columns if there are several."""
        return self.measure.sql() if self.measure else ", ".join(sorted(self.columns)) or self.text

    @property
    def shape(self) -> str:
        """The text with all columns alike."""
        return self.replace_columns({"*": "x"})

    def replace_columns(self, names: Mapping[str, str]) -> str:
        """Return the text with other columns, holes for inner queries, and its conditions sorted; `*` stands for every
        column that is not named."""

        def replace(node: exp.Expr) -> exp.Expr:
            if is_query(node):
                return exp.column(HOLE)
            new = isinstance(node, exp.Column) and (names.get(name_column(node)) or names.get("*"))
            return exp.to_column(new) if new else node

        made = self.node.transform(replace)
        return " AND ".join(sorted(map(render, made.flatten() if isinstance(made, exp.And) else [made])))


@dataclass(frozen=True, slots=True)
class Clauses:
    """One SELECT, or what a set operation has beside its two sides."""

    kind: str  # "select", "union", ...
    tables: Mapping[str, str] = field(default_factory=dict)  # name to how it is joined: "" or "left", "full", ...
    links: tuple[Item, ...] = ()  # columns of two tables that are equal
    conditions: tuple[Item, ...] = ()
    projection: tuple[Item, ...] = ()
    is_distinct: bool = False
    grouping: tuple[Item, ...] = ()
    order: tuple[Item, ...] = ()
    limit: str = ""
    rest: str = ""  # compared as text only: windows, samples, DISTINCT ON

    @property
    def items(self) -> tuple[Item, ...]:
        """Everything but the joins."""
        return (*self.conditions, *self.projection, *self.grouping, *self.order)

    @property
    def meaning(self) -> tuple[object, ...]:
        """Equal for two queries that say the same."""
        return (
            self.kind,
            self.is_distinct,
            sorted(self.tables.items()),
            sorted(list_texts(self.links)),
            sorted(list_texts(self.conditions)),
            list_texts(self.projection),
            {*list_texts(self.grouping)},
            list_texts(self.order),
            self.limit,
            self.rest,
        )


def list_texts(items: Sequence[Item]) -> list[str]:
    return [item.text for item in items]


def name_column(column: exp.Column) -> str:
    return f"{column.table}.{column.name}" if column.table else column.name


def is_query(node: exp.Expr) -> bool:
    return isinstance(node, QUERIES)


def read_clauses(query: exp.Query, dialect: str) -> dict[str, Clauses]:
    """Return the clauses of a query and of the queries inside it, by place: in which clause of which query, and the
    how manieth there. The outermost comes first."""
    places: dict[int, str] = {}
    uses: Counter[str] = Counter()
    found = {}
    for one in canonicalize(query, dialect).find_all(*QUERIES, bfs=False):
        part: exp.Expr = one
        while part.parent is not None and not is_query(part.parent):
            part = part.parent
        clause = "from_" if part.arg_key in ("joins", "with_") else part.arg_key
        place = f"{places.get(id(part.parent), '')}/{clause}"
        uses[place] += 1
        places[id(one)] = f"{place} {uses[place]}"
        found[places[id(one)]] = _read_query(one, dialect)
    return found


def _read_query(query: exp.Expr, dialect: str) -> Clauses:
    order, limit, is_distinct = _read_order(query, dialect), _read_limit(query), bool(query.args.get("distinct"))
    if not isinstance(query, exp.Select):
        return Clauses(query.key, is_distinct=is_distinct, order=order, limit=limit)
    links, conditions = _read_conditions(query, dialect)
    projection = tuple(Item(one, dialect) for one in query.expressions)
    group = query.args.get("group")
    grouping = _read_unique(group.expressions, dialect) if group else ()
    # SELECT a GROUP BY a is SELECT DISTINCT a.
    if grouping and not is_distinct and {*list_texts(grouping)} == {*list_texts(projection)}:
        grouping, is_distinct = (), True
    if isinstance(query.parent, exp.Exists):
        projection = ()
    tables, rest = _read_tables(query), _read_rest(query)
    return Clauses("select", tables, links, conditions, projection, is_distinct, grouping, order, limit, rest)


def _read_tables(select: exp.Select) -> dict[str, str]:
    names = [source.meta.get("label", source.alias_or_name) for source in list_sources(select)]
    joined = [(join.args.get("side") or "").lower() for join in list_joins(select)]
    return dict(zip(names, ("", *joined), strict=False))


def _read_conditions(select: exp.Select, dialect: str) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Return the links between tables, and the other conditions. The ON of an inner join and WHERE are one."""
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
        (inner if is_inner_join(join) else outer).extend(parts)
    filters = [*_read_filters(filterfalse(_is_link, inner), dialect)]
    filters += _read_filters(filterfalse(_is_link, outer), dialect, OUTER)
    return _read_unique(filter(_is_link, outer + inner), dialect), tuple(filters)


def _is_link(part: exp.Expr) -> bool:
    if not isinstance(part, exp.EQ) or not isinstance(part.this, exp.Column):
        return False
    return isinstance(part.expression, exp.Column) and part.this.table != part.expression.table


def _read_unique(parts: Iterable[exp.Expr], dialect: str) -> tuple[Item, ...]:
    return tuple({item.text: item for item in (Item(part, dialect) for part in parts)}.values())


def _read_filters(parts: Iterable[exp.Expr], dialect: str, ending: str = "") -> Iterator[Item]:
    """Yield all conditions on one subject as one item."""
    by_subject: dict[str, dict[str, exp.Expr]] = {}
    for part in parts:
        item = Item(part, dialect)
        by_subject.setdefault(item.subject, {})[item.text] = part
    for conditions in by_subject.values():
        yield Item(exp.and_(*conditions.values(), wrap=False), dialect, ending)


def _read_order(query: exp.Expr, dialect: str) -> tuple[Item, ...]:
    order = query.args.get("order")
    keys = order.expressions if order else []
    return tuple(Item(one.this, dialect, " DESC" if one.args.get("desc") else "") for one in keys)


def _read_limit(query: exp.Expr) -> str:
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
