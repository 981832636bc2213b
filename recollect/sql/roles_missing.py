"""What is missing: "without albums", "never sold", "no composer", "not paid yet"; or what is there: "with a phone". A
pass of roles.py.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.known import Target
from recollect.sql.period_tokens import Span
from recollect.sql.roles_compare import text
from recollect.sql.sketch import Missing, Sketch
from recollect.sql.spans import Piece

ANY = ("anything", "something", "any", "anyone", "nothing")
DONE = ("ed", "paid", "sold", "sent", "given", "taken")


def take_missing(sketch: Sketch) -> None:
    for at, piece in enumerate(sketch.pieces):
        if take_undone(sketch, at) or take_not_then(sketch, at):
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
            gap = Missing(event=target.word("verb") or "", text=text(sketch, at, place))
            sketch.take(at, place, *trailing(sketch, place))
            sketch.missing.append(dated(sketch, gap, place))
        elif (names := said_missing(piece, target)) and is_whole(sketch, place, is_there):
            event = (target.word("verb") or "") if piece.word("no") == "never" else ""
            gap = Missing(names, event, text(sketch, at, place), is_there)
            sketch.take(at, place, *trailing(sketch, place))
            sketch.missing.append(dated(sketch, gap, place))


def take_undone(sketch: Sketch, at: int) -> bool:
    """ "Not paid yet", "not shipped": the date is empty, although a status may be called so too."""
    piece, behind = sketch.pieces[at], sketch.pieces[at + 1] if sketch.free(at + 1) else None
    if not sketch.free(at) or not piece.has("not") or piece.names or behind is None or not behind.of("moment"):
        return False
    period = period_behind(sketch, at + 1)
    if not behind.text.lower().endswith(DONE) or behind.of("definition") or (sketch.spans and not period):
        return False
    gap = Missing(behind.of("moment"), behind.word("verb") or "", text(sketch, at, at + 1))
    sketch.missing.append(dated(sketch, gap, at + 1))
    sketch.take(at, at + 1, *trailing(sketch, at + 1))
    return True


def dated(sketch: Sketch, gap: Missing, place: int) -> Missing:
    """ "Did not order anything in 2024": what is said right behind is when it did not happen."""
    period = period_behind(sketch, place)
    if gap.is_there or period is None:
        return gap
    sketch.spans.remove(period)
    return replace(gap, spans=(period,))


def period_behind(sketch: Sketch, place: int) -> Span | None:
    behind = place + 1
    while behind < len(sketch.pieces) and (sketch.pieces[behind].is_skip or is_any(sketch.pieces[behind])):
        behind += 1
    period = sketch.pieces[behind].period if behind < len(sketch.pieces) else None
    return period if period in sketch.spans else None


def take_not_then(sketch: Sketch, at: int) -> bool:
    """ "Who ordered in 2022 but not in 2024": the same deed, and none of it then."""
    piece, period = sketch.pieces[at], period_behind(sketch, at)
    if not sketch.free(at) or not piece.has("not") or piece.names or period is None or len(sketch.spans) != 2:
        return False
    deed = next((p for p in reversed(sketch.pieces[:at]) if is_deed(p)), None)
    if deed is None or period is sketch.spans[0]:
        return False
    named = deed.of("moment") or deed.of("entity")
    gap = Missing(named, (deed.word("verb") or "") if not deed.of("entity") else "", f"{piece.text} {period.text}")
    sketch.missing.append(dated(sketch, gap, at))
    sketch.take(at)
    return True


def is_deed(piece: Piece) -> bool:
    return bool(piece.of("moment", "entity")) or (piece.has("verb") and not piece.names)


def is_any(piece: Piece) -> bool:
    return piece.text.lower() in ANY


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
    if target.of("definition") and not target.of("entity", "moment"):
        return ()  # "without the discontinued ones": those that are not
    never = ("moment",) if piece.has("no") and piece.word("no") == "never" else ()
    return target.of("entity", "dimension", "join", *never) or (
        tuple(t for t in target.of("measure") if t.aggregate == "sum") if not target.has("agg") else ()
    )


def is_never(piece: Piece, target: Piece) -> bool:
    named = target.of("dimension", "entity", "moment", "definition")
    return piece.word("no") == "never" and target.has("verb") and not named


def trailing(sketch: Sketch, place: int) -> list[int]:
    """ "Never bought anything" """
    return [place + 1] if sketch.free(place + 1) and is_any(sketch.pieces[place + 1]) else []


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
