"""Names that no other pass has taken: the subject of a list, the columns asked for, a measure without "total", or a
mention that only says what is talked about. The last pass but one of roles.py.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.asks import PART_KINDS, ask_at, is_compound
from recollect.sql.known import Target
from recollect.sql.lexer import stem_key
from recollect.sql.phrases import Word
from recollect.sql.sketch import Ask, GroupAsk, Sketch
from recollect.sql.spans import Piece


def take_names(sketch: Sketch) -> None:
    take_subject(sketch)
    for at, piece in enumerate(sketch.pieces):
        if not sketch.free(at) or not (piece.names or (piece.has("concept") and not piece.unit)):
            continue
        if piece.of("entity", "join") and not piece.of("measure"):
            mention(sketch, at)
        elif piece.of(*PART_KINDS) or (piece.has("concept") and not piece.has("verb")):
            part(sketch, at)


def take_subject(sketch: Sketch) -> None:
    """The first entity, if nothing is counted; of a ranking, what is ranked."""
    if sketch.metrics and not sketch.rank and not is_listed_first(sketch):
        return
    at = asked_dimension(sketch)
    if at is None:
        at = next((i for i, p in enumerate(sketch.pieces) if sketch.free(i) and is_subject(sketch, i, p)), None)
    if at is None:
        at = lone_dimension(sketch)
    if at is not None and is_compound(sketch, at):
        sketch.mentions.append(sketch.pieces[at])
        sketch.take(at)
        at += 1
    if at is not None:
        piece = sketch.pieces[at]
        sketch.subject = piece.of("entity", "join") or piece.of("dimension")
        last = piece.text.split()[-1].lower()
        sketch.is_several = stem_key(last) != (last,)
        count = sketch.pieces[at - 1].number if sketch.is_list and sketch.free(at - 1) else None
        if count and not sketch.rank:  # "list 5 tracks"
            sketch.limit = int(count)
            sketch.take(at - 1)
        sketch.take(at)


def is_listed_first(sketch: Sketch) -> bool:
    """ "List the albums with the number of tracks": a figure for each album."""
    head = next((at for at, piece in enumerate(sketch.pieces) if piece.has("howmany", "agg") and not piece.names), 0)
    first = next((at for at, piece in enumerate(sketch.pieces) if piece.of("entity")), head)
    return sketch.is_list and first < head and sketch.free(first)


def asked_dimension(sketch: Sketch) -> int | None:
    """ "Which countries ...", "in what city ...", "cities with ...": asked for themselves."""
    first = next(
        (at for at, piece in enumerate(sketch.pieces) if not piece.is_skip and not piece.has("list", "all")), 0
    )
    behind = sketch.after(first)
    if behind < len(sketch.pieces) and sketch.pieces[behind].word("prep") == "with" and is_dimension(sketch, first):
        return first
    for at, piece in enumerate(sketch.pieces):
        if piece.has("which") and piece.size == 1:
            place = sketch.after(at)
            return place if is_dimension(sketch, place) else None
    return None


def is_dimension(sketch: Sketch, at: int) -> bool:
    piece = sketch.pieces[at] if sketch.free(at) else None
    return bool(piece and piece.of("dimension") and not piece.of("entity", "measure"))


def is_behind_measure(sketch: Sketch, at: int) -> bool:
    """ "Sales of Rock tracks": the sum is asked for, not the tracks."""
    ahead = [piece for piece in sketch.pieces[:at] if not piece.values]
    named = any(t.aggregate == "sum" for piece in ahead for t in piece.of("measure"))
    return named or any(piece.word("concept") in ("money", "units") and not piece.has("verb") for piece in ahead)


def is_subject(sketch: Sketch, at: int, piece: Piece) -> bool:
    if not piece.of("entity", "join") or (
        is_behind_measure(sketch, at) and not sketch.rank and not piece.has("concept")
    ):
        return False
    behind = at + 1
    is_owner = sketch.free(behind) and any(
        t.table == e.table for t in sketch.pieces[behind].of(*PART_KINDS) for e in piece.of("entity")
    )
    return not (is_owner and sketch.pieces[behind].of("measure") and not sketch.is_list)


def lone_dimension(sketch: Sketch) -> int | None:
    """ "Which countries ...", "list all cities"; with a measure beside it, it is no subject unless it is ranked."""
    for at, piece in enumerate(sketch.pieces):
        if sketch.free(at) and piece.of("dimension") and not piece.of("measure"):
            ahead = sketch.before(at)
            asked = ahead >= 0 and sketch.pieces[ahead].has("which", "list", "all", "distinct")
            if asked or sketch.rank or at == 0 or sketch.compares:
                return at
    return None


def mention(sketch: Sketch, at: int) -> None:
    piece = sketch.pieces[at]
    behind = at + 1
    if sketch.free(behind) and own_parts(sketch.pieces[behind], piece):
        part(sketch, behind, piece)
        sketch.take(at)
        return
    if is_done_by(sketch, at):
        return
    if is_shown(sketch, at):
        sketch.columns.append(Ask(targets=piece.of("entity", "join"), text=piece.text))
    elif at and sketch.pieces[at - 1].word("or") == "and" and sketch.free(at - 1):
        sketch.unknown.append(f"and {piece.text}")  # a second subject
    else:
        sketch.mentions.append(piece)
    sketch.take(at)


def is_done_by(sketch: Sketch, at: int) -> bool:
    """ "Refunds approved by user", "treatments performed by vet": a row for each who did it. Of several it is asked."""
    piece, behind = sketch.pieces[at], sketch.pieces[at + 1] if sketch.free(at + 1) else None
    if not piece.of("join") or piece.of("entity") or " by" not in f" {piece.text.lower()}" or sketch.groups:
        return False
    named = behind if behind and behind.of("entity") else piece
    places = (at, at + 1) if named is behind else (at,)
    word = named.text.split()[-1].lower()
    if word != "by" and stem_key(word) != (word,):
        sketch.unknown.append(named.text)
    else:
        sketch.groups.append(GroupAsk(piece.of("join"), text=named.text))
    sketch.take(*places)
    return True


def is_shown(sketch: Sketch, at: int) -> bool:
    """ "With their artist": to be seen beside the subject."""
    ahead = sketch.before(at)
    joint = sketch.pieces[at - 1] if at else None
    is_chained = bool(joint and joint.word("or") == "and" and sketch.columns)
    return bool((joint and joint.has("their")) or (ahead >= 0 and sketch.pieces[ahead].has("their"))) or is_chained


def own_parts(piece: Piece, owner: Piece) -> tuple[Target, ...]:
    return tuple(t for t in piece.of(*PART_KINDS) if t.table in {e.table for e in owner.of("entity", "join")})


def part(sketch: Sketch, at: int, owner: Piece | None = None) -> None:
    """A measure is a metric unless the rows themselves are listed; a dimension is a column."""
    piece = sketch.pieces[at]
    targets = own_parts(piece, owner) if owner else ()
    found = ask_at(sketch, at)
    if not targets and found:
        targets, taken = found[0].targets, found[1]
        sketch.take(*taken)
    concept = found[0].concept if found else ""
    sketch.take(at)
    if owner:
        sketch.mentions.append(owner)
    ask = Ask(None, targets, concept, False, piece.text)
    if is_metric(sketch, targets, concept):
        add_metric(sketch, ask, at)
    else:
        sketch.columns.append(ask)


def add_metric(sketch: Sketch, ask: Ask, at: int) -> None:
    """A second figure only behind "and"; otherwise it says more about the first: "average sale amount", "average length
    in minutes"."""
    if not sketch.metrics or is_chained(sketch, at):
        sketch.metrics.append(ask)
        return
    last = sketch.metrics[-1]
    known = {(t.table, t.expression) for t in last.targets if t.kind == "measure"}
    same = tuple(t for t in ask.targets if (t.table, t.expression) in known)
    own = tuple(t for t in ask.targets if t.table in {each.table for each in last.targets if each.kind == "entity"})
    if same or (own and not last.is_count):
        sketch.metrics[-1] = replace(last, targets=same or own, text=f"{last.text} {ask.text}")
    elif last.concept and not last.targets and Word("concept", last.concept) in sketch.pieces[at].words:
        sketch.metrics[-1] = replace(last, targets=ask.targets, concept="" if ask.targets else last.concept)
    elif last.concept == "money" and ask.targets and sketch.pieces[at - 1].word("prep") == "from":
        sketch.metrics[-1] = replace(last, aggregate=last.aggregate or "sum", targets=ask.targets, concept="")
    else:
        sketch.unknown.append(ask.text)


def is_chained(sketch: Sketch, at: int) -> bool:
    ahead = at - 1
    while ahead > 0 and sketch.pieces[ahead].is_skip:
        ahead -= 1
    return ahead >= 0 and sketch.pieces[ahead].has("or", "their")


def is_metric(sketch: Sketch, targets: tuple[Target, ...], concept: str) -> bool:
    measures = [t for t in targets if t.kind == "measure"]
    if not measures and not concept:
        return False
    own = [t for t in measures if t.table in {s.table for s in sketch.subject}]
    if sketch.subject and own and not sketch.groups:
        return False
    return not (sketch.subject and sketch.is_list and not sketch.rank)
