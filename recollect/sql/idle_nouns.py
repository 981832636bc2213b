"""Idle nouns: a noun beside a measure that only says once more what it is: "salary cost", "fare paid", "satisfaction
score"; and "value", which is that of the order that is spoken of.

`described` is called by reading.py with the pieces of each question, before anything is decided. It changes a piece
only where nothing here is called by the noun, so no other figure can be meant. The nouns: [idle] in words.toml. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.known import Target
from recollect.sql.lexer import stem_key
from recollect.sql.lexicon import Lexicon
from recollect.sql.naming import words_of
from recollect.sql.phrases import Word
from recollect.sql.spans import Piece
from recollect.sql.vocabulary import vocabulary


def described(pieces: list[Piece], lexicon: Lexicon) -> list[Piece]:
    found = [entitled(pieces, at, valued(pieces, at, lexicon), lexicon) for at in range(len(pieces))]
    for at, piece in enumerate(found):
        ahead = said_before(found, at)
        if ahead is None or not is_strange(piece):
            continue
        if is_idle(found[ahead], piece, lexicon) or is_rated(found[ahead], piece):
            found[at] = replace(piece, words=(Word("skip", ""),), is_typo=False)
            if piece.text.lower() in vocabulary().words("idle", "added"):
                found[ahead] = replace(found[ahead], names=tuple(map(added_up, found[ahead].names)))
    return found


def is_strange(piece: Piece) -> bool:
    """Nothing here is called so."""
    return not (piece.names or piece.values or piece.period or piece.is_quoted) and piece.number is None


def said_before(pieces: list[Piece], at: int) -> int | None:
    """The place right in front; "freight ever paid" leaves one small word out."""
    ahead = at - 1
    while ahead >= 0 and pieces[ahead].text.lower() in ("ever", "that was", "being"):
        ahead -= 1
    return ahead if ahead >= 0 else None


def is_idle(measure: Piece, noun: Piece, lexicon: Lexicon) -> bool:
    """Money that was paid is idle only where no payments are kept: there it would be another figure."""
    low = noun.text.lower()
    kinds = {target.kind for target in measure.names}
    if "measure" not in kinds or kinds - {"measure", "dimension"} or any(t.is_partial for t in measure.names):
        return False
    if low in vocabulary().words("idle", "money"):
        is_paid = low in vocabulary().words("idle", "paid")
        return is_kind_of_money(measure) and not (is_paid and lexicon.name(("payment",)))
    listed = (*vocabulary().words("idle", "scores"), *vocabulary().words("idle", "amounts"))
    return low in listed and not is_kind_of_money(measure)


def is_rated(value: Piece, noun: Piece) -> bool:
    """ "PG-13 rated films": the rating is."""
    return noun.text.lower() == "rated" and any("rating" in words_of(target.column) for target in value.values)


def entitled(pieces: list[Piece], at: int, piece: Piece, lexicon: Lexicon) -> Piece:
    """ "Dr. Zimmer": the title is no part of the name, and tells the doctor from a patient who is called so."""
    if is_title(piece) and is_strange(piece) and at + 1 < len(pieces) and pieces[at + 1].values:
        return replace(piece, words=(Word("skip", ""),), is_typo=False)
    title = pieces[at - 1].text.lower() if at and is_title(pieces[at - 1]) else ""
    nouns = vocabulary().table("idle", "titles").get(title, ())
    tables = {t.table for noun in nouns for t in lexicon.name((noun,)) if t.kind == "entity"}
    own = tuple(target for target in piece.values if target.table in tables)
    return replace(piece, values=own) if own else piece


def is_title(piece: Piece) -> bool:
    return piece.text.lower() in vocabulary().words("labels", "person_titles")


def is_kind_of_money(measure: Piece) -> bool:
    """ "Salary", "freight": money of one kind. A discount is a part of something."""
    kinds = {*vocabulary().table("money", "kinds"), *vocabulary().words("grounds", "rates"), "freight", "toll"}
    kinds -= {"discount", "rate", "limit", "profit", *vocabulary().words("grounds", "fractions")}
    return stem_key(measure.text)[-1] in kinds


def added_up(target: Target) -> Target:
    """What salaries cost is all of them."""
    return replace(target, aggregate="sum")


def valued(pieces: list[Piece], at: int, lexicon: Lexicon) -> Piece:
    """ "Biggest order by value", "the value of order 17": the order value, where one measure is called so."""
    piece = pieces[at]
    spoken = {target for each in pieces for target in each.of("entity")}
    is_elsewhere = all(t.is_partial and t.table not in {of.table for of in spoken} for t in piece.names)
    is_free = is_elsewhere and is_strange(replace(piece, names=()))  # "value", where stock has a stock value
    if not is_free or piece.text.lower() not in vocabulary().words("idle", "values"):
        return piece
    owners = {target.name for target in spoken}
    found = {t for name in owners for t in lexicon.name(stem_key(f"{name} value")) if t.kind == "measure"}
    return replace(piece, words=(), names=tuple(found), is_typo=False) if len(found) == 1 else piece
