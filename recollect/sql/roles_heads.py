"""Heads: "how many", "number of", "average", "how much": the metrics of a question. Passes of roles.py."""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.asks import ask_at
from recollect.sql.known import Target
from recollect.sql.sketch import Ask, Sketch


def take_heads(sketch: Sketch) -> None:
    """ "How many", "number of", "average": the metrics."""
    for at in range(len(sketch.pieces)):
        if not sketch.free(at) or not sketch.pieces[at].has("howmany", "agg", "howmuch", "distinct"):
            continue
        if sketch.pieces[at].has("howmuch"):
            take_how_much(sketch, at)
        elif found := ask_at(sketch, at, needs_head=True):
            ask, places = found
            if ask.aggregate:
                sketch.metrics.append(ask)
                sketch.take(*places)
                take_chain(sketch, places[-1])
        elif sketch.pieces[at].has("howmany") and (value := value_behind(sketch, at)):
            sketch.metrics.append(value)
            sketch.take(at)
    take_counts_behind(sketch)


def value_behind(sketch: Sketch, at: int) -> Ask | None:
    """ "How many cats": the rows that are said to be so."""
    place = at + 1  # "how many were cancelled" does not say what is counted
    while sketch.free(place) and sketch.pieces[place].of("definition"):  # "female rabbits"
        place = sketch.after(place)
    piece = sketch.pieces[place] if sketch.free(place) else None
    if piece is None or not piece.values or piece.names or any(p.of("entity") for p in sketch.pieces[place:]):
        return None
    return Ask("count", piece.values, "rows", text=piece.text, is_count=True)


def take_late_aggregate(sketch: Sketch) -> None:
    """ "What does a visit cost on average?" """
    late = [at for at, piece in enumerate(sketch.pieces) if sketch.free(at) and piece.has("agg") and not piece.names]
    measured = [ask for ask in sketch.columns if any(t.kind == "measure" for t in ask.targets)]
    if len(late) != 1 or len(measured) + len(sketch.metrics) != 1:
        return
    ask = (sketch.metrics or measured)[0]
    if ask.aggregate is None or (ask.is_count and ask.aggregate == "count"):
        sketch.metrics = [replace(ask, aggregate=sketch.pieces[late[0]].word("agg"))]
        sketch.columns = [each for each in sketch.columns if each is not ask]
        sketch.subject = ()
        sketch.take(late[0])


def take_chain(sketch: Sketch, at: int) -> None:
    """ "Number of invoices and total sales": the next pass finds the second; "average length and size" is one aggregate
    for both."""
    joint = at + 1
    if not (sketch.free(joint) and sketch.pieces[joint].word("or") == "and"):
        return
    found = ask_at(sketch, joint + 1)
    last = sketch.metrics[-1]
    if not found or found[0].aggregate or not found[0].targets:
        return
    kinds = {t.kind for t in found[0].targets}
    if kinds == {"measure"} or (last.is_count and "entity" in kinds):
        sketch.metrics.append(replace(last, targets=found[0].targets, concept="", text=found[0].text))
        sketch.take(joint, *found[1])


def take_how_much(sketch: Sketch, at: int) -> None:
    sketch.take(at)
    found = ask_at(sketch, sketch.after(at))
    if found and (found[0].concept or any(t.kind == "measure" for t in found[0].targets)):
        ask, places = found
        sketch.metrics.append(Ask(ask.aggregate, measures_first(ask.targets), ask.concept, False, ask.text))
        sketch.take(*places)
    elif "money" in sketch.verbs or "commerce" in sketch.verbs or sketch.pieces[at].word("howmuch"):
        units = next((i for i, p in enumerate(sketch.pieces) if p.word("concept") == "units" and sketch.free(i)), None)
        if units is not None:
            sketch.take(units)
        sketch.metrics.append(Ask("sum", (), "units" if units is not None else "money", False, sketch.pieces[at].text))
    elif "cost" in sketch.verbs:
        sketch.columns.append(Ask(None, (), "price", False, sketch.pieces[at].text))
    else:
        sketch.unknown.append(sketch.pieces[at].text)


def measures_first(targets: tuple[Target, ...]) -> tuple[Target, ...]:
    return tuple(t for t in targets if t.kind == "measure") or targets


def take_counts_behind(sketch: Sketch) -> None:
    """ "Invoice count", "customers: how many are there", 客户数量."""
    for at, piece in enumerate(sketch.pieces):
        if not sketch.free(at) or not piece.has("howmany"):
            continue
        back = sketch.before(at)
        while sketch.free(back) and not sketch.pieces[back].of("entity") and back > 0:
            back = sketch.before(back)
        if sketch.free(back) and (entities := sketch.pieces[back].of("entity", "dimension")):
            sketch.metrics.append(Ask("count", entities, text=f"{sketch.pieces[back].text} count", is_count=True))
            sketch.take(back, at)
