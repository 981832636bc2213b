"""Edits of what a frame takes in: periods, values, thresholds, and what is dropped. Called by edit.py."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from recollect.sql.context import Context, Unclear
from recollect.sql.dates import Unit, shifted
from recollect.sql.edit_base import refitted
from recollect.sql.filter_periods import as_one, has_end, period
from recollect.sql.filters import definition_filters, value_filters
from recollect.sql.frame import Filter, Frame, Group, Op, Period
from recollect.sql.frame_conditions import with_missing
from recollect.sql.known import Target
from recollect.sql.period_tokens import UNITS, Span
from recollect.sql.periods import in_year
from recollect.sql.phrases import phrases
from recollect.sql.roles_values import negated
from recollect.sql.sketch import ValueAsk
from recollect.sql.spans import Piece

if TYPE_CHECKING:
    from recollect.sql.fragments import Fragment

CHANGES: dict[str, dict[str, Any]] = {
    "filter": {"filters": (), "having": (), "existence": ()},
    "group": {"groups": ()},
    "limit": {"limit": None},
    "period": {"periods": ()},
    "order": {"order": ()},
}


def with_periods(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    shifts = [piece for piece in fragment.pieces if piece.has("shift") and not piece.period]
    if shifts and fragment.sketch.spans:
        spans = [filled(span, frame, of_other_year(shifts[0])) for span in fragment.sketch.spans]
    else:
        spans = [filled(span, frame) for span in fragment.sketch.spans]
        spans += [moved(frame, piece.word("shift") == "before", piece.text) for piece in shifts]
    if any(piece.word("thing") == "period" for piece in fragment.pieces):
        return replace(frame, periods=())
    if not spans:
        return frame
    check_ended(context, frame)
    old = frame.periods[0] if frame.periods else None
    if old and "only" in fragment.marks and any(is_elsewhere(span, old) for span in spans):
        raise Unclear(spans[0].text, f"“{spans[0].text}” of {old.text or 'that period'}, or seen from today?")
    named = [t for ask in fragment.sketch.columns for t in ask.targets if t.kind == "moment"]
    made = [
        period(context, frame.subject, span, (), named) if named else placed_as(context, frame, span, old)
        for span in spans
    ]
    return refitted(context, replace(frame, periods=tuple(as_one(made))))


def is_elsewhere(span: Span, old: Period) -> bool:
    """ "Only the last quarter" of what was asked for 2023: not the one before today."""
    is_relative = bool({"last", "first", "this"} & set(span.text.lower().split()))
    start, end = span.start.isoformat() if span.start else "", span.end.isoformat() if span.end else "9999"
    return is_relative and (end <= (old.start or "") or start >= (old.end or "9999"))


def check_ended(context: Context, frame: Frame) -> None:
    """Those that were cancelled, "in 2025": begun then, or cancelled then?"""
    said = [v for each in frame.filters if each.of.table == frame.subject for v in each.values]
    if not frame.periods and any(has_end(context, frame.subject, value) for value in said):
        names = [moment.names[0] for moment in context.moments(frame.subject)]
        raise Unclear("", "Which date is meant?", names, "temporal")


def placed_as(context: Context, frame: Frame, span: Span, old: Period | None) -> Period:
    if old is None or old.is_year:
        return period(context, frame.subject, span, ())
    return Period(
        old.of, span.start.isoformat() if span.start else None, span.end.isoformat() if span.end else None, span.text
    )


def filled(span: Span, frame: Frame, later: int = 0) -> Span:
    """ "April?" is April of the year of which was spoken; so is "Q3 of the year before", a year earlier."""
    start = frame.periods[0].start if frame.periods else None
    if not span.needs_year or start is None or frame.periods[0].is_year:
        if later:
            raise Unclear(span.text, f"“{span.text}”: before or after which year?", category="temporal")
        return span
    year = int(start[:4]) + later
    return replace(in_year(span, year), text=f"{span.text} {year}")


def of_other_year(shift: Piece) -> int:
    if not set(shift.text.lower().split()) & words("year"):
        raise Unclear(shift.text, f"“{shift.text}”: before or after which period?", category="temporal")
    return -1 if shift.word("shift") == "before" else 1


def moved(frame: Frame, is_before: bool, text: str) -> Span:
    old = frame.periods[0] if frame.periods else None
    if old is None or not old.start or not old.end or old.others:
        raise Unclear(text, f"“{text}”: before or after which period?", category="temporal")
    if old.is_year:
        step = -1 if is_before else 1
        return Span(date(int(old.start) + step, 1, 1), date(int(old.end) + step, 1, 1), text)
    unit = next((u for u in UNITS if set(text.lower().split()) & words(u)), None)
    first, last = date.fromisoformat(old.start), date.fromisoformat(old.end)
    if unit and not fits(first, last, unit):
        raise Unclear(text, f"“{text}”: before or after which {unit}?", category="temporal")
    start, end = shifted(first, last, -1 if is_before else 1, unit)
    return Span(start, end, text)


def fits(start: date, end: date, unit: Unit) -> bool:
    """The quarter before a quarter, and March of the year before; there is no month before a whole year."""
    whole = shifted(start, start, 1, unit)[1]
    return whole == end or (unit == "year" and end < whole)


def words(unit: str) -> set[str]:
    return {key[0] for key in phrases().periods[unit] if len(key) == 1}


def with_values(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    asks = [on_same_way(context, known_column(ask, frame), frame) for ask in fragment.sketch.values]
    if not asks:
        return frame
    if "remove" in fragment.marks and all(not ask.is_negated for ask in asks):
        asks = [replace(ask, is_negated=True) for ask in asks]
    new = value_filters(context, frame.subject, asks)
    check_other_deed(context, asks, frame)
    filters = list(frame.filters)
    names = {(e.table, e.label[0]) for e in context.model.entities if len(e.label) == 1}
    for each in new:
        filters = merged(filters, each, adds=is_added(fragment), names=names)
    frame = replace(frame, filters=tuple(filters))
    if fragment.sketch.is_compared and frame.metrics and not frame.groups:
        beside = tuple(Group(each.of) for each in new if each.op == "in")  # "cash versus card": a row for each
        frame = replace(frame, groups=beside)
    return refitted(context, frame)


def check_other_deed(context: Context, asks: list[ValueAsk], frame: Frame) -> None:
    """ "Returned?" after what was delivered in 2024: the date is that of the delivery, and not when it came back."""
    main = context.main_moment(frame.subject)
    dates = [each.of for each in frame.periods if each.of.table == frame.subject]
    strange = [ref for ref in dates if main is None or ref.column != main.column]
    done = [ask for ask in asks if ask.text.lower().endswith(("ed", "paid", "sent"))]
    if strange and done and len(context.moments(frame.subject)) > 1:
        text = done[0].text
        raise Unclear(text, f"“{text}”, with the {strange[0].name} in that period?", category="temporal")


def is_added(fragment: Fragment) -> bool:
    """ "And also cash", but "and by cash?" asks for that one: "by" adds what is grouped by."""
    return "also" in fragment.marks and not (fragment.pieces and fragment.pieces[0].text == "by")


def known_column(ask: ValueAsk, frame: Frame) -> ValueAsk:
    """A value of a column that is filtered or grouped by already is one of that column."""
    columns = {(ref.table, ref.column) for ref in frame.refs() if ref.column}
    columns |= {(group.of.table, "") for group in frame.groups if not group.of.column}
    own = tuple(t for t in ask.targets if (t.table, t.column) in columns or (t.table, "") in columns)
    return replace(ask, targets=own or ask.targets)


def on_same_way(context: Context, ask: ValueAsk, frame: Frame) -> ValueAsk:
    """ "What about Munich?" after parcels going to Hamburg: where they go, not where they come from."""
    if ask.lead in ("from", "to"):
        return ask
    ways: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for each in frame.filters:
        ways.setdefault((each.of.table, each.of.column), set()).add(each.of.via)
    return replace(ask, targets=tuple(on_way(context, frame.subject, t, ways) for t in ask.targets))


def on_way(context: Context, base: str, target: Target, ways: dict[tuple[str, str], set[tuple[str, ...]]]) -> Target:
    said = ways.get((target.table, target.column), set())
    via = next(iter(said)) if len(said) == 1 else ()
    one = next((step for step in via if len(context.graph.ways(base, target.table, (step,))) == 1), "")
    return replace(target, via=one) if one and not target.via else target


def merged(filters: list[Filter], new: Filter, *, adds: bool, names: Collection[tuple[str, str]] = ()) -> list[Filter]:
    """In the place of the old one of its column; an exclusion beside it."""
    same = [
        f
        for f in filters
        if (f.of.table, f.of.column, f.of.via) == (new.of.table, new.of.column, new.of.via)
        and f.is_text
        and f.op != "where"
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
    same = same or [f for f in filters if is_one_of(f, new, names)]
    return [*(f for f in filters if f not in same), new]


def is_one_of(old: Filter, new: Filter, names: Collection[tuple[str, str]]) -> bool:
    """ "And in Brno?" after "the Lyon plant": another of them, not the Lyon plant in Brno."""
    is_named = old.op == "=" and (old.of.table, old.of.column) in names
    return is_named and new.op == "=" and (old.of.table, old.of.via) == (new.of.table, new.of.via)


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
