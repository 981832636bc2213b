"""Grounds: what an answer stands on, looked at once more when the frame is complete, before anybody sees a number.

`doubts` is called by reading.py for each frame. Here are the words: each that says something must have left a trace in
the SQL (a table, a column, a value, a join, an order), whatever explained it on the way; one that left none is asked
about. The choices that nobody made in words are looked at beside: grounds_dates, grounds_figures, grounds_things.
Pure; it changes no frame, it only takes one away. What it caught: docs/why/frames.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.sql.context import Context
from recollect.sql.frame import Frame
from recollect.sql.grounds_dates import dates
from recollect.sql.grounds_figures import figures
from recollect.sql.grounds_things import things
from recollect.sql.grounds_trace import Trace, listed, roots, trace_of
from recollect.sql.joins import is_safe
from recollect.sql.known import Target
from recollect.sql.lexer import key_of, root_of, stem_key
from recollect.sql.phrases import phrases
from recollect.sql.shares import unparted
from recollect.sql.sketch import Sketch
from recollect.sql.spans import Piece
from recollect.sql.unclear import Clarification
from recollect.sql.vocabulary import vocabulary

MOST = 2  # questions at once
FEW = 3  # words
PRICED = {"cost": "price"}  # what a verb measures
NEGATIVE = ("!=", "not in", "is null", "<", "<=")


def doubts(
    context: Context, sketch: Sketch, frame: Frame, last: Frame | None, is_edit: bool
) -> tuple[Clarification, ...]:
    """What has to be asked before this frame may answer; empty, if it stands on firm ground."""
    trace = trace_of(context, sketch, unparted(frame), last if is_edit else None)
    found = [*words(trace), *contrary(trace), *dates(trace), *figures(trace), *things(trace)]
    if not is_edit:
        found += continued(trace, last)
    return tuple({each.term: each for each in reversed(found)}.values())[::-1][:MOST]


def words(trace: Trace) -> Iterator[Clarification]:
    if trace.is_less:
        return  # "drop the town filter": what is dropped is not there any more
    for at, piece in enumerate(trace.pieces):
        if piece.period or not (is_left_out(trace, piece) or is_small_word_left(trace, at)):
            continue
        yield left_out(piece.text)
    yield from columns_left(trace)
    for text, verb in trace.sketch.loose:
        if not is_done_here(trace, text, verb):
            yield left_out(text)


def left_out(text: str) -> Clarification:
    return Clarification(text, f"I would leave “{text}” out. What does it mean here?")


def is_left_out(trace: Trace, piece: Piece) -> bool:
    """A name, a value or a measure that was recognised, and then used for nothing."""
    said = roots(piece.text)
    is_function = bool(piece.words) and (not piece.has("concept") or piece.has("agg"))
    is_function = is_function or any(word.kind == "skip" for word in phrases().of(key_of(piece.text)))
    if is_function or piece.unit or said <= trace.roots or is_how_often(trace, piece):
        return False
    if piece.names:
        is_event = any(t.kind == "moment" and t.table in trace.tables for t in piece.names)
        is_used = any(map(trace.has, (*piece.names, *piece.values)))
        return not (is_event or is_used or is_sold(trace, piece) or is_doer(trace, piece))
    if piece.values:
        return not any(map(trace.has, piece.values))
    return piece.has("concept") and not piece.has("verb") and not is_measured(trace, piece)


def is_how_often(trace: Trace, piece: Piece) -> bool:
    """ "More than 5 times": the number of rows is compared."""
    asks = [ask for ask in trace.sketch.compares if ask.ask.is_count and ask.text.lower().endswith(("times", "time"))]
    is_counted = any(each.metric.aggregate == "count" for each in trace.frame.having)
    return is_counted and bool(asks) and piece.text.lower() in ("times", "time")


def is_sold(trace: Trace, piece: Piece) -> bool:
    """ "How many products were sold": their lines tell it, without them."""
    if "commerce" not in trace.sketch.verbs or trace.frame.filters:
        return False
    return any(trace.context.cost(trace.frame.subject, target.table) == (0, 1) for target in piece.of("entity"))


def is_doer(trace: Trace, piece: Piece) -> bool:
    """ "How much did customers pay us": each payment is some customer's."""
    people = phrases().events["person"]
    doers = [t.table for t in piece.of("entity") if stem_key(t.name) in people]
    behind = trace.pieces[trace.pieces.index(piece) + 1 :]  # "do customers pay", not "do we pay our staff"
    is_paid = any(each.word("verb") in ("money", "commerce") for each in behind) and bool(trace.frame.metrics)
    return is_paid and any(is_always_one(trace, table) for table in doers)


def is_always_one(trace: Trace, to: str) -> bool:
    """Each row belongs to one of them, and none to nobody."""
    ways = trace.context.graph.ways(trace.frame.subject, to)
    columns = [(step.origin, name) for step in (ways[0] if ways else ()) for name in step.join.columns]
    tables = {name: trace.context.catalog.table(name) for name, _ in columns}
    kept = [table.column(name) for origin, name in columns if (table := tables[origin])]
    return bool(ways) and is_safe(ways[0]) and not any(column is None or column.nullable for column in kept)


def is_measured(trace: Trace, piece: Piece) -> bool:
    """ "Revenue": a figure that the SQL has is called so, or means it."""
    for concept in (word.value for word in piece.words if word.kind == "concept"):
        nouns = {key[-1] for key in phrases().concepts.get(concept, ())}
        meant = {(t.table, t.expression) for t in trace.context.measures(concept)}
        if any((ref.table, ref.expression) in meant or nouns & set(ref.name.split()) for ref in trace.refs):
            return True
    return False


def is_small_word_left(trace: Trace, at: int) -> bool:
    """ "Not", "average", "still", and a list that is no request: small words that change the number."""
    piece, frame = trace.pieces[at], trace.frame
    if piece.names or piece.values:
        return False
    if piece.has("not", "no"):
        return not trace.is_edit and not is_negative(frame)
    if piece.word("agg") == "avg" and piece.size == 1:
        is_bound = any(each.op.endswith("average") for each in frame.filters)
        return not is_bound and not any(each.aggregate == "avg" or each.per for each in trace.figures)
    if piece.has("group") and not piece.has("order", "opener"):
        is_used = frame.groups or frame.order or any(each.per for each in trace.figures)
        is_used = is_used or any(each.word("agg") == "avg" for each in trace.pieces)  # "average nights per booking"
        return not is_used and piece.text.lower() != "by" and not trace.is_edit
    is_bare = not (frame.filters or frame.periods or frame.existence or frame.having or trace.is_edit)
    if piece.text.lower() in vocabulary().words("grounds", "still"):
        return is_bare
    return piece.text.lower() == "list" and any(each.names for each in trace.pieces[:at])


def is_negative(frame: Frame) -> bool:
    ops = {*(each.op for each in frame.filters), *(each.op for each in frame.having)}
    told = [value.upper() for each in frame.filters if each.op == "where" for value in each.values]
    is_told = any("NOT" in value or "= 0" in value or "FALSE" in value or "NULL" in value for value in told)
    return bool(ops & set(NEGATIVE)) or any(e.is_negated for e in frame.existence) or frame.keeps_empty or is_told


def columns_left(trace: Trace) -> Iterator[Clarification]:
    """A word that a column of these tables is called by, although the SQL uses another, or none."""
    known = trace.roots | trace.entity_roots | listed("general")
    for piece in trace.pieces:
        if piece.period or piece.unit or piece.number is not None or piece.has("agg", "concept"):
            continue
        if any(map(trace.has, piece.of("measure"))):
            continue  # "revenue before discount": one name, and it is used
        for word in piece.text.lower().split():
            root = root_of(word)
            if len(word) > 2 and root not in known and (name := trace.unused_column(root)):
                question = f"Does “{word}” mean the {name} here? I would not use it."
                yield Clarification(word, question, (name,))


def is_done_here(trace: Trace, text: str, verb: str) -> bool:
    """A verb needs its event, its date or its measure in the SQL. What "we" do, and that somebody works, says nothing
    more."""
    at = next((n for n, piece in enumerate(trace.pieces) if piece.text == text), 0)
    is_ours = at > 0 and trace.pieces[at - 1].text.lower() in ("we", "do we", "did we") and verb != "money"
    if is_ours or (verb == "employment" and not trace.dates) or roots(text) & trace.roots:
        return True
    if {"from", "to"} <= {getattr(ask, "lead", "") for ask in trace.sketch.values}:
        return True
    nouns = {root_of(word) for key in phrases().events.get(verb, ()) for word in key}
    found = (*trace.context.measures(PRICED.get(verb, verb)), *trace.context.pay())
    meant = {(t.table, t.expression) for t in found}
    has_measure = any((ref.table, ref.expression) in meant for ref in trace.refs)
    return bool(trace.context.events(verb) & trace.tables or nouns & trace.roots or has_measure)


def contrary(trace: Trace) -> Iterator[Clarification]:
    """Two conditions that no row meets; two values of one column, of which one was used; a name that is a value too."""
    yield from both_at_once(trace)
    used: dict[tuple[str, str], set[str]] = {}
    for each in trace.frame.filters:
        used.setdefault((each.of.table, each.of.column), set()).update(each.values)
    for piece in trace.pieces:
        told = [t for t in piece.values if (t.table, t.column) in used]
        if told and not any(t.value in used[t.table, t.column] for t in told):
            yield left_out(piece.text)
        elif is_value_too(trace, piece):
            name, value = piece.names[0].name, piece.values[0]
            question = f"“{piece.text}”: the {name}, or those where {value.column} is {value.value}?"
            yield Clarification(piece.text, question, (name, f"{value.column} = {value.value}"), "entity")


def both_at_once(trace: Trace) -> Iterator[Clarification]:
    said: dict[tuple[object, ...], tuple[str, ...]] = {}
    for each in trace.frame.filters:
        column = each.of.column or each.of.expression or each.values[0].partition("=")[0]
        values = said.setdefault((each.of.table, column, each.of.via, each.op), each.values)
        if each.op in ("=", "where") and values != each.values:
            name = each.of.name or column.strip("( ")
            yield Clarification(name, f"No row is both at once ({name}). Counted apart, or together?", (), "state")


def is_value_too(trace: Trace, piece: Piece) -> bool:
    """ "By email", where an address is called so, and a channel."""
    if not piece.values or not piece.names or piece.of("entity", "definition", "moment"):
        return False
    near: list[Target] = [t for t in piece.values if t.table in trace.tables]
    if {t.table for t in piece.values} <= {t.table for t in piece.of("join")} and is_role(trace, piece):
        return False  # the sales rep of a customer is one whose job is called so
    return bool(near) and any(map(trace.has, piece.names)) and not any(map(trace.has, piece.values))


def is_role(trace: Trace, piece: Piece) -> bool:
    """Whether the SQL goes by the join that is called so: each customer's sales rep, or none."""
    roles = {t.via for t in piece.of("join")}
    ways = {via for group in trace.frame.groups for via in group.of.via}
    empty = {f"{each.of.table}.{each.of.column}" for each in trace.frame.filters if each.op == "is null"}
    grouped = {t.table for t in piece.of("join")} & {group.of.table for group in trace.frame.groups}
    related = {t.table for t in piece.of("join")} & {each.table for each in trace.frame.existence}
    return bool(roles & (ways | empty) or grouped or related)


def continued(trace: Trace, last: Frame | None) -> Iterator[Clarification]:
    """A piece ("only the neutered ones", "and Berlin to Munich") that would silently be a question of its own."""
    opens = trace.pieces[0].text.lower().split()[:1] if trace.pieces and trace.pieces[0].has("opener") else []
    is_near = last is not None and bool(last.metrics) and trace.frame.subject in last.tables
    if (opens and opens[0] in vocabulary().words("grounds", "goes_on")) or (is_near and is_bare(trace.pieces)):
        text = " ".join(piece.text for piece in trace.pieces)
        question = f"Is “{text}” about the last question, or a question of its own?"
        yield Clarification(text, question, (f"what about {text}", f"list all {text}"), "entity")


def is_bare(pieces: list[Piece]) -> bool:
    """A thing is named, and nothing says what is wanted of it."""
    said = [piece for piece in pieces if not piece.is_skip]
    kinds = ("howmany", "howmuch", "which", "list", "agg", "top", "super", "superlative", "group", "grain")
    return 0 < len(said) <= FEW and not any(piece.has(*kinds) for piece in said)
