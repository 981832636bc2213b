"""When a change of a frame reaches further than its table: the same measure of another table, from which everything is
reached without multiplying rows, or a refusal. Called by the edits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from recollect.sql.context import Context, target_of
from recollect.sql.figures import checked
from recollect.sql.frame import Filter, Frame, Group, Metric, Period, Ref
from recollect.sql.known import Target
from recollect.sql.metrics import Option, best
from recollect.sql.places import ref_of

GENERIC = frozenset(("amount", "total", "total amount", "value", "quantity", "cost", "price", "金额", "数量"))
Part = TypeVar("Part", Group, Filter, Period)


def refitted(context: Context, frame: Frame, found: list[Option] | None = None) -> Frame:
    """The frame on the table that serves it best; `found` are measures to choose from instead of its own."""
    choices = found or same_measures(context, frame)
    if not choices:
        return frame
    places = [[Target("dimension", ref.table, via=ref.via[0] if len(ref.via) == 1 else "")] for ref in places_of(frame)]
    chosen = best(context, choices, places, choices[0].metric.of.name or "this")
    if chosen.base == frame.subject:
        return checked(context, replace(frame, metrics=(chosen.metric, *frame.metrics[1:])))
    return checked(context, moved(frame, chosen))


def places_of(frame: Frame) -> list[Ref]:
    return [*(g.of for g in frame.groups), *(f.of for f in frame.filters), *(p.of for p in frame.periods)]


def moved(frame: Frame, option: Option) -> Frame:
    """Seen from another table the ways are others."""
    frame = replace(frame, groups=tuple(free(each) for each in frame.groups))
    frame = replace(frame, filters=tuple(free(each) for each in frame.filters))
    frame = replace(frame, periods=tuple(free(each) for each in frame.periods))
    return replace(frame, subject=option.base, metrics=(option.metric,), having=(), columns=(), keeps_empty=False)


def free(part: Part) -> Part:
    return replace(part, of=replace(part.of, via=part.of.via if len(part.of.via) == 1 else ()))


def same_measures(context: Context, frame: Frame) -> list[Option]:
    """The measures that share a name with the frame's."""
    if not frame.metrics or not frame.metrics[0].of.expression:
        return [Option(frame.metrics[0], frame.subject)] if frame.metrics else []
    metric = frame.metrics[0]
    own = next(
        (m for m in context.model.measures if (m.table, m.expression) == (metric.of.table, metric.of.expression)), None
    )
    if own is None:
        return [Option(metric, frame.subject)]
    alike = [
        m
        for m in context.model.measures
        if m is own or (m.aggregate == own.aggregate == "sum" and (set(m.names) & set(own.names)) - GENERIC)
    ]
    return [Option(Metric(metric.aggregate, ref_of(target_of(m))), m.table, own.aggregate == "sum") for m in alike]
