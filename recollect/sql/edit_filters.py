"""Edits of what a frame takes in: periods, values, thresholds, and what is dropped. Called by edit.py."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from recollect.sql.context import Context, Unclear
from recollect.sql.dates import shifted
from recollect.sql.edit_base import refitted
from recollect.sql.filter_periods import as_one, period
from recollect.sql.filters import definition_filters, value_filters
from recollect.sql.frame import Filter, Frame, Having, Op, Period
from recollect.sql.frame_conditions import with_comparison, with_missing
from recollect.sql.known import Target
from recollect.sql.periods import Span, in_year
from recollect.sql.phrases import phrases
from recollect.sql.roles_values import negated
from recollect.sql.sketch import CompareAsk, ValueAsk

if TYPE_CHECKING:
    from recollect.sql.edit import Fragment

UP: tuple[Op, ...] = (">", ">=")
DOWN: tuple[Op, ...] = ("<", "<=")
CHANGES: dict[str, dict[str, Any]] = {
    "filter": {"filters": (), "having": (), "existence": ()},
    "group": {"groups": ()},
    "limit": {"limit": None},
    "period": {"periods": ()},
    "order": {"order": ()},
}


def with_periods(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    spans = [filled(span, frame) for span in fragment.sketch.spans]
    shifts = [piece for piece in fragment.pieces if piece.has("shift") and not piece.period]
    spans += [moved(frame, piece.word("shift") == "before", piece.text) for piece in shifts]
    if any(piece.word("thing") == "period" for piece in fragment.pieces):
        return replace(frame, periods=())
    if not spans:
        return frame
    old = frame.periods[0] if frame.periods else None
    named = [t for ask in fragment.sketch.columns for t in ask.targets if t.kind == "moment"]
    made = [
        period(context, frame.subject, span, (), named) if named else placed_as(context, frame, span, old)
        for span in spans
    ]
    return refitted(context, replace(frame, periods=tuple(as_one(made))))


def placed_as(context: Context, frame: Frame, span: Span, old: Period | None) -> Period:
    if old is None or old.is_year:
        return period(context, frame.subject, span, ())
    return Period(
        old.of, span.start.isoformat() if span.start else None, span.end.isoformat() if span.end else None, span.text
    )


def filled(span: Span, frame: Frame) -> Span:
    """ "April?" is April of the year of which was spoken."""
    start = frame.periods[0].start if frame.periods else None
    if not span.needs_year or start is None or frame.periods[0].is_year:
        return span
    return replace(in_year(span, int(start[:4])), text=f"{span.text} {start[:4]}")


def moved(frame: Frame, is_before: bool, text: str) -> Span:
    old = frame.periods[0] if frame.periods else None
    if old is None or not old.start or not old.end or old.others:
        raise Unclear(text, f"“{text}”: before or after which period?", category="temporal")
    if old.is_year:
        step = -1 if is_before else 1
        return Span(date(int(old.start) + step, 1, 1), date(int(old.end) + step, 1, 1), text)
    unit = next((u for u in ("day", "week", "month", "quarter", "year") if set(text.lower().split()) & words(u)), None)
    start, end = shifted(date.fromisoformat(old.start), date.fromisoformat(old.end), -1 if is_before else 1, unit)  # type: ignore[arg-type]
    return Span(start, end, text)


def words(unit: str) -> set[str]:
    return {key[0] for key in phrases().periods[unit] if len(key) == 1}


def with_values(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    asks = [known_column(ask, frame) for ask in fragment.sketch.values]
    if not asks:
        return frame
    if "remove" in fragment.marks and all(not ask.is_negated for ask in asks):
        asks = [replace(ask, is_negated=True) for ask in asks]
    new = value_filters(context, frame.subject, asks)
    filters = list(frame.filters)
    for each in new:
        filters = merged(filters, each, adds="also" in fragment.marks, people=person(new, context))
    return refitted(context, replace(frame, filters=tuple(filters)))


def known_column(ask: ValueAsk, frame: Frame) -> ValueAsk:
    """A value of a column that is filtered or grouped by already is one of that column."""
    columns = {(ref.table, ref.column) for ref in frame.refs() if ref.column}
    columns |= {(group.of.table, "") for group in frame.groups if not group.of.column}
    own = tuple(t for t in ask.targets if (t.table, t.column) in columns or (t.table, "") in columns)
    return replace(ask, targets=own or ask.targets)


def person(new: list[Filter], context: Context) -> bool:
    return len({each.of.table for each in new}) == 1 and len(new) > 1


def merged(filters: list[Filter], new: Filter, *, adds: bool, people: bool) -> list[Filter]:
    """In the place of the old one of its column; an exclusion beside it."""
    same = [
        f
        for f in filters
        if (f.of.table, f.of.column) == (new.of.table, new.of.column) and f.is_text and f.op != "where"
    ]
    negated = new.op in ("!=", "not in")
    like = [f for f in same if (f.op in ("!=", "not in")) == negated]
    if negated and (inside := next((f for f in same if f.op == "in"), None)):
        left = tuple(v for v in inside.values if v not in new.values)
        return [
            f if f is not inside else replace(f, op="in" if len(left) > 1 else "=", values=left)
            for f in filters
            if f is not inside or left
        ]
    if like and (adds or negated):
        values = tuple(dict.fromkeys((*like[0].values, *new.values)))
        op: Op = "not in" if negated else "in"
        return [
            replace(new, op=op if len(values) > 1 else new.op, values=values) if f is like[0] else f for f in filters
        ]
    if negated:
        return [*filters, new]
    return [*(f for f in filters if f not in same), new]


def with_definitions(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    """ "Inactive?" after "active": in the place of a definition of the same column, or beside the others."""
    defined = fragment.sketch.definitions
    if not defined:
        return frame
    if "remove" in fragment.marks:
        defined = [each if each.name.startswith("not ") else negated(each) for each in defined]
    new = definition_filters(context, frame.subject, defined)
    columns = {condition_column(each) for each in new}
    left = [f for f in frame.filters if f.op != "where" or condition_column(f) not in columns]
    return refitted(context, replace(frame, filters=(*left, *new)))


def condition_column(said: Filter) -> tuple[str, str]:
    """The table and the first word of the condition that is no NOT."""
    words = re.findall(r"\w+", said.values[0])
    return said.of.table, next((word for word in words if word.upper() != "NOT"), "")


def with_gaps(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    for gap in fragment.sketch.missing:
        frame = with_missing(context, frame, gap, fragment.sketch)
    return frame


def with_comparisons(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    for ask in fragment.sketch.compares:
        frame = replaced_threshold(frame, ask) or own_threshold(frame, ask) or with_comparison(context, frame, ask)
    return frame


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
    if ask.ask.targets or ask.ask.concept or ask.unit or not (frame.metrics and frame.groups):
        return None
    numbers = tuple(str(int(n)) if n == int(n) else str(n) for n in ask.numbers)
    return replace(frame, having=(*frame.having, Having(frame.metrics[0], ask.op, numbers)))  # type: ignore[arg-type]


def without(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    """ "Drop the country filter", "remove the limit"."""
    if "remove" not in fragment.marks:
        return frame
    things = {piece.word("thing") for piece in fragment.pieces if piece.has("thing")}
    named = [t for piece in fragment.pieces for t in piece.names]
    take_names(fragment, named)
    if named:
        left = tuple(f for f in frame.filters if not is_about(f.of.table, f.of.column, named))
        groups = (
            frame.groups
            if left != frame.filters or "filter" in things
            else tuple(g for g in frame.groups if not is_about(g.of.table, g.of.column, named))
        )
        return replace(frame, filters=left, groups=groups)
    for thing in things:
        frame = replace(frame, **CHANGES[thing or ""])
    return frame


def take_names(fragment: Fragment, named: list[Target]) -> None:
    texts = {piece.text for piece in fragment.pieces if piece.names}
    sketch = fragment.sketch
    sketch.unknown = [word for word in sketch.unknown if word not in texts]
    sketch.metrics, sketch.subject, sketch.columns, sketch.groups = [], (), [], []


def is_about(table: str, column: str, named: list[Target]) -> bool:
    return any(t.table == table and t.column in ("", column) for t in named) or any(
        t.column and t.column == column for t in named
    )
