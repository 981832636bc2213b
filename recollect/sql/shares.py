"""Shares: "what percentage of the orders were cancelled", "what share of revenue comes from Oslo", "share of revenue by
store": of all that is counted or added up, how much in a hundred.

The figure is read as ever; then its conditions are parted. What stands behind the verb ("... were cancelled", "...
comes from Oslo") says which part is meant and moves into the figure; what stands before it says of which whole, and so
does a period. Without any condition each group is a part of all. Every other ratio is refused. Called by assemble.py.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import Refused, Unclear
from recollect.sql.frame import Frame, Share
from recollect.sql.sketch import Ask, Sketch
from recollect.sql.spans import Piece

SHARES = "Growth and other ratios are not worked out here: ask for the figures, they can be divided."
REFUSED = {
    "median": "A median or another percentile is not worked out here: the average, the least and the greatest are.",
    "growth": "Growth is not worked out here: ask for the figure by year or by month, and compare.",
    "running": "A running total is not worked out here: ask for the figure by month or by day, it can be added up.",
    "spread": "How far figures are spread is not worked out here: the average, the least and the greatest are.",
    "future": "What will be is not in the data: only what was can be asked for.",
}
BEING = ("is", "are", "was", "were", "has", "have", "had", "comes", "come", "came", "does", "do", "did", "goes", "went")
RELATIVE = ("that", "which", "who", "whose", "where")


def refusal(kind: str) -> str:
    return REFUSED.get(kind, SHARES)


def as_figure(sketch: Sketch) -> None:
    """ "Share of revenue": of a sum, though it begins like a count."""
    if sketch.rank or len(sketch.metrics) != 1:
        raise Refused(SHARES)
    ask = sketch.metrics[0]
    is_sum = bool(ask.concept and not ask.targets) or any(t.kind == "measure" for t in ask.targets)
    is_rows = any(t.kind in ("entity", "value") for t in ask.targets)
    if not is_sum and not is_rows:
        raise Refused(SHARES)
    if is_sum and not any(t.kind == "entity" for t in ask.targets):
        sketch.metrics = [Ask("sum", ask.targets, ask.concept, text=ask.text)]


def predicate_at(pieces: list[Piece]) -> int | None:
    """Where the verb of the sentence stands: the last one that does not begin a relative clause."""
    head = next((at for at, piece in enumerate(pieces) if piece.has("howmany")), 0)
    places = [at for at in range(head + 2, len(pieces)) if is_verb(pieces[at])]
    starts = [at for at in places if at - 1 not in places and pieces[at - 1].text.lower() not in RELATIVE]
    return starts[-1] if starts else None


def is_verb(piece: Piece) -> bool:
    return piece.text.lower() in BEING or piece.has("no", "not") or (piece.has("verb") and not piece.names)


def shared(whole: Frame, base: Frame | None) -> Frame:
    """`base` is the figure as it was said before the verb: of all of that."""
    metric = whole.metrics[0] if len(whole.metrics) == 1 else None
    is_plain = metric is not None and metric.aggregate in ("count", "sum") and metric.per is None
    if metric is None or not is_plain or metric.of.table != whole.subject or whole.order or whole.keeps_empty:
        raise Refused(SHARES)
    kept, share = parted(whole, base)
    return replace(kept, metrics=(replace(metric, share=share),))


def parted(whole: Frame, base: Frame | None) -> tuple[Frame, Share]:
    """What is left for all rows, and what only the part meets."""
    of = base or Frame(whole.subject)
    if base is not None and (
        base.subject != whole.subject or base.metrics != whole.metrics or not is_part(base, whole)
    ):
        raise Refused(SHARES)
    filters = tuple(each for each in whole.filters if each not in of.filters)
    existence = tuple(each for each in whole.existence if each not in of.existence)
    having = tuple(each for each in whole.having if each not in of.having)
    periods = tuple(each for each in whole.periods if each not in of.periods)
    met = len(filters) + len(existence) + len(having)
    if (base is None and (met > 1 or (met and whole.groups))) or (not met and len(whole.groups) > 1):
        raise Unclear("share", "Of all of what? Please say: “what percentage of ... are ...”.", category="aggregation")
    is_then = base is not None and not met  # "what share of the customers signed up in 2024"
    if not met and not whole.groups and not (is_then and periods):
        raise Refused(SHARES)
    share = Share(filters, existence, having, periods if is_then and not whole.groups else ())
    kept = replace(
        whole,
        filters=tuple(each for each in whole.filters if each not in filters),
        existence=tuple(each for each in whole.existence if each not in existence),
        having=tuple(each for each in whole.having if each not in having),
        periods=tuple(each for each in whole.periods if each not in share.periods),
    )
    return kept, share


def is_part(base: Frame, whole: Frame) -> bool:
    """Everything that was said before the verb still holds."""
    pairs = ((base.filters, whole.filters), (base.existence, whole.existence), (base.having, whole.having))
    return all(set(one) <= set(other) for one, other in pairs) and set(base.periods) <= set(whole.periods)


def unparted(frame: Frame) -> Frame:
    """The figure of the part alone: what checks and edits look at."""
    share = frame.metrics[0].share if frame.metrics else None
    if share is None:
        return frame
    return replace(
        frame,
        metrics=tuple(replace(metric, share=None) for metric in frame.metrics),
        filters=(*frame.filters, *share.filters),
        existence=(*frame.existence, *share.existence),
        having=(*frame.having, *share.having),
        periods=(*frame.periods, *share.periods),
    )


def reparted(frame: Frame, last: Frame) -> Frame:
    """An edited figure as a share again: what is said of the same columns as before says the part."""
    share = last.metrics[0].share if last.metrics else None
    if share is None or not frame.metrics or frame.metrics[0].aggregate != last.metrics[0].aggregate:
        return frame
    of = {(ref.table, ref.column) for ref in share.refs()}
    tables = {each.table for each in share.existence}
    base = replace(
        frame,
        filters=tuple(each for each in frame.filters if (each.of.table, each.of.column) not in of),
        periods=tuple(each for each in frame.periods if (each.of.table, each.of.column) not in of),
        having=tuple(each for each in frame.having if (each.metric.of.table, each.metric.of.column) not in of),
        existence=tuple(each for each in frame.existence if each.table not in tables),
    )
    return shared(replace(frame, order=()), base)
