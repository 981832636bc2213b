"""Edits of how the figure of a frame is aggregated: "average instead", "the maximum", "the lowest and the highest".
Called by edit.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.sql.context import Context, Unclear
from recollect.sql.edit_shape import forget
from recollect.sql.frame import Frame, Metric
from recollect.sql.places import ref_of
from recollect.sql.spans import Piece

if TYPE_CHECKING:
    from recollect.sql.fragments import Fragment


def with_aggregate(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    """ "Average instead", "average instead of total"."""
    sketch = fragment.sketch
    if extremes := both_ends(fragment, frame):
        return extremes
    words = [piece for piece in fragment.pieces if piece.has("agg") and not piece.of("entity")]
    if sketch.metrics or not words or not frame.metrics:
        return frame
    aggregate = words[0].word("agg") or "sum"
    forget(fragment, [piece.text for piece in words])
    metric = frame.metrics[0]
    said = {"amount", "value"} & set(words[0].text.lower().split())
    found = context.measures("money", {frame.subject}) if said and metric.aggregate == "count" else []
    if aggregate == "sum" and len(found) == 1:
        return replace(frame, metrics=(Metric("sum", ref_of(found[0])),))
    if metric.aggregate in ("count", "count_distinct"):
        raise Unclear(
            words[0].text,
            f"The {words[0].text} of which figure?",
            [m.names[0] for m in context.own_measures(frame.subject)],
            "aggregation",
        )
    said_ones = tuple(dict.fromkeys(aggregated(metric, piece.word("agg") or "sum") for piece in words))
    if "also" in fragment.marks or len(said_ones) > 1:
        kept = frame.metrics if "also" in fragment.marks else ()
        return replace(frame, metrics=tuple(dict.fromkeys((*kept, *said_ones))))
    return replace(frame, metrics=(*said_ones, *frame.metrics[1:]))


def aggregated(metric: Metric, aggregate: str) -> Metric:
    return replace(metric, aggregate=aggregate, per=metric.per if aggregate != "sum" else None, share=None)


def spoken(fragment: Fragment) -> list[Piece]:
    return [p for p in fragment.pieces if not p.is_skip and not (p.has("list", "or") and not p.names)]


def take_bare(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    """ "Show the maximum": of the figure that is shown, although another column is called a maximum of something."""
    said, sketch = spoken(fragment), fragment.sketch
    is_bare = len(said) == 1 and said[0].has("agg") and all(t.is_partial for t in said[0].names)
    if is_bare and said[0].names and frame.metrics and frame.metrics[0].of.expression:
        sketch.metrics, sketch.columns, sketch.subject = [], [], ()
    return frame


def both_ends(fragment: Fragment, frame: Frame) -> Frame | None:
    """ "The lowest and the highest?" after an average: two figures, and no ranking."""
    said = spoken(fragment)
    ends = {piece.word("super") for piece in said if not piece.names and not piece.values}
    if len(said) != 2 or ends != {"asc", "desc"} or len(frame.metrics) != 1 or frame.metrics[0].aggregate != "avg":
        return None
    texts = [piece.text for piece in said]
    forget(fragment, texts)
    fragment.sketch.rank = None
    fragment.sketch.vague = [(word, kind) for word, kind in fragment.sketch.vague if word not in texts]
    ways = [said[0].word("super"), said[1].word("super")]
    metrics = tuple(replace(frame.metrics[0], aggregate="min" if way == "asc" else "max") for way in ways)
    return replace(frame, metrics=metrics, having=())
