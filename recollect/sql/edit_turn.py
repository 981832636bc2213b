"""Edits that turn a frame round: "the other way round" of a way from one place to another, "which are not?", "and
without?", "reverse the order". Called by edit.py.

Only what can be turned in one way is: of two conditions it is asked which one is meant.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.sql.context import Context, Unclear
from recollect.sql.frame import Filter, Frame, Op, Order

if TYPE_CHECKING:
    from recollect.sql.fragments import Fragment

OPPOSITES: dict[Op, Op] = {
    "=": "!=", "!=": "=", "in": "not in", "not in": "in", "is null": "not null", "not null": "is null",
    ">": "<=", "<=": ">", "<": ">=", ">=": "<",
}  # fmt: skip


def turned(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    if "turn" in fragment.marks:
        return with_ends_swapped(frame) or with_order_turned(frame)
    if "deny" in fragment.marks:
        fragment.sketch.unknown, fragment.sketch.dangling, fragment.sketch.missing = [], [], []
        return denied(frame)
    return frame


def with_ends_swapped(frame: Frame) -> Frame | None:
    """ "From Oslo to Rome" becomes "from Rome to Oslo"."""
    ends = [f for f in frame.filters if f.op in ("=", "in") and f.of.via]
    if len(ends) != 2 or ends[0].of.column != ends[1].of.column or ends[0].of.table != ends[1].of.table:
        return None
    one, other = ends
    swapped = {one: replace(one, op=other.op, values=other.values), other: replace(other, op=one.op, values=one.values)}
    return replace(frame, filters=tuple(swapped.get(each, each) for each in frame.filters))


def with_order_turned(frame: Frame) -> Frame:
    """The last first. Of the top five it is not said whether the same five or the bottom five are meant."""
    if frame.limit is not None:
        names = ("lowest first", "the lowest ones")
        raise Unclear("", "The same ones in reverse order, or those at the other end?", names, "quantitative")
    if frame.order:
        first = frame.order[0]
        return replace(frame, order=(replace(first, is_descending=not first.is_descending), *frame.order[1:]))
    if frame.metrics and frame.groups:
        is_dated = bool(frame.groups[0].grain)
        return replace(frame, order=(Order("group" if is_dated else "metric", 0, is_dated),))
    raise Unclear("", "I do not see what to turn round in the last question.", category="entity")


def denied(frame: Frame) -> Frame:
    """ "Which are not?": those that do not meet the one condition that was said."""
    said = [each for each in frame.filters if each.op in OPPOSITES or each.op == "where"]
    if len(frame.filters) == len(said) == 1 and not frame.existence and not frame.having:
        return replace(frame, filters=(opposite(said[0]),))
    if len(frame.existence) == 1 and not frame.filters and not frame.having:
        only = frame.existence[0]
        return replace(frame, existence=(replace(only, is_negated=not only.is_negated),))
    raise Unclear("not", "Which of the conditions does “not” turn round?", category="state")


def opposite(said: Filter) -> Filter:
    if said.op != "where":
        return replace(said, op=OPPOSITES[said.op])
    bare = said.values[0].removeprefix("NOT (").removesuffix(")")
    is_denied = said.values[0].startswith("NOT (") and bare.count("(") == bare.count(")")
    return replace(said, values=(bare if is_denied else f"NOT ({said.values[0]})",))
