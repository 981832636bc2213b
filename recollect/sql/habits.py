"""Habits: what memory adds to a frame that was read: standing filters and the period of the session. Each is told as an
assumption, and none is added where the question says something about it itself.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import Context, Unclear
from recollect.sql.filter_periods import period
from recollect.sql.frame import Filter, Frame, Ref
from recollect.sql.lexer import tokens_of
from recollect.sql.periods import period_at
from recollect.sql.places import is_reached_safely
from recollect.sql.sketch import Sketch


def with_habits(context: Context, frame: Frame, sketch: Sketch) -> Frame:
    return with_focus(context, with_default_filters(context, frame), sketch)


def with_default_filters(context: Context, frame: Frame) -> Frame:
    for each in context.known.default_filters:
        own = any(f.of.table == each.table and f.of.column.casefold() == each.column.casefold() for f in frame.filters)
        touches = each.table in frame.tables
        if own or not touches or not is_reached_safely(context, frame.subject, Ref(each.table)):
            continue
        name = f"{each.table}.{each.column}"
        frame = replace(frame, filters=(*frame.filters, Filter(Ref(each.table, name=name), "where", (each.condition,))))
        context.assume(name, each.condition, each.source, each.confidence)
    return frame


def with_focus(context: Context, frame: Frame, sketch: Sketch) -> Frame:
    """The session's period, where the subject has a date and the question says none."""
    focus = context.known.time_focus
    found = period_at(tokens_of(focus), 0, context.today) if focus and not sketch.spans else None
    if found is None:
        return frame
    try:
        added = period(context, frame.subject, found.span, sketch.verbs)
    except Unclear:
        return frame
    if not is_reached_safely(context, frame.subject, added.of):
        return frame
    context.assume("period", focus, context.known.time_source, 1.0)
    return replace(frame, periods=(*frame.periods, added))
