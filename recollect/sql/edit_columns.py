"""Edits of which columns a list shows: "list their titles" after a count, "add the email" after a list. What was asked
for before still holds: the same rows, and more of each. Called by edit.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from recollect.sql.context import Context
from recollect.sql.frame import Frame
from recollect.sql.known import Target
from recollect.sql.lexer import root_of
from recollect.sql.listings import column_refs, shown
from recollect.sql.sketch import Ask, Sketch
from recollect.sql.spans import Piece

if TYPE_CHECKING:
    from recollect.sql.fragments import Fragment

THEIR = ("their", "its", "his", "her")
BEING = ("do", "does", "did", "is", "are", "was", "were")
NAMED = ("dimension", "measure", "moment", "entity", "join")


def is_theirs(pieces: Sequence[Piece]) -> bool:
    """ "List their titles", "and their emails?": of the rows of which was spoken, and of nothing else."""
    lead = [piece for piece in pieces if not (piece.has("list", "which", "opener", "or") and not piece.names)]
    if not lead or not (lead[0].text.lower() in THEIR or lead[0].has("their")):
        return False
    said = [piece for piece in lead[1:] if not piece.is_skip]
    return bool(said) and all(piece.of(*NAMED) for piece in said)


def with_columns(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    sketch = fragment.sketch
    asks = named(sketch) if fragment.marks & {"also", "their"} else []
    if not asks or sketch.metrics or sketch.groups or sketch.values:
        return frame
    if "their" in fragment.marks and is_count(frame):
        rows = tuple(shown(context, Target("entity", frame.subject), []))
        frame = replace(frame, metrics=(), columns=rows, order=(), limit=None)
    if frame.metrics or frame.groups:
        return frame
    sketch.columns, sketch.subject = asks, ()
    refs = [ref for ask in asks for ref in column_refs(context, frame.subject, ask)]
    return replace(frame, columns=tuple(dict.fromkeys((*frame.columns, *refs))))


def with_doers(context: Context, fragment: Fragment, frame: Frame) -> Frame:
    """ "Who supplies them?" after a list: beside each the one who is called after what he does."""
    said = [p for p in fragment.pieces if p.text.lower() not in BEING and not p.has("back") and not is_they(p)]
    is_asked = len(said) == 2 and said[0].text.lower() == "who" and "those" in fragment.marks
    if not is_asked or frame.metrics or frame.groups or said[1].names or said[1].values:
        return frame
    doers = [e.table for e in context.model.entities if any(map(partial(does, said[1].text.lower()), e.names))]
    near = [table for table in doers if context.cost(frame.subject, table) == (0, 1)]
    if len(near) != 1:
        return frame
    ask = Ask(targets=(Target("entity", near[0], name=context.called(near[0])),), text=context.called(near[0]))
    fragment.sketch.unknown, fragment.sketch.loose = [], []
    refs = column_refs(context, frame.subject, ask)
    return replace(frame, columns=tuple(dict.fromkeys((*frame.columns, *refs))))


def is_they(piece: Piece) -> bool:
    return piece.word("vague") == "entity"


def does(verb: str, noun: str) -> bool:
    """Who supplies is a supplier, who teaches a teacher."""
    ending = next((end for end in ("ier", "er", "or") if noun.endswith(end)), "")
    return bool(ending) and root_of(verb).rstrip("iey") == noun.removesuffix(ending).rstrip("iey")


def named(sketch: Sketch) -> list[Ask]:
    subject = [Ask(targets=sketch.subject, text=sketch.subject[0].name)] if sketch.subject else []
    return [*subject, *(ask for ask in sketch.columns if ask.targets)]


def is_count(frame: Frame) -> bool:
    return bool(frame.metrics) and frame.metrics[0].aggregate == "count" and not frame.groups
