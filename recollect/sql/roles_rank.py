"""Rankings and orders: "top 5 customers by spending", "the longest track", "artists with the most albums", "sorted by
name". Passes of roles.py.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.asks import ask_at
from recollect.sql.lexer import key_of, stem_key
from recollect.sql.naming import is_either
from recollect.sql.phrases import phrases
from recollect.sql.sketch import Ask, OrderAsk, Rank, Sketch
from recollect.sql.spans import Piece
from recollect.sql.vocabulary import vocabulary

FIRST, LAST = ("first", "earliest"), ("last", "latest", "most recent", "newest", "most recently")
BOUGHT = "bought the most"
SUBJECTS = ("entity", "dimension", "join")
COUNTED = ("rent", "stay", "visit", "flight", "ride")  # what was done so often


def take_rank(sketch: Sketch) -> None:
    take_first_or_last(sketch)
    for at, piece in enumerate(sketch.pieces):
        if not sketch.free(at) or piece.of("entity", "measure", "definition"):
            continue
        if piece.has("top") and (count := count_at(sketch, at + 1)):
            top(sketch, at, count)
        elif piece.text.lower() in ("top", "bottom") and sketch.free(at + 1) and is_one(sketch.pieces[at + 1]):
            judge(sketch, at)  # "top product by revenue"
        elif piece.has("superlative"):
            superlative(sketch, at)
        elif piece.has("super"):
            most(sketch, at)
        if sketch.free(at) and sketch.rank is None and judged_end(piece) is not None:
            judge(sketch, at)
    if sketch.rank and sketch.rank.count is None and (alone := lone_count(sketch)) is not None:
        sketch.rank = replace(sketch.rank, count=int(sketch.pieces[alone].number or 1))
        sketch.take(alone)


def judged_end(piece: Piece) -> bool | None:
    """Whether the high end of a figure is meant ("best"), or the low one ("worst"); None for other words."""
    word = piece.text.lower()
    if piece.names or piece.values:
        return None
    return True if word in vocabulary().words("judged", "high") else False if is_low(word) else None


def is_low(word: str) -> bool:
    return word in vocabulary().words("judged", "low")


def judge(sketch: Sketch, at: int) -> None:
    """ "Our 5 best customers by revenue": the figure behind "by" says in what they are."""
    count, behind = count_at(sketch, at - 1), count_at(sketch, at + 1)
    found = ask_at(sketch, at + 1)
    if found and found[0].aggregate and is_measured(found[0]):  # "the best average rating"
        most(sketch, at, is_descending=bool(judged_end(sketch.pieces[at])))
    elif by := ranked_by(sketch, at):
        sketch.take(at, *((at - 1,) if count else ()), *((at + 1,) if behind else ()))
        sketch.rank = Rank(bool(judged_end(sketch.pieces[at])), count or behind, by, sketch.pieces[at].text)


def take_first_or_last(sketch: Sketch) -> None:
    """ "Latest order date", "when was the first visit", "who was hired last", "the last order"."""
    at = next((i for i, p in enumerate(sketch.pieces) if sketch.free(i) and is_end(p)), None)
    if at is None or take_some_last(sketch, at) or count_at(sketch, at + 1):
        return
    is_last, words = sketch.pieces[at].text.lower() in LAST, sketch.pieces[at].text
    behind = sketch.after(at)
    dates = [i for i, piece in enumerate(sketch.pieces) if sketch.free(i) and piece.of("moment")]
    entity = behind if sketch.free(behind) and is_one(sketch.pieces[behind]) else None
    if dates and (is_when(sketch) or (behind == dates[0] and entity is None)):
        sketch.metrics.append(Ask("max" if is_last else "min", sketch.pieces[dates[0]].of("moment"), text=words))
        sketch.take(at, dates[0])
    elif entity is not None and is_when(sketch):
        sketch.metrics.append(
            Ask(
                "max" if is_last else "min", sketch.pieces[entity].of("entity"), "when", text=sketch.pieces[entity].text
            )
        )
        sketch.take(at, entity)
    elif entity is not None or (dates and at > dates[0]):
        by = Ask(targets=sketch.pieces[dates[0]].of("moment")) if dates else Ask(concept="newness", text=words)
        sketch.rank = Rank(is_last, 1, by, words)
        sketch.take(at, *dates[:1])


def take_some_last(sketch: Sketch, at: int) -> bool:
    """ "The 5 latest orders", "the last 5 orders"."""
    places = [place for place in (at - 1, at + 1) if count_at(sketch, place)]
    noun = sketch.after(places[-1] if places and places[-1] > at else at)
    is_named = noun < len(sketch.pieces) and bool(sketch.pieces[noun].of("entity"))
    if len(places) != 1 or not is_named or sketch.pieces[at].text.lower() not in LAST:
        return False
    if ranked_by_said(sketch, at):
        return False
    by = Ask(concept="newness", text=sketch.pieces[at].text)
    sketch.rank = Rank(True, count_at(sketch, places[0]), by, sketch.pieces[at].text)
    sketch.take(at, *places)
    return True


def ranked_by_said(sketch: Sketch, at: int) -> bool:
    return any(piece.text.lower() == "by" for piece in sketch.pieces[at:])


def is_end(piece: Piece) -> bool:
    return piece.text.lower() in (*FIRST, *LAST) and not piece.names and not piece.values


def is_one(piece: Piece) -> bool:
    """In the singular: "the last order" is one, "the latest orders" are some."""
    last = piece.text.split()[-1].lower()
    return bool(piece.of("entity")) and stem_key(last) == (last,)


def is_when(sketch: Sketch) -> bool:
    return any(piece.text.lower() in ("when", "what date", "since when") for piece in sketch.pieces[:2])


def count_at(sketch: Sketch, at: int) -> int | None:
    """A whole number that stands here."""
    number = sketch.pieces[at].number if sketch.free(at) else None
    return int(number) if number and number == int(number) and 0 < number <= 10_000 else None


def lone_count(sketch: Sketch) -> int | None:
    """ "The 3 artists with the most albums": the number in front of what is ranked."""
    for at in range(len(sketch.pieces) - 1):
        if count_at(sketch, at) and sketch.pieces[at + 1].of(*SUBJECTS):
            return at
    return None


def top(sketch: Sketch, at: int, count: int) -> None:
    direction = sketch.pieces[at].word("top") or "desc"
    sketch.take(at, at + 1)
    is_descending = direction == "desc"
    if sketch.rank is None:
        sketch.rank = Rank(is_descending, count, None, f"{sketch.pieces[at].text} {count}")
    else:
        sketch.rank = replace(sketch.rank, count=count)
    if (adjective := sketch.after(at + 1)) and sketch.free(adjective) and sketch.pieces[adjective].has("superlative"):
        superlative(sketch, adjective)
    if by := ranked_by(sketch, at + 1):
        sketch.rank = replace(sketch.rank, by=by)


def ranked_by(sketch: Sketch, at: int) -> Ask | None:
    """ "... by revenue", "... in terms of number of albums"."""
    for place in range(at + 1, len(sketch.pieces)):
        piece = sketch.pieces[place]
        if not sketch.free(place) or piece.text.lower() not in ("by", "according to"):
            continue
        found = ask_at(sketch, place + 1)
        if found and (is_measured(found[0]) or is_several_of(found[0])):
            sketch.take(place, *found[1])
            return by_rows(found[0]) if is_several_of(found[0]) else counted(found[0])
        total = place + 1 if sketch.free(place + 1) and sketch.pieces[place + 1].word("agg") == "sum" else place
        if sketch.free(total + 1) and sketch.pieces[total + 1].word("verb") in ("money", "commerce"):
            verb = sketch.pieces[total + 1].word("verb")
            sketch.take(place, total, total + 1)
            return Ask("sum", concept="money" if verb == "money" else "units", text=sketch.pieces[total + 1].text)
    return None


def is_several_of(ask: Ask) -> bool:
    """ "By donations": by what each has of them; "by country" is another thing."""
    word = (ask.text.split() or [""])[-1].lower()
    is_plain = not ask.aggregate and not ask.concept and bool(ask.targets)
    return is_plain and stem_key(word) != (word,) and all(t.kind == "entity" for t in ask.targets)


def by_rows(ask: Ask) -> Ask:
    """Of what is money the amount, of all else the number."""
    is_amount = stem_key(ask.text)[-1:] in phrases().concepts["amounts"]
    return replace(ask, aggregate="sum", is_of=True) if is_amount else replace(ask, aggregate="count", is_count=True)


def is_measured(ask: Ask) -> bool:
    return bool(ask.aggregate or ask.concept or any(t.kind == "measure" for t in ask.targets))


def counted(ask: Ask) -> Ask:
    kinds = {t.kind for t in ask.targets}
    if "entity" in kinds and "measure" not in kinds and not ask.aggregate:
        return replace(ask, aggregate="count")
    return ask


def superlative(sketch: Sketch, at: int) -> None:
    """The adjective says what is compared; a number in front of it, how many are wanted. "Largest" with a measure
    behind it ("largest total") is a plain "most"."""
    piece = sketch.pieces[at]
    said = piece.word("superlative") or ""
    found = ask_at(sketch, at + 1)
    if found and is_measured(found[0]) and found[1][0] == at + 1:  # "largest total", "longest delay"
        most(sketch, at, is_descending=not said.startswith("-"))
        return
    concept, is_descending = said.lstrip("-"), not said.startswith("-")
    if concept == "age" or concept == "newness":
        is_descending = is_descending if concept == "newness" else not is_descending
    count = count_at(sketch, at - 1)
    sketch.take(at, *((at - 1,) if count else ()))
    earlier = sketch.rank
    if earlier and earlier.by:
        sketch.unknown.append(f"{earlier.text} ... {piece.text}")  # two rankings at once
    sketch.rank = Rank(
        is_descending, count or (earlier.count if earlier else None), Ask(concept=concept, text=piece.text), piece.text
    )
    if by := ranked_by(sketch, at):
        sketch.rank = replace(sketch.rank, by=by)


def most(sketch: Sketch, at: int, *, is_descending: bool | None = None) -> None:
    """ "The most albums", "the highest total"; "spent the most" takes the verb's concept."""
    piece = sketch.pieces[at]
    if is_descending is None:
        is_descending = piece.word("super", "top") == "desc"
    count = count_at(sketch, at - 1)
    places = (at, at - 1) if count else (at,)
    if event := event_behind(sketch, at):
        sketch.take(*places, at + 1)
        count = count or (sketch.rank.count if sketch.rank else None)  # "top 10 most rented films"
        sketch.rank = Rank(is_descending, count, Ask("count", (), f"event:{event}", text=piece.text), piece.text)
        return
    found = ask_at(sketch, at + 1, may_follow=piece.text.lower() in ("most", "fewest", "least"))
    verb = next((v for v in sketch.verbs if v in ("money", "commerce", "cost", "salary")), None)
    if found and (is_measured(found[0]) or is_object(found[0], sketch, found[1])) and follows(sketch, at, found[1][0]):
        sketch.take(*places, *found[1])
        ask = added_up(sold(counted(found[0]), sketch), piece)
    elif verb and not found:
        sketch.take(*places)
        ask = Ask(
            "sum", concept={"commerce": "units", "cost": "price"}.get(verb, verb), text=bought(sketch, piece.text)
        )
    elif (event := next((v for v in sketch.verbs if v in COUNTED), None)) and is_last(sketch, at):
        sketch.take(*places)
        ask = Ask("count", (), f"event:{event}", text=piece.text)
    elif value := most_of_value(sketch, at):
        sketch.take(*places)
        ask = value
    else:
        return
    earlier = sketch.rank
    if earlier and earlier.by:
        sketch.unknown.append(f"{earlier.text} ... {piece.text}")  # two rankings at once
    sketch.rank = Rank(is_descending, count or (earlier.count if earlier else None), ask, piece.text)


def is_last(sketch: Sketch, at: int) -> bool:
    """ "Rented the most": nothing behind it that there could be most of."""
    return not any(piece.names or piece.values or piece.has("concept") for piece in sketch.pieces[at + 1 : at + 2])


def added_up(ask: Ask, piece: Piece) -> Ask:
    """ "The most downtime" is the most in all; the highest price is not."""
    is_sum = piece.text.lower() in ("most", "least") and ask.aggregate is None and not ask.is_count
    measures = [t for t in ask.targets if t.kind == "measure"]
    return replace(ask, aggregate="sum") if is_sum and any(is_either(t.aggregate, t.name) for t in measures) else ask


def most_of_value(sketch: Sketch, at: int) -> Ask | None:
    """ "The most surgeries", where a surgery is a kind of treatment."""
    behind = sketch.pieces[at + 1] if sketch.free(at + 1) else None
    if behind is None or not behind.values or behind.names or sketch.pieces[at].text.lower() not in ("most", "fewest"):
        return None
    return Ask("count", behind.values, "rows", text=behind.text, is_count=True)


def bought(sketch: Sketch, text: str) -> str:
    """Who "bought the most" bought the most pieces, or spent the most; what was sold the most is plain."""
    words = [p.text.lower() for p in sketch.pieces if p.word("verb") == "commerce"]
    return BOUGHT if words and all(word.startswith(("bought", "buy", "purchas")) for word in words) else text


def event_behind(sketch: Sketch, at: int) -> str | None:
    """ "Most rented film", "most visited museum": by how often."""
    behind = sketch.pieces[at + 1] if sketch.free(at + 1) else None
    verb = behind.word("verb") if behind and not behind.of("entity", "measure") else None
    is_ranked = sketch.free(at + 2) and bool(sketch.pieces[at + 2].of(*SUBJECTS))
    return verb if verb in ("rent", "stay", "visit", "flight") and is_ranked else None


def sold(ask: Ask, sketch: Sketch) -> Ask:
    """Who bought the most tracks bought the most units."""
    is_event = any(t.kind == "entity" for t in ask.targets) and "commerce" in sketch.verbs
    is_entity = any(t.kind == "entity" for t in ask.targets) and not any(t.kind == "measure" for t in ask.targets)
    return replace(ask, is_count=True) if is_entity and not is_event else ask


def is_object(ask: Ask, sketch: Sketch, places: tuple[int, ...]) -> bool:
    return any(t.kind in ("entity", "dimension", "join") for t in ask.targets) and bool(places)


def follows(sketch: Sketch, at: int, place: int) -> bool:
    between = [sketch.pieces[i] for i in range(at + 1, place)]
    return all(p.is_skip or p.has("all", "distinct") or p.values or p.of("definition") for p in between)


def take_order(sketch: Sketch) -> None:
    for at, piece in enumerate(sketch.pieces):
        if not sketch.free(at) or piece.names:
            continue
        if piece.has("order"):
            order_by(sketch, at)
        elif piece.has("direction"):
            sketch.take(at)
            earlier = sketch.order.ask if sketch.order else None
            ask, is_down = earlier or adjective_of(piece), piece.word("direction") == "desc"
            sketch.order = OrderAsk(ask, is_down, piece.text)


def adjective_of(piece: Piece) -> Ask | None:
    """ "Cheapest first": by the price, if it is a list that is put in order."""
    words = phrases().of(key_of(piece.text.lower().removesuffix(" first")))
    said = next((word.value for word in words if word.kind == "superlative"), "").lstrip("-")
    return Ask(concept=said, text=piece.text) if said in ("price", "duration", "weight", "newness", "age") else None


def order_by(sketch: Sketch, at: int) -> None:
    sketch.take(at)
    found = ask_at(sketch, sketch.after(at))
    if found:
        sketch.take(*found[1])
        sketch.order = OrderAsk(counted(found[0]), text=found[0].text)
    elif sketch.order is None:
        sketch.order = OrderAsk(None, text=sketch.pieces[at].text)
