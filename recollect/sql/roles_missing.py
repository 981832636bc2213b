"""What is missing: "without albums", "never sold", "no composer", "not paid yet"; or what is there: "with a phone". A
pass of roles.py.
"""

from __future__ import annotations

from recollect.sql.known import Target
from recollect.sql.roles_compare import text
from recollect.sql.sketch import Missing, Sketch
from recollect.sql.spans import Piece

DONE = ("ed", "paid", "sold", "sent", "given", "taken")


def take_missing(sketch: Sketch) -> None:
    for at, piece in enumerate(sketch.pieces):
        if take_undone(sketch, at):
            continue
        if not sketch.free(at) or piece.names or not (piece.has("no", "has") or is_with_any(sketch, at)):
            continue
        place = sketch.after(at)
        if not sketch.free(place):
            continue
        target = sketch.pieces[place]
        is_there = not piece.has("no")
        if piece.has("has") and is_bare_figure(sketch, place):
            sketch.unknown.append(target.text)  # "with a discount": of how much?
            sketch.take(at, place)
            continue
        if is_never(piece, target):
            sketch.missing.append(Missing(event=target.word("verb") or "", text=text(sketch, at, place)))
            sketch.take(at, place, *trailing(sketch, place))
        elif (names := said_missing(piece, target)) and is_whole(sketch, place, is_there):
            event = (target.word("verb") or "") if piece.word("no") == "never" else ""
            sketch.missing.append(Missing(names, event, text(sketch, at, place), is_there))
            sketch.take(at, place, *trailing(sketch, place))


def take_undone(sketch: Sketch, at: int) -> bool:
    """ "Not paid yet", "not shipped": the date is empty, although a status may be called so too."""
    piece, behind = sketch.pieces[at], sketch.pieces[at + 1] if sketch.free(at + 1) else None
    if not sketch.free(at) or not piece.has("not") or piece.names or behind is None or not behind.of("moment"):
        return False
    if not behind.text.lower().endswith(DONE) or behind.of("definition") or sketch.spans:
        return False
    sketch.missing.append(Missing(behind.of("moment"), behind.word("verb") or "", text(sketch, at, at + 1)))
    sketch.take(at, at + 1)
    return True


def is_bare_figure(sketch: Sketch, place: int) -> bool:
    """A price or a rate with nothing said of it."""
    piece, behind = sketch.pieces[place], sketch.after(place)
    is_average = bool(piece.of("measure")) and all(t.aggregate == "avg" for t in piece.of("measure"))
    is_said = sketch.free(behind) and (sketch.pieces[behind].number is not None or is_compared_behind(sketch, place))
    return is_average and not is_said and not piece.of("entity", "join") and is_whole(sketch, place, True)


def is_with_any(sketch: Sketch, at: int) -> bool:
    """ "How many bookings with children": with any."""
    behind = sketch.pieces[at + 1] if sketch.free(at + 1) else None
    counts = any(piece.has("howmany") for piece in sketch.pieces[:at])
    is_sum = behind is not None and any(t.aggregate == "sum" for t in behind.of("measure")) and not behind.of("entity")
    return sketch.pieces[at].word("prep") == "with" and counts and is_sum


def said_missing(piece: Piece, target: Piece) -> tuple[Target, ...]:
    """ "Without an agent", "with no phone", "not yet shipped"; "with children": more than none."""
    never = ("moment",) if piece.has("no") and piece.word("no") == "never" else ()
    return target.of("entity", "dimension", "join", *never) or (
        tuple(t for t in target.of("measure") if t.aggregate == "sum") if not target.has("agg") else ()
    )


def is_never(piece: Piece, target: Piece) -> bool:
    named = target.of("dimension", "entity", "moment", "definition")
    return piece.word("no") == "never" and target.has("verb") and not named


def trailing(sketch: Sketch, place: int) -> list[int]:
    """ "Never bought anything" """
    behind = place + 1
    words = ("anything", "something", "any", "anyone", "nothing")
    return [behind] if sketch.free(behind) and sketch.pieces[behind].text.lower() in words else []


def is_whole(sketch: Sketch, place: int, is_there: bool) -> bool:
    """ "With a phone", not "with a total over 5" or "without the town Oslo"."""
    return not is_followed_by_value(sketch, place) and not (is_there and is_compared_behind(sketch, place))


def is_followed_by_value(sketch: Sketch, place: int) -> bool:
    behind = sketch.after(place)
    return (
        sketch.free(behind)
        and behind <= place + 3
        and bool(sketch.pieces[behind].values)
        and not sketch.pieces[behind].names
    )


def is_compared_behind(sketch: Sketch, place: int) -> bool:
    behind = sketch.after(place)
    return sketch.free(behind) and sketch.pieces[behind].has("compare", "comparative", "or")
