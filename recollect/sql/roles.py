"""Roles: what each piece of a question is for, by its neighbours. Small passes, each takes what it understands; what
none has taken is unknown. `sketch_of` is called by reading.py for whole questions, by edit.py for fragments.

The order matters: numbers with their comparisons before rankings, rankings before heads, heads before groups, values
before the names that are left.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.phrases import Word
from recollect.sql.roles_compare import take_comparisons
from recollect.sql.roles_groups import take_groups
from recollect.sql.roles_heads import take_heads, take_late_aggregate
from recollect.sql.roles_missing import take_missing
from recollect.sql.roles_names import take_names
from recollect.sql.roles_rank import take_order, take_rank
from recollect.sql.roles_values import take_definitions, take_values
from recollect.sql.sketch import Sketch
from recollect.sql.spans import Piece

SILENT = ("skip", "aux", "prep", "list", "which", "or", "all", "verb", "opener", "their", "has", "thing")


def sketch_of(pieces: list[Piece]) -> Sketch:
    sketch = Sketch(pieces)
    for take in (take_periods, take_marks, take_unit, take_order, take_missing, take_comparisons, take_rank, take_heads,
                 take_groups, take_values, take_definitions, take_names, take_late_aggregate, take_rest):  # fmt: skip
        take(sketch)
    return sketch


def take_periods(sketch: Sketch) -> None:
    for at, piece in enumerate(sketch.pieces):
        if piece.period:
            sketch.spans.append(piece.period)
            sketch.take(at)


def take_marks(sketch: Sketch) -> None:
    """Words that say what kind of question it is."""
    for at, piece in enumerate(sketch.pieces):
        if piece.has("share") and not piece.names and not piece.values and not is_direction(sketch, at):
            sketch.refused = sketch.refused or piece.text
            sketch.take(at)
        if piece.has("part") and not piece.names and not piece.values:
            sketch.is_share = True
            sketch.pieces[at] = replace(piece, words=(Word("howmany", ""),))
        if piece.has("compared") and not piece.names:
            sketch.is_compared = True
            sketch.take(at)
        if piece.has("trend") and not piece.names:
            sketch.is_trend = True
            sketch.take(at)
        if piece.has("details") and not piece.names and at:
            sketch.wants_all |= bool(sketch.pieces[at - 1].of("entity")) or piece.size > 1
            sketch.take(*((at,) if sketch.wants_all else ()))
        sketch.is_list |= piece.has("list") and not piece.names
        sketch.is_which |= piece.has("which")
        if piece.has("verb") and not is_noun(sketch, at):
            sketch.verbs.append(piece.word("verb") or "")


def take_unit(sketch: Sketch) -> None:
    """ "In hours": in what the figure is to be told."""
    for at, piece in enumerate(sketch.pieces[1:], 1):
        ahead = sketch.pieces[at - 1]
        is_told = ahead.word("prep") == "in" and piece.number is None and sketch.free(at) and sketch.unit is None
        if is_told and piece.unit and piece.unit.kind == "duration":
            sketch.unit = piece.unit
            sketch.take(at - 1, at)


def is_direction(sketch: Sketch, at: int) -> bool:
    """ "Going to Oslo", and not "going to rise"."""
    behind = sketch.pieces[at + 1] if at + 1 < len(sketch.pieces) else None
    return sketch.pieces[at].word("prep") == "to" and behind is not None and (bool(behind.values) or behind.is_capital)


def is_noun(sketch: Sketch, at: int) -> bool:
    """ "Orders" is a name behind "how many", "the", "by"; a verb behind a person."""
    piece = sketch.pieces[at]
    return bool(piece.names) and not piece.of("moment")


def is_noun_list(sketch: Sketch, at: int) -> bool:
    """ "On our price list": no request to list something."""
    piece, ahead = sketch.pieces[at], sketch.pieces[at - 1] if at else None
    return piece.text.lower() == "list" and ahead is not None and bool(ahead.names or ahead.has("concept"))


def is_new_then(sketch: Sketch, at: int) -> bool:
    """ "New customers in 2024", "new members per month": the period says which, if only their own date can be meant."""
    dated = bool(sketch.spans) or any(ask.grain for ask in sketch.groups)
    strange = [verb for verb in sketch.verbs if verb not in ("signup", "employment", "enroll", "subscribe")]
    behind = sketch.pieces[at + 1] if at + 1 < len(sketch.pieces) else None
    return sketch.pieces[at].text.lower() == "new" and dated and not strange and bool(behind and behind.of("entity"))


def take_rest(sketch: Sketch) -> None:
    """What is left is a function word, vague, or unknown."""
    dangling: list[str] = []
    for at, piece in enumerate(sketch.pieces):
        if not sketch.free(at):
            continue
        if not piece.is_known or piece.is_quoted:
            sketch.unknown.append(piece.text)
        elif is_new_then(sketch, at):
            continue
        elif piece.has("vague") and not piece.has("skip", "list", "opener", "prep"):
            sketch.vague.append((piece.text, piece.word("vague") or ""))
        elif piece.has("verb") and not piece.has("skip") and not piece.names and not piece.values:
            sketch.loose.append((piece.text, piece.word("verb") or ""))
        elif piece.has("howmany") and sketch.metrics and not piece.names:
            continue
        elif piece.names or piece.values or piece.number is not None or piece.unit:
            sketch.unknown.append(piece.text)
        elif piece.text.lower() == "by" and at + 1 < len(sketch.pieces) and sketch.pieces[at + 1].has("compare"):
            continue  # "delayed by more than 40 minutes"
        elif not piece.has(*SILENT) or is_noun_list(sketch, at):
            dangling.append(piece.text)
    told = [] if sketch.vague else dangling  # "how many" alone is the lesser news
    sketch.unknown, sketch.dangling = sketch.unknown or told, told if sketch.unknown else []
