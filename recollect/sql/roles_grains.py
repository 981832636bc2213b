"""Which month: a step of time that is ranked. "Which month had the most orders", "the best year for revenue", "top 3
days by visitors". A pass of roles.py, behind the rankings; assemble.py makes a group of each step and keeps the first.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.asks import ask_at
from recollect.sql.lexer import stem_key
from recollect.sql.period_tokens import UNITS
from recollect.sql.roles_rank import counted, is_measured, judged_end
from recollect.sql.sketch import Ask, GroupAsk, Rank, Sketch
from recollect.sql.spans import Piece

BEHIND = ("for", "by", "in", "of")


def take_ranked_grain(sketch: Sketch) -> None:
    at = next((i for i in range(len(sketch.pieces)) if is_asked(sketch, i)), None)
    if at is None:
        return
    rank = sketch.rank if sketch.rank and sketch.rank.by else judged(sketch, at)
    if rank is None or (sketch.rank and sketch.rank.by is None and rank.by is None):
        return
    piece = sketch.pieces[at]
    last = piece.text.lower().split()[-1]
    sketch.rank, sketch.is_several = rank, stem_key(last) != (last,)
    sketch.groups.append(GroupAsk(grain=grain_of(piece), text=piece.text))
    sketch.take(at)


def grain_of(piece: Piece) -> str:
    """Of "month" and "months" alike."""
    word = " ".join(stem_key(piece.text))
    return piece.word("grain") or (word if word in UNITS else "")


def is_asked(sketch: Sketch, at: int) -> bool:
    """A noun of time that the question is about, and no "per month"."""
    piece = sketch.pieces[at]
    if not sketch.free(at) or not grain_of(piece) or not all(t.is_partial for t in piece.names) or piece.values:
        return False
    if piece.text.lower().startswith(("by ", "per ", "each ", "every ", "a ")) or piece.text.lower().endswith("ly"):
        return False
    ahead = next((i for i in range(at - 1, -1, -1) if not sketch.pieces[i].is_skip), None)
    if ahead is None or is_adjective(sketch, ahead):
        return True
    return sketch.pieces[ahead].has("which", "list", "top", "super", "superlative") or is_number_of_top(sketch, ahead)


def is_number_of_top(sketch: Sketch, at: int) -> bool:
    return sketch.pieces[at].number is not None and at > 0 and sketch.pieces[at - 1].has("top", "super")


def is_adjective(sketch: Sketch, at: int) -> bool:
    return judged_end(sketch.pieces[at]) is not None


def judged(sketch: Sketch, at: int) -> Rank | None:
    """ "The best month for revenue": the adjective says which end, what stands behind says of what."""
    ahead = next((i for i in range(at - 1, -1, -1) if not sketch.pieces[i].is_skip), None)
    count = sketch.rank.count if sketch.rank else None
    found = measure_behind(sketch, at)
    if found is None or (ahead is None and sketch.rank is None):
        return None
    if ahead is not None and is_adjective(sketch, ahead):
        is_descending = bool(judged_end(sketch.pieces[ahead]))
    elif sketch.rank:
        is_descending = sketch.rank.is_descending
    else:
        return None
    ask, places = found
    sketch.take(*places, *((ahead,) if ahead is not None else ()))
    return Rank(is_descending, count, ask, sketch.pieces[at].text)


def measure_behind(sketch: Sketch, at: int) -> tuple[Ask, tuple[int, ...]] | None:
    for place in range(at + 1, len(sketch.pieces)):
        if sketch.free(place) and sketch.pieces[place].text.lower() in BEHIND:
            found = ask_at(sketch, place + 1)
            if found and (is_measured(found[0]) or any(t.kind == "entity" for t in found[0].targets)):
                return summed(counted(found[0])), (place, *found[1])
    return None


def summed(ask: Ask) -> Ask:
    return replace(ask, is_count=True) if ask.aggregate == "count" else ask
