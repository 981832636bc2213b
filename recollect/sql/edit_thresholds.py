"""Edits of the thresholds of a frame: "over 15?" after "over 10 dollars", "only those with more than 3", "the 5 star
ones". A new one takes the place of the old one of its column, or is asked about. Called by edit.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.sql.context import Context, Unclear
from recollect.sql.frame import Filter, Frame, Having, Op
from recollect.sql.frame_conditions import row_filter, str_of, with_comparison
from recollect.sql.sketch import CompareAsk

if TYPE_CHECKING:
    from recollect.sql.fragments import Fragment

UP: tuple[Op, ...] = (">", ">=")
DOWN: tuple[Op, ...] = ("<", "<=")


def with_comparisons(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    for ask in fragment.sketch.compares:
        changed = replaced_threshold(frame, ask) or own_threshold(frame, ask) or of_rows(context, frame, ask)
        frame = changed or settled(frame, with_comparison(context, frame, ask), fragment.marks)
    return frame


def of_rows(context: Context, frame: Frame, ask: CompareAsk) -> Frame | None:
    """ "Only the 5 star ones" of what is counted by country: each row says how many it has."""
    counts = frame.groups and frame.metrics and frame.metrics[0].aggregate == "count"
    own = [t for t in ask.ask.targets if (t.kind, t.table) == ("measure", frame.subject)]
    if not counts or ask.op != "=" or ask.ask.aggregate or ask.unit or len(own) != 1:
        return None
    new = row_filter(context, frame.subject, own[0], ask, tuple(map(str_of, ask.numbers)))
    return settled(frame, replace(frame, filters=(*frame.filters, new)), frozenset(("only",)))


def settled(last: Frame, frame: Frame, marks: frozenset[str]) -> Frame:
    """ "What about 1 star?" after "5 stars", "shorter than an hour" after "longer than two": in the place of the old
    condition. "Under 100" after "over 50" may be meant of both: asked, unless it says "only"."""
    old, new = last.filters, [each for each in frame.filters if each not in last.filters]
    for each in new:
        same = [f for f in old if f.of == each.of and not f.is_text and f.op not in ("is null", "not null", "where")]
        gone = [f for f in same if side(f.op) == side(each.op) or is_apart(f, each)]
        if len(same) > len(gone) and not marks & {"only", "those", "also"}:
            name = each.of.name
            raise Unclear(name, f"In the place of the condition on the {name}, or both together?", category="entity")
        frame = replace(frame, filters=tuple(f for f in frame.filters if f not in gone))
    return frame


def is_apart(one: Filter, other: Filter) -> bool:
    """No row meets both."""
    (low, high), (floor, top) = bounds(one), bounds(other)
    return high < floor or top < low or (high == floor and "=" not in one.op) or (top == low and "=" not in other.op)


def bounds(said: Filter) -> tuple[float, float]:
    numbers = [float(value) for value in said.values]
    low = min(numbers) if said.op in (*UP, "=", "between") else float("-inf")
    return low, max(numbers) if said.op in (*DOWN, "=", "between") else float("inf")


def replaced_threshold(frame: Frame, ask: CompareAsk) -> Frame | None:
    """ "Over 15?" after "over 10 dollars"."""
    if ask.ask.targets or ask.ask.concept or ask.unit:
        return None
    numbers = tuple(str(int(n)) if n == int(n) else str(n) for n in ask.numbers)
    numeric = [f for f in frame.filters if not f.is_text]
    old = next((f for f in numeric if side(f.op) == side(ask.op)), None)
    if old is None and len(numeric) == 1 and "between" in (numeric[0].op, ask.op):
        old = numeric[0]  # "above 40?" after "between 20 and 40"
    if old:
        new = replace(old, op=ask.op, values=numbers)  # type: ignore[arg-type]
        return replace(frame, filters=tuple(new if f is old else f for f in frame.filters))
    having = next((h for h in frame.having if side(h.op) == side(ask.op)), None)
    if having:
        made = replace(having, op=ask.op, values=numbers)  # type: ignore[arg-type]
        return replace(frame, having=tuple(made if h is having else h for h in frame.having))
    return None


def side(op: str) -> str:
    return "up" if op in UP else "down" if op in DOWN else op


def own_threshold(frame: Frame, ask: CompareAsk) -> Frame | None:
    """ "Only those with more than 3": of the figure that is shown."""
    is_count = frame.metrics and frame.metrics[0].aggregate == "count" and not frame.metrics[0].of.column
    is_own = is_count and all((t.kind, t.table) == ("entity", frame.subject) for t in ask.ask.targets)
    is_named = (ask.ask.targets and not is_own) or ask.ask.concept
    if is_named or ask.unit or not (frame.metrics and frame.groups):
        return None
    numbers = tuple(str(int(n)) if n == int(n) else str(n) for n in ask.numbers)
    return replace(frame, having=(*frame.having, Having(frame.metrics[0], ask.op, numbers)))  # type: ignore[arg-type]
