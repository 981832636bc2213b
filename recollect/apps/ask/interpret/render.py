"""Rendering: Frame -> query tree -> SQL, with sqlglot expressions only.

`render_frame` returns the statement in the source's dialect, or raises CannotRender where a frame has no honest SQL
(tables that are not connected, a sum that a join would double). Conditions on rows to the many side become IN
subqueries, so that no join multiplies what is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp, parse_one

from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Group, Having, Metric, Order, Part, Period, Ref
from recollect.apps.ask.interpret.index import SchemaIndex
from recollect.apps.ask.interpret.joins import Path, Step
from recollect.apps.ask.sql_text import write_sql
from recollect.apps.ask.words import split_name

# What a column and the values become, by comparison.
COMPARISONS: dict[str, Callable[[exp.Expr, list[exp.Expr]], exp.Expr]] = {
    "=": lambda left, values: left.eq(values[0]),
    "!=": lambda left, values: left.neq(values[0]),
    ">": lambda left, values: left > values[0],
    ">=": lambda left, values: left >= values[0],
    "<": lambda left, values: left < values[0],
    "<=": lambda left, values: left <= values[0],
    "between": lambda left, values: left.between(values[0], values[1]),
    "in": lambda left, values: left.isin(*values),
    "is null": lambda left, values: left.is_(exp.null()),
}
OPPOSITES = {"not in": "in", "not null": "is null", "not contains": "contains"}
PATTERNS = {"contains": "%{}%", "starts": "{}%", "ends": "%{}"}
VALUES = {"is null": 0, "between": 2}  # how many values a comparison needs, where it is not one
FORMATS = {
    "year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%d %H:00", "week": "%Y-%W", "weekday": "%w",
}  # fmt: skip
TITLES = {"count": "count", "count_distinct": "count", "sum": "total", "avg": "average", "min": "min", "max": "max"}
COMPUTED_TITLES = {
    "share": "{} %",
    "growth": "{} growth %",
    "running": "running {}",
    "rate": "{} %",
    "change": "{} growth %",
}
UNNAMED = "value"  # of an expression
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

    def path(self, table: str, via: tuple[str, ...]) -> Path:
        path = self.index.joins.path(self.base, table, via)
        if path is None:
            raise CannotRender(f"{self.base} is not connected with {table}")
        return path

    def reach(self, table: str, via: tuple[str, ...] = ()) -> str:
        """Return the alias of a table, joining the way to it."""
        if (table, via) not in self.aliases:
            self.aliases[(table, via)] = self.follow(self.path(table, via), via)
        return self.aliases[(table, via)]

    def follow(self, path: Path, via: tuple[str, ...] = ()) -> str:
        """Join the tables on a path and return the alias of the last one."""
        alias = self.alias
        for n, step in enumerate(path):
            is_last = n == len(path) - 1
            key = (step.target, via if is_last else ())
            if key not in self.aliases or (step.target == self.base and is_last):
                self.has_fan_out = self.has_fan_out or not step.is_forward
                self.aliases[key] = self.new_alias(step.target)
                self.joins.append(self.make_join(step, alias, self.aliases[key]))
            alias = self.aliases[key]
        return alias

    def make_join(self, step: Step, source: str, target: str) -> exp.Join:
        pairs = zip(*step.columns, strict=True)
        parts = [self.trimmed(step.source, a, source).eq(self.trimmed(step.target, b, target)) for a, b in pairs]
        kind = "LEFT" if self.is_optional else "INNER"
        return exp.Join(this=table_expression(step.target, target), on=exp.and_(*parts), kind=kind)

    def trimmed(self, table: str, column: str, alias: str) -> exp.Expr:
        made = column_expression(column, alias)
        return exp.Trim(this=made) if self.index.column(table, column).needs_trim else made

    def select(self, shown: Sequence[exp.Expr]) -> exp.Select:
        """Return the SELECT with the joins and conditions collected so far."""
        made = exp.select(*shown).from_(table_expression(self.base, self.alias))
        for join in self.joins:
            made = made.join(join, copy=False)
        return made.where(*self.wheres, copy=False)


def render_frame(frame: Frame, index: SchemaIndex) -> str:
    """Return the frame's SQL in the dialect of the source."""
    return write_sql(build_query(frame, index), index.dialect, identify=True)


def render_keys(frame: Frame, index: SchemaIndex, table: str) -> str:
    """Return the condition that a row of the table is among those that the frame lists."""
    key = index.tables[table].key
    if len(key) != 1:
        raise CannotRender(f"{table} has no key of one column")
    # MySQL takes a LIMIT only in a subquery of its own.
    listed = exp.select(column_expression(key[0], "listed")).from_(build_query(frame, index, table).subquery("listed"))
    return write_sql(exp.column(key[0], quoted=True).isin(query=listed), index.dialect, identify=True)


def base_table(frame: Frame, index: SchemaIndex) -> str:
    """Return the table whose rows are counted, summed or listed."""
    measured = (*frame.metrics, *(each.metric for each in frame.having))
    if measured:
        return measured[0].of.table
    ordered = [order.of.table for order in frame.order if order.of]
    tables = dict.fromkeys((frame.subject, *(ref.table for ref in frame.shown), *ordered))
    return next((each for each in tables if reaches_all(each, tables, index)), frame.subject)


def reaches_all(table: str, others: Iterable[str], index: SchemaIndex) -> bool:
    return all(index.joins.belongs(table, other) for other in others)


def build_query(frame: Frame, index: SchemaIndex, keys_of: str = "") -> exp.Select:
    """Return the query of a frame; with `keys_of` the keys of that table's rows are all that it shows."""
    query = Query(index, base_table(frame, index))
    is_grouped = bool(frame.metrics or frame.having)
    shown, keys = grouped_columns(frame, query) if is_grouped else (listed_columns(frame, query), [])
    metrics = [metric_expression(metric, query) for metric in frame.metrics]
    orders = [order_expression(order, frame, metrics, query) for order in frame.order]
    orders = orders or default_order(frame, shown, metrics)
    havings = [having_expression(each, query) for each in frame.having]
    query.wheres += where_expressions(frame, query)
    for metric, made in zip(frame.metrics, metrics, strict=True):
        shown.append(exp.alias_(compute(metric, made, frame, query), metric_title(metric), quoted=True))
    if keys_of:
        shown = [column_expression(index.tables[keys_of].key[0], query.reach(keys_of))]
    select = query.select(unique_names(shown)).group_by(*dict.fromkeys(keys), copy=False).having(*havings, copy=False)
    if not is_grouped and (query.has_fan_out or repeats_values(frame, index)):
        select = select.distinct(copy=False)
    return keep_rows(select, frame, orders, query)


def default_order(frame: Frame, shown: Sequence[exp.Expr], metrics: Sequence[exp.Expr]) -> list[exp.Ordered]:
    """Order figures as people read them: by time and other groups as shown, and a single group by its figure."""
    if not metrics or not frame.groups:
        return []
    if len(frame.groups) == 1 and not frame.groups[0].grain:
        return [exp.Ordered(this=metrics[0].copy(), desc=True, nulls_first=False)]
    return [exp.Ordered(this=each.unalias().copy(), nulls_first=True) for each in shown]


def repeats_values(frame: Frame, index: SchemaIndex) -> bool:
    """Whether equal rows of a list say nothing new: it shows neither key nor label of its rows."""
    info = index.tables[frame.subject]
    own = {Ref(frame.subject, name) for name in (*info.key, *info.label)}
    shown = {Ref(ref.table, ref.column) for ref in frame.columns}
    return frame.is_distinct or (bool(shown) and not frame.order and own.isdisjoint(shown))


def keep_rows(select: exp.Select, frame: Frame, orders: list[exp.Ordered], query: Query) -> exp.Select:
    """Order the rows and keep as many as the frame says, with all that share the last place if it says so."""
    if orders and frame.limit and frame.within:
        return keep_first_of_each(select, frame, orders, query)
    if orders and frame.with_ties:
        return keep_places(select, frame.limit or 1, exp.Window(this=exp.Rank(), order=exp.Order(expressions=orders)))
    if orders:
        select = show_orders(select, orders).order_by(*orders, copy=False)
    return select.limit(frame.limit, copy=False) if frame.limit is not None else select


def show_orders(select: exp.Select, orders: list[exp.Ordered]) -> exp.Select:
    """DISTINCT can only be ordered by what is shown: group by the shown columns instead."""
    shown = [each.unalias() for each in select.selects]
    hidden = [order for order in orders if order.this not in shown]
    if not hidden or not select.args.get("distinct"):
        return select
    select.set("distinct", None)
    for order in hidden:
        order.set("this", (exp.Max if order.args.get("desc") else exp.Min)(this=order.this))
    return select.group_by(*shown, copy=False)


def keep_first_of_each(select: exp.Select, frame: Frame, orders: list[exp.Ordered], query: Query) -> exp.Select:
    """Keep the first rows within each of the groups that others are ranked within, and all that share their place."""
    parts = frame.groups[: frame.within]
    keys = [key for each in parts for key in group_keys(each, query)]
    names = [each.alias_or_name for each in select.selects]
    shown = names[: sum(len(group_expressions(each, query)) for each in parts)]
    rank = exp.Window(this=exp.Rank(), partition_by=keys, order=exp.Order(expressions=orders))
    best_first = exp.Ordered(this=column_expression(names[-1], "ranked"), desc=orders[0].args.get("desc"))
    sorted_by = [exp.Ordered(this=column_expression(name, "ranked"), nulls_first=True) for name in shown]
    return keep_places(select, frame.limit or 1, rank).order_by(*sorted_by, best_first)


def keep_places(select: exp.Select, limit: int, rank: exp.Window) -> exp.Select:
    """Return the rows whose rank is at most the limit."""
    names = [each.alias_or_name for each in select.selects]
    select.set("distinct", None)
    inner = select.select(exp.alias_(rank, PLACE, quoted=True), copy=False)
    outer = exp.select(*(column_expression(name, "ranked") for name in names)).distinct()
    return outer.from_(inner.subquery("ranked")).where(column_expression(PLACE, "ranked") <= limit)


def unique_names(columns: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Give columns of the same name different aliases, and expressions a name."""
    seen: dict[str, int] = {}
    made: list[exp.Expr] = []
    for each in columns:
        name = each.alias_or_name or UNNAMED
        count = seen[name.lower()] = seen.get(name.lower(), 0) + 1
        shown = f"{name} {count}" if count > 1 else name
        made.append(each if shown == each.alias_or_name else exp.alias_(each.unalias(), shown, quoted=True))
    return made


# Columns and groups --------------------------------------------------------------------------------------------------


def table_expression(table: str, alias: str) -> exp.Expr:
    schema, _, name = table.rpartition(".")
    made = exp.table_(name, db=schema or None, quoted=True)
    return exp.alias_(made, alias, quoted=True, table=True) if alias != name else made


def column_expression(column: str, alias: str) -> exp.Expr:
    return exp.column(column, table=alias, quoted=True)


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


def shown_columns(refs: Sequence[Ref], query: Query) -> list[exp.Expr]:
    """Return the columns; a row itself is shown by its label."""
    return [made for ref in refs for made in group_expressions(Group(ref), query)]


def group_expressions(group: Group, query: Query) -> list[exp.Expr]:
    """Return what a group is shown by; rows are shown by their label."""
    ref = group.of
    if group.grain:
        return [grain_expression(ref, group.grain, query)]
    if ref.column or ref.expression:
        return [ref_expression(ref, query)]
    info, alias = query.index.tables[ref.table], query.reach(ref.table, ref.via)
    return [column_expression(name, alias) for name in info.label or info.key or tuple(info.columns)[:1]]


def key_expressions(ref: Ref, query: Query) -> list[exp.Expr]:
    alias = query.reach(ref.table, ref.via)
    return [column_expression(name, alias) for name in query.index.tables[ref.table].key]


def group_keys(group: Group, query: Query) -> list[exp.Expr]:
    """Return what tells groups apart: the key of rows, else what is shown."""
    is_rows = not group.grain and not group.of.column and not group.of.expression
    return key_expressions(group.of, query) if is_rows else group_expressions(group, query)


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
    return shown, [each.unalias() for each in (*keys, *labels)]


def grain_expression(ref: Ref, grain: str, query: Query) -> exp.Expr:
    """Return the span of time that a moment is in, as text."""
    moment, dialect = ref_expression(ref, query), query.index.dialect
    if query.index.column_of(ref).type == "text" and dialect in ("postgres", "duckdb"):
        moment = exp.cast(moment, "TIMESTAMP")  # SQLite and MySQL convert a text that says when themselves
    if grain == "week" and dialect == "mysql":  # sqlglot would write %V, which begins weeks on Sunday
        return exp.Anonymous(this="DATE_FORMAT", expressions=[moment, exp.Literal.string("%x-%v")])
    if grain == "week" and dialect != "sqlite":  # ISO weeks, which do not end with the year; older SQLite has none
        return format_moment(moment, "%G-%V")
    if grain == "weekday" and dialect == "postgres":
        return exp.cast(exp.Extract(this=exp.var("DOW"), expression=moment), "TEXT")
    if grain != "quarter":
        return format_moment(moment, FORMATS[grain])
    months = exp.paren(exp.cast(format_moment(moment, "%m"), "INT") + 2)
    number = exp.cast(exp.IntDiv(this=months, expression=exp.Literal.number(3)), "TEXT")
    year = exp.DPipe(this=format_moment(moment, "%Y"), expression=exp.Literal.string("-Q"))
    return exp.DPipe(this=year, expression=number)


def format_moment(moment: exp.Expr, pattern: str) -> exp.Expr:
    return exp.TimeToStr(this=moment.copy(), format=exp.Literal.string(pattern))


def listed_columns(frame: Frame, query: Query) -> list[exp.Expr]:
    """Return the columns of a list: those that were named, or what says what a row is: its name, what the question is
    about, and a few others. Rows without a name are shown with the names of the rows that they belong to."""
    if frame.columns:
        return shown_columns(frame.columns, query)
    asked = [ref for ref in frame.refs() if ref.table == frame.subject and ref.column and not ref.via]
    shown = shown_columns(row_refs(frame.subject, query.index, asked), query)
    query.is_optional = True
    shown[1:1] = shown_columns([Ref(parent) for parent in find_parents(frame.subject, query)], query)
    query.is_optional = False
    return shown


def find_parents(table: str, query: Query) -> list[str]:
    """Return the tables that a row without a name of its own belongs to, if they have names."""
    tables, joins = query.index.tables, query.index.joins
    if tables[table].label or table != query.base:
        return []
    parents = [each.to for each in query.index.model.joins if each.table == table != each.to and tables[each.to].label]
    return [parent for parent in parents if not joins.parallel(table, parent)][:MAX_PARENTS]


def row_refs(table: str, index: SchemaIndex, asked: Sequence[Ref] = ()) -> tuple[Ref, ...]:
    """Return the columns that say what a row is: its label, else its key, then those asked about, then others."""
    info = index.tables[table]
    first = info.label or info.key
    others = [each.name for each in info.columns.values() if not each.is_sensitive and not each.is_key]
    names = dict.fromkeys((*first, *(ref.column for ref in asked if not index.column_of(ref).is_key), *others))
    return tuple(Ref(table, name) for name in names)[:MAX_LISTED] or tuple(Ref(table, name) for name in info.columns)


# Figures -------------------------------------------------------------------------------------------------------------


def metric_expression(metric: Metric, query: Query) -> exp.Expr:
    made = aggregate_expression(metric, query)
    if metric.per is None:
        return made
    keys = group_keys(metric.per, query)
    count = exp.Count(this=exp.Distinct(expressions=keys[:1]))
    return exp.Literal.number("1.0") * made / count


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
    return exp.func(metric.aggregate, number_expression(metric.of, query))


def compute(metric: Metric, made: exp.Expr, frame: Frame, query: Query) -> exp.Expr:
    """Return the metric as asked: itself, or in percent its share of the total, its growth since the row before, it
    added up, the part of it that some rows have, or its change from the second period of the part to the first."""
    part = metric.part or Part()
    if metric.compute == "share":
        return percentage(made, exp.Window(this=exp.Sum(this=made.copy())), query)
    if metric.compute == "growth":
        before = follow_time(exp.Lag(this=made.copy()), frame, query)
        return percentage(made - before, nonzero(before), query)
    if metric.compute == "running":
        return follow_time(exp.Sum(this=made.copy()), frame, query)
    if metric.compute == "rate":
        conditions = [condition_expression(each, query) for each in part.filters]
        conditions += [existence_expression(each, query) for each in part.existence]
        return percentage(sum_where(exp.and_(*conditions), metric, query), nonzero(made), query)
    if metric.compute == "change":
        later, earlier = (sum_where(period_expression(each, query), metric, query) for each in part.periods)
        return percentage(later - earlier, nonzero(earlier), query)
    return made


def follow_time(figure: exp.Expr, frame: Frame, query: Query) -> exp.Expr:
    """Return a figure over the periods up to each, within each of the other groups."""
    moments = [group_expressions(each, query)[0] for each in frame.groups if each.grain]
    others = [part for each in frame.groups if not each.grain for part in group_expressions(each, query)]
    if not moments:
        raise CannotRender("nothing follows in time without a period to group by")
    order = exp.Order(expressions=[exp.Ordered(this=moments[0])])
    return exp.Window(this=figure, partition_by=others, order=order)


def sum_where(condition: exp.Expr, metric: Metric, query: Query) -> exp.Expr:
    """Return the sum, or the number, of the rows that meet a condition."""
    amount = number_expression(metric.of, query) if metric.aggregate == "sum" else exp.Literal.number(1)
    return exp.Sum(this=exp.case().when(condition, amount).else_("0"))


def nonzero(whole: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=whole.copy(), expression=exp.Literal.number(0))


def percentage(part: exp.Expr, whole: exp.Expr, query: Query) -> exp.Expr:
    """Return the part in percent of the whole, with two decimals. PostgreSQL rounds decimals only, to a number of
    digits."""
    share: exp.Expr = exp.Literal.number("100.0") * part / whole
    if query.index.dialect == "postgres":
        share = exp.cast(share, "DECIMAL")
    return exp.Round(this=share, decimals=exp.Literal.number(2))


def metric_title(metric: Metric) -> str:
    name = metric.of.name or metric.of.column or ("" if metric.aggregate.startswith("count") else "amount")
    is_said = metric.aggregate == "sum" and "total" in split_name(name)
    title = name if is_said else f"{TITLES[metric.aggregate]} {name}".strip()
    if metric.per:
        title = f"{title} per {metric.per.grain or metric.per.of.column or metric.per.of.table}"
    return COMPUTED_TITLES.get(metric.compute, "{}").format(title)


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
        query.wheres.append(made.is_(exp.null()).not_())
    return exp.Ordered(this=made, desc=order.is_descending, nulls_first=not order.is_descending)


# Conditions ----------------------------------------------------------------------------------------------------------


def where_expressions(frame: Frame, query: Query) -> list[exp.Expr]:
    """Return the conditions; alternatives are joined with OR."""
    made: list[exp.Expr] = []
    either: dict[int, list[exp.Expr]] = {}
    for each in frame.filters:
        (either.setdefault(each.either, []) if each.either else made).append(condition_expression(each, query))
    made += [exp.or_(*parts) for parts in either.values()]
    made += [condition_expression(each, query) for each in frame.periods]
    return made + [existence_expression(each, query) for each in frame.existence]


def condition_expression(each: Filter | Period, query: Query) -> exp.Expr:
    """Return a condition on the row, or on related rows where there may be several."""
    of, joins = each.of, query.index.joins
    is_joined = (of.table, of.via) in query.aliases or joins.path(query.base, of.table, of.via) is None
    if not is_joined and not joins.belongs(query.base, of.table, of.via):
        return existence_expression(Existence.of_condition(each), query)
    return period_expression(each, query) if isinstance(each, Period) else filter_expression(each, query)


def having_expression(having: Having, query: Query) -> exp.Expr:
    return compare(metric_expression(having.metric, query), having.op, having.values, is_text=False)


def compare(left: exp.Expr, op: str, values: Sequence[str], *, is_text: bool) -> exp.Expr:
    if op in OPPOSITES:
        return compare(left, OPPOSITES[op], values, is_text=is_text).not_()
    if op in PATTERNS:
        return exp.Lower(this=left).like(PATTERNS[op].format(values[0].lower().replace("%", "")))
    if op not in COMPARISONS or len(values) < VALUES.get(op, 1):
        raise CannotRender(f"no comparison {op}")
    literal = exp.Literal.string if is_text else exp.Literal.number
    return COMPARISONS[op](left, [literal(value) for value in values])


def filter_expression(each: Filter, query: Query) -> exp.Expr:
    of = each.of
    alias = query.reach(of.table, of.via)
    if each.op in ("where", "not where"):
        made = exp.paren(qualified(each.values[0], alias, query.index))
        return made if each.op == "where" else made.not_()
    if each.op in ("> average", "< average"):
        everyone = Query(query.index, of.table, "_all")
        mean = everyone.select([exp.Avg(this=number_expression(Ref(of.table, of.column, of.expression), everyone))])
        return COMPARISONS[each.op[0]](number_expression(of, query), [mean.subquery()])
    left = query.trimmed(of.table, of.column, alias) if each.is_text else number_expression(of, query)
    return compare(left, each.op, each.values, is_text=each.is_text)


def period_expression(period: Period, query: Query) -> exp.Expr:
    moment = ref_expression(period.of, query)
    parts = []
    for start, end in period.ranges:
        bounds: list[exp.Expr] = [moment >= exp.Literal.string(start)] if start else []
        bounds += [moment < exp.Literal.string(end)] if end else []
        parts.append(exp.and_(*bounds))
    made = exp.or_(*parts)
    return made.not_() if period.is_negated else made


def existence_expression(existence: Existence, query: Query) -> exp.Expr:
    """Return `key IN (SELECT ...)` over the related rows; with `on`, rows that share its value with such a row."""
    if existence.on is not None:
        sub = Query(query.index, existence.table, query.tag + "_in")
        left = ref_expression(existence.on, query)
        key = ref_expression(Ref(existence.on.table, existence.on.column), sub)
    else:
        path = query.path(existence.table, existence.via)
        near, far = path[0].columns if path else ((), ())
        if len(near) != 1:
            raise CannotRender("keys of no or several columns are not compared")
        sub = Query(query.index, path[0].target, query.tag + "_in")
        sub.follow(path[1:])
        left = query.trimmed(query.base, near[0], query.alias)
        key = sub.trimmed(path[0].target, far[0], sub.alias)
    sub.wheres += [filter_expression(each, sub) for each in existence.filters]
    sub.wheres += [period_expression(each, sub) for each in existence.periods]
    # NOT IN is never true beside a missing key.
    sub.wheres += [key.is_(exp.null()).not_()] if existence.is_negated else []
    having = [having_expression(existence.having, sub)] if existence.having else []
    made = sub.select([key]).group_by(*([key] if having else [])).having(*having)
    found = left.isin(query=made)
    return found.not_() if existence.is_negated else found
