"""Fragments: whether a question is only a piece of one, said of the question before it: it has an opener ("what about",
"only"), speaks of "them", or has no measure and no subject of its own. Called by reading.py; edit.py applies them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from recollect.sql.edit_columns import is_theirs
from recollect.sql.edit_those import is_counted, is_sum_asked
from recollect.sql.frame import Frame
from recollect.sql.lexer import key_of
from recollect.sql.lexicon import Lexicon
from recollect.sql.phrases import Word, phrases
from recollect.sql.roles import sketch_of
from recollect.sql.sketch import Sketch
from recollect.sql.spans import Piece

PRONOUNS = ("entity",)
THEY = ("they", "them", "those", "these", "he", "she", "him", "of them", "of those", "each of them")
INVERTED = ("do", "did", "does", "have", "has", "are", "were", "is", "was", "had", "of")


@dataclass(frozen=True, slots=True)
class Fragment:
    sketch: Sketch
    pieces: tuple[Piece, ...]  # without openers
    marks: frozenset[str]  # ask, only, also, down, instead, remove; those, their: of what was asked before


def fragment_of(pieces: list[Piece], last: Frame | None = None) -> Fragment | None:
    """The question as a piece of one; None, if it stands alone."""
    marks, rest = opened(pieces[1:] if is_why(pieces) else pieces)
    if last is not None:
        rest = [as_count(piece) for piece in rest]
        if is_each_of_last(rest, last):
            marks, rest = marks | {"ask", "each"}, [as_extreme(piece) for piece in rest[:-1]]
        marks |= turns(rest)
        is_amount = is_counted(last) and is_sum_asked(tuple(rest))  # "what is the total?"
        marks |= {"ask", "those"} if refers_back(rest) or is_amount else set()
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
    take_same_figure(sketch, marks, last)
    if is_narrowing(sketch, marks, last) or is_prepositional(sketch) or is_other_value(sketch, marks, last):
        sketch.subject = ()
    elif "those" in marks and last is not None and {t.table for t in sketch.subject} == {last.subject}:
        sketch.subject = ()  # "which of those films"
    elif is_own_question(sketch, rest, marks) or (not marks and is_own_count(rest)):
        return None
    if marks & {"ask", "only", "also", "down", "instead", "remove", "their"} or not sketch.has_head:
        return Fragment(without_pronouns(sketch), tuple(rest), frozenset(marks))
    return None


def take_same_figure(sketch: Sketch, marks: set[str], last: Frame | None) -> None:
    """ "Only billable hours" after hours: the noun says what is shown already, and not what is asked for."""
    shown = {(m.of.table, m.of.expression) for m in last.metrics if m.of.expression} if last else set()
    if shown and "only" in marks and (sketch.definitions or sketch.values or sketch.spans):
        sketch.metrics = [
            ask
            for ask in sketch.metrics
            if ask.aggregate or not any((t.table, t.expression) in shown for t in ask.targets)
        ]


def with_plain_nouns(pieces: list[Piece], last: Frame | None, labels: tuple[str, ...]) -> list[Piece]:
    """ "Just the software companies" after accounts by country, "only days with more than one": a noun that only says
    what the rows are, behind a value or in front of a condition."""
    if last is None or not pieces or not pieces[0].has("opener", "not", "no"):
        return pieces
    grain = last.groups[0].grain if last.groups else ""
    return [ones() if is_row_noun(pieces, at, last, labels, grain) else p for at, p in enumerate(pieces)]


def is_row_noun(pieces: list[Piece], at: int, last: Frame, labels: tuple[str, ...], grain: str) -> bool:
    piece, ahead = pieces[at], pieces[at - 1] if at else None
    is_label = bool(piece.names) and all(t.table == last.subject and t.column in labels for t in piece.names)
    is_said = ahead is not None and bool(ahead.values or ahead.of("definition")) and not ahead.names
    is_step = bool(grain) and piece.text.lower() == f"{grain}s" and at == 1 and len(pieces) > 2
    return (is_label and is_said and at == len(pieces) - 1) or (is_step and not piece.names)


def ones() -> Piece:
    return Piece("ones", words=phrases().of(("ones",)))


def as_count(piece: Piece) -> Piece:
    """ "Count them", although a column is called a count of something."""
    is_weak = piece.has("howmany") and piece.size == 1 and all(t.is_partial for t in piece.names)
    return replace(piece, names=()) if is_weak and piece.names else piece


def is_each_of_last(pieces: list[Piece], last: Frame) -> bool:
    """ "The average length of each": for each of what the last question was split by."""
    return (
        len(pieces) > 1 and bool(last.groups) and pieces[-1].has("group") and pieces[-1].text.lower().endswith("each")
    )


def as_extreme(piece: Piece) -> Piece:
    """ "The highest salary in each" is the maximum, and no ranking."""
    if not piece.has("super") or piece.names or piece.values:
        return piece
    return replace(piece, words=(Word("agg", "max" if piece.word("super") == "desc" else "min"),))


def refers_back(pieces: list[Piece]) -> bool:
    """Whether "they" are the rows of the last question: "how much did they spend", but not "orders they placed"."""
    for at, piece in enumerate(pieces):
        if piece.text.lower() not in THEY or piece.names:
            continue
        is_inside = any(each.of("entity") for each in pieces[:at])
        if not is_inside or pieces[at - 1].text.lower().split()[-1] in INVERTED:
            return True
    return False


def turns(pieces: list[Piece]) -> set[str]:
    """ "The other way round", "reverse the order"; "which are not?" """
    said = [p for p in pieces if not p.is_skip and not p.has("which", "howmany", "list", "opener", "back")]
    said = [p for p in said if p.word("vague") != "entity"]
    if len(said) == 1 and said[0].has("turn"):
        return {"ask", "turn"}
    is_no = len(said) == 1 and said[0].has("not", "no") and said[0].word("no") != "never" and not said[0].names
    return {"ask", "deny", "those"} if is_no and said[0].text.lower() not in ("except", "no") else set()


def of_filtered(pieces: list[Piece], last: Frame | None, lexicon: Lexicon) -> list[Piece]:
    """ "And annual leave?" after sick leave: a value of what is filtered by already, before any step of time."""
    columns = {(each.of.table, each.of.column) for each in last.filters if each.of.column} if last else set()
    is_dated = any(piece.period for piece in pieces[1:])
    if last and len(pieces) == 2 and pieces[0].has("opener") and is_written_so(pieces[1]):
        return [pieces[0], replace(pieces[1], names=(), words=())]  # "just for Business"
    return [valued(piece, columns, lexicon, is_dated) if columns else piece for piece in pieces]


def is_written_so(piece: Piece) -> bool:
    """A value as it is stored, with its capital, although a column may be called so too."""
    is_exact = piece.is_capital and any(t.value == piece.text for t in piece.values)
    return is_exact and bool(piece.names) and all(t.kind == "dimension" for t in piece.names)


def valued(piece: Piece, columns: set[tuple[str, str]], lexicon: Lexicon, is_dated: bool) -> Piece:
    is_state = bool(piece.names) and all(t.kind == "moment" for t in piece.names) and not is_dated
    if not (piece.has("grain") or piece.period or is_state):
        return piece
    found = tuple(t for t in lexicon.value(key_of(piece.text)) if (t.table, t.column) in columns)
    return replace(piece, words=(), names=(), period=None, values=found) if found else piece


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
    has_more = bool(sketch.groups or sketch.values or sketch.spans or sketch.rank) and not marks & {"those", "each"}
    return sketch.has_head and asks and has_more and bool(sketch.metrics or sketch.subject)


def is_own_count(rest: list[Piece]) -> bool:
    """ "How many cats", "how many urgent ones": names what is counted; "how many were shipped" does not."""
    behind = rest[1] if len(rest) > 1 and rest[0].has("howmany") and not rest[0].names else None
    return behind is not None and bool(behind.values or behind.of("definition")) and not behind.has("verb", "aux")


def is_narrowing(sketch: Sketch, marks: set[str], last: Frame | None) -> bool:
    """ "Only customers from France" after something about customers: fewer of them, not a list of them."""
    tables = {target.table for target in sketch.subject}
    more = sketch.values or sketch.compares or sketch.definitions or sketch.missing or sketch.spans
    narrows = "only" in marks or bool(sketch.pieces and sketch.pieces[0].has("not", "no"))
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
    if not sketch.subject and any(piece.text.lower() in ("which one", "which ones") for piece in sketch.pieces):
        return True  # of which was not said
    asks_who = any(piece.has("which") and piece.text.lower().startswith("who") for piece in sketch.pieces)
    says = sketch.has_head or sketch.rank or sketch.columns or sketch.vague or sketch.unknown or sketch.refused
    return not (says or asks_who)


def without_pronouns(sketch: Sketch) -> Sketch:
    """ "Only those in Lisbon": the rows of the last answer, which the frame stands for."""
    sketch.vague = [(word, category) for word, category in sketch.vague if category not in PRONOUNS]
    said = {
        piece.text
        for piece in sketch.pieces
        if piece.has("shift", "thing", "instead_of", "back", "turn") and not piece.names
    }
    sketch.unknown = [word for word in sketch.unknown if word not in said]
    sketch.dangling = [word for word in sketch.dangling if word not in said]
    return sketch
