"""Ordering: what a frame is sorted by, as asked. Called for figures, lists and follow-ups."""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import Context, Unclear
from recollect.sql.frame import Frame, Order, Ref
from recollect.sql.places import nearest, placed
from recollect.sql.sketch import Ask, Sketch


def ordered(context: Context, sketch: Sketch, frame: Frame) -> Frame:
    if sketch.order is None:
        return frame
    ask, down = sketch.order.ask, sketch.order.is_descending
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


def default_order(context: Context, frame: Frame) -> Ref | None:
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
    if frame.metrics and (ask.concept or any(t.kind == "measure" for t in ask.targets)):
        return Order("metric", 0, True if down is None else down)
    if frame.metrics or not ask.targets:
        raise Unclear(ask.text, f"I cannot order this by “{ask.text}”.", category="quantitative")
    target = nearest(context, frame.subject, ask.targets, ask.text)
    falls = target.kind == "measure" and "rank" in context.words if down is None else down
    return Order("column", 0, falls, placed(context, frame.subject, target, ask.text))


def label(context: Context, table: str) -> tuple[str, ...]:
    entity = context.entity(table)
    return entity.label if entity else ()
