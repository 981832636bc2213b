"""Values: texts that stand in the data, with the name that says which they are and what negates them. A pass of
roles.py.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import EVENTS
from recollect.sql.known import Target
from recollect.sql.lexer import key_of, stem_key
from recollect.sql.naming import words_of
from recollect.sql.phrases import phrases
from recollect.sql.roles_names import is_behind_measure
from recollect.sql.sketch import Sketch, ValueAsk
from recollect.sql.spans import Piece
from recollect.sql.vocabulary import vocabulary

ARTICLES = ("the", "all", "any", "our")


def take_values(sketch: Sketch) -> None:
    """Values with the name that says which they are, and what negates them."""
    negated = False
    last_value = -9
    for at, piece in enumerate(sketch.pieces):
        if at in sketch.used and not piece.values:
            continue
        if is_negation(sketch, at):
            negated = True
            is_not_yet(sketch, at)
            if any(sketch.pieces[i].values for i in range(at + 1, min(at + 5, len(sketch.pieces)))):
                sketch.take(at)
        elif piece.values and sketch.free(at) and is_dated_deed(sketch, at):
            sketch.take(at)
        elif piece.values and sketch.free(at) and is_either(sketch, at):
            sketch.vague.append((piece.text, "state"))
            sketch.take(at)
        elif piece.values and sketch.free(at) and is_value(sketch, at):
            if is_elsewhere(sketch, at):
                sketch.unknown.append(piece.text)
                sketch.take(at)
                continue
            take_value(sketch, at, last_value, negated)
            last_value, negated = at, False


def take_value(sketch: Sketch, at: int, last: int, negated: bool) -> None:
    """With what stands around it; a noun for what it is ("business class") goes with it."""
    joined = is_joined(sketch, last, at)
    negated = negated or (joined and bool(sketch.values) and sketch.values[-1].is_negated)
    lead = lead_of(sketch.pieces[at - 1]) if at else ""
    behind = sketch.pieces[at + 1] if at + 1 < len(sketch.pieces) else None
    owners = frozenset(t.table for t in behind.of("entity")) if behind else frozenset()
    is_by = behind is not None and behind.text.lower() == "by"
    text, maker = sketch.pieces[at].text, is_maker(sketch, at)
    found = chosen(sketch, at)
    others = tuple(v for v in sketch.pieces[at].values if v not in found) if is_led_by_owner(sketch, at) else ()
    rivals = () if is_said_whose(sketch, at, found) else sketch.pieces[at].rivals
    sketch.values.append(
        ValueAsk(found, negated, text, at, joined, owners, lead, maker, others, whose(sketch, at), rivals, is_by,
                 joined and is_or(sketch, last, at), owners - {v.table for v in found} or said_of(sketch, at))
    )  # fmt: skip
    sketch.take(at)
    if behind and sketch.free(at + 1) and behind.has("kind_of") and not behind.of("entity"):
        sketch.take(at + 1)


def lead_of(piece: Piece) -> str:
    """The word in front; "and from" is "from"."""
    return piece.word("prep") or piece.text.lower().removeprefix("and ").removeprefix("or ")


def is_or(sketch: Sketch, last: int, at: int) -> bool:
    return any(piece.word("or") == "or" for piece in sketch.pieces[last + 1 : at])


def said_of(sketch: Sketch, at: int) -> frozenset[str]:
    """ "Courses in the Biology department": the noun in front, behind a preposition and what the value is one of."""
    ahead, values = at - 1, {t.table for t in sketch.pieces[at].values}
    while ahead >= 0 and (
        sketch.pieces[ahead].is_skip or {t.table for t in sketch.pieces[ahead].of("entity")} & values
    ):
        ahead -= 1
    if ahead < 1 or not sketch.pieces[ahead].has("prep"):
        return frozenset()
    return frozenset(t.table for t in sketch.pieces[ahead - 1].of("entity"))


def whose(sketch: Sketch, at: int) -> frozenset[str]:
    ahead = sketch.pieces[at - 2] if at > 1 and sketch.pieces[at - 1].word("prep") == "from" else None
    return frozenset(target.table for target in ahead.of("entity")) if ahead else frozenset()


def is_led_by_owner(sketch: Sketch, at: int) -> bool:
    ahead = at - 1
    while ahead > 0 and sketch.pieces[ahead].text.lower() in ("the", "our"):
        ahead -= 1
    return ahead >= 0 and sketch.pieces[ahead].text.lower() in ("of", "by", "from")


def is_said_whose(sketch: Sketch, at: int, found: tuple[Target, ...]) -> bool:
    """ "The writer X", "X the writer"."""
    beside = [sketch.pieces[i] for i in (sketch.before(at), at - 1, at + 1) if 0 <= i < len(sketch.pieces)]
    return bool({v.table for v in found} & {t.table for piece in beside for t in piece.of("entity", "join")})


def is_elsewhere(sketch: Sketch, at: int) -> bool:
    """ "The track X", where X is known only as an album: it may be a track that the catalog does not show."""
    owner = sketch.pieces[at - 1] if at else None
    if (
        owner is None
        or not owner.of("entity")
        or not owner.text.islower()
        or stem_key(owner.text) != key_of(owner.text)
    ):
        return False
    tables = {t.table for t in owner.of("entity", "join", "dimension")}
    return not any(value.table in tables for value in sketch.pieces[at].values)


def is_not_yet(sketch: Sketch, at: int) -> None:
    """ "Not yet approved": on the way there, which is less than any other state."""
    behind = sketch.pieces[at + 1] if sketch.free(at + 1) else None
    said = f"{sketch.pieces[at].text} {sketch.pieces[at + 1].text if behind else ''}".lower().split()
    if behind is not None and "yet" in said:
        state = next((p for p in sketch.pieces[at : at + 3] if p.values and not p.of("moment")), None)
        if state is not None:
            sketch.vague.append((f"not yet {state.text}", "state"))


def is_negation(sketch: Sketch, at: int) -> bool:
    piece = sketch.pieces[at]
    if piece.names or not sketch.free(at):
        return False
    behind = sketch.after(at)
    return piece.has("not") or (piece.has("no") and sketch.free(behind) and bool(sketch.pieces[behind].values))


def is_maker(sketch: Sketch, at: int) -> bool:
    """ "By X", "X's", "does X have"."""
    ahead = sketch.pieces[at - 1].text.lower() if at else ""
    behind = sketch.pieces[at + 1].text.lower() if at + 1 < len(sketch.pieces) else ""
    return ahead in ("by", "does", "did", "do", "has", "have") or behind in ("'s", "have", "has", "had", "'")


def is_joined(sketch: Sketch, last: int, at: int) -> bool:
    if last < 0:
        return False
    between = [sketch.pieces[i] for i in range(last + 1, at)]
    joined = any(p.has("or") for p in between) and all(p.has("or", "prep", "compared") or p.is_skip for p in between)
    if joined:
        sketch.take(*range(last + 1, at))
    return joined


def is_value(sketch: Sketch, at: int) -> bool:
    """A text that is also a name of the model is a value only beside the name whose value it is."""
    piece = sketch.pieces[at]
    if piece.of("moment") and (sketch.spans or is_denied(sketch, at)):
        return False  # "delivered in May", "not yet resolved": when, rather than the status that is called so
    if not piece.names and not (piece.has("group", "howmany", "agg", "which", "list")):
        return True
    if is_of_what_is_named(sketch, at):
        return True
    owners = {
        (t.table, t.column) for i in (at - 1, at + 1) if 0 <= i < len(sketch.pieces) for t in sketch.pieces[i].names
    }
    return any((v.table, v.column) in owners or (v.table, "") in owners for v in piece.values)


def is_either(sketch: Sketch, at: int) -> bool:
    """ "Resolved tickets per month": those that have the status, or those that were resolved then?"""
    behind = sketch.pieces[at + 1] if at + 1 < len(sketch.pieces) else None
    dated = bool(sketch.spans or any(ask.grain for ask in sketch.groups))
    return dated and bool(sketch.pieces[at].of("moment")) and behind is not None and bool(behind.of("entity"))


def is_dated_deed(sketch: Sketch, at: int) -> bool:
    """ "Orders were placed in 2025": when, although a status is called "placed" too."""
    behind = sketch.pieces[at + 1] if at + 1 < len(sketch.pieces) else None
    if behind is None or behind.period is None or sketch.pieces[at].is_quoted or sketch.pieces[at].is_capital:
        return False
    words = phrases().of(key_of(sketch.pieces[at].text))
    return any(word.kind == "skip" or (word.kind == "verb" and word.value in EVENTS) for word in words)


def is_denied(sketch: Sketch, at: int) -> bool:
    ahead = at - 1
    while ahead > 0 and sketch.pieces[ahead].is_skip:
        ahead -= 1
    return ahead >= 0 and sketch.pieces[ahead].has("no", "not")


def is_of_what_is_named(sketch: Sketch, at: int) -> bool:
    """ "Tickets that came in by email": a channel of the tickets, not the address of somebody who is not named."""
    piece = sketch.pieces[at]
    named = {t.table for i, p in enumerate(sketch.pieces) if i != at for t in p.of("entity")}
    is_led = at > 0 and sketch.pieces[at - 1].has("prep", "group", "not", "or") and not piece.of("entity", "measure")
    return is_led and any(v.table in named for v in piece.values) and not any(n.table in named for n in piece.names)


def chosen(sketch: Sketch, at: int) -> tuple[Target, ...]:
    """Of the places where the value stands those that its neighbour names."""
    values = sketch.pieces[at].values
    for place in (sketch.before(at), sketch.after(at)):
        between = sketch.pieces[min(place, at) + 1 : max(place, at)]
        if not (0 <= place < len(sketch.pieces)) or abs(place - at) > 3 or not all(each.is_skip for each in between):
            if own := of_owner_before(sketch, at, values):
                return own
            continue
        names = sketch.pieces[place].names
        exact = tuple(v for v in values if any(n.column == v.column and n.table == v.table for n in names))
        own = tuple(v for v in values if any(n.kind in ("entity", "join") and n.table == v.table for n in names))
        if exact or own:
            if place in sketch.used or names_only_value(sketch, place, at):
                sketch.mentions.append(sketch.pieces[place])
                sketch.take(place)
            return exact or own
    return values


def of_owner_before(sketch: Sketch, at: int, values: tuple[Target, ...]) -> tuple[Target, ...]:
    """ "Customers in Paris": of the cities that are called so the customers' one."""
    ahead = at - 1
    while ahead > 0 and (sketch.pieces[ahead].is_skip or sketch.pieces[ahead].has("prep", "not")):
        ahead -= 1
    if not any(piece.has("prep") for piece in sketch.pieces[ahead + 1 : at]):
        return ()
    owners = {t.table for t in sketch.pieces[ahead].of("entity")} if ahead >= 0 else set()
    is_from = sketch.pieces[at - 1].word("prep") == "from"
    return tuple(v for v in values if v.table in owners and not (is_from and is_sent_to(v.column)))


def is_sent_to(column: str) -> bool:
    return bool(set(words_of(column)) & set(vocabulary().words("qualifiers", "sent_to")))


def names_only_value(sketch: Sketch, place: int, at: int) -> bool:
    """The name in "genre Rock" is not asked for; the one in "customers in Brazil" is."""
    piece = sketch.pieces[place]
    if piece.of("dimension"):
        return place < at or place == at + 1
    return (place == at - 1 or place == at + 1) and not is_counted(sketch, place)


def is_counted(sketch: Sketch, place: int) -> bool:
    """The only entity of the question is its subject, even beside a value."""
    grouped = {t for ask in sketch.groups for t in ask.targets}
    others = [
        p for i, p in enumerate(sketch.pieces) if i != place and p.of("entity") and not grouped & set(p.of("entity"))
    ]
    return not others and not sketch.metrics and not is_behind_measure(sketch, place)


def take_definitions(sketch: Sketch) -> None:
    for at, piece in enumerate(sketch.pieces):
        if sketch.free(at) and piece.of("definition"):
            ahead = at - 1
            while ahead > 0 and sketch.pieces[ahead].text.lower() in ARTICLES:
                ahead -= 1  # "without the discontinued ones"
            is_negated = sketch.free(ahead) and sketch.pieces[ahead].has("not", "no") and not sketch.pieces[ahead].names
            owners = owners_behind(sketch, at)
            found = tuple(t for t in piece.of("definition") if t.table in owners or not owners)
            if is_part_of_time(sketch, at):
                sketch.vague.append((piece.text, "temporal"))
                found = ()
            elif not found:  # "active customers", where only products are active
                sketch.vague.append((piece.text, "state"))
            sketch.definitions.extend(map(negated, found) if is_negated else found)
            sketch.take(at, *((ahead,) if is_negated else ()))


def is_part_of_time(sketch: Sketch, at: int) -> bool:
    """ "In late March": which part of it, not what came late."""
    behind = sketch.pieces[at + 1].period if at + 1 < len(sketch.pieces) else None
    words = sketch.pieces[at].text.lower().split()
    is_bare = behind is not None and not phrases().of((behind.text.lower().split()[0],))
    return is_bare and words[-1] in ("late", "early")


def owners_behind(sketch: Sketch, at: int) -> set[str]:
    """Of what a defined word is said. "Current salary": of the salary, not of who gets it."""
    near = sketch.pieces[at + 1] if at + 1 < len(sketch.pieces) else None
    if near and sketch.pieces[at].word("vague") == "temporal" and (own := near.of("entity", "measure")):
        return {t.table for t in own}
    behind = sketch.pieces[sketch.after(at)] if sketch.after(at) < len(sketch.pieces) else None
    return {t.table for t in behind.of("entity")} if behind else set()


def negated(target: Target) -> Target:
    return replace(
        target, name=f"not {target.name}", expression=f"NOT ({target.expression})", meaning=f"not: {target.meaning}"
    )
