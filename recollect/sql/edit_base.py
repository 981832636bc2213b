"""When a change of a frame reaches further than its table: the same measure of another table, from which everything is
reached without multiplying rows, or a refusal. Called by the edits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from recollect.sql.context import Context, Unclear, target_of
from recollect.sql.figures import checked
from recollect.sql.frame import Filter, Frame, Group, Metric, Period, Ref
from recollect.sql.known import Target
from recollect.sql.metrics import Option, best
from recollect.sql.places import ref_of
from recollect.sql.semantic import Measure
from recollect.sql.vocabulary import vocabulary

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
    if frame.existence or frame.having or len(frame.metrics) > 1:
        name = chosen.metric.of.name or context.called(chosen.base)
        raise Unclear(name, f"“{name}” is kept elsewhere. Please ask the whole question.", category="aggregation")
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


def is_alike(one: Measure, other: Measure) -> bool:
    """Called the same, and no stock where the other is what was sold."""
    stock = vocabulary().words("money", "stock_said")[0]
    is_same = bool((set(one.names) & set(other.names)) - GENERIC) and (stock in one.names) == (stock in other.names)
    return is_same and one.aggregate == other.aggregate == "sum"


def same_measures(context: Context, frame: Frame) -> list[Option]:
    """The measures that share a name with the frame's."""
    if not frame.metrics or not frame.metrics[0].of.expression:
        return [Option(frame.metrics[0], frame.subject)] if frame.metrics else []
    metric = frame.metrics[0]
    own = next(
        (m for m in context.model.measures if (m.table, m.expression) == (metric.of.table, metric.of.expression)), None
    )
    if own is None or metric.per:
        return [Option(metric, frame.subject)]
    alike = [m for m in context.model.measures if m is own or is_alike(m, own)]
    return [Option(Metric(metric.aggregate, ref_of(target_of(m))), m.table, own.aggregate == "sum") for m in alike]
