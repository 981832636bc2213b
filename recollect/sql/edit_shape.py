"""Edits of what a frame shows: the figure, by what it is split, its order and its length. Called by edit.py; how it is
aggregated: edit_aggregates.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.sql.context import Context, Refused, Unclear
from recollect.sql.edit_base import refitted
from recollect.sql.edit_those import of_those, with_second
from recollect.sql.frame import Filter, Frame, Group, Metric, Order, Ref
from recollect.sql.known import Target
from recollect.sql.lexer import key_of, stem_key
from recollect.sql.listings import shown
from recollect.sql.metrics import options
from recollect.sql.ordering import adjective, is_by_name, order_by
from recollect.sql.places import group
from recollect.sql.sketch import Ask, GroupAsk, Rank, Sketch
from recollect.sql.spans import Piece

if TYPE_CHECKING:
    from recollect.sql.fragments import Fragment


def with_metric(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    """ "Number of invoices instead": another figure of the same."""
    sketch = fragment.sketch
    take_by_measure(fragment, frame)
    if not sketch.metrics or "remove" in fragment.marks:
        return frame
    ask = sketch.metrics[0]
    found = options(context, ask)
    if not found:
        raise Unclear(ask.text, f"I do not see what to measure for “{ask.text}”.", category="aggregation")
    is_by = fragment.pieces[0].has("group")  # "and by number of orders": another ranking
    if is_by and frame.groups:
        forget(fragment, [fragment.pieces[0].text])
    if "also" in fragment.marks and frame.metrics and not is_by:
        return with_second(context, frame, found, ask)
    if "those" in fragment.marks:
        return of_those(context, fragment, frame, found)
    own = [option for option in found if option.base == frame.subject]
    if frame.having and not own:
        raise Unclear(ask.text, "I cannot tell that of just those. Please ask the whole question.", category="entity")
    try:
        return refitted(context, replace(frame, columns=(), order=metric_orders(frame)), found)
    except Unclear:
        if not own or len(own) == len(found):
            raise
        return refitted(context, replace(frame, columns=(), order=metric_orders(frame)), own)


def take_by_measure(fragment: Fragment, frame: Frame) -> None:
    """ "By profit" after a ranking by sales: another figure, not another grouping."""
    sketch, pieces = fragment.sketch, [piece for piece in fragment.pieces if not piece.is_skip]
    is_by = len(pieces) == 2 and pieces[0].has("group") and bool(pieces[1].of("measure"))
    if is_by and frame.groups and frame.metrics and not sketch.groups and not pieces[1].of("entity", "dimension"):
        sketch.metrics = [Ask(None, pieces[1].of("measure"), text=pieces[1].text)]
        sketch.columns = []
        forget(fragment, [piece.text for piece in pieces])


def metric_orders(frame: Frame) -> tuple[Order, ...]:
    return tuple(order for order in frame.order if order.by != "column")


def forget(fragment: Fragment, texts: list[str]) -> None:
    sketch = fragment.sketch
    sketch.unknown = [word for word in sketch.unknown if word not in texts]
    sketch.dangling = [word for word in sketch.dangling if word not in texts]
    sketch.columns = [ask for ask in sketch.columns if ask.text not in texts]


def with_shape(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    """ "How many are there?" after a list, "show them" after a count."""
    pieces = [piece for piece in fragment.pieces if not piece.is_skip]
    if fragment.sketch.metrics or not pieces:
        return frame
    if pieces[0].has("howmany") and not pieces[0].names and frame.metrics and frame.metrics[0].aggregate == "count":
        forget(fragment, [pieces[0].text])
        return frame
    if pieces[0].has("howmany") and not pieces[0].names and not frame.metrics:
        forget(fragment, [pieces[0].text])
        if frame.groups:
            return replace(
                frame, metrics=(Metric("count_distinct", frame.groups[0].of),), groups=(), order=(), limit=None
            )
        return replace(
            frame,
            metrics=(Metric("count", Ref(frame.subject, name=context.called(frame.subject))),),
            columns=(),
            order=(),
            limit=None,
        )
    if pieces[0].has("which") and is_of_those(fragment, pieces) and is_of_another(fragment.sketch, frame):
        fragment.sketch.groups, fragment.sketch.subject = [GroupAsk(fragment.sketch.subject, text=pieces[-1].text)], ()
        return frame  # "which species are they"
    is_list = pieces[0].has("list", "which") and is_of_those(fragment, pieces)
    if is_list and frame.metrics and not frame.groups and frame.metrics[0].aggregate == "count":
        subject = Target("entity", frame.subject)
        return replace(frame, metrics=(), columns=tuple(shown(context, subject, [])), order=(), limit=None)
    return frame


def is_of_another(sketch: Sketch, frame: Frame) -> bool:
    return bool(sketch.subject) and all(t.table != frame.subject for t in sketch.subject)


def is_of_those(fragment: Fragment, pieces: list[Piece]) -> bool:
    is_bare = all(piece.has("list", "which", "all") and not piece.names for piece in pieces)  # "which ones?"
    return is_bare or "those" in fragment.marks or any(piece.word("vague") == "entity" for piece in pieces[:3])


def with_groups(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    sketch = fragment.sketch
    if frame.metrics and not sketch.groups and (sketch.columns or sketch.subject):
        sketch.groups = more_groups(fragment, frame)
        fragment = replace(fragment, marks=fragment.marks | {"also"})
    if not sketch.groups:
        return frame
    if not frame.metrics:
        frame = replace(
            frame,
            metrics=(Metric("count", Ref(frame.subject, name=context.called(frame.subject))),),
            columns=(),
            order=(),
            groups=(),
        )
    new = tuple(reached(context, frame, ask) for ask in sketch.groups)
    old = frame.groups
    adds = "instead" not in fragment.marks and (bool(fragment.marks & {"also", "down"}) or is_first_grain(old, new))
    groups = (*old, *new) if adds else new
    frame = replace(
        frame,
        groups=tuple(dict.fromkeys(groups)),
        keeps_empty=False,
        order=tuple(o for o in frame.order if o.by == "metric"),
    )
    if len(frame.groups) > 3:
        raise Refused("At most three things can be grouped by at once.")
    return refitted(context, frame)


def more_groups(fragment: Fragment, frame: Frame) -> list[GroupAsk]:
    """ "And the town?", "add the shipper": a name alone, to split further by."""
    sketch = fragment.sketch
    is_plain = not (sketch.values or sketch.spans or sketch.compares or sketch.definitions or sketch.metrics)
    kinds = ["dimension"] if "ask" in fragment.marks and frame.groups else []
    said = [piece for piece in fragment.pieces if not piece.is_skip]
    if kinds and is_plain and len(said) == 1 and stem_key(said[0].text) == key_of(said[0].text):
        kinds.append("entity")  # "and brand"
    kinds += ["dimension", "entity"] if "also" in fragment.marks and is_plain else []
    name = sketch.subject[0].name if sketch.subject else ""
    asks = (*sketch.columns, Ask(targets=sketch.subject, text=name))
    return [GroupAsk(ask.targets, text=ask.text) for ask in asks if any(t.kind in kinds for t in ask.targets)]


def is_first_grain(old: tuple[Group, ...], new: tuple[Group, ...]) -> bool:
    """ "By year" after "by country" splits further; after "by month" it takes its place."""
    return all(each.grain for each in new) and not any(each.grain for each in old)


def reached(context: Context, frame: Frame, ask: GroupAsk) -> Group:
    if ask.grain and frame.periods:
        return Group(frame.periods[0].of, ask.grain)  # type: ignore[arg-type]
    if ask.grain and (happened := [each.of for each in frame.filters if is_happened(context, each)]):
        return Group(happened[0], ask.grain)  # type: ignore[arg-type]
    return group(context, frame.subject, ask)


def is_happened(context: Context, each: Filter) -> bool:
    """ "How many left?", "by year": when they left, not when they came."""
    dates = {(moment.table, moment.column) for moment in context.model.moments}
    return each.op == "not null" and (each.of.table, each.of.column) in dates


def with_rank(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    """ "Top 3 only", "the five biggest", "make it ten", "and the least?"."""
    rank = fragment.sketch.rank or bare_rank(fragment)
    if rank is None:
        return with_limit(fragment, frame)
    if rank.text.lower().startswith("first") and not rank.by and (frame.order or (frame.metrics and frame.groups)):
        return replace(frame, limit=rank.count or 1)
    if rank.by and frame.metrics and frame.groups and not same_figure(context, rank.by, frame):
        found = options(context, rank.by)
        frame = refitted(context, replace(frame, columns=(), order=(), having=()), found) if found else frame
    elif rank.by and rank.by.targets and not same_figure(context, rank.by, frame):
        return frame
    check_end(rank, frame)
    limit = rank.count or frame.limit or 1
    if frame.metrics and frame.groups:
        return replace(frame, order=(Order("metric", 0, rank.is_descending),), limit=limit)
    if frame.order and frame.order[0].of:
        return replace(frame, order=(replace(frame.order[0], is_descending=rank.is_descending),), limit=limit)
    if len(frame.metrics) == 1 and frame.metrics[0].aggregate in ("min", "max") and not frame.groups:
        metric = replace(frame.metrics[0], aggregate="max" if rank.is_descending else "min")
        return replace(frame, metrics=(metric,))
    raise Unclear(
        rank.text,
        f"“{rank.text}” by what?",
        [f"by {m.names[0]}" for m in context.own_measures(frame.subject)],
        "quantitative",
    )


def same_figure(context: Context, by: Ask, frame: Frame) -> bool:
    """Whether what is ranked by is what is shown; "the five biggest" are so by whatever is shown."""
    if by.concept == "size" and not by.targets:
        return True
    if by.targets or not by.concept:
        shown = {(m.of.table, m.of.expression) for m in frame.metrics}
        return any((t.table, t.expression) in shown for t in by.targets) or not by.targets
    return any(option.metric.of == frame.metrics[0].of for option in options(context, by))


def check_end(rank: Rank, frame: Frame) -> None:
    """ "Top 3" after the cheapest: the three cheapest, or the three at the other end?"""
    is_up = bool(frame.order) and not frame.order[0].is_descending and frame.limit is not None
    if is_up and rank.text.lower().startswith("top"):
        names = ("the lowest ones", "the highest ones")
        raise Unclear(rank.text, "The lowest ones, or the highest?", names, "quantitative")


def bare_rank(fragment: Fragment) -> Rank | None:
    """ "And the least?", "the top 5": nothing said but the direction."""
    found = next((p for p in fragment.pieces if p.has("super", "superlative") and not p.names), None)
    if found is None or {"asc", "desc"} <= {p.word("super") for p in fragment.pieces if not p.names}:
        return None  # "the lowest and the highest" are no ranking
    said = found.word("super") or ("asc" if (found.word("superlative") or "").startswith("-") else "desc")
    said_numbers = [p.number for p in fragment.pieces if p.number and p.text.lower() != "one"]  # "the largest one"
    number = next((int(each) for each in said_numbers if each == int(each)), None)
    texts = [found.text, *(p.text for p in fragment.pieces if p.number is not None)]
    forget(fragment, texts)
    fragment.sketch.vague = [(word, kind) for word, kind in fragment.sketch.vague if word not in texts]
    return Rank(said == "desc", number, None, found.text)


def with_limit(fragment: Fragment, frame: Frame) -> Frame:
    """ "Show 20", "make it ten"."""
    sketch = fragment.sketch
    numbers = [(at, piece) for at, piece in enumerate(sketch.pieces) if piece.number is not None and sketch.free(at)]
    if len(numbers) != 1 or sketch.compares:
        return frame
    at, piece = numbers[0]
    rest = [
        p
        for i, p in enumerate(sketch.pieces)
        if i != at and not p.is_skip and not p.has("list", "all", "vague", "opener")
    ]
    if rest or not piece.number or piece.number != int(piece.number):
        return frame
    forget(fragment, [piece.text])
    return replace(frame, limit=int(piece.number))


def with_order(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    order = fragment.sketch.order
    if order is None:
        return frame
    ask = adjective(context, frame, order.ask)
    if ask is not None:
        return replace(frame, order=(order_by(context, frame, ask, order.is_descending),))
    if is_by_name(order.text) and frame.metrics and frame.groups:
        return replace(frame, order=(Order("group", 0, bool(order.is_descending)),))
    if frame.metrics and frame.groups:
        return replace(frame, order=(Order("metric", 0, bool(order.is_descending)),))
    old = frame.order[0] if frame.order else None
    column = old.of if old and old.of else (frame.columns[0] if frame.columns else None)
    if column is None:
        raise Unclear(order.text, "Ordered by what?", category="quantitative")
    return replace(frame, order=(Order("column", 0, bool(order.is_descending), column),))
