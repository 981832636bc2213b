"""Wholes: what an order comes to, where only its lines have amounts. Called by figures.py and metrics.py.

The average order value is the average over orders of what their lines add up to, and never the average line; so is the
average revenue per order. A split or a condition that cuts an order in pieces (by product) has no such value: asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recollect.sql.context import Context, Unclear
from recollect.sql.frame import Frame, Group, Ref
from recollect.sql.sketch import Ask
from recollect.sql.vocabulary import vocabulary

FOLDED = ("avg", "min", "max")


def of_wholes(context: Context, ask: Ask, frame: Frame) -> Frame:
    """The figure over orders, where it would have been one over their lines."""
    metric = frame.metrics[0]
    whole = whole_of(context, ask, frame) if metric.aggregate in FOLDED and metric.of.expression else None
    if whole is None:
        return frame
    groups = tuple(each for each in frame.groups if each.of != whole)
    context.assume(ask.text, f"over what each {context.called(whole.table)} adds up to", "model", 0.9)
    return replace(frame, metrics=(replace(metric, per=Group(whole)), *frame.metrics[1:]), groups=groups)


def whole_of(context: Context, ask: Ask, frame: Frame) -> Ref | None:
    """The order that is named in "order value", or that it is asked per."""
    said = ask.text.lower()
    for join in context.model.joins:
        entity = context.entity(join.to)
        is_line = join.table == frame.subject != join.to and join.to in context.events("commerce")
        if not is_line or entity is None or len(entity.key) != 1 or len(frame.metrics) != 1:
            continue
        grouped = [each.of for each in frame.groups if (each.of.table, each.of.column) == (join.to, "")]
        if grouped and ask.aggregate:
            return grouped[0]
        if any(said.endswith(name) for name in value_names(entity.names[0])):
            return Ref(join.to, name=entity.names[0])
    return None


def value_names(name: str) -> list[str]:
    return [f"{name} {noun}" for noun in vocabulary().words("money", "whole_names")]


def check_whole(context: Context, frame: Frame) -> Frame:
    """ "Average order value by category": an order has several. The greatest of each group is not worked out."""
    folded = [metric for metric in frame.metrics if metric.per]
    if folded and (len(frame.metrics) > 1 or (frame.groups and not folded[0].is_ratio)):
        name = folded[0].of.name
        raise Unclear(name, f"That cannot be told together with the {name} of each. Please ask for one of them.")
    whole = next((metric.per.of for metric in frame.metrics if metric.per and metric.of.expression), None)
    for ref in parts_of(frame) if whole else ():
        cost = context.cost(whole.table, ref.table) if whole else None
        if whole and (cost is None or cost[0]):
            name = context.called(whole.table)
            question = f"A {name} can have several of “{ref.name}”. Its whole value, or only that part of it?"
            raise Unclear(ref.name, question, (f"total sales by {ref.name}",), "aggregation")
    return frame


def parts_of(frame: Frame) -> Iterable[Ref]:
    return (
        *(each.of for each in frame.groups), *(each.of for each in frame.filters),
        *(each.of for each in frame.periods), *(Ref(each.table, name=each.name) for each in frame.existence),
    )  # fmt: skip
