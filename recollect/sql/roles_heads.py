"""Heads: "how many", "number of", "average", "how much": the metrics of a question. Passes of roles.py."""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.asks import ask_at
from recollect.sql.known import Target
from recollect.sql.lexer import key_of, stem_key
from recollect.sql.money_words import SPENDING
from recollect.sql.sketch import Ask, Sketch
from recollect.sql.vocabulary import vocabulary


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
        elif sketch.pieces[at].word("agg") == "sum" and value_behind(sketch, at):
            sketch.metrics.append(Ask("sum", (), "money", text=sketch.pieces[at].text))  # "total deposits"
            sketch.take(at)
        elif sketch.pieces[at].has("howmany") and (value := value_behind(sketch, at) or people_behind(sketch, at)):
            sketch.metrics.append(value)
            sketch.take(at)
    take_counts_behind(sketch)


def value_behind(sketch: Sketch, at: int) -> Ask | None:
    """ "How many cats": the rows that are said to be so."""
    place = at + 1  # "how many were cancelled" does not say what is counted
    while sketch.free(place) and sketch.pieces[place].of("definition"):  # "female rabbits"
        place = sketch.after(place)
    piece = sketch.pieces[place] if sketch.free(place) else None
    if piece is None or not piece.values or piece.names or names_rows(sketch, place):
        return None
    return Ask("count", piece.values, "rows", text=piece.text, is_count=True)


def people_behind(sketch: Sketch, at: int) -> Ask | None:
    """ "How many women", where a column tells them from men: the rows that are said to be so."""
    piece = sketch.pieces[at + 1] if sketch.free(at + 1) else None
    behind = sketch.pieces[at + 2] if at + 2 < len(sketch.pieces) else None
    found = piece.of("definition") if piece else ()
    if piece is None or not found or stem_key(piece.text) == key_of(piece.text) or (behind and behind.of("entity")):
        return None
    rows = tuple(Target("entity", t.table, name=piece.text) for t in found)
    return Ask("count", rows, text=piece.text, is_count=True)


def names_rows(sketch: Sketch, at: int) -> bool:
    """Whether something is named behind it that may be what is counted; not "by club", "in each store"."""
    named = [i for i, piece in enumerate(sketch.pieces) if i > at and piece.of("entity")]
    return any(not sketch.pieces[i - 1].has("group") for i in named)


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
    elif found and found[0].targets and all(t.kind == "entity" for t in found[0].targets) and is_done(sketch, found[1]):
        sketch.metrics.append(Ask("sum", found[0].targets, text=found[0].text, is_of=True))  # "how much did we refund"
        sketch.take(*found[1])
    elif "money" in sketch.verbs or "commerce" in sketch.verbs or sketch.pieces[at].word("howmuch"):
        units = next((i for i, p in enumerate(sketch.pieces) if p.word("concept") == "units" and sketch.free(i)), None)
        if units is not None:
            sketch.take(units)
        concept = "units" if units is not None else SPENDING if is_our_spending(sketch) else "money"
        sketch.metrics.append(Ask("sum", (), concept, False, sketch.pieces[at].text))
    elif "donate" in sketch.verbs or any(piece.values or piece.of("definition") for piece in sketch.pieces):
        sketch.metrics.append(Ask("sum", (), "money", False, sketch.pieces[at].text))  # "how much is overdue"
    elif "cost" in sketch.verbs:
        sketch.columns.append(Ask(None, (), "price", False, sketch.pieces[at].text))
    else:
        sketch.unknown.append(sketch.pieces[at].text)


def is_our_spending(sketch: Sketch) -> bool:
    """ "How much did we spend": what goes out, and never the revenue."""
    pairs = zip(sketch.pieces, sketch.pieces[1:], strict=False)
    verbs = vocabulary().words("money", "spending_verbs")
    return any(who.text.lower().split()[-1:] == ["we"] and did.text.lower() in verbs for who, did in pairs)


def is_done(sketch: Sketch, places: tuple[int, ...]) -> bool:
    """A noun that stands where the verb does: "did we refund"."""
    ahead = [piece.text.lower() for piece in sketch.pieces[: places[0]]][-2:]
    return bool(ahead) and ahead[-1] in ("we", "they", "you") and len(places) == 1


def measures_first(targets: tuple[Target, ...]) -> tuple[Target, ...]:
    return tuple(t for t in targets if t.kind == "measure") or targets


def take_counts_behind(sketch: Sketch) -> None:
    """ "Invoice count", "customers: how many are there", 客户数量."""
    for at, piece in enumerate(sketch.pieces):
        if not sketch.free(at) or not piece.has("howmany"):
            continue
        back = counted_before(sketch, at)
        if sketch.free(back) and (entities := sketch.pieces[back].of("entity", "dimension")):
            sketch.metrics.append(Ask("count", entities, text=f"{sketch.pieces[back].text} count", is_count=True))
            sketch.take(back, at)


def counted_before(sketch: Sketch, at: int) -> int:
    """The nearest thing in front, but "invoices from German accounts: how many?" are invoices: what stands behind a
    preposition only says which."""
    back = sketch.before(at)
    while sketch.free(back) and not sketch.pieces[back].of("entity") and back > 0:
        back = sketch.before(back)
    places = [i for i in range(back + 1) if sketch.free(i) and sketch.pieces[i].of("entity")]
    heads = [i for i in places if not any(p.has("prep", "group") for p in sketch.pieces[:i])]
    return heads[-1] if at == len(sketch.pieces) - 1 and heads else back
