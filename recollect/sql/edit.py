"""Edit: a follow-up as a change of the last frame: another period, one filter more, another grouping, an order.

Only a piece of a question is one: it has an opener ("what about", "only", "instead") or no measure and no subject of
its own. `fragment_of` tells; `edited` gives the changed frame and says in words what was kept and what was changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from recollect.sql.context import Context, Unclear
from recollect.sql.edit_aggregates import take_bare, with_aggregate
from recollect.sql.edit_columns import is_theirs, with_columns
from recollect.sql.edit_filters import (
    with_comparisons,
    with_definitions,
    with_gaps,
    with_periods,
    with_values,
    without,
)
from recollect.sql.edit_shape import with_groups, with_metric, with_order, with_rank, with_shape
from recollect.sql.frame import Frame
from recollect.sql.lexer import key_of
from recollect.sql.lexicon import Lexicon
from recollect.sql.phrases import Word, phrases
from recollect.sql.roles import sketch_of
from recollect.sql.sketch import Ask, Sketch
from recollect.sql.spans import Piece

PRONOUNS = ("entity",)


@dataclass(frozen=True, slots=True)
class Fragment:
    sketch: Sketch
    pieces: tuple[Piece, ...]  # without openers
    marks: frozenset[str]  # ask, only, also, down, instead, remove; those, their: of what was asked before


@dataclass(frozen=True, slots=True)
class Change:
    frame: Frame
    kept: tuple[str, ...]
    changed: tuple[str, ...]


Edit = Callable[[Context, Fragment, Frame], Frame]
EDITS: tuple[Edit, ...] = (
    without, take_bare, with_metric, with_aggregate, with_shape, with_periods, with_values, with_definitions, with_gaps,
    with_comparisons, with_columns, with_groups, with_rank, with_order,
)  # fmt: skip


def fragment_of(pieces: list[Piece], last: Frame | None = None) -> Fragment | None:
    """The question as a piece of one; None, if it stands alone."""
    marks, rest = opened(pieces[1:] if is_why(pieces) else pieces)
    if any(piece.has("back") for piece in rest):
        marks |= {"ask", "those"}
        rest = [piece for piece in rest if not piece.has("back")]
    if last is not None and is_theirs(rest):
        marks.add("their")
    said = [piece for piece in rest if not piece.is_skip]
    if len(said) == 2 and said[0].has("group") and not said[0].names:
        marks.add("ask")  # "by profit"
    sketch = sketch_of(rest)
    if "those" in marks:
        sketch.metrics = [ask for ask in sketch.metrics if ask.concept != "rows"]  # "how many of them are cats"
    if is_narrowing(sketch, marks, last) or is_prepositional(sketch) or is_other_value(sketch, marks, last):
        sketch.subject = ()
    elif is_own_question(sketch, rest, marks) or (not marks and is_own_count(rest)):
        return None
    if marks & {"ask", "only", "also", "down", "instead", "remove", "their"} or not sketch.has_head:
        return Fragment(without_pronouns(sketch), tuple(rest), frozenset(marks))
    return None


def of_filtered(pieces: list[Piece], last: Frame | None, lexicon: Lexicon) -> list[Piece]:
    """ "And annual leave?" after sick leave: a value of what is filtered by already, before any step of time."""
    columns = {(each.of.table, each.of.column) for each in last.filters if each.of.column} if last else set()
    return [valued(piece, columns, lexicon) if columns else piece for piece in pieces]


def valued(piece: Piece, columns: set[tuple[str, str]], lexicon: Lexicon) -> Piece:
    if not (piece.has("grain") or piece.period):
        return piece
    found = tuple(t for t in lexicon.value(key_of(piece.text)) if (t.table, t.column) in columns)
    return replace(piece, words=(), period=None, values=found) if found else piece


def is_why(pieces: list[Piece]) -> bool:
    """ "Why? Group by reason": what follows says what is wanted."""
    return len(pieces) > 1 and pieces[0].text.lower() == "why" and pieces[1].has("group", "opener")


def opened(pieces: list[Piece]) -> tuple[set[str], list[Piece]]:
    """What opens and ends it, taken off."""
    marks: set[str] = set()
    rest = list(pieces)
    if cut := next((at for at, piece in enumerate(rest) if at and piece.has("instead_of")), None):
        rest = rest[:cut]  # what is to be replaced need not be understood
        marks.add("instead")
    if rest and rest[0].has("compare_after") and rest[0].text.lower().startswith("and "):
        marks.add("ask")  # "and above 40?" begins with it; "40 and above" ends so
        rest[0] = replace(rest[0], words=phrases().of(key_of(rest[0].text)[1:]))
    while rest and rest[0].has("opener") and not rest[0].names:
        marks.add(rest[0].word("opener") or "")
        grouped = rest[0].text.lower().endswith((" by", " per"))
        head = (
            [replace(rest[0], words=tuple(w for w in rest[0].words if w.kind == "group") or group_word(), text="by")]
            if grouped
            else []
        )
        rest = [*head, *rest[1:]]
        if grouped:
            break
    kept = []
    for piece in rest:
        if (
            piece.has("opener")
            and piece.word("opener") in ("instead", "only", "also")
            and not piece.names
            and piece.size <= 2
        ):
            marks.add(piece.word("opener") or "")
        else:
            kept.append(piece)
    return marks, kept


def group_word() -> tuple[Word, ...]:
    return (Word("group", "by"),)


def is_own_question(sketch: Sketch, rest: list[Piece], marks: set[str]) -> bool:
    """It has a measure or a subject of its own, and more than an opener leads it."""
    asks = any(piece.has("which", "howmany", "howmuch", "list") and not piece.names for piece in rest[:2])
    if sketch.has_head and not (marks - {"only"}):
        return True
    has_more = bool(sketch.groups or sketch.values or sketch.spans or sketch.rank)
    return sketch.has_head and asks and has_more and bool(sketch.metrics or sketch.subject)


def is_own_count(rest: list[Piece]) -> bool:
    """ "How many cats", "how many urgent ones": names what is counted; "how many were shipped" does not."""
    behind = rest[1] if len(rest) > 1 and rest[0].has("howmany") and not rest[0].names else None
    return behind is not None and bool(behind.values or behind.of("definition")) and not behind.has("verb", "aux")


def is_narrowing(sketch: Sketch, marks: set[str], last: Frame | None) -> bool:
    """ "Only customers from France" after something about customers: fewer of them, not a list of them."""
    tables = {target.table for target in sketch.subject}
    more = sketch.values or sketch.compares or sketch.definitions or sketch.missing or sketch.spans
    narrows = "only" in marks or bool(sketch.pieces and sketch.pieces[0].has("not"))
    is_about = bool(last and (tables & last.tables or last.metrics))  # of a figure, whatever it is reached by
    return bool(is_about and narrows and tables and more and not sketch.metrics and not sketch.rank)


def is_other_value(sketch: Sketch, marks: set[str], last: Frame | None) -> bool:
    """ "Parking complaints?" after the most noise complaints: the same of others."""
    said = [piece for piece in sketch.pieces if not piece.is_skip]
    if last is None or marks or len(said) != 2 or not sketch.values or not sketch.subject:
        return False
    columns = {(each.of.table, each.of.column) for each in last.filters if each.of.column}
    is_same = {t.table for t in sketch.subject} & last.tables and bool(last.metrics)
    return bool(is_same) and any((t.table, t.column) in columns for ask in sketch.values for t in ask.targets)


def is_prepositional(sketch: Sketch) -> bool:
    """ "For the Harbour branch": says of which, and not what is asked for."""
    first = sketch.pieces[0] if sketch.pieces else None
    if first is None or not first.has("prep") or first.names or first.values or first.has("group"):
        return False
    asks = sketch.metrics or sketch.rank or sketch.groups or sketch.is_list or sketch.is_which
    return not asks and not any(piece.text == "," for piece in sketch.pieces)


def is_cut_off(sketch: Sketch) -> bool:
    if is_prepositional(sketch) and not (sketch.vague or sketch.unknown or sketch.refused):
        return True
    asks_who = any(piece.has("which") and piece.text.lower().startswith("who") for piece in sketch.pieces)
    says = sketch.has_head or sketch.rank or sketch.columns or sketch.vague or sketch.unknown or sketch.refused
    return not (says or asks_who)


def without_pronouns(sketch: Sketch) -> Sketch:
    """ "Only those in Lisbon": the rows of the last answer, which the frame stands for."""
    sketch.vague = [(word, category) for word, category in sketch.vague if category not in PRONOUNS]
    said = {
        piece.text for piece in sketch.pieces if piece.has("shift", "thing", "instead_of", "back") and not piece.names
    }
    sketch.unknown = [word for word in sketch.unknown if word not in said]
    sketch.dangling = [word for word in sketch.dangling if word not in said]
    return sketch


def edited(context: Context, fragment: Fragment, last: Frame) -> Change:
    frame, context = last, replace(context, nouns=context.mentioned | nouns_of(context, last))
    for edit in EDITS:
        frame = edit(context, fragment, frame)
    if idle := next((ask for ask in fragment.sketch.columns if not is_in(frame, ask)), None):
        raise Unclear(idle.text, f"I do not see what “{idle.text}” is to change.", (f"by {idle.text}",), "entity")
    if frame == last and not fragment.sketch.unknown and not fragment.sketch.vague:
        raise Unclear("", "I do not see what to change in the last question.", category="entity")
    return Change(frame, kept_of(last, frame), changed_of(last, frame))


def nouns_of(context: Context, last: Frame) -> frozenset[str]:
    """What the last question was split by, and the tables over which its conditions go: a follow-up stays on them."""
    grouped = {each.of.table for each in last.groups}
    ways = (context.graph.ways(last.subject, each.of.table, each.of.via) for each in last.filters)
    return frozenset(grouped | {step.table for found in ways if found for step in found[0][:-1]})


def is_in(frame: Frame, ask: Ask) -> bool:
    """What was named must be somewhere in what is asked now."""
    places = {(ref.table, ref.column or ref.expression) for ref in frame.refs()}
    places |= {(order.of.table, order.of.column or order.of.expression) for order in frame.order if order.of}
    tables = {table for table, _ in places}
    return not ask.targets or any(
        (t.table, t.column or t.expression) in places or (t.kind in ("entity", "join") and t.table in tables)
        for t in ask.targets
    )


def parts(frame: Frame) -> dict[str, object]:
    return {
        "the figure": frame.metrics, "the grouping": frame.groups, "the filters": frame.filters,
        "the period": frame.periods, "the threshold": frame.having, "the order": frame.order, "the limit": frame.limit,
        "the columns": frame.columns,
    }  # fmt: skip


def kept_of(last: Frame, frame: Frame) -> tuple[str, ...]:
    now = parts(frame)
    return tuple(name for name, part in parts(last).items() if part and now[name] == part)


def changed_of(last: Frame, frame: Frame) -> tuple[str, ...]:
    now = parts(frame)
    return tuple(name for name, part in parts(last).items() if now[name] != part)
