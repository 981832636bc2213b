"""Rendering: Frame -> query tree -> SQL, with sqlglot expressions only.

`render_frame` returns the statement in the source's dialect, or raises CannotRender where a frame has no honest SQL
(tables that are not connected, a sum that a join would double). Conditions on rows to the many side become IN
subqueries, so that no join multiplies what is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp, parse_one

from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Group, Having, Metric, Order, Part, Period, Ref
from recollect.apps.ask.interpret.index import SchemaIndex
from recollect.apps.ask.interpret.joins import Path, Step, is_many_to_one
from recollect.apps.ask.interpret.words import split_name
from recollect.apps.ask.semantic.model import Join
from recollect.apps.ask.sql_text import write_sql

COMPARISONS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ, "!=": exp.NEQ, ">": exp.GT, ">=": exp.GTE, "<": exp.LT, "<=": exp.LTE,
}  # fmt: skip
AGGREGATES: dict[str, type[exp.AggFunc]] = {"sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max}
FORMATS = {
    "year": "%Y",
    "month": "%Y-%m",
    "day": "%Y-%m-%d",
    "hour": "%Y-%m-%d %H:00",
    "week": "%Y-%W",
    "weekday": "%w",
}
PLACE = "place"
MAX_LISTED, MAX_PARENTS = 8, 2  # columns of a list where the question names none, and names of other rows among them


class CannotRender(Exception):
    """The frame has no SQL that answers it honestly."""


@dataclass(slots=True)
class Query:
    """One SELECT under construction: the base table and the joins made so far."""

    index: SchemaIndex
    base: str
    tag: str = ""
    aliases: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)
    joins: list[exp.Join] = field(default_factory=list)
    is_optional: bool = False  # rows without the tables that are joined next are kept
    wheres: list[exp.Expr] = field(default_factory=list)
    has_fan_out: bool = False

    def __post_init__(self) -> None:
        self.aliases[(self.base, ())] = self.new_alias(self.base)

    @property
    def alias(self) -> str:
        return self.aliases[(self.base, ())]

    def new_alias(self, table: str) -> str:
        name = table.rpartition(".")[2] + self.tag
        taken = set(self.aliases.values())
        return name if name not in taken else next(f"{name}_{n}" for n in range(2, 99) if f"{name}_{n}" not in taken)

    def reach(self, table: str, via: tuple[str, ...] = ()) -> str:
        """Return the alias of a table, joining the way to it."""
        if (table, via) in self.aliases:
            return self.aliases[(table, via)]
        path = self.index.joins.path(self.base, table, via)
        if path is None:
            raise CannotRender(f"{self.base} is not connected with {table}")
        return self.follow(path, via)

    def follow(self, path: Path, via: tuple[str, ...]) -> str:
        here, alias = self.base, self.alias
        for n, step in enumerate(path):
            is_last = n == len(path) - 1
            key = (step.target, via if is_last else ())
            if key not in self.aliases or (step.target == self.base and is_last):
                self.has_fan_out = self.has_fan_out or not step.is_forward
                self.aliases[key] = self.new_alias(step.target)
                join = make_join(self.index, step, alias, self.aliases[key], "LEFT" if self.is_optional else "INNER")
                self.joins.append(join)
            here, alias = step.target, self.aliases[key]
        if not path:
            self.aliases[(here, via)] = alias
        return alias

    def follow_step(self, step: Step) -> None:
        """Join one more table to the one that the step starts from."""
        self.has_fan_out = self.has_fan_out or not step.is_forward
        source = next(alias for (table, _), alias in self.aliases.items() if table == step.source)
        alias = self.new_alias(step.target)
        self.aliases[(step.target, ())] = alias
        self.joins.append(make_join(self.index, step, source, alias))

    def select(self, shown: Sequence[exp.Expr]) -> exp.Select:
        """Return the SELECT with the joins and conditions collected so far."""
        made = exp.select(*shown).from_(table_expression(self.base, self.alias))
        for join in self.joins:
            made = made.join(join, copy=False)
        for condition in self.wheres:
            made = made.where(condition, copy=False)
        return made


def render_frame(frame: Frame, index: SchemaIndex) -> str:
    """Return the frame's SQL in the dialect of the source."""
    return write_sql(build_query(frame, index), index.dialect, identify=True)


def base_table(frame: Frame, index: SchemaIndex) -> str:
    """Return the table whose rows are counted, summed or listed."""
    measured = (*frame.metrics, *(each.metric for each in frame.having))
    if measured:
        return measured[0].of.table
    ordered = [order.of.table for order in frame.order if order.of]
    tables = dict.fromkeys((frame.subject, *(ref.table for ref in frame.shown), *ordered))
    if len(tables) == 1:
        return frame.subject
    return next((each for each in tables if reaches_all(each, tables, index)), frame.subject)


def reaches_all(table: str, others: Iterable[str], index: SchemaIndex) -> bool:
    return all(index.joins.belongs(table, other) for other in others)


def build_query(frame: Frame, index: SchemaIndex) -> exp.Select:
    query = Query(index, base_table(frame, index))
    is_grouped = bool(frame.metrics or frame.having)
    shown, keys = grouped_columns(frame, query) if is_grouped else (listed_columns(frame, query), [])
    metrics = [metric_expression(metric, query) for metric in frame.metrics]
    orders = [order_expression(order, frame, metrics, query) for order in frame.order]
    orders = orders or default_order(frame, shown, metrics)
    havings = [having_expression(each, query) for each in frame.having]
    query.wheres += where_expressions(frame, query)
    pairs = zip(frame.metrics, metrics, strict=True)
    shown += [exp.alias_(compute(each, made, frame, query), metric_title(each), quoted=True) for each, made in pairs]
    select = query.select(unique_names(shown)).group_by(*dict.fromkeys(keys), copy=False)
    select = select.having(*havings, copy=False)
    if not is_grouped and (query.has_fan_out or repeats_values(frame, index)):
        select = select.distinct(copy=False)
    if orders and frame.with_ties:
        return keep_ties(select, frame.limit or 1, orders)
    return add_order(select, frame.limit, orders)


def default_order(frame: Frame, shown: Sequence[exp.Expr], metrics: Sequence[exp.Expr]) -> list[exp.Ordered]:
    """Order figures as people read them: by time and other groups as shown, and a single group by its figure."""
    if not metrics or not frame.groups:
        return []
    if len(frame.groups) == 1 and not frame.groups[0].grain and frame.metrics[0].compute != "growth":
        return [exp.Ordered(this=metrics[0].copy(), desc=True, nulls_first=False)]
    return [exp.Ordered(this=each.unalias().copy(), nulls_first=True) for each in shown]


def repeats_values(frame: Frame, index: SchemaIndex) -> bool:
    """Whether equal rows of a list say nothing new: it shows neither key nor label of its rows."""
    info = index.tables[frame.subject]
    own = {Ref(frame.subject, name) for name in (*info.key, *info.label)}
    is_plain = (
        bool(frame.columns) and not frame.order and own.isdisjoint(Ref(ref.table, ref.column) for ref in frame.columns)
    )
    return frame.is_distinct or is_plain


def add_order(select: exp.Select, limit: int | None, orders: list[exp.Ordered]) -> exp.Select:
    if orders and select.args.get("distinct"):
        select = order_distinct(select, orders)
    for order in orders:
        select = select.order_by(order, copy=False)
    return select.limit(limit, copy=False) if limit is not None else select


def keep_ties(select: exp.Select, limit: int, orders: list[exp.Ordered]) -> exp.Select:
    """Keep the first rows and all that share their place."""
    names = [each.alias_or_name for each in select.selects]
    rank = exp.Window(this=exp.Rank(), order=exp.Order(expressions=orders))
    select.set("distinct", None)
    inner = select.select(exp.alias_(rank, PLACE, quoted=True), copy=False)
    outer = exp.select(*(exp.column(name, table="ranked", quoted=True) for name in names)).distinct()
    place = exp.LTE(this=exp.column(PLACE, table="ranked", quoted=True), expression=exp.Literal.number(limit))
    return outer.from_(inner.subquery("ranked")).where(place)


def order_distinct(select: exp.Select, orders: list[exp.Ordered]) -> exp.Select:
    """DISTINCT can only be ordered by what is shown: group by the shown columns instead."""
    shown = [each.unalias() for each in select.selects]
    if all(order.this in shown for order in orders):
        return select
    select.set("distinct", None)
    for order in orders:
        if order.this not in shown:
            order.set("this", (exp.Max if order.args.get("desc") else exp.Min)(this=order.this))
    return select.group_by(*shown, copy=False)


def unique_names(columns: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Give columns of the same name different aliases."""
    seen: dict[str, int] = {}
    made: list[exp.Expr] = []
    for each in columns:
        name = each.alias_or_name
        seen[name.lower()] = seen.get(name.lower(), 0) + 1
        again = seen[name.lower()] > 1
        made.append(exp.alias_(each.unalias(), f"{name} {seen[name.lower()]}", quoted=True) if again else each)
    return made


def table_expression(table: str, alias: str) -> exp.Expr:
    schema, _, name = table.rpartition(".")
    made = exp.table_(name, db=schema or None, quoted=True)
    return exp.alias_(made, alias, quoted=True, table=True) if alias != name else made


def column_expression(column: str, alias: str) -> exp.Expr:
    return exp.column(column, table=alias, quoted=True)


def trimmed(index: SchemaIndex, table: str, column: str, alias: str) -> exp.Expr:
    made = column_expression(column, alias)
    return exp.Trim(this=made) if index.column(table, column).needs_trim else made


def make_join(index: SchemaIndex, step: Step, source: str, target: str, kind: str = "INNER") -> exp.Join:
    join = step.join
    near, far = (join.columns, join.to_columns) if step.is_forward else (join.to_columns, join.columns)
    parts = [
        exp.EQ(this=trimmed(index, step.source, a, source), expression=trimmed(index, step.target, b, target))
        for a, b in zip(near, far, strict=True)
    ]
    return exp.Join(this=table_expression(step.target, target), on=exp.and_(*parts), kind=kind)


def ref_expression(ref: Ref, query: Query) -> exp.Expr:
    """Return a column or a measure's expression, with its columns qualified."""
    alias = query.reach(ref.table, ref.via)
    if ref.column:
        return column_expression(ref.column, alias)
    return exp.paren(qualified(ref.expression, alias, query.index))


def qualified(sql: str, alias: str, index: SchemaIndex) -> exp.Expr:
    try:
        made = parse_one(sql, dialect=index.dialect)
    except Exception as error:  # sqlglot raises several kinds of errors for text that is not SQL
        raise CannotRender(f"not an SQL expression: {sql}") from error
    for column in list(made.find_all(exp.Column)):
        if not column.table:
            column.set("table", exp.to_identifier(alias, quoted=True))
            column.this.set("quoted", True)
    return made


def number_expression(ref: Ref, query: Query) -> exp.Expr:
    made = ref_expression(ref, query)
    return exp.cast(made, "DOUBLE") if query.index.column_of(ref).is_numeric_text else made


def label_expressions(table: str, alias: str, index: SchemaIndex) -> list[exp.Expr]:
    info = index.tables[table]
    names = info.label or info.key or tuple(info.columns)[:1]
    return [column_expression(name, alias) for name in names]


def grouped_columns(frame: Frame, query: Query) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the shown columns and the keys of the groups."""
    shown = shown_columns(frame.columns, query)
    labels = list(shown)
    keys: list[exp.Expr] = []
    for group in frame.groups:
        made = group_expressions(group, query)
        keys += made
        if group.grain:
            shown.append(exp.alias_(made[0], group.grain, quoted=True))
        elif group.of.column:
            shown += made
        else:
            # Rows are told apart by their key and shown by their label, unless the frame says what is shown of them.
            own = key_expressions(group.of, query)
            shown += [] if group.of.table in {ref.table for ref in frame.columns} else made
            shown += [each for each in own if frame.having and each not in shown]
            keys += own
    keys += [each for each in labels if each not in keys]
    return shown, [each.unalias() for each in keys]


def key_expressions(ref: Ref, query: Query) -> list[exp.Expr]:
    alias = query.reach(ref.table, ref.via)
    return [column_expression(name, alias) for name in query.index.tables[ref.table].key]


def group_expressions(group: Group, query: Query) -> list[exp.Expr]:
    if group.grain:
        return [grain_expression(moment_expression(group.of, query), group.grain, query.index.dialect)]
    if group.of.column or group.of.expression:
        return [ref_expression(group.of, query)]
    return label_expressions(group.of.table, query.reach(group.of.table, group.of.via), query.index)


def moment_expression(ref: Ref, query: Query) -> exp.Expr:
    """Return a moment as one. A text that says when is enough for SQLite and MySQL, which convert it themselves."""
    made = ref_expression(ref, query)
    is_text = query.index.column_of(ref).type == "text" and query.index.dialect in ("postgres", "duckdb")
    return exp.cast(made, "TIMESTAMP") if is_text else made


def grain_expression(moment: exp.Expr, grain: str, dialect: str) -> exp.Expr:
    if grain == "week" and dialect == "mysql":  # sqlglot would write %V, which begins weeks on Sunday
        return exp.Anonymous(this="DATE_FORMAT", expressions=[moment, exp.Literal.string("%x-%v")])
    if grain == "week" and dialect != "sqlite":  # ISO weeks, which do not end with the year; older SQLite has none
        return exp.TimeToStr(this=moment, format=exp.Literal.string("%G-%V"))
    if grain == "weekday" and dialect == "postgres":
        return exp.cast(exp.Extract(this=exp.var("DOW"), expression=moment), "TEXT")
    if grain != "quarter":
        return exp.TimeToStr(this=moment, format=exp.Literal.string(FORMATS[grain]))
    year = exp.TimeToStr(this=moment, format=exp.Literal.string("%Y"))
    month = exp.cast(exp.TimeToStr(this=moment.copy(), format=exp.Literal.string("%m")), "INT")
    number = exp.cast(
        exp.IntDiv(
            this=exp.paren(exp.Add(this=month, expression=exp.Literal.number(2))), expression=exp.Literal.number(3)
        ),
        "TEXT",
    )
    return exp.DPipe(this=exp.DPipe(this=year, expression=exp.Literal.string("-Q")), expression=number)


def listed_columns(frame: Frame, query: Query) -> list[exp.Expr]:
    """Return the columns of a list: those that were named, or what says what a row is: its name, what the question is
    about, and a few others. Rows without a name are shown with the names of the rows that they belong to."""
    if frame.columns:
        return shown_columns(frame.columns, query)
    asked = [ref for ref in frame.refs() if ref.table == frame.subject and ref.column and not ref.via]
    shown = shown_columns(row_refs(frame.subject, query.index, asked), query)
    query.is_optional = True
    for join in find_parents(frame.subject, query):
        shown[1:1] = label_expressions(join.to, query.reach(join.to), query.index)
    query.is_optional = False
    return shown


def find_parents(table: str, query: Query) -> list[Join]:
    """Return the joins to the rows that a row without a name of its own belongs to."""
    joins = [each for each in query.index.model.joins if each.table == table != each.to and table == query.base]
    named = [
        each for each in joins if query.index.tables[each.to].label and not query.index.joins.parallel(table, each.to)
    ]
    return [] if query.index.tables[table].label else named[:MAX_PARENTS][::-1]


def row_refs(table: str, index: SchemaIndex, asked: Sequence[Ref] = ()) -> tuple[Ref, ...]:
    """Return the columns that say what a row is: its label, else its key, then those asked about, then others."""
    info = index.tables[table]
    first = info.label or info.key
    others = [each.name for each in info.columns.values() if not each.is_sensitive and not each.is_key]
    names = dict.fromkeys((*first, *(ref.column for ref in asked if not index.column_of(ref).is_key), *others))
    return tuple(Ref(table, name) for name in names)[:MAX_LISTED] or tuple(Ref(table, name) for name in info.columns)


def shown_columns(refs: Sequence[Ref], query: Query) -> list[exp.Expr]:
    """Return the columns; a row itself is shown by its label."""
    shown: list[exp.Expr] = []
    for ref in refs:
        if ref.column or ref.expression:
            shown.append(ref_expression(ref, query))
        else:
            shown += label_expressions(ref.table, query.reach(ref.table, ref.via), query.index)
    return shown


def metric_expression(metric: Metric, query: Query) -> exp.Expr:
    made = aggregate_expression(metric, query)
    return divide_by_groups(made, metric.per, query) if metric.per else made


def aggregate_expression(metric: Metric, query: Query) -> exp.Expr:
    query.reach(metric.of.table, metric.of.via)
    # Rows are repeated by a joined table that they do not belong to.
    is_doubled = any(not query.index.joins.belongs(metric.of.table, table) for table, _ in query.aliases)
    if metric.aggregate == "count" and not metric.of.column:
        key = key_expressions(metric.of, query)[:1] if is_doubled else []
        return exp.Count(this=exp.Distinct(expressions=key) if key else exp.Star())
    if metric.aggregate.startswith("count"):
        made = ref_expression(metric.of, query)
        return exp.Count(this=exp.Distinct(expressions=[made]) if metric.aggregate == "count_distinct" else made)
    if is_doubled and metric.aggregate in ("sum", "avg"):
        raise CannotRender(f"{metric.of.table} would be counted more than once")
    return AGGREGATES[metric.aggregate](this=number_expression(metric.of, query))


def compute(metric: Metric, made: exp.Expr, frame: Frame, query: Query) -> exp.Expr:
    """Return the metric as asked: itself, its share of the total in percent, or its growth in percent."""
    if metric.compute == "growth":
        return growth(made, frame, query)
    if metric.compute == "rate":
        return rate(metric, made, query)
    if metric.compute == "change":
        return change(metric, query)
    if metric.compute == "share":
        return percentage(made, exp.Window(this=exp.Sum(this=made.copy())), query)
    return made


def change(metric: Metric, query: Query) -> exp.Expr:
    """Return the change from the second period of the part to the first, in percent."""
    periods = metric.part.periods if metric.part else ()
    amount = number_expression(metric.of, query) if metric.aggregate == "sum" else exp.Literal.number(1)
    later, earlier = (
        exp.Sum(this=exp.Case().when(period_expression(each, query), amount.copy()).else_(exp.Literal.number(0)))
        for each in periods
    )
    whole = exp.Nullif(this=earlier, expression=exp.Literal.number(0))
    return percentage(exp.paren(exp.Sub(this=later, expression=earlier.copy())), whole, query)


def rate(metric: Metric, made: exp.Expr, query: Query) -> exp.Expr:
    """Return how much of the figure the rows of the part have, in percent."""
    part = metric.part or Part()
    conditions = [guarded_filter(each, query) for each in part.filters]
    conditions += [existence_expression(each, query) for each in part.existence]
    amount = number_expression(metric.of, query) if metric.aggregate == "sum" else exp.Literal.number(1)
    case = exp.Case().when(exp.and_(*conditions), amount).else_(exp.Literal.number(0))
    return percentage(exp.Sum(this=case), exp.Nullif(this=made, expression=exp.Literal.number(0)), query)


def divide_by_groups(made: exp.Expr, group: Group, query: Query) -> exp.Expr:
    """Return the figure divided by the number of different groups."""
    keys = group_expressions(group, query) if group.grain or group.of.column else key_expressions(group.of, query)
    count = exp.Count(this=exp.Distinct(expressions=keys[:1]))
    return exp.Div(this=exp.Mul(this=exp.Literal.number("1.0"), expression=made), expression=count)


def percentage(part: exp.Expr, whole: exp.Expr, query: Query) -> exp.Expr:
    """Return the part in percent of the whole, with two decimals. PostgreSQL rounds decimals only, to a number of
    digits."""
    share: exp.Expr = exp.Div(this=exp.Mul(this=exp.Literal.number("100.0"), expression=part), expression=whole)
    if query.index.dialect == "postgres":
        share = exp.cast(share, "DECIMAL")
    return exp.Round(this=share, decimals=exp.Literal.number(2))


def growth(made: exp.Expr, frame: Frame, query: Query) -> exp.Expr:
    """Return the change since the period before, in percent, within each of the other groups."""
    moments = [group_expressions(each, query)[0] for each in frame.groups if each.grain]
    others = [part for each in frame.groups if not each.grain for part in group_expressions(each, query)]
    if not moments:
        raise CannotRender("growth needs a period to group by")
    order = exp.Order(expressions=[exp.Ordered(this=moments[0])])
    before = exp.Window(this=exp.Lag(this=made.copy()), partition_by=others, order=order)
    change = exp.paren(exp.Sub(this=made, expression=before))
    return percentage(change, exp.Nullif(this=before.copy(), expression=exp.Literal.number(0)), query)


def metric_title(metric: Metric) -> str:
    words = {"count": "count", "count_distinct": "count", "sum": "total", "avg": "average", "min": "min", "max": "max"}
    name = metric.of.name or metric.of.column or ("" if metric.aggregate.startswith("count") else "amount")
    is_said = metric.aggregate == "sum" and "total" in split_name(name)
    title = name if is_said else f"{words[metric.aggregate]} {name}".strip()
    if metric.per:
        title = f"{title} per {metric.per.grain or metric.per.of.column or metric.per.of.table}"
    return {
        "share": f"{title} %",
        "growth": f"{title} growth %",
        "rate": f"{title} %",
        "change": f"{title} growth %",
    }.get(metric.compute, title)


def order_expression(order: Order, frame: Frame, metrics: list[exp.Expr], query: Query) -> exp.Ordered:
    if order.by == "metric":
        metric, made = frame.metrics[order.at], metrics[order.at].copy()
        # Groups with a higher share have a higher figure, too; windows cannot be nested.
        made = compute(metric, made, frame, query) if metric.compute in ("rate", "change") else made
    elif order.of is not None and (order.of.column or order.of.expression):
        made = number_expression(order.of, query)
    else:
        raise CannotRender("nothing to order by")
    # Rows without a value come first in an ascending order, and would win a superlative.
    if order.by == "column" and frame.limit is not None and not order.is_descending:
        query.wheres.append(exp.Not(this=exp.Is(this=made.copy(), expression=exp.Null())))
    return exp.Ordered(this=made, desc=order.is_descending, nulls_first=not order.is_descending)


def having_expression(having: Having, query: Query) -> exp.Expr:
    return comparison(metric_expression(having.metric, query), having.op, having.values, is_text=False)


def literal(value: str, is_text: bool) -> exp.Expr:
    return exp.Literal.string(value) if is_text else exp.Literal.number(value)


def comparison(left: exp.Expr, op: str, values: tuple[str, ...], *, is_text: bool) -> exp.Expr:
    if op in ("is null", "not null"):
        missing = exp.Is(this=left, expression=exp.Null())
        return missing if op == "is null" else exp.Not(this=missing)
    if op == "between" and len(values) == 2:
        return exp.Between(this=left, low=literal(values[0], is_text), high=literal(values[1], is_text))
    if op in ("in", "not in"):
        made = exp.In(this=left, expressions=[literal(value, is_text) for value in values])
        return made if op == "in" else exp.Not(this=made)
    if op not in COMPARISONS or not values:
        raise CannotRender(f"no comparison {op}")
    return COMPARISONS[op](this=left, expression=literal(values[0], is_text))


def filter_expression(each: Filter, query: Query) -> exp.Expr:
    alias = query.reach(each.of.table, each.of.via)
    if each.op in ("where", "not where"):
        made = exp.paren(qualified(each.values[0], alias, query.index))
        return made if each.op == "where" else exp.Not(this=made)
    if each.op in ("> average", "< average"):
        table = Query(query.index, each.of.table, "_all")
        mean = exp.select(
            exp.Avg(this=number_expression(Ref(each.of.table, each.of.column, each.of.expression), table))
        )
        inner = mean.from_(table_expression(each.of.table, table.alias)).subquery()
        return COMPARISONS[each.op[0]](this=number_expression(each.of, query), expression=inner)
    if not each.is_text:
        return comparison(number_expression(each.of, query), each.op, each.values, is_text=False)
    left = trimmed(query.index, each.of.table, each.of.column, alias)
    if each.op in ("contains", "starts", "ends", "not contains"):
        return like_expression(left, each)
    return comparison(left, each.op, each.values, is_text=True)


def like_expression(left: exp.Expr, each: Filter) -> exp.Expr:
    text = each.values[0].lower().replace("%", "")
    pattern = {"starts": f"{text}%", "ends": f"%{text}"}.get(each.op, f"%{text}%")
    made = exp.Like(this=exp.Lower(this=left), expression=exp.Literal.string(pattern))
    return exp.Not(this=made) if each.op == "not contains" else made


def period_expression(period: Period, query: Query) -> exp.Expr:
    moment = ref_expression(period.of, query)
    parts = []
    for start, end in period.ranges:
        bounds: list[exp.Expr] = []
        if start:
            bounds.append(exp.GTE(this=moment.copy(), expression=exp.Literal.string(start)))
        if end:
            bounds.append(exp.LT(this=moment.copy(), expression=exp.Literal.string(end)))
        parts.append(exp.and_(*bounds))
    made = exp.or_(*parts) if len(parts) > 1 else parts[0]
    return exp.Not(this=exp.paren(made)) if period.is_negated else made


def where_expressions(frame: Frame, query: Query) -> list[exp.Expr]:
    """Return the conditions; alternatives are joined with OR."""
    made: list[exp.Expr] = []
    either: dict[int, list[exp.Expr]] = {}
    for each in frame.filters:
        condition = guarded_filter(each, query)
        if each.either:
            either.setdefault(each.either, []).append(condition)
        else:
            made.append(condition)
    made += [exp.paren(exp.or_(*parts)) for parts in either.values()]
    made += [guarded_period(each, query) for each in frame.periods]
    made += [existence_expression(each, query) for each in frame.existence]
    return made


def is_joined_or_forward(ref: Ref, query: Query) -> bool:
    path = query.index.joins.path(query.base, ref.table, ref.via)
    return (ref.table, ref.via) in query.aliases or path is None or is_many_to_one(path)


def guarded_filter(each: Filter, query: Query) -> exp.Expr:
    if is_joined_or_forward(each.of, query):
        return filter_expression(each, query)
    return existence_expression(Existence(each.of.table, filters=(each,)), query)


def guarded_period(each: Period, query: Query) -> exp.Expr:
    if is_joined_or_forward(each.of, query):
        return period_expression(each, query)
    return existence_expression(Existence(each.of.table, periods=(each,)), query)


def existence_expression(existence: Existence, query: Query) -> exp.Expr:
    """Return `key IN (SELECT ...)` over the related rows."""
    if existence.on is not None:
        return same_column_expression(existence, query)
    path = query.index.joins.path(query.base, existence.table, existence.via)
    if not path:
        raise CannotRender(f"{query.base} is not connected with {existence.table}")
    first = path[0]
    outer = first.join.columns if first.is_forward else first.join.to_columns
    inner = first.join.to_columns if first.is_forward else first.join.columns
    if len(outer) != 1:
        raise CannotRender("keys of several columns are not compared")
    sub = Query(query.index, first.target, query.tag + "_in")
    for step in path[1:]:
        sub.follow_step(step)
    key = trimmed(query.index, first.target, inner[0], sub.alias)
    made = inner_select(existence, sub, key)
    left = trimmed(query.index, query.base, outer[0], query.alias)
    found = exp.In(this=left, query=made.subquery())
    return exp.Not(this=found) if existence.is_negated else found


def inner_select(existence: Existence, sub: Query, key: exp.Expr) -> exp.Select:
    sub.wheres += [filter_expression(each, sub) for each in existence.filters]
    sub.wheres += [period_expression(each, sub) for each in existence.periods]
    # NOT IN is never true beside a missing key.
    if existence.is_negated:
        sub.wheres.append(exp.Not(this=exp.Is(this=key.copy(), expression=exp.Null())))
    if existence.having is None:
        return sub.select([key])
    counted = having_expression(existence.having, sub)
    return sub.select([key]).group_by(key.copy(), copy=False).having(counted, copy=False)


def same_column_expression(existence: Existence, query: Query) -> exp.Expr:
    """Return `column IN (SELECT column ...)`: rows that share a value with a row that meets the conditions."""
    if existence.on is None:
        raise CannotRender("no column to compare")
    sub = Query(query.index, existence.table, query.tag + "_in")
    key = ref_expression(Ref(existence.on.table, existence.on.column), sub)
    made = inner_select(existence, sub, key)
    found = exp.In(this=ref_expression(existence.on, query), query=made.subquery())
    return exp.Not(this=found) if existence.is_negated else found
