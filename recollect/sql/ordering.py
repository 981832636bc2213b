"""Ordering: what a frame is sorted by, as asked. Called for figures, lists and follow-ups."""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import Context, Unclear
from recollect.sql.frame import Frame, Order, Ref
from recollect.sql.known import Target
from recollect.sql.lexer import key_of, stem_key
from recollect.sql.phrases import phrases
from recollect.sql.places import is_reached_safely, nearest, placed
from recollect.sql.sketch import Ask, Sketch


def ordered(context: Context, sketch: Sketch, frame: Frame) -> Frame:
    if sketch.order is None:
        return frame
    ask, down = adjective(context, frame, sketch.order.ask), sketch.order.is_descending
    if ask is None and is_by_name(sketch.order.text) and frame.metrics and frame.groups and not frame.limit:
        return replace(frame, order=(Order("group", 0, bool(down)),))
    if ask is None:
        by = (
            replace(frame.order[0], is_descending=bool(down))
            if frame.order
            else Order(
                "metric" if frame.metrics else "column",
                0,
                bool(down),
                None if frame.metrics else default_order(context, frame),
            )
        )
        return replace(frame, order=(by,))
    order = order_by(context, frame, ask, down)
    shown = (order.of,) if order.of and "rank" in context.words and order.of not in frame.columns else ()
    return replace(frame, order=(order,), columns=(*frame.columns, *shown))


def adjective(context: Context, frame: Frame, ask: Ask | None) -> Ask | None:
    """ "Cheapest first", "newest first": of a list, the column that the adjective is about."""
    if ask is None or ask.targets or not ask.concept or frame.metrics:
        return ask
    found = context.measures(ask.concept, {frame.subject})
    moment = context.main_moment(frame.subject) if ask.concept in ("newness", "age") else None
    if moment:
        found = [Target("moment", moment.table, moment.column, name=moment.names[0])]
    return replace(ask, targets=tuple(found[:1])) if found else None


def is_by_name(text: str) -> bool:
    """ "Alphabetically": by what each is called, not by its figure."""
    return any(word.kind == "by_name" for word in phrases().of(key_of(text)))


def default_order(context: Context, frame: Frame) -> Ref | None:
    """What was compared with a number, or else what is shown first."""
    compared = [each.of for each in frame.filters if not each.is_text and each.op in (">", ">=", "<", "<=", "between")]
    if len(compared) == 1 and compared[0].table == frame.subject:
        return compared[0]
    return frame.columns[0] if frame.columns else None


def order_by(context: Context, frame: Frame, ask: Ask, down: bool | None) -> Order:
    tables_and_columns = {(t.table, t.column or t.expression) for t in ask.targets}
    for at, metric in enumerate(frame.metrics):
        if (metric.of.table, metric.of.column or metric.of.expression) in tables_and_columns or (
            ask.aggregate == "count" and metric.aggregate == "count"
        ):
            return Order("metric", at, True if down is None else down)
    for at, each in enumerate(frame.groups):
        if any(
            t.table == each.of.table and t.column in (each.of.column, *label(context, each.of.table))
            for t in ask.targets
        ):
            return Order("group", at, bool(down))
    if frame.groups and stem_key(ask.text) == ("name",):
        return Order("group", 0, bool(down))
    if frame.metrics and (ask.concept or any(t.kind == "measure" for t in ask.targets)):
        return Order("metric", 0, True if down is None else down)
    if frame.metrics or not ask.targets:
        raise Unclear(ask.text, f"I cannot order this by “{ask.text}”.", category="quantitative")
    if stem_key(ask.text) == ("name",) and (names := label(context, frame.subject)):
        return Order("column", 0, bool(down), Ref(frame.subject, names[-1] if len(names) == 2 else names[0]))
    target = nearest(context, frame.subject, ask.targets, ask.text)
    falls = target.kind == "measure" and "rank" in context.words if down is None else down
    ref = placed(context, frame.subject, target, ask.text)
    if not is_reached_safely(context, frame.subject, ref):
        name = context.called(frame.subject)
        raise Unclear(ask.text, f"A {name} has several of “{ask.text}”.", category="quantitative")
    return Order("column", 0, falls, ref)


def label(context: Context, table: str) -> tuple[str, ...]:
    entity = context.entity(table)
    return entity.label if entity else ()
