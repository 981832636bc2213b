"""The WHERE of a frame: conditions on what is joined, and one EXISTS for each way to many, so that no row is
multiplied. Called by render.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.sql.frame import Existence, Filter, Frame, Having, Op, Period, Ref
from recollect.sql.joins import Way, is_safe
from recollect.sql.render_tables import Tables
from recollect.sql.render_terms import compared, dated, metric_term, negated_op, numbered

if TYPE_CHECKING:
    from sqlglot import exp

AT_LEAST: dict[Op, Op] = {"<": ">=", "<=": ">", "=": ">"}


def where(frame: Frame, tables: Tables) -> list[exp.Expr]:
    """What the rows of a frame must meet."""
    having = [each for each in frame.having if not is_own(each, frame)]
    return conditions(frame, tables, (*frame.filters, *frame.periods), frame.existence, having)


def conditions(
    frame: Frame,
    tables: Tables,
    wanted: Sequence[Filter | Period],
    existence: Sequence[Existence],
    having: Sequence[Having],
) -> list[exp.Expr]:
    """Conditions on what is joined, then one EXISTS for each way to many."""
    near: list[exp.Expr] = []
    far: dict[str, list[Filter | Period]] = {}
    for each in wanted:
        way = tables.way(each.of)
        if is_safe(way) or (tables.is_multiplied and frame.groups):
            near.append(condition(each, tables))
        elif isinstance(each, Filter) and each.op in ("!=", "not in"):
            near.append(exists(tables, [replace(each, op=negated_op(each.op))], way, is_negated=True))
        else:
            far.setdefault(first_back(way), []).append(each)
    near += [exists(tables, found, tables.way(found[0].of)) for found in far.values()]
    near += [
        related(each, tables) for each in existence if each.is_negated or not is_inside(each, far.values(), tables)
    ]
    near += [by_figure(each, frame, tables) for each in having]
    return near


def first_back(way: Way) -> str:
    return next(step.id for step in way if not step.is_safe)


def is_inside(each: Existence, far: Iterable[Sequence[Filter | Period]], tables: Tables) -> bool:
    """An EXISTS along the same way says it already."""
    ways = tables.graph.ways(tables.base, each.table, each.via)
    if not ways:
        return False
    ids = {step.id for step in ways[0]}
    return any(ids <= {step.id for step in tables.way(f.of)} for found in far for f in found)


def condition(each: Filter | Period, tables: Tables) -> exp.Expr:
    from sqlglot import exp

    if isinstance(each, Period):
        said = numbered if each.is_year else dated
        return exp.or_(*(said(tables.value(each.of), start, end) for start, end in each.ranges))
    if each.op in ("> average", "< average"):
        return by_average(each, tables)
    if each.op == "where":
        return exp.paren(tables.qualified(each.values[0], tables.of(each.of), each.of.table))
    return compared(tables.value(each.of), each.op, each.values, is_text=each.is_text)


def by_average(each: Filter, tables: Tables) -> exp.Expr:
    """Against the average of all rows of the table."""
    from sqlglot import exp

    inner = Tables(tables.model, tables.catalog, tables.graph, each.of.table, "a_")
    average = exp.Avg(this=inner.value(replace(each.of, via=())))
    kind = exp.GT if each.op == "> average" else exp.LT
    return kind(this=tables.value(each.of), expression=exp.Subquery(this=inner.into(exp.select(average))))


def exists(tables: Tables, found: Sequence[Filter | Period], way: Way, *, is_negated: bool = False) -> exp.Expr:
    """There is a row on the many side for which all of them hold."""
    from sqlglot import exp

    cut = next(at for at, step in enumerate(way) if not step.is_safe)
    outer, step = tables.alias(way[:cut]), way[cut]
    inner = Tables(tables.model, tables.catalog, tables.graph, step.table, f"{tables.prefix}x_")
    terms = [inner_condition(each, inner, tables, cut) for each in found]
    select = inner.into(exp.select(exp.Literal.number(1))).where(
        inner.condition(step, outer, inner.aliases[()]), *terms
    )
    return exp.Not(this=exp.Exists(this=select)) if is_negated else exp.Exists(this=select)


def inner_condition(each: Filter | Period, inner: Tables, tables: Tables, cut: int) -> exp.Expr:
    rest = tables.way(each.of)[cut + 1 :]
    via = tuple(step.id for step in rest)
    return condition(replace(each, of=replace(each.of, via=via)), inner)


def related(each: Existence, tables: Tables) -> exp.Expr:
    from sqlglot import exp

    way = tables.graph.ways(tables.base, each.table, each.via)[0]
    if all(step.is_forward for step in way):
        column = tables.column(tables.alias(way[:-1]), way[-1].join.columns[0])
        empty = exp.Is(this=column, expression=exp.Null())
        return empty if each.is_negated else exp.Not(this=empty)
    cut = next(at for at, step in enumerate(way) if not step.is_forward)
    outer, step = tables.alias(way[:cut]), way[cut]
    inner = Tables(tables.model, tables.catalog, tables.graph, step.table, f"{tables.prefix}y_")
    inner.alias(way[cut + 1 :])
    then = [condition(replace(period, of=replace(period.of, via=())), inner) for period in each.periods]
    select = inner.into(exp.select(exp.Literal.number(1))).where(inner.condition(step, outer, inner.aliases[()]), *then)
    return exp.Not(this=exp.Exists(this=select)) if each.is_negated else exp.Exists(this=select)


def by_figure(each: Having, frame: Frame, tables: Tables) -> exp.Expr:
    """Rows of the subject, or of what it is grouped by, by a figure of what belongs to them; "fewer than" takes in
    those that have none."""
    from sqlglot import exp

    is_low = each.metric.aggregate == "count" and (each.op in ("<", "<=") or (each.op == "=" and each.values == ("0",)))
    op = AT_LEAST[each.op] if is_low else each.op
    inner = Tables(tables.model, tables.catalog, tables.graph, each.metric.of.table, "z_")
    of = owner_of(frame)
    owner = replace(of, column=of.column or tables.key(of.table)[0])
    own = inner.value(replace(owner, via=()))
    term = compared(metric_term(each.metric, inner), op, each.values, is_text=False)
    then = [condition(replace(period, of=replace(period.of, via=())), inner) for period in each.periods]
    select = inner.into(exp.select(own)).group_by(own.copy()).having(term)
    select = select.where(*then) if then else select
    found = exp.In(this=tables.value(owner), query=exp.Subquery(this=select))
    return exp.Not(this=found) if is_low else found


def owner_of(frame: Frame) -> Ref:
    """Whose figure is compared: what is grouped by, or else what is counted or listed."""
    if frame.groups and not frame.groups[0].grain:
        return frame.groups[0].of
    return Ref(frame.subject)


def is_own(each: Having, frame: Frame) -> bool:
    return bool(frame.groups) and each.metric.of.table == frame.subject
