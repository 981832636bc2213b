"""Edits of which columns a list shows: "list their titles" after a count, "add the email" after a list. What was asked
for before still holds: the same rows, and more of each. Called by edit.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.sql.context import Context
from recollect.sql.frame import Frame
from recollect.sql.known import Target
from recollect.sql.listings import column_refs, shown
from recollect.sql.sketch import Ask, Sketch
from recollect.sql.spans import Piece

if TYPE_CHECKING:
    from recollect.sql.edit import Fragment

THEIR = ("their", "its", "his", "her")
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


def named(sketch: Sketch) -> list[Ask]:
    subject = [Ask(targets=sketch.subject, text=sketch.subject[0].name)] if sketch.subject else []
    return [*subject, *(ask for ask in sketch.columns if ask.targets)]


def is_count(frame: Frame) -> bool:
    return bool(frame.metrics) and frame.metrics[0].aggregate == "count" and not frame.groups
