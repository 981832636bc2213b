"""Asks: a measured thing at a place in the question: "average invoice total", "number of different cities", "revenue".

`ask_at` reads one and says where it ends; the role passes use it wherever a measure may stand: as the head, behind
"by" of a ranking, behind "sorted by", behind "more than 5".
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.known import Target
from recollect.sql.lexer import stem_key
from recollect.sql.sketch import Ask, Sketch
from recollect.sql.spans import Piece

PART_KINDS = ("measure", "dimension", "moment")


def ask_at(
    sketch: Sketch, at: int, *, needs_head: bool = False, may_follow: bool = False
) -> tuple[Ask, tuple[int, ...]] | None:
    """What is asked for from here on, and the places it takes. `needs_head`: only with "how many" or an aggregate;
    `may_follow`: values may stand in front ("the most urgent tickets")."""
    head, places, at = lead(sketch, at)
    if needs_head and not places:
        return None
    named = name_at(sketch, at, is_counted=head.is_count, is_led=bool(head.aggregate) or may_follow)
    if named is None:
        return None
    targets, concept, taken, text = named
    words = " ".join(sketch.pieces[i].text for i in (*places, *taken))
    return replace(head, targets=targets, concept=concept, text=words or text), (*places, *taken)


def lead(sketch: Sketch, at: int) -> tuple[Ask, tuple[int, ...], int]:
    """Aggregate words in front of the name; one that is a name itself stays one if no name follows."""
    head, places = Ask(), []
    while sketch.free(at):
        piece = sketch.pieces[at]
        if is_name_here(sketch, at):
            break
        if piece.has("howmany"):
            head = replace(
                head, aggregate=head.aggregate if head.aggregate in ("avg", "max", "min") else "count", is_count=True
            )
        elif piece.has("agg"):
            is_of = at + 1 < len(sketch.pieces) and sketch.pieces[at + 1].text.lower() == "of"
            head = replace(head, aggregate=piece.word("agg"), is_of=is_of or piece.text.lower().endswith(" of"))
        elif piece.has("distinct"):
            head = replace(head, is_distinct=True)
        elif not piece.is_skip and not piece.has("all"):
            break
        if not piece.is_skip:
            places.append(at)
        at += 1
    return head, tuple(places), at


def is_name_here(sketch: Sketch, at: int) -> bool:
    """ "Total" in "invoice total", not in "total sales"."""
    piece = sketch.pieces[at]
    if not piece.names:
        return False
    if not piece.has("agg", "howmany", "distinct"):
        return True
    owner = sketch.after(at)
    is_of = at + 1 < len(sketch.pieces) and sketch.pieces[at + 1].text.lower() == "of" and sketch.free(owner)
    if is_of and tables(piece.of("measure")) & tables(sketch.pieces[owner].of("entity")):
        return True  # "the total of the invoices"
    behind = sketch.after(at)
    while (
        sketch.free(behind)
        and (sketch.pieces[behind].values or sketch.pieces[behind].has("all", "distinct", "howmany"))
        and not sketch.pieces[behind].names
    ):
        behind = sketch.after(behind)
    return not (sketch.free(behind) and (sketch.pieces[behind].names or sketch.pieces[behind].has("concept")))


def name_at(
    sketch: Sketch, at: int, *, is_counted: bool, is_led: bool = False
) -> tuple[tuple[Target, ...], str, tuple[int, ...], str] | None:
    """The name from here on; values and definitions may stand in front of a counted one ("how many Rock tracks")."""
    while at < len(sketch.pieces) and (
        (at in sketch.used and is_counted) or sketch.pieces[at].is_skip or sketch.pieces[at].has("all")
    ):
        at += 1
    look = at
    while sketch.free(look) and (
        is_in_front(sketch.pieces[look], is_counted or is_led) or (is_counted and is_beside_value(sketch, look))
    ):
        look = sketch.after(look)
    if not sketch.free(look):
        return None
    piece = sketch.pieces[look]
    if piece.of("entity", "join", *PART_KINDS):
        return qualified(sketch, look, is_counted=is_counted)
    is_amount = piece.word("concept") == "amounts"  # a kind of money that is none of the names here
    if piece.has("concept") and not is_amount and (not piece.has("verb") or is_behind_head(sketch, look)):
        return (), piece.word("concept") or "", (look,), piece.text
    return None


def is_beside_value(sketch: Sketch, at: int) -> bool:
    """ "Italian or Dutch guests", "Japanese language films": between two values, or the noun for what one is."""
    ahead, behind, piece = sketch.pieces[at - 1] if at else None, sketch.after(at), sketch.pieces[at]
    if ahead is None or not ahead.values or not sketch.free(behind):
        return False
    if piece.has("or"):
        return bool(sketch.pieces[behind].values) and not sketch.pieces[behind].of("entity", "join")
    named = tables(piece.of("entity")) & tables(ahead.values)
    return bool(named) and bool(sketch.pieces[behind].of("entity")) and behind == at + 1


def is_behind_head(sketch: Sketch, at: int) -> bool:
    """ "By spending", "total spending": a noun here."""
    return at > 0 and sketch.pieces[at - 1].has("group", "agg", "super", "order")


def is_in_front(piece: Piece, is_counted: bool) -> bool:
    if piece.is_skip:
        return True
    return is_counted and bool(
        (piece.values and not piece.of("entity", "join", "measure", "dimension"))
        or piece.of("definition")
        or (piece.has("distinct", "vague") and not piece.names)
        or (piece.has("not") and not piece.names)
    )


def qualified(
    sketch: Sketch, at: int, *, is_counted: bool = False
) -> tuple[tuple[Target, ...], str, tuple[int, ...], str]:
    """ "Invoice total", "total of the invoices", "track length": the entity says whose."""
    if is_compound(sketch, at):
        targets, concept, taken, text = qualified(sketch, at + 1, is_counted=is_counted)
        return targets, concept, (at, *taken), f"{sketch.pieces[at].text} {text}"
    piece = sketch.pieces[at]
    targets = piece.of("entity", "join", *PART_KINDS)
    behind = at + 1
    if (
        piece.of("entity")
        and sketch.free(behind)
        and (parts := own_parts(sketch.pieces[behind], tables(targets), is_counted))
    ):
        return parts, "", (at, behind), f"{piece.text} {sketch.pieces[behind].text}"
    if piece.of(*PART_KINDS) and sketch.free(behind):
        last = sketch.after(at)
        owner = sketch.pieces[last] if sketch.free(last) else None
        linked = owner and all(sketch.pieces[i].is_skip for i in range(at + 1, last)) and last > at + 1
        if owner and linked and owner.of("entity") and is_of(sketch, at + 1):
            own = tuple(t for t in targets if t.table in tables(owner.of("entity")))
            if own:
                return own, "", (at, last), f"{piece.text} of {owner.text}"
    return targets, "", (at,), piece.text


def is_compound(sketch: Sketch, at: int) -> bool:
    """ "Product category", "customer orders": what is asked for is the last of the two."""
    piece, behind = sketch.pieces[at], sketch.pieces[at + 1] if sketch.free(at + 1) else None
    last = piece.text.split()[-1].lower()
    is_one = bool(piece.of("entity")) and stem_key(last) == (last,)
    return is_one and behind is not None and bool(behind.of("entity")) and not behind.has("verb") and not behind.values


def is_of(sketch: Sketch, at: int) -> bool:
    return sketch.pieces[at].text.lower() in ("of", "'s", "s", "the")


def own_parts(piece: Piece, of: frozenset[str], is_counted: bool) -> tuple[Target, ...]:
    if is_counted and piece.of("definition"):
        return ()  # "how many rooms booked": which of them, not how many answers
    kinds = ("dimension",) if is_counted else PART_KINDS  # "how many customers signed up": not how many dates
    return tuple(target for target in piece.of(*kinds) if target.table in of)


def tables(targets: tuple[Target, ...]) -> frozenset[str]:
    return frozenset(target.table for target in targets)
