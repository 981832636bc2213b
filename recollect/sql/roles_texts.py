"""Parts of a text: "whose title contains Jazz", "names that start with A". A pass of roles.py: the column in front,
what is looked for behind, and nothing more; whatever else stands there is left to the other passes, and so asked about.
"""

from __future__ import annotations

from recollect.sql.known import Target
from recollect.sql.sketch import Sketch
from recollect.sql.spans import Piece
from recollect.sql.vocabulary import vocabulary

PATTERNS = {"contains": "%{}%", "starts": "{}%", "ends": "%{}"}


def take_texts(sketch: Sketch) -> None:
    for at in range(1, len(sketch.pieces) - 1):
        found = said_at(sketch, at)
        if found is None:
            continue
        how, place = found
        column = sketch.before(at)
        text = sketch.pieces[place].text if place < len(sketch.pieces) else ""
        targets = columns_of(sketch.pieces[column]) if column >= 0 and sketch.free(column) else ()
        if not targets or not is_alone(sketch, place) or not text or set(text) & set("%_\\"):
            continue
        name = " ".join(sketch.pieces[i].text for i in (column, *range(at, place + 1)))
        pattern = PATTERNS[how].format(text.lower().replace("'", "''"))
        sketch.definitions += [
            Target("definition", t.table, expression=f"LOWER({t.column}) LIKE '{pattern}'", name=name, meaning=name)
            for t in targets
        ]
        sketch.take(column, *range(at, place + 1))


def said_at(sketch: Sketch, at: int) -> tuple[str, int] | None:
    """How the text is met, and where what is looked for begins: "contains", "starts with", "contains the word"."""
    texts = [piece.text.lower() for piece in sketch.pieces]
    for how in PATTERNS:
        for phrase in vocabulary().words("texts", how):
            words = phrase.split()
            size = next((n for n in range(1, len(words) + 1) if " ".join(texts[at : at + n]) == phrase), 0)
            if size and sketch.free(at):
                place = at + size
                while place < len(texts) and texts[place] in vocabulary().words("texts", "between"):
                    place += 1
                return how, place
    return None


def columns_of(piece: Piece) -> tuple[Target, ...]:
    return tuple(t for t in piece.of("dimension") if t.column.isidentifier() and not piece.of("entity", "measure"))


def is_alone(sketch: Sketch, at: int) -> bool:
    """One word, at the end, or what is quoted: where it ends must be plain."""
    return sketch.free(at) and (sketch.pieces[at].is_quoted or at == len(sketch.pieces) - 1)
