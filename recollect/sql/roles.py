"""Roles: what each piece of a question is for, by its neighbours. Small passes, each takes what it understands; what
none has taken is unknown. `sketch_of` is called by reading.py for whole questions, by edit.py for fragments.

The order matters: numbers with their comparisons before rankings, rankings before heads, heads before groups, values
before the names that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.sql.lexer import key_of, stem_key
from recollect.sql.phrases import Word, phrases
from recollect.sql.roles_compare import take_comparisons
from recollect.sql.roles_grains import take_ranked_grain
from recollect.sql.roles_groups import take_groups
from recollect.sql.roles_heads import take_heads, take_late_aggregate
from recollect.sql.roles_missing import take_missing
from recollect.sql.roles_names import take_names
from recollect.sql.roles_rank import take_order, take_rank
from recollect.sql.roles_several import take_distribution, take_pair, take_several
from recollect.sql.roles_texts import take_texts
from recollect.sql.roles_values import take_definitions, take_values
from recollect.sql.sketch import Sketch
from recollect.sql.spans import Piece
from recollect.sql.vocabulary import vocabulary

BEFORE_A_KIND = ("are", "is", "was", "were", "and", "by", ",", "only")
SILENT = ("skip", "aux", "prep", "list", "which", "or", "all", "verb", "opener", "their", "has", "thing")


def sketch_of(pieces: list[Piece]) -> Sketch:
    pieces = [replace(p, names=()) if is_done_by(pieces, at) else p for at, p in enumerate(pieces)]
    pieces = [units_sold(kind_or_word(pieces, at), pieces) for at in range(len(pieces))]
    sketch = Sketch([of_its_noun(piece, (*pieces[at + 1 :], *pieces[:at][::-1])) for at, piece in enumerate(pieces)])
    for take in (take_periods, take_marks, take_unit, take_texts, take_order, take_several, take_missing,
                 take_comparisons, take_rank, take_ranked_grain, take_distribution, take_pair, take_heads,
                 take_groups, take_values, take_definitions, take_names, take_late_aggregate, take_rest):  # fmt: skip
        take(sketch)
    return sketch


def kind_or_word(pieces: Sequence[Piece], at: int) -> Piece:
    """ "Used cars" are of that kind, "methods that are used most" are not: a kind stands before its noun, or last."""
    piece, noun = pieces[at], pieces[at + 1] if at + 1 < len(pieces) else None
    if not piece.values or piece.text.lower() not in vocabulary().words("kinds_too"):
        return piece
    tables = {value.table for value in piece.values}
    is_said = noun is None and at > 0 and pieces[at - 1].text.lower() in BEFORE_A_KIND
    is_ones = noun is not None and noun.text.lower() in ("ones", "one")
    is_kind = is_said or is_ones or bool(noun and {t.table for t in noun.of("entity")} & tables)
    if is_kind:
        return replace(piece, words=())
    return replace(piece, values=(), words=piece.words or phrases().of(key_of(piece.text)))


def is_done_by(pieces: Sequence[Piece], at: int) -> bool:
    """ "How much did Ann pay", although a salary is called so too: the verb of a question."""
    piece, ahead = pieces[at], pieces[:at]
    asked = any(each.text.lower().split()[-1] in ("did", "do", "does", "have", "has") for each in ahead)
    beside = ahead[-1] if ahead else None
    is_doer = beside is not None and bool(beside.values or beside.of("entity", "join"))
    is_deed = piece.word("verb") in ("money", "commerce") and bool(piece.of("measure")) and not piece.of("entity")
    return asked and is_doer and is_deed


def units_sold(piece: Piece, pieces: list[Piece]) -> Piece:
    """ "The most copies sold": pieces, and not the copies that another table keeps."""
    is_sold = any(each.word("verb") == "commerce" and not each.of("entity") for each in pieces)
    own = any(stem_key(piece.text) == stem_key(target.name) for target in piece.of("entity"))
    is_units = piece.word("concept") == "units" and bool(piece.of("entity")) and not own
    return replace(piece, names=()) if is_sold and is_units else piece


def of_its_noun(piece: Piece, around: Sequence[Piece]) -> Piece:
    """ "Active policies", where policies have such a status, and products a flag: said of the noun behind it, or else
    of the one in front."""
    states = piece.of("definition")
    noun = next((each for each in around if each.of("entity")), None)
    if noun is None or not states or not piece.values:
        return piece
    tables = {target.table for target in noun.of("entity")}
    own = tuple(value for value in piece.values if value.table in tables)
    if not own or any(target.table in tables for target in states):
        return piece
    return replace(piece, names=tuple(t for t in piece.names if t.kind != "definition"), values=own)


def take_periods(sketch: Sketch) -> None:
    for at, piece in enumerate(sketch.pieces):
        if piece.period:
            sketch.spans.append(piece.period)
            sketch.take(at)


def take_marks(sketch: Sketch) -> None:
    """Words that say what kind of question it is."""
    for at, piece in enumerate(sketch.pieces):
        if piece.has("share") and not piece.names and not piece.values and not is_direction(sketch, at):
            sketch.refused = sketch.refused or piece.word("share") or piece.text
            sketch.take(at)
        if piece.has("part") and not piece.names and not piece.values:
            sketch.is_share = True
            sketch.pieces[at] = replace(piece, words=(Word("howmany", ""),))
        if piece.has("compared") and not piece.names:
            sketch.is_compared = True
            sketch.take(at)
        if piece.has("trend") and not piece.names:
            sketch.is_trend = True
            sketch.take(at)
        if piece.has("details") and not piece.names and at:
            sketch.wants_all |= bool(sketch.pieces[at - 1].of("entity")) or piece.size > 1
            sketch.take(*((at,) if sketch.wants_all else ()))
        sketch.is_list |= piece.has("list") and not piece.names
        sketch.is_which |= piece.has("which")
        if piece.has("verb") and not is_noun(sketch, at):
            sketch.verbs.append(piece.word("verb") or "")


def take_unit(sketch: Sketch) -> None:
    """ "In hours": in what the figure is to be told."""
    for at, piece in enumerate(sketch.pieces[1:], 1):
        ahead = sketch.pieces[at - 1]
        is_told = ahead.word("prep") == "in" and piece.number is None and sketch.free(at) and sketch.unit is None
        if is_told and piece.unit and piece.unit.kind in ("duration", "length", "mass", "bytes"):
            sketch.unit = piece.unit
            sketch.take(at - 1, at)


def is_direction(sketch: Sketch, at: int) -> bool:
    """ "Going to Oslo", and not "going to rise"."""
    behind = sketch.pieces[at + 1] if at + 1 < len(sketch.pieces) else None
    return sketch.pieces[at].word("prep") == "to" and behind is not None and (bool(behind.values) or behind.is_capital)


def is_noun(sketch: Sketch, at: int) -> bool:
    """ "Orders" is a name behind "how many", "the", "by"; a verb behind a person."""
    piece = sketch.pieces[at]
    return bool(piece.names) and not piece.of("moment")


def is_noun_list(sketch: Sketch, at: int) -> bool:
    """ "On our price list": no request to list something."""
    piece, ahead = sketch.pieces[at], sketch.pieces[at - 1] if at else None
    return piece.text.lower() == "list" and ahead is not None and bool(ahead.names or ahead.has("concept"))


def is_new_then(sketch: Sketch, at: int) -> bool:
    """ "New customers in 2024", "new members per month": the period says which, if only their own date can be meant."""
    dated = bool(sketch.spans) or any(ask.grain for ask in sketch.groups)
    strange = [verb for verb in sketch.verbs if verb not in ("signup", "employment", "enroll", "subscribe")]
    behind = sketch.pieces[at + 1] if at + 1 < len(sketch.pieces) else None
    return (
        sketch.pieces[at].text.lower() == "new"
        and dated
        and not strange
        and bool(behind and behind.of("entity", "moment"))
    )


def is_state_now(sketch: Sketch, at: int) -> bool:
    """ "Rooms currently under maintenance": a state that a row is in says no more than how it is now."""
    if sketch.pieces[at].text.lower() not in ("currently", "presently") or sketch.spans:
        return False
    named = {t.table for piece in sketch.pieces for t in piece.of("entity")}
    told = [*(t for ask in sketch.values for t in ask.targets), *sketch.definitions]
    return any(t.table in named for t in told) and all(t.table in named for t in sketch.definitions)


def take_rest(sketch: Sketch) -> None:
    """What is left is a function word, vague, or unknown."""
    dangling: list[str] = []
    for at, piece in enumerate(sketch.pieces):
        if not sketch.free(at):
            continue
        if not piece.is_known or piece.is_quoted:
            sketch.unknown.append(piece.text)
        elif is_new_then(sketch, at) or is_state_now(sketch, at):
            continue
        elif piece.has("vague") and not piece.has("skip", "list", "opener", "prep"):
            sketch.vague.append((piece.text, piece.word("vague") or ""))
        elif piece.has("verb") and not piece.has("skip") and not piece.names and not piece.values:
            sketch.loose.append((piece.text, piece.word("verb") or ""))
        elif piece.has("howmany") and sketch.metrics and not piece.names:
            continue
        elif piece.names or piece.values or piece.number is not None or piece.unit:
            sketch.unknown.append(piece.text)
        elif piece.text.lower() == "by" and at + 1 < len(sketch.pieces) and sketch.pieces[at + 1].has("compare"):
            continue  # "delayed by more than 40 minutes"
        elif not piece.has(*SILENT) or is_noun_list(sketch, at):
            dangling.append(piece.text)
    told = [] if sketch.vague else dangling  # "how many" alone is the lesser news
    sketch.unknown, sketch.dangling = sketch.unknown or told, told if sketch.unknown else []
