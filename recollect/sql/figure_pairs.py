"""Pairs: figures of two tables in one answer, where one is the finer: orders and what their lines add up to. Called by
figures.py.

Each is read for itself first. They are told together only if both mean the same groups, conditions and dates, if one
way leads from each finer row to its coarser one, and if nothing but the finest is added up: what is repeated by the
finer rows is counted by its key. From the coarse one outwards, so that an order without lines counts; from the fine
one, where the groups belong to it (by product).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from recollect.sql.context import Context
from recollect.sql.frame import Frame, Metric, Ref
from recollect.sql.places import is_reached_safely


def paired(context: Context, frames: Sequence[Frame]) -> Frame | None:
    """One frame of several that have a figure each, in the order in which they were asked for; None, if it would be
    wrong."""
    tables = chain(context, {frame.subject for frame in frames})
    if not tables or not all(is_plain(frame, frames[0]) for frame in frames):
        return None
    fine = tables[-1]
    metrics = [frame.metrics[0] for frame in frames]
    if not all(metric.of.table == fine or is_counted(context, metric) for metric in metrics):
        return None
    places = places_of(frames[0])
    if not places and not all(is_owned(context, one, other) for other, one in pairwise(tables)):
        return None
    for base in (tables[0], fine):
        own = next(frame for frame in frames if frame.subject == base)
        safe = all(is_reached_safely(context, base, ref) for ref in places_of(own))
        if safe and (base == fine or all(leads_through(context, frames, ref, base) for ref in places)):
            return replace(own, metrics=tuple(metrics))
    return None


def chain(context: Context, tables: set[str]) -> list[str]:
    """From the coarsest to the finest, if each row of a finer one belongs to one of the coarser, in one way."""
    found = sorted(tables, key=lambda table: -sum(is_below(context, other, table) for other in tables))
    return found if all(is_below(context, fine, coarse) for coarse, fine in pairwise(found)) else []


def is_below(context: Context, fine: str, coarse: str) -> bool:
    cost = context.cost(fine, coarse)
    return fine != coarse and cost is not None and cost[0] == 0 and len(context.graph.ways(fine, coarse)) == 1


def is_owned(context: Context, fine: str, coarse: str) -> bool:
    """Whether each has one: a product without a maker would be missing from all products."""
    table = context.catalog.table(fine)
    ways = context.graph.ways(fine, coarse)
    keys = [table.column(name) for name in ways[0][0].join.columns] if table and ways and len(ways[0]) == 1 else []
    return bool(keys) and not any(column is None or column.nullable for column in keys)


def is_plain(frame: Frame, first: Frame) -> bool:
    """Nothing that only one of them has."""
    is_bare = not (frame.having or frame.existence or frame.limit or frame.keeps_empty or frame.columns)
    metric = frame.metrics[0]
    is_figure = len(frame.metrics) == 1 and not (metric.per or metric.share or metric.of.via)
    return is_bare and is_figure and meaning_of(frame) == meaning_of(first)


def meaning_of(frame: Frame) -> tuple[object, ...]:
    """Its groups and conditions, whatever the way there."""
    groups = [(of_row(each.of), each.grain) for each in frame.groups]
    filters = {(of_row(each.of), each.op, each.values) for each in frame.filters}
    return groups, filters, {(of_row(each.of), each.ranges) for each in frame.periods}


def of_row(ref: Ref) -> tuple[str, str, str]:
    return ref.table, ref.column, ref.expression


def is_counted(context: Context, metric: Metric) -> bool:
    entity = context.entity(metric.of.table)
    return metric.aggregate == "count" and entity is not None and len(entity.key) == 1


def places_of(frame: Frame) -> list[Ref]:
    conditions = [*(each.of for each in frame.filters), *(each.of for each in frame.periods)]
    return [*(each.of for each in frame.groups), *conditions]


def leads_through(context: Context, frames: Sequence[Frame], ref: Ref, coarse: str) -> bool:
    """Whether the finer rows belong to the group by way of the coarser one, too."""
    for frame in frames:
        ways = context.graph.ways(frame.subject, ref.table, ref.via if frame is frames[0] else ())
        if frame.subject != coarse and (not ways or coarse not in {step.table for step in ways[0]}):
            return False
    return True
