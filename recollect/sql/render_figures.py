"""The figures of a frame as SQL: groups, metrics, their order. Called by render.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.sql.frame import Frame, Group, Having, Ref
from recollect.sql.joins import Step, Way
from recollect.sql.naming import is_name
from recollect.sql.render_tables import Tables
from recollect.sql.render_terms import compared, count_of, grained, metric_term

if TYPE_CHECKING:
    from sqlglot import exp
from recollect.sql.render_shares import figure_term
from recollect.sql.render_where import is_own, where


def figures(frame: Frame, tables: Tables) -> exp.Select:
    from sqlglot import exp

    shown, keys = group_terms(frame.groups, tables)
    conditions = where(frame, tables)
    for metric in frame.metrics if len(frame.metrics) > 1 else ():
        tables.of(metric.of, keeps=True)  # an order without lines is one, too
    metrics = [figure_term(metric, frame, tables) for metric in frame.metrics]
    named = [exp.alias_(term, name, quoted=True) for term, name in unique(shown)]
    named += [exp.alias_(term, name, quoted=True) for term, name in zip(metrics, metric_names(frame), strict=True)]
    select = tables.into(exp.select(*named))
    if conditions:
        select = select.where(exp.and_(*conditions))
    if frame.metrics and keys:
        select = select.group_by(*keys)
        if inner := [each for each in frame.having if is_own(each, frame)]:
            select = select.having(exp.and_(*(having(each, tables) for each in inner)))
    elif frame.groups:
        select = select.distinct()
    order = figure_order(frame, [term for term, _ in shown], metrics)
    return select.order_by(*order) if order else select


def having(each: Having, tables: Tables) -> exp.Expr:
    return compared(metric_term(each.metric, tables), each.op, each.values, is_text=False)


def group_terms(groups: Sequence[Group], tables: Tables) -> tuple[list[tuple[exp.Expr, str]], list[exp.Expr]]:
    """What is shown of each group and what tells groups apart: an entity by its key, not by its name."""
    shown: list[tuple[exp.Expr, str]] = []
    keys: list[exp.Expr] = []
    for group in groups:
        ref = group.of
        if group.grain:
            term = grained(tables.value(ref), group.grain, tables.catalog.dialect)
            shown.append((term, group.grain))
            keys.append(term)
        elif ref.column or ref.expression:
            shown.append((tables.value(ref), ref.column or ref.name))
            keys.append(tables.value(ref))
        else:
            alias, label = tables.of(ref), tables.label(ref.table)
            first = () if is_name(label) else tables.key(ref.table)[:1]
            shown += [
                (tables.column(alias, name), name if len(groups) == 1 else f"{ref.table.rpartition('.')[2]}{name}")
                for name in dict.fromkeys((*first, *label))
            ]
            keys += [tables.column(alias, name) for name in dict.fromkeys((*tables.key(ref.table), *label))]
    return shown, keys


def unique(shown: Sequence[tuple[exp.Expr, str]]) -> list[tuple[exp.Expr, str]]:
    seen: dict[str, int] = {}
    found = []
    for term, name in shown:
        seen[name] = seen.get(name, 0) + 1
        found.append((term, name if seen[name] == 1 else f"{name}_{seen[name]}"))
    return found


def metric_names(frame: Frame) -> list[str]:
    names: list[str] = []
    for metric in frame.metrics:
        said = metric.of.name or metric.of.column or "rows"
        lead = "percentage" if metric.share else metric.aggregate
        name = f"{'count' if lead == 'count_distinct' else lead}_{said}".replace(" ", "_").lower()
        names.append(name if name not in names else f"{name}_{len(names)}")
    return names


def figure_order(frame: Frame, shown: Sequence[exp.Expr], metrics: Sequence[exp.Expr]) -> list[exp.Expr]:
    """As asked; otherwise time runs on, and the largest comes first. Groups settle what is equal."""
    from sqlglot import exp

    terms: list[exp.Expr] = []
    for order in frame.order:
        if order.by == "metric" and order.at < len(metrics):
            terms.append(by(metrics[order.at], order.is_descending))
        elif order.by == "group" and order.at < len(shown):
            terms.append(by(shown[order.at], order.is_descending))
    if not terms and metrics and not any(group.grain for group in frame.groups) and shown:
        terms.append(by(metrics[0], True))
    return [
        *terms,
        *(
            by(term, False)
            for term in shown
            if not any(term == each.this for each in terms if isinstance(each, exp.Ordered))
        ),
    ]


def by(term: exp.Expr, is_descending: bool) -> exp.Expr:
    from sqlglot import exp

    return exp.Ordered(this=term.copy(), desc=is_descending, nulls_first=not is_descending)


def with_empty_groups(frame: Frame, tables: Tables) -> exp.Select:
    """From the group outwards, so that one without any row counts 0."""
    from sqlglot import exp

    group = frame.groups[0]
    forth = tables.way(group.of)
    outer = Tables(tables.model, tables.catalog, tables.graph, group.of.table)
    counted = outer.alias(turned(forth), keeps=True)
    key = outer.key(frame.subject)
    column = outer.column(counted, key[0])  # a part of a key comes more than once
    term = exp.Count(this=exp.Distinct(expressions=[column]) if len(key) == 1 else column)
    own = Ref(group.of.table)
    shown, keys = group_terms([Group(own)], outer)
    named = [exp.alias_(t, name, quoted=True) for t, name in unique(shown)]
    select = outer.into(exp.select(*named, exp.alias_(term, metric_names(frame)[0], quoted=True))).group_by(*keys)
    if frame.having:
        select = select.having(
            exp.and_(*(compared(term, each.op, each.values, is_text=False) for each in frame.having))
        )
    return select.order_by(*figure_order(frame, [t for t, _ in shown], [term]))


def over_counts(frame: Frame, tables: Tables) -> exp.Select:
    """The average, least or greatest of the counts or sums of each group. A group without any row is not in it."""
    from sqlglot import exp

    metric = frame.metrics[0]
    _, keys = group_terms([metric.per] if metric.per else [], tables)
    conditions = where(frame, tables)
    each = exp.Sum(this=tables.value(metric.of)) if metric.of.expression else count_of(tables, metric.of)
    counted = exp.alias_(each, "n", quoted=True)
    inner = tables.into(exp.select(counted))
    inner = inner.where(exp.and_(*conditions)) if conditions else inner
    kinds = {"avg": exp.Avg, "min": exp.Min, "max": exp.Max}
    term = kinds[metric.aggregate](
        this=exp.Mul(this=exp.column("n", quoted=True), expression=exp.Literal.number("1.0"))
    )
    name = metric_names(frame)[0] if metric.of.expression else f"{metric.aggregate}_count"
    return exp.select(exp.alias_(term, name, quoted=True)).from_(inner.group_by(*keys).subquery("counts"))


def turned(way: Way) -> Way:
    return tuple(Step(step.join, not step.is_forward, step.is_forward) for step in reversed(way))
