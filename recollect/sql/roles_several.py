"""Several figures at once: "min, average and max price", "the price range", "orders and revenue per month". Passes of
roles.py: the aggregates that stand in a row are all of what is named behind them; nouns in a row that are split by
something are counted, each, or added up.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.asks import ask_at
from recollect.sql.known import Target
from recollect.sql.lexer import stem_key
from recollect.sql.sketch import Ask, GroupAsk, Sketch
from recollect.sql.spans import Piece

ENDS = ("duration", "price", "size", "weight", "height", "speed")
COUNTING = ("most", "least", "fewest")


def take_several(sketch: Sketch) -> None:
    for at in range(len(sketch.pieces)):
        if sketch.free(at) and sketch.pieces[at].has("spread") and not sketch.pieces[at].names:
            take_spread(sketch, at)
        elif sketch.free(at) and aggregate_of(sketch.pieces[at]):
            take_row(sketch, at)


def take_row(sketch: Sketch, at: int) -> None:
    """ "Min, average and max price", "the highest and the lowest salary": of the one thing behind the last of them."""
    said, places, place, is_joint = [], [], at, True
    while is_joint and sketch.free(place) and (aggregate := aggregate_of(sketch.pieces[place])):
        said.append(aggregate)
        places.append(place)
        place, is_joint = place + 1, False
        while sketch.free(place) and (sketch.pieces[place].is_skip or sketch.pieces[place].word("or") == "and"):
            is_joint |= sketch.pieces[place].has("or")
            place += 1
    is_end = any(sketch.pieces[i].has("super", "superlative") for i in places)
    if len(set(said)) < len(said) or len(said) < 2 or (is_end and is_of_rows(sketch, at)):
        return
    found = ask_at(sketch, place)
    if found is None or not is_figure(found[0]) or found[1][0] != place or is_before_rows(sketch, found[1][-1]):
        return
    sketch.metrics += [replace(found[0], aggregate=each) for each in said]
    sketch.take(*range(at, place), *found[1])


def take_spread(sketch: Sketch, at: int) -> None:
    """ "The price range", "the range of prices": the least and the greatest."""
    is_of = at + 1 < len(sketch.pieces) and sketch.pieces[at + 1].text.lower() == "of"
    starts = [*((at - 2, at - 1) if at else ()), *((sketch.after(at + 1),) if is_of else ())]
    for start in starts:
        found = ask_at(sketch, start) if start >= 0 else None
        if found and is_figure(found[0]) and (found[1][-1] == at - 1 or found[1][0] > at):
            sketch.metrics += [replace(found[0], aggregate=each) for each in ("min", "max")]
            sketch.take(at, *found[1])
            return


def aggregate_of(piece: Piece) -> str | None:
    """What is taken of a figure: "average", "highest"; "the most" counts."""
    if piece.names or piece.values or piece.text.lower() in COUNTING:
        return None
    if said := piece.word("agg"):
        return said
    concept = piece.word("superlative")
    if concept is not None:
        return None if concept.lstrip("-") not in ENDS else "min" if concept.startswith("-") else "max"
    end = piece.word("super") if piece.size == 1 else None
    return {"desc": "max", "asc": "min"}.get(end or "")


def is_figure(ask: Ask) -> bool:
    measures = [t for t in ask.targets if t.kind == "measure"]
    return ask.aggregate is None and bool(measures or (ask.concept and not ask.targets))


def is_of_rows(sketch: Sketch, at: int) -> bool:
    """ "Which products have the highest and the lowest price": whose it is, and not how much."""
    named = [i for i in range(at) if sketch.pieces[i].of("entity", "dimension", "join")]
    return any(i == 0 or not sketch.pieces[i - 1].has("group") for i in named)


def is_before_rows(sketch: Sketch, at: int) -> bool:
    """ "The highest and lowest price products"."""
    return sketch.free(at + 1) and bool(sketch.pieces[at + 1].of("entity"))


def take_distribution(sketch: Sketch) -> None:
    """ "Blood type distribution", "gender distribution of the patients": how many there are of each."""
    said = [i for i, p in enumerate(sketch.pieces) if p.has("distribution") and not p.names and sketch.free(i)]
    at = said[0] if said else None
    if at is None or sketch.metrics or sketch.rank:
        return
    if any(piece.has("group", "grain") for piece in sketch.pieces[at + 1 :]):
        sketch.take(at)  # "distribution of customers by country"
        return
    behind = sketch.after(at)
    is_ahead = at > 0 and bool(kinds_at(sketch, at - 1))
    place = at - 1 if is_ahead else behind + 1 if is_owner(sketch, behind) else behind
    kinds = kinds_at(sketch, place)
    owner = behind if is_ahead else place - 1
    rows = sketch.pieces[owner].of("entity") if sketch.free(owner) else ()
    if is_ahead and not rows and sketch.free(at - 2):
        owner, rows = at - 2, sketch.pieces[at - 2].of("entity")
    if not kinds:
        return
    text = sketch.pieces[place].text
    sketch.groups.append(GroupAsk(kinds, text=text))
    sketch.metrics.append(Ask("count", rows or kinds, "" if rows else "rows", text=text, is_count=True))
    sketch.take(at, place, *((owner,) if rows else ()))


def kinds_at(sketch: Sketch, at: int) -> tuple[Target, ...]:
    """A column of kinds; not an amount, nor the rows themselves."""
    piece = sketch.pieces[at] if sketch.free(at) else None
    return piece.of("dimension") if piece and not piece.of("entity", "measure", "moment") else ()


def is_owner(sketch: Sketch, at: int) -> bool:
    """ "Distribution of film ratings"."""
    return sketch.free(at) and bool(sketch.pieces[at].of("entity")) and bool(kinds_at(sketch, at + 1))


def take_pair(sketch: Sketch) -> None:
    """ "Orders and revenue per month", "customers, orders and revenue by country": each counted, or added up."""
    first = next((i for i, p in enumerate(sketch.pieces) if not p.is_skip and not p.has("list", "which")), None)
    if first is None or not sketch.free(first) or sketch.rank or sketch.metrics:
        return
    items: list[Ask] = []
    taken: list[int] = []
    place = first
    while item := item_at(sketch, place):
        items.append(item[0])
        taken += [*item[1]]
        joint = item[1][-1] + 1
        if not (sketch.free(joint) and sketch.pieces[joint].word("or") == "and"):
            break
        taken.append(joint)
        place = sketch.after(joint)
    is_ended = not sketch.pieces[taken[-1]].has("or") if taken else False
    if len(items) > 1 and is_ended and is_figured(sketch, items, taken[-1]):
        sketch.metrics += items
        sketch.take(*taken)


def item_at(sketch: Sketch, at: int) -> tuple[Ask, tuple[int, ...]] | None:
    """A noun in the plural that is counted, or a figure."""
    found = ask_at(sketch, at)
    if found is None or not sketch.free(at):
        return None
    ask, places = found
    if is_figure(ask) or (ask.aggregate and (ask.targets or ask.concept)):
        return (ask if ask.aggregate or ask.concept else replace(ask, targets=measures_of(ask))), places
    entities = tuple(t for t in ask.targets if t.kind == "entity")
    word = sketch.pieces[places[-1]].text.split()[-1].lower()
    if not entities or ask.aggregate or len(places) != 1 or stem_key(word) == (word,):
        return None
    return Ask("count", entities, text=ask.text, is_count=True), places


def measures_of(ask: Ask) -> tuple[Target, ...]:
    return tuple(t for t in ask.targets if t.kind == "measure")


def is_figured(sketch: Sketch, items: list[Ask], last: int) -> bool:
    """Split by something, or with an amount among them: no list of rows."""
    is_split = any(piece.has("group", "grain") for piece in sketch.pieces[last + 1 :])
    counts = [ask for ask in items if ask.is_count]
    sums = [ask for ask in items if ask.aggregate or ask.concept in ("money", "units") or is_sum(ask)]
    if not counts or len(counts) + len([ask for ask in sums if ask not in counts]) < len(items):
        return False
    has_amount = len(counts) < len(items)
    is_list = sketch.is_list and not (is_split and has_amount)
    return (is_split or has_amount) and not is_list


def is_sum(ask: Ask) -> bool:
    return bool(ask.targets) and all(t.kind == "measure" and t.aggregate == "sum" for t in ask.targets)
