"""Comparisons: "longer than 5 minutes", "with more than 5 invoices", "over 10 dollars", "between 5 and 6". A pass of
roles.py.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.asks import ask_at
from recollect.sql.known import Target
from recollect.sql.lexer import stem_key
from recollect.sql.phrases import Unit
from recollect.sql.sketch import Ask, CompareAsk, Sketch
from recollect.sql.spans import Piece

COLUMN_KINDS = ("measure", "dimension", "moment")
KEY = "key"  # what is compared is the number of the row itself
TIMES = "times:"  # what is compared is how often it was done; the verb stands behind


def take_comparisons(sketch: Sketch) -> None:
    for at, piece in enumerate(sketch.pieces):
        if not sketch.free(at) or piece.names:
            continue
        if piece.has("comparative"):
            take_comparative(sketch, at)
        if sketch.free(at) and piece.has("compare"):
            take_compare(sketch, at)
    take_open_ended(sketch)
    take_numbered(sketch)
    take_equal(sketch)


def take_numbered(sketch: Sketch) -> None:
    """ "On floor 3": a column and its number."""
    for at, piece in enumerate(sketch.pieces[:-1]):
        number = sketch.pieces[at + 1].number
        if (
            number is not None
            and sketch.free(at)
            and sketch.free(at + 1)
            and piece.of("dimension")
            and not piece.of("entity")
        ):
            sketch.compares.append(
                CompareAsk(
                    Ask(targets=piece.of("dimension"), text=piece.text), "=", (number,), None, text(sketch, at, at + 1)
                )
            )
            sketch.take(at, at + 1)
        elif number is not None and is_numbered(sketch, at):
            ask = Ask(targets=piece.of("entity"), concept=KEY, text=piece.text)
            sketch.compares.append(CompareAsk(ask, "=", (number,), None, text(sketch, at, at + 1)))
            sketch.take(at, at + 1)


def is_numbered(sketch: Sketch, at: int) -> bool:
    """ "Store 2", "order 10150": one of them, by its number."""
    piece, behind = sketch.pieces[at], sketch.pieces[at + 1]
    word = piece.text.split()[-1].lower()
    is_one = bool(piece.of("entity")) and stem_key(word) == (word,) and not piece.values
    is_whole = behind.number == int(behind.number or 0) and behind.text.isdigit() and not behind.period
    return is_one and is_whole and sketch.free(at) and sketch.free(at + 1)


def take_equal(sketch: Sketch) -> None:
    """ "A rental rate of 4.99", "5 stars", "5 star reviews"."""
    for at, piece in enumerate(sketch.pieces):
        if piece.number is None or not sketch.free(at):
            continue
        ahead, behind = at - 1, at + 1
        if ahead > 0 and sketch.pieces[ahead].text.lower() == "of" and is_figure(sketch, sketch.before(at)):
            place = sketch.before(at)
        elif is_figure(sketch, behind) and not is_ranked(sketch, at) and is_said_so(sketch, at):
            place = behind
        else:
            continue
        targets = sketch.pieces[place].of("measure") or sketch.pieces[place].of("dimension")
        words = text(sketch, at, place)
        sketch.compares.append(CompareAsk(Ask(targets=targets, text=words), "=", (piece.number,), None, words))
        sketch.take(at, place)


def is_said_so(sketch: Sketch, at: int) -> bool:
    """ "5 stars" anywhere, "with 6 credits"."""
    piece = sketch.pieces[at + 1]
    return is_behind_with(sketch, at) or bool(piece.of("dimension")) or piece.word("concept") == "rating"


def is_figure(sketch: Sketch, at: int) -> bool:
    piece = sketch.pieces[at] if sketch.free(at) else None
    return piece is not None and bool(piece.of("measure")) and not piece.of("entity")


def is_ranked(sketch: Sketch, at: int) -> bool:
    return at > 0 and sketch.pieces[at - 1].has("top", "super", "list", "compare")


def amount_at(sketch: Sketch, at: int) -> tuple[float, Unit | None, tuple[int, ...]] | None:
    """A number, its unit in front or behind."""
    places = []
    unit = None
    if sketch.free(at) and sketch.pieces[at].unit and sketch.pieces[at].number is None:
        unit = sketch.pieces[at].unit
        places.append(at)
        at += 1
    if not sketch.free(at) or sketch.pieces[at].number is None:
        return None
    number = sketch.pieces[at].number or 0.0
    places.append(at)
    while sketch.free(at + 1) and sketch.pieces[at + 1].number and sketch.pieces[at + 1].number in (1e3, 1e6, 100.0):
        at += 1
        number *= sketch.pieces[at].number or 1
        places.append(at)
    behind = sketch.pieces[at + 1] if sketch.free(at + 1) else None
    if behind and behind.unit and not unit:
        unit = behind.unit
        places.append(at + 1)
    return number, unit, tuple(places)


def take_comparative(sketch: Sketch, at: int) -> None:
    """The adjective says what is compared; "costing" alone needs its number."""
    if take_average(sketch, at, *comparative(sketch.pieces[at])):
        return
    found = amount_at(sketch, sketch.after(at))
    if found is None:
        return
    concept, op = comparative(sketch.pieces[at])
    number, unit, places = found
    ask, behind = Ask(concept=concept), places[-1] + 1
    if sketch.free(behind) and not unit and (named := sketch.pieces[behind].of("measure")):
        ask, places = Ask(targets=named, text=sketch.pieces[behind].text), (*places, behind)
    sketch.take(at, *places)
    sketch.compares.append(CompareAsk(ask, op, (number,), unit, text(sketch, at, *places)))


def comparative(piece: Piece) -> tuple[str, str]:
    """What is compared, and how: "longer than"."""
    said = piece.word("comparative") or ""
    return said.rstrip("<>="), said[len(said.rstrip("<>=")) :]


def take_average(sketch: Sketch, at: int, concept: str, op: str) -> bool:
    """ "A price above average", "higher than average price", "longer than the average film"."""
    place = sketch.after(at)
    if op not in (">", "<") or not sketch.free(place) or not is_average(sketch.pieces[place]):
        return False
    found = ask_at(sketch, sketch.after(place)) if not is_ended(sketch, place) else None
    named = found if found and (found[0].concept or any(t.kind == "measure" for t in found[0].targets)) else None
    if named and (named[0].is_count or named[0].aggregate):
        return False
    sketch.take(at, place, *(named[1] if named else ()))
    ask = replace(named[0], aggregate=None) if named else Ask(concept=concept) if concept else in_front(sketch, at)
    if not ask.targets and not ask.concept:
        sketch.unknown.append(text(sketch, at, place))
        return True
    sketch.compares.append(CompareAsk(ask, op, (), None, text(sketch, at, place), is_average=True))
    return True


def is_average(piece: Piece) -> bool:
    return piece.word("agg") == "avg" and not piece.names and piece.text.lower() in ("average", "mean", "the average")


def is_ended(sketch: Sketch, at: int) -> bool:
    """Nothing behind it that it could be the average of."""
    return not (sketch.free(at + 1) and (sketch.pieces[at + 1].names or sketch.pieces[at + 1].has("concept")))


def take_times(sketch: Sketch, at: int, op: str, number: float, places: tuple[int, ...]) -> bool:
    """ "Ordered more than 5 times": how many there are of what was done."""
    behind = places[-1] + 1
    if not sketch.free(behind) or sketch.pieces[behind].text.lower() not in ("times", "time"):
        return False
    back = sketch.before(at)
    while sketch.free(back) and sketch.pieces[back].has("prep", "aux", "thing") and not sketch.pieces[back].names:
        back = sketch.before(back)
    deed = sketch.pieces[back] if sketch.free(back) else None
    if deed is None or deed.values or not (deed.has("verb") or deed.of("moment", "entity")):
        return False
    rows = deed.of("entity") or deed.of("moment")
    words = text(sketch, at, *places, behind)
    ask = Ask("count", rows, f"{TIMES}{deed.word('verb') or ''}", False, deed.text, True)
    sketch.take(at, *places, behind, back)
    sketch.compares.append(CompareAsk(ask, op, (number,), None, words))
    return True


def take_compare(sketch: Sketch, at: int) -> None:
    op = sketch.pieces[at].word("compare") or "="
    if take_average(sketch, at, "", op):
        return
    found = amount_at(sketch, sketch.after(at))
    if found is None:
        return
    number, unit, places = found
    if not unit and op != "between" and take_times(sketch, at, op, number, places):
        return
    numbers: tuple[float, ...] = (number,)
    if op == "between":
        second = (
            amount_at(sketch, places[-1] + 2)
            if sketch.free(places[-1] + 1) and sketch.pieces[places[-1] + 1].has("or")
            else None
        )
        if second is None:
            return
        numbers, unit, places = (number, second[0]), second[1] or unit, (*places, places[-1] + 1, *second[2])
    compared(sketch, at, op, numbers, unit, places)


def compared(
    sketch: Sketch, at: int, op: str, numbers: tuple[float, ...], unit: Unit | None, places: tuple[int, ...]
) -> None:
    """What is compared: behind the number, or in front of the comparison; without either the entity's own measure."""
    words = text(sketch, at, *places)
    sketch.take(at, *places)
    place = after_in(sketch, places[-1])
    behind = ask_at(sketch, sketch.after(places[-1]) if not unit and place == len(sketch.pieces) else place)
    if behind and is_next(sketch, places[-1], behind[1][0]) and (behind[0].targets or behind[0].concept):
        ask = behind[0]
        sketch.take(*behind[1])
        counted = any(t.kind == "entity" for t in ask.targets)
        aggregate = "count" if counted and not ask.aggregate else ask.aggregate
        sketch.compares.append(
            CompareAsk(
                Ask(aggregate, ask.targets, ask.concept, ask.is_distinct, ask.text, counted), op, numbers, unit, words
            )
        )
        return
    ask = in_front(sketch, at)
    adjective = places[-1] + 1
    if sketch.free(adjective) and (concept := sketch.pieces[adjective].word("adjective")) and not ask.targets:
        ask = Ask(concept=concept)
        sketch.take(adjective)
    sketch.compares.append(CompareAsk(ask, op, numbers, unit, words, entity_before(sketch, at)))


def entity_before(sketch: Sketch, at: int) -> frozenset[str]:
    """The entity that stands in front of the comparison, with nothing but a figure of its own between."""
    back = at - 1
    while back > 0 and (sketch.pieces[back].is_skip or sketch.pieces[back].of("measure")):
        back -= 1
    return frozenset(t.table for t in sketch.pieces[back].of("entity")) if back >= 0 else frozenset()


def after_in(sketch: Sketch, at: int) -> int:
    """ "50 dollars in sales": the figure behind "in"."""
    place = sketch.after(at)
    is_in = (sketch.free(place) and sketch.pieces[place].word("prep") == "in") or (
        place < len(sketch.pieces) and sketch.pieces[place].text.lower() == "of"
    )
    return sketch.after(place) if is_in else len(sketch.pieces)


def is_next(sketch: Sketch, at: int, place: int) -> bool:
    return all(
        sketch.pieces[i].is_skip or sketch.pieces[i].has("distinct", "howmany", "agg", "prep")
        for i in range(at + 1, place)
    )


def in_front(sketch: Sketch, at: int) -> Ask:
    """ "Total over 10", "unit price above 1"; "spent over 40"."""
    back = sketch.before(at)
    while (
        sketch.free(back)
        and (sketch.pieces[back].has("which", "prep") or sketch.pieces[back].has("not"))
        and not sketch.pieces[back].names
    ):
        back = sketch.before(back)
    if not sketch.free(back):
        return Ask()
    piece = sketch.pieces[back]
    if piece.of("entity"):
        return Ask()
    if (targets := piece.of(*COLUMN_KINDS)) and not piece.of("entity"):
        sketch.take(back)
        return owned(sketch, back, targets, aggregate_before(sketch, back))
    if (said := piece.word("comparative") or "").endswith("=") and said[:-1].isalpha():  # "priced", "costing"
        sketch.take(back)
        return Ask(concept=said[:-1], text=piece.text)
    if piece.has("verb") and piece.word("verb") in ("money", "cost", "commerce"):
        return Ask(concept="price" if piece.word("verb") == "cost" else "money")
    if piece.has("concept"):
        sketch.take(back)
        return Ask(aggregate_before(sketch, back), concept=piece.word("concept") or "")
    return Ask()


def aggregate_before(sketch: Sketch, back: int) -> str | None:
    first = back - 1
    if sketch.free(first) and sketch.pieces[first].has("agg"):
        sketch.take(first)
        return sketch.pieces[first].word("agg")
    return None


def owned(sketch: Sketch, at: int, targets: tuple[Target, ...], aggregate: str | None) -> Ask:
    first = sketch.pieces[at - 1] if sketch.free(at - 1) else None
    own = tuple(t for t in targets if first and any(e.table == t.table for e in first.of("entity")))
    return Ask(aggregate, own or targets, text=sketch.pieces[at].text)


def take_open_ended(sketch: Sketch) -> None:
    """ "5 or more albums", "with 5 albums"."""
    for at, piece in enumerate(sketch.pieces):
        if not sketch.free(at) or piece.number is None:
            continue
        behind = at + 1
        op = sketch.pieces[behind].word("compare_after") if sketch.free(behind) else None
        if op:
            compared(sketch, behind, op, (piece.number,), None, (behind,))
            sketch.take(at)
        elif is_behind_with(sketch, at):
            found = ask_at(sketch, at + 1)
            if found and any(t.kind == "entity" for t in found[0].targets) and found[1][0] == at + 1:
                compared(sketch, at, "=", (piece.number,), None, (at,))


def is_behind_with(sketch: Sketch, at: int) -> bool:
    before = sketch.pieces[at - 1] if at else None
    return bool(before and (before.word("prep") == "with" or before.text.lower() in ("have", "has", "had", "having")))


def text(sketch: Sketch, *places: int) -> str:
    return " ".join(sketch.pieces[place].text for place in sorted(places))
