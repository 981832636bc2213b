"""Edit: a follow-up as a change of the last frame: another period, one filter more, another grouping, an order.

Only a piece of a question is one, which fragments.py tells; `edited` gives the changed frame and says in words what was
kept and what was changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from recollect.sql.context import Context, Unclear
from recollect.sql.edit_aggregates import take_bare, with_aggregate
from recollect.sql.edit_columns import with_columns, with_doers
from recollect.sql.edit_filters import (
    with_definitions,
    with_gaps,
    with_periods,
    with_values,
    without,
)
from recollect.sql.edit_shape import with_groups, with_metric, with_order, with_rank, with_shape
from recollect.sql.edit_those import added_up
from recollect.sql.edit_thresholds import with_comparisons
from recollect.sql.edit_turn import turned
from recollect.sql.fragments import Fragment
from recollect.sql.frame import Frame
from recollect.sql.sketch import Ask
from recollect.sql.superiors import after_superiors
from recollect.sql.wholes import check_whole


@dataclass(frozen=True, slots=True)
class Change:
    frame: Frame
    kept: tuple[str, ...]
    changed: tuple[str, ...]


Edit = Callable[[Context, Fragment, Frame], Frame]
EDITS: tuple[Edit, ...] = (
    turned, without, added_up, take_bare, with_metric, with_aggregate, with_shape, with_periods, with_values,
    with_definitions, with_gaps, with_comparisons, with_doers, with_columns, with_groups, with_rank, with_order,
)  # fmt: skip


def edited(context: Context, fragment: Fragment, last: Frame) -> Change:
    frame, context = last, replace(context, nouns=context.mentioned | nouns_of(context, last))
    after_superiors(context, fragment.sketch, last)
    for edit in EDITS:
        frame = edit(context, fragment, frame)
    if idle := next((ask for ask in fragment.sketch.columns if not is_in(frame, ask)), None):
        raise Unclear(idle.text, f"I do not see what “{idle.text}” is to change.", (f"by {idle.text}",), "entity")
    if frame == last and not fragment.sketch.unknown and not fragment.sketch.vague:
        raise Unclear("", "I do not see what to change in the last question.", category="entity")
    return Change(check_whole(context, frame), kept_of(last, frame), changed_of(last, frame))


def nouns_of(context: Context, last: Frame) -> frozenset[str]:
    """What the last question was split by, and the tables over which its conditions go: a follow-up stays on them."""
    grouped = {each.of.table for each in last.groups}
    ways = (context.graph.ways(last.subject, each.of.table, each.of.via) for each in last.filters)
    return frozenset(grouped | {step.table for found in ways if found for step in found[0][:-1]})


def is_in(frame: Frame, ask: Ask) -> bool:
    """What was named must be somewhere in what is asked now."""
    places = {(ref.table, ref.column or ref.expression) for ref in frame.refs()}
    places |= {(order.of.table, order.of.column or order.of.expression) for order in frame.order if order.of}
    tables = {table for table, _ in places}
    return not ask.targets or any(
        (t.table, t.column or t.expression) in places or (t.kind in ("entity", "join") and t.table in tables)
        for t in ask.targets
    )


def parts(frame: Frame) -> dict[str, object]:
    return {
        "the figure": frame.metrics, "the grouping": frame.groups, "the filters": frame.filters,
        "the period": frame.periods, "the threshold": frame.having, "the order": frame.order, "the limit": frame.limit,
        "the columns": frame.columns,
    }  # fmt: skip


def kept_of(last: Frame, frame: Frame) -> tuple[str, ...]:
    now = parts(frame)
    return tuple(name for name, part in parts(last).items() if part and now[name] == part)


def changed_of(last: Frame, frame: Frame) -> tuple[str, ...]:
    now = parts(frame)
    return tuple(name for name, part in parts(last).items() if now[name] != part)
