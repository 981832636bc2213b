"""Groups: "by country and genre", "per month", "for each artist". A pass of roles.py; "by AC/DC" is none."""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.known import Target
from recollect.sql.lexer import key_of, stem_key
from recollect.sql.phrases import phrases
from recollect.sql.roles_values import is_of_what_is_named
from recollect.sql.sketch import GroupAsk, Sketch
from recollect.sql.spans import Piece

DONE = ("ed", "made", "done", "given", "taken", "held", "kept", "sold", "bought", "spent", "won", "lost")
EACH = ("each", "every")
GROUPABLE = ("dimension", "entity", "join", "moment")


def take_groups(sketch: Sketch) -> None:
    """ "By country and genre", "per month", "for each artist"; "by AC/DC" is none."""
    for at, piece in enumerate(sketch.pieces):
        if not sketch.free(at):
            continue
        if is_pace(sketch, at) or is_within(sketch, at):
            continue
        if piece.has("grain") and not piece.names and (piece.size > 1 or is_adverb(piece)):
            sketch.groups.append(GroupAsk(grain=piece.word("grain") or "", text=piece.text))
            sketch.take(at)
            more_groups(sketch, at)
        elif piece.has("group"):
            take_group(sketch, at)


def is_within(sketch: Sketch, at: int) -> bool:
    """ "Closed within a day": how long it took, and no row for each day."""
    ahead = sketch.pieces[at - 1].text.lower() if at else ""
    return sketch.pieces[at].text.lower().startswith("a ") and ahead in (
        "within",
        "in",
        "under",
        "after",
        "for",
        "over",
    )


def is_pace(sketch: Sketch, at: int) -> bool:
    """ "Yearly plans", where a plan is said to be yearly or monthly: which of them, and no row for each year."""
    piece, behind = sketch.pieces[at], sketch.pieces[at + 1] if at + 1 < len(sketch.pieces) else None
    return behind is not None and bool({v.table for v in piece.values} & {t.table for t in behind.of("entity")})


def is_adverb(piece: Piece) -> bool:
    return piece.text.lower().endswith(("ly", "al"))


def take_group(sketch: Sketch, at: int) -> None:
    place = sketch.after(at)
    if is_agent(sketch, at, place):
        sketch.take(at)
        return
    taken, is_each = group_at(sketch, place), sketch.pieces[at].text.lower().endswith(EACH)
    if is_each and place >= len(sketch.pieces) and sketch.metrics and take_named_before(sketch, at):
        return
    if taken is None and is_each:
        taken = group_at(sketch, behind_values(sketch, place))
    if taken is None:
        if is_each:
            sketch.unknown.append(sketch.pieces[at].text)
            sketch.take(at)
        elif sketch.free(place) and (sketch.pieces[place].values or is_qualifier(sketch, place)):
            sketch.take(at)
        return
    sketch.take(at)
    more_groups(sketch, taken)


def take_named_before(sketch: Sketch, at: int) -> bool:
    """ "What job titles are there and how many people in each": in each of what was named first."""
    first = next((i for i in range(at) if sketch.free(i) and sketch.pieces[i].of("dimension", "entity")), None)
    if first is None or sketch.pieces[first].of("measure") or sketch.groups or len(sketch.metrics) != 1:
        return False
    targets = sketch.pieces[first].of("dimension", "entity", "join")
    owner = first + 1
    if sketch.free(owner) and sketch.pieces[owner].of("dimension"):  # "order statuses"
        own = {t.table for t in targets}
        targets = tuple(t for t in sketch.pieces[owner].of("dimension") if t.table in own)
        sketch.take(owner)
    if not targets:
        return False
    sketch.groups.append(GroupAsk(targets, text=sketch.pieces[first].text))
    sketch.take(at, first)
    return True


def behind_values(sketch: Sketch, place: int) -> int:
    """ "Each German customer": what stands in between says which of them."""
    while sketch.free(place) and not sketch.pieces[place].of(*GROUPABLE) and is_said_of(sketch.pieces[place]):
        place += 1
    return place


def is_said_of(piece: Piece) -> bool:
    return bool(piece.values or piece.of("definition"))


def is_agent(sketch: Sketch, at: int, place: int) -> bool:
    """ "Were bought by customers from Brazil": who did it, not a row for each."""
    done, doer = sketch.pieces[at - 1] if at else None, sketch.pieces[place] if sketch.free(place) else None
    if done is None or doer is None or sketch.pieces[at].text.lower() != "by":
        return False
    if done.names and not is_participle(done):
        return is_made_by(sketch, done, doer, place)
    is_deed = done.has("verb") or (done.has("skip") and done.text.lower().endswith(DONE))
    is_several = stem_key(doer.text) != key_of(doer.text)
    people = phrases().events["person"]
    is_person = any(stem_key(name) in people for t in doer.of("entity") for name in (t.name, doer.text))
    return is_deed and is_several and bool(doer.of("entity")) and (is_person or is_narrowed(sketch, place))


def is_participle(piece: Piece) -> bool:
    """ "Placed", although that is also what a date is called."""
    return all(t.kind == "moment" for t in piece.names) and piece.text.lower().endswith(DONE)


def is_made_by(sketch: Sketch, done: Piece, doer: Piece, place: int) -> bool:
    """ "Reviews by customers from Oslo": whose they are; "reviews by customer" are a row for each."""
    is_count = all(ask.is_count for ask in sketch.metrics)
    is_thing = bool(done.of("entity")) and not done.of("measure") and is_count
    is_several = stem_key(doer.text) != key_of(doer.text)
    people = phrases().events["person"]
    is_person = any(stem_key(t.name) in people for t in doer.of("entity"))
    return is_thing and is_several and is_person and is_narrowed(sketch, place)


def is_narrowed(sketch: Sketch, place: int) -> bool:
    behind = place + 1
    return sketch.free(behind) and sketch.pieces[behind].has("prep", "has", "no")


def group_at(sketch: Sketch, place: int) -> int | None:
    """Takes the group that stands here and says where it ends."""
    if not sketch.free(place):
        return None
    piece = sketch.pieces[place]
    if piece.has("grain") and all(target.is_partial for target in piece.names):  # not the year in which it opened
        sketch.groups.append(GroupAsk(grain=piece.word("grain") or "", text=piece.text))
        sketch.take(place)
        return place
    targets = piece.of(*GROUPABLE)
    if not targets or (piece.values and not targets):
        return None
    if is_qualifier(sketch, place) or (piece.values and is_of_what_is_named(sketch, place)):
        return None
    return named_group(sketch, place, targets)


def named_group(sketch: Sketch, place: int, targets: tuple[Target, ...]) -> int:
    """ "Customer country", "artist name": the entity in front says whose."""
    piece, behind = sketch.pieces[place], place + 1
    if piece.of("entity", "join") and sketch.free(behind) and sketch.pieces[behind].of("dimension"):
        ways = {e.table: e.via for e in targets}
        parts = sketch.pieces[behind].of("dimension")
        own = tuple(replace(t, via=t.via or ways[t.table]) for t in parts if t.table in ways)
        if own:
            sketch.mentions.append(piece)
            sketch.groups.append(GroupAsk(own, text=f"{piece.text} {sketch.pieces[behind].text}"))
            sketch.take(place, behind)
            return behind
    if piece.of("join") and not piece.of("entity") and sketch.free(behind) and sketch.pieces[behind].of("entity"):
        far = tuple(replace(t, via=j.via) for t in sketch.pieces[behind].of("entity") for j in piece.of("join"))
        sketch.groups.append(GroupAsk(far, text=f"{piece.text} {sketch.pieces[behind].text}"))  # "origin region"
        sketch.take(place, behind)
        return behind
    if piece.of("entity") and sketch.free(behind) and sketch.pieces[behind].of("entity", "join") and not piece.values:
        sketch.mentions.append(piece)  # "film category": the category of a film
        sketch.take(place)
        return named_group(sketch, behind, sketch.pieces[behind].of(*GROUPABLE))
    if piece.of("entity") and sketch.free(behind) and is_plain_dimension(sketch.pieces[behind]) and not piece.values:
        sketch.mentions.append(piece)  # "treatment category", where the kinds of treatment have it
        sketch.take(place)
        return named_group(sketch, behind, sketch.pieces[behind].of("dimension"))
    owner = sketch.after(place)
    is_of = owner > place + 1 and sketch.free(owner) and sketch.pieces[place + 1].text.lower() == "of"
    own = tuple(t for t in targets if is_of and t.table in {e.table for e in sketch.pieces[owner].of("entity")})
    sketch.groups.append(GroupAsk(own or targets, text=piece.text))
    sketch.take(place, *((owner,) if own else ()))
    return place


def is_plain_dimension(piece: Piece) -> bool:
    return bool(piece.of("dimension")) and not piece.of("entity", "measure", "moment") and not piece.values


def is_qualifier(sketch: Sketch, place: int) -> bool:
    """ "By artist AC/DC": the next piece is one of its values."""
    behind = place + 1
    if not sketch.free(behind) or not sketch.pieces[behind].values or sketch.pieces[behind].names:
        return False
    owners = {target.table for target in sketch.pieces[place].names}
    return any(value.table in owners for value in sketch.pieces[behind].values)


def more_groups(sketch: Sketch, at: int) -> None:
    joint = at + 1
    while sketch.free(joint) and sketch.pieces[joint].word("or") == "and":
        place = sketch.after(joint)
        if sketch.free(place) and sketch.pieces[place].has("group"):
            place = sketch.after(place)
        taken = group_at(sketch, place)
        if taken is None:
            return
        sketch.take(joint, *range(joint, taken))
        joint = taken + 1
