"""Linking: a verb that nothing here is called by, and that only says that two things belong together: "students who
study Physics", "how many orders did Ann oversee". The joins say how; the verb adds nothing.

`strange` is called by reading.py with each frame, and names the verbs that may not be passed over: what stands alone is
a condition ("machines that run"), what a column, a value or a role is called by means that, and where two things are
joined by a role that nobody said ("adviser"), another verb is about something else. The verbs are [linking] in
words_en.toml. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.sql.context import Context, role_roots
from recollect.sql.frame import Frame
from recollect.sql.lexer import IRREGULAR, root_of, stem_key
from recollect.sql.naming import words_of
from recollect.sql.phrases import phrases
from recollect.sql.sketch import Sketch
from recollect.sql.spans import LINKING, Piece

ASKING = ("do", "does", "did", "do we", "did we", "has", "have", "had")
BEING = ("is", "are", "was", "were", "been", "being", "be")
DOING = (*ASKING, "we", "they", "i", "you", "who", "that", "which", "to", "can", "also", "not", "them", "those")
FEW = 6  # pieces between "does" and its verb


def strange(context: Context, sketch: Sketch, frame: Frame | None) -> Iterator[str]:
    """The verbs that say more than the joins do, or that cannot be told from it."""
    for at, piece in enumerate(sketch.pieces):
        if piece.word("skip") == LINKING and not (links(sketch, at) and is_idle(context, frame, root_of(piece.text))):
            yield piece.text


def is_idle(context: Context, frame: Frame | None, root: str) -> bool:
    return frame is None or not (is_called_so(context, frame, root) or any(unsaid_roles(context, frame)))


def links(sketch: Sketch, at: int) -> bool:
    """Whether it stands as a verb between two things: what comes behind it, or "does X" in front of it. Of a figure it
    says nothing at all: "how many hours were logged"."""
    if is_measured(sketch, at):
        return True
    return is_verb_here(sketch, at) and (has_object(sketch, at) or is_asked_of(sketch, at))


def is_measured(sketch: Sketch, at: int) -> bool:
    """ "How many hours were logged in 2024", "total distance driven": how it came about."""
    ahead = at - 1
    while ahead > 0 and sketch.pieces[ahead].text.lower() in (*BEING, "we"):
        ahead -= 1
    piece, form = sketch.pieces[max(ahead, 0)], sketch.pieces[at].text.lower()
    is_past = form.endswith("ed") or form in IRREGULAR
    return is_past and bool(piece.of("measure")) and all(t.aggregate == "sum" for t in piece.of("measure"))


def has_object(sketch: Sketch, at: int) -> bool:
    behind = next_said(sketch, at)
    return behind is not None and bool(
        behind.values or behind.names or behind.has("super", "superlative", "howmany", "agg", "concept")
    )


def next_said(sketch: Sketch, at: int) -> Piece | None:
    """Not behind "in" or "at": where somebody studies is not where he is from."""
    said = (p for p in sketch.pieces[at + 1 :] if not p.is_skip and p.text.lower() != "by")
    return next(said, None)


def is_asked_of(sketch: Sketch, at: int) -> bool:
    """ "How many orders did Ann oversee": she did, and the orders are what she did it to."""
    ahead = range(at - 1, max(-1, at - FEW), -1)
    asks = next((i for i in ahead if sketch.pieces[i].text.lower() in ASKING), None)
    if asks is None:
        return False
    who, whom = sketch.pieces[asks + 1 : at], sketch.pieces[:asks]
    return any(p.values or p.of("entity") for p in who) and any(p.of("entity", "measure") or p.unit for p in whom)


def is_verb_here(sketch: Sketch, at: int) -> bool:
    """Behind who does it, and not in front of a noun that it describes ("operating costs")."""
    ahead, form = sketch.pieces[at - 1] if at else None, sketch.pieces[at].text.lower()
    low, verb = ahead.text.lower() if ahead else "", phrases().linking[form]
    if ahead is not None and ahead.has("howmany") and form == verb and not ahead.names:
        return (behind := next_said(sketch, at)) is not None and bool(behind.values) and not behind.names
    if ahead is None or ahead.has("howmany", "agg", "group", "list", "super", "top"):
        return False
    if form == verb:
        return low.split()[-1] in DOING or bool(ahead.values) or is_several(ahead)
    if form.endswith("s"):
        return low in ("who", "that", "which") or bool(ahead.values) or is_one_of_which(sketch, at - 1)
    if form.endswith("ing"):
        return bool(ahead.names or ahead.values) or low in BEING
    return bool(ahead.names or ahead.values) or low.split()[-1] in (*DOING, *BEING)


def is_several(piece: Piece) -> bool:
    last = piece.text.split()[-1].lower()
    return bool(piece.of("entity", "dimension")) and stem_key(last) != (last,)


def is_one_of_which(sketch: Sketch, at: int) -> bool:
    """ "Which country generates", and not "how many customer uses"."""
    leads = sketch.pieces[at - 1] if at else None
    return bool(sketch.pieces[at].names) and leads is not None and leads.has("which", "group")


def is_called_so(context: Context, frame: Frame, root: str) -> bool:
    """A name of the model that is not used, or a value of these tables: then that was meant."""
    return root not in context.used and root in {*named(context), *valued(context, frame)}


def named(context: Context) -> Iterator[str]:
    model = context.model
    for group in (model.entities, model.dimensions, model.measures, model.moments, model.definitions, model.joins):
        for each in group:
            yield from (root_of(word) for name in each.names for word in name.split())


def valued(context: Context, frame: Frame) -> Iterator[str]:
    for table in filter(None, map(context.catalog.table, sorted(frame.tables))):
        for column in table.columns:
            yield from (root_of(word) for value in column.values for word in words_of(value))


def unsaid_roles(context: Context, frame: Frame) -> Iterator[str]:
    for ref in frame.refs():
        for way in context.graph.ways(frame.subject, ref.table, ref.via)[:1]:
            roles = [step for step in way if step.join.names]
            if roles and not role_roots(roles) & context.words:
                yield roles[0].join.names[0]


def is_linked(sketch: Sketch, table: str, column: str) -> bool:
    """Whether a verb stands right before the value of that column: "students who took Databases"."""
    for at, piece in enumerate(sketch.pieces):
        if piece.text.lower() in phrases().linking and not piece.names and not piece.values:
            behind = next_said(sketch, at)
            if behind and any((t.table, t.column) == (table, column) for t in behind.values):
                return True
    return False
