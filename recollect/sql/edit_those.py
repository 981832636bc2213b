"""Edits that ask for a figure of the rows of which was spoken: "what do they add up to?", "how much did each of them
spend?", "and the number of events too". Called by edit.py.

The rows stay the same ones: where a limit or a threshold made them, a figure that is kept elsewhere cannot be told of
just those, and it is asked about.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.sql.context import Context, Unclear
from recollect.sql.edit_base import GENERIC, refitted
from recollect.sql.figure_pairs import paired
from recollect.sql.frame import Frame, Metric, Ref
from recollect.sql.known import Target
from recollect.sql.metrics import Option
from recollect.sql.naming import many
from recollect.sql.places import group, is_reached_safely, ref_of
from recollect.sql.sketch import Ask, GroupAsk
from recollect.sql.spans import Piece

if TYPE_CHECKING:
    from recollect.sql.fragments import Fragment

AMOUNTS = (GENERIC - {"quantity", "cost", "price", "数量"}) | {"worth", "money", "total value", "sum"}


def is_counted(frame: Frame) -> bool:
    """A count, or a list: it has no figure yet that could be added up."""
    return not frame.metrics or (len(frame.metrics) == 1 and frame.metrics[0].aggregate.startswith("count"))


def added_up(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    """ "What do they add up to?" after a count or a list: their amount, if they have one."""
    if not is_counted(frame) or not is_sum_asked(fragment.pieces):
        return frame
    sketch = fragment.sketch
    sketch.metrics, sketch.columns, sketch.unknown, sketch.dangling, sketch.loose = [], [], [], [], []
    sketch.subject = ()
    found = worth(context, frame.subject)
    if len(found) != 1:
        names = [f"total {m.names[0]}" for m in context.own_measures(frame.subject, "sum")]
        raise Unclear("total", "The total of which figure?", names, "aggregation")
    context.assume("total", f"the sum of {found[0].name}", "model", 0.9)
    return of_those(context, fragment, frame, [Option(Metric("sum", ref_of(found[0])), found[0].table, True)])


def is_sum_asked(pieces: tuple[Piece, ...]) -> bool:
    said = [p for p in pieces if not p.is_skip and not p.has("which", "back") and p.word("vague") != "entity"]
    return bool(said) and all(is_any_amount(piece) for piece in said)


def is_any_amount(piece: Piece) -> bool:
    """ "How much", "add up to", "worth", "total amount": an amount, and nothing says of what."""
    is_asked = piece.has("howmuch") or (piece.word("agg") == "sum" and all(t.is_partial for t in piece.names))
    return is_asked or piece.text.lower() in AMOUNTS


def worth(context: Context, table: str) -> list[Target]:
    """What a row amounts to; of an order whose lines have the prices, what they come to."""
    if own := context.measures("money", {table}):
        return own
    if table not in context.events("commerce"):
        return []
    return [t for t in context.measures("money") if context.cost(t.table, table) == (0, 1)]


def of_those(context: Context, fragment: Fragment, frame: Frame, found: list[Option]) -> Frame:
    """Another figure of the same rows."""
    own = [option for option in found if option.base == frame.subject]
    if frame.limit is not None or frame.having:
        return beside(frame, own)
    if own or any(metric.of.expression for metric in frame.metrics):
        return refitted(context, replace(frame, columns=(), order=()), own or found)
    check_carried(context, frame, found)
    is_each = any("each" in piece.text.lower().split() for piece in fragment.pieces)
    if not is_each and not frame.metrics and is_several(fragment):
        names = ("for each of them", "all of them together")
        raise Unclear("", "For each of them, or all of them together?", names, "aggregation")
    made = refitted(context, replace(frame, columns=(), order=(), groups=()), found)
    if not is_each or frame.groups:
        return refitted(context, replace(made, groups=frame.groups)) if frame.groups else made
    rows = Target("entity", frame.subject, name=context.called(frame.subject))
    return replace(made, groups=(group(context, made.subject, GroupAsk((rows,), text=rows.name)),))


def is_several(fragment: Fragment) -> bool:
    singular = {"he", "she", "him", "it"}
    return not any(piece.text.lower() in singular for piece in fragment.pieces)


def beside(frame: Frame, own: list[Option]) -> Frame:
    """The five that were shown, or those over the threshold: the new figure is told beside the one that chose them."""
    if not own or not (frame.metrics and frame.groups):
        raise Unclear("", "I cannot tell that of just those. Please ask the whole question.", category="aggregation")
    return replace(frame, metrics=(*frame.metrics, own[0].metric))


def check_carried(context: Context, frame: Frame, found: list[Option]) -> None:
    """What was said of the rows must mean the same, seen from where the figure is kept."""
    refs = [*(each.of for each in frame.filters), *(each.of for each in frame.periods)]
    is_plain = not frame.existence and all(is_reached_safely(context, frame.subject, ref) for ref in refs)
    if not is_plain or not any(is_reached_safely(context, o.base, Ref(frame.subject)) for o in found):
        name = many(context.called(frame.subject))
        raise Unclear("", f"I cannot tell that of just these {name}. Please ask the whole question.", category="entity")


def with_second(context: Context, frame: Frame, found: list[Option], ask: Ask) -> Frame:
    """ "And the number of events too": beside the figure that is shown."""
    own = [option.metric for option in found if option.base == frame.subject]
    if not own and (pair := with_far(context, frame, found)):
        return pair
    if len(own) != 1:
        raise Unclear(ask.text, f"“{ask.text}” is kept elsewhere than the first figure. Please ask for one at a time.")
    return replace(frame, metrics=tuple(dict.fromkeys((*frame.metrics, own[0]))))


def with_far(context: Context, frame: Frame, found: list[Option]) -> Frame | None:
    """A figure of a finer or a coarser table, beside the one that is shown. Of the lowest few it is not told: those
    that have nothing would come first."""
    is_low = frame.limit is not None and not any(each.is_descending for each in frame.order)
    if is_low or len(frame.metrics) != 1 or frame.having or frame.existence or frame.keeps_empty:
        return None
    bare = replace(frame, columns=(), order=(), limit=None)
    both = paired(context, (bare, refitted(context, bare, found)))
    return replace(both, order=frame.order, limit=frame.limit) if both else None
