"""Which things: what is counted or listed, and how it hangs together with the rest. Called by grounds.py.

Half a name, a word that another table is called by, a role or a way that nobody named: each needs a second sign, or is
asked about. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.sql.context import role_roots
from recollect.sql.frame import Metric
from recollect.sql.grounds_trace import Trace, roots
from recollect.sql.joins import is_safe
from recollect.sql.lexer import stem_key
from recollect.sql.linking import is_linked
from recollect.sql.naming import many, table_words
from recollect.sql.unclear import Clarification


def things(trace: Trace) -> Iterator[Clarification]:
    yield from other_table(trace)
    yield from own_table(trace)
    yield from far_conditions(trace)
    yield from none_left(trace)
    yield from other_subject(trace)
    yield from unsaid_role(trace)
    yield from two_ways(trace)
    yield from who(trace)
    yield from nothing_to_read(trace)


def half_name(trace: Trace, metric: Metric) -> str:
    """ "Tickets" for ticket sales, "fewer than 200 people" for visitors: counted only if the verb is about them."""
    table = metric.of.table
    found = [(p, t) for p in trace.pieces for t in p.of("entity") if t.table == table]
    if not found or any(not t.is_partial or stem_key(p.text)[-1:] == stem_key(t.name)[-1:] for p, t in found):
        return ""
    if not trace.frame.having and found[0][0].text.lower() in ("people", "persons"):
        return ""
    verbs = trace.sketch.verbs
    is_done = any(trace.context.moment_of(v, {table}) or table in trace.context.events(v) for v in verbs)
    return "" if is_done else found[0][0].text


def far_conditions(trace: Trace) -> Iterator[Clarification]:
    """A condition on the many side of a table that nobody named, and that no verb is about."""
    acts = {each for verb in trace.sketch.verbs for each in trace.context.events(verb)}
    for each in trace.frame.filters:
        ways = trace.context.graph.ways(trace.frame.subject, each.of.table, each.of.via)[:1]
        if (trace.last and each in trace.last.filters) or not ways or is_safe(ways[0]):
            continue
        between = {step.table for step in ways[0]}
        named = roots(" ".join(trace.context.called(table) for table in between)) & trace.said
        is_said = named or is_linked(trace.sketch, each.of.table, each.of.column)
        if not is_said and not between & (acts | trace.context.graph.bridges):
            of, value = trace.context.called(each.of.table), ", ".join(each.values)
            question = f"“{value}” is said of a {of} here. Is one with such a {of} meant?"
            yield Clarification(value, question, (f"with a {of} that is {value}",), "entity")


def none_left(trace: Trace) -> Iterator[Clarification]:
    """ "Out of stock", where stock is kept for each place and no place is named: in one of them, or everywhere?"""
    for each in trace.frame.filters:
        ways = trace.context.graph.ways(trace.frame.subject, each.of.table, each.of.via)[:1]
        is_empty = each.op == "where" and each.values[0].endswith("<= 0")
        if not is_empty or not ways or is_safe(ways[0]):
            continue
        ends = {f.of.table for f in trace.frame.filters if f is not each}
        through = {end for end in ends for way in trace.context.graph.ways(trace.frame.subject, end)[:1]
                   if each.of.table in {step.table for step in way}}  # fmt: skip
        if not through:
            name = each.of.name
            yield Clarification(name, f"“{name}” in one place, or everywhere?", (), "state")


def other_subject(trace: Trace) -> Iterator[Clarification]:
    """What is named first is what is asked for: "tickets sold for events" is no list of events."""
    frame, context = trace.frame, trace.context
    first = next((n for n, piece in enumerate(trace.pieces) if piece.of("entity")), None)
    if first is None or frame.metrics or trace.is_edit or any(p.has("no", "not") for p in trace.pieces[:first]):
        return
    shown = {frame.subject, *(g.of.table for g in frame.groups), *(ref.table for ref in frame.columns)}
    if not shown & {target.table for target in trace.pieces[first].of("entity")}:
        text, names = trace.pieces[first].text, many(context.called(frame.subject))
        yield Clarification(text, f"The {text}, or the {names}?", (f"list the {names}",), "entity")


def unsaid_role(trace: Trace) -> Iterator[Clarification]:
    """Who presides over a club and who is in it: a role that nobody named, where a table joins the two besides."""
    graph, subject = trace.context.graph, trace.frame.subject
    ends = {ref.table for ref in trace.refs if ref.table != subject and not (trace.last and ref in trace.last.refs())}
    for end in sorted(ends):
        way = next(iter(graph.ways(subject, end)), ())
        roles = [step for step in way if step.join.names]
        if len(way) != 1 or not roles or role_roots(roles) & trace.said:
            continue
        others = graph.shortest(subject, end, frozenset(), only_safe=False, without=frozenset(s.id for s in roles))
        if any(len(other) == 2 and is_named_after(trace, other[0].table, subject, end) for other in others):
            role, name = roles[0].join.names[0], trace.context.called(end)
            between = trace.context.called(next(o for o in others if len(o) == 2)[0].table)
            yield Clarification(name, f"By the {role}, or by the {between}?", (role, between), "entity")


def is_named_after(trace: Trace, between: str, *ends: str) -> bool:
    name = roots(trace.context.called(between))
    return any(roots(trace.context.called(end)) <= name for end in ends) or between in trace.context.graph.bridges


def nothing_to_read(trace: Trace) -> Iterator[Clarification]:
    """A list of nothing but keys: what only joins others has no name of its own."""
    frame, entity = trace.frame, trace.context.entity(trace.frame.subject)
    is_joining = entity is not None and len(entity.key) > 1 and not entity.label
    told = {*(entity.key if entity else ()), *(m.column for m in trace.context.moments(frame.subject))}
    is_joining = is_joining and all(ref.table == frame.subject and ref.column in told for ref in frame.columns)
    if is_joining and not frame.metrics and not frame.groups and not trace.is_edit:
        names = [trace.context.called(j.to) for j in trace.context.model.joins if j.table == frame.subject]
        name = many(trace.context.called(frame.subject))
        yield Clarification(name, f"What of the {name} should be listed?", tuple(map(many, names)), "entity")


def other_table(trace: Trace) -> Iterator[Clarification]:
    """ "Orders" read as invoices, where sales orders and purchase orders are kept: a table's own name comes before what
    another is also called."""
    context = trace.context
    for piece in trace.pieces:
        used = {t.table for t in piece.of("entity") if t.table in trace.tables}
        word = stem_key(piece.text)[-1:]
        if not used or any(word[0] in {*stem_key(context.called(t)), *table_words(t)} for t in used):
            continue
        others = [e for e in context.model.entities if word[0] in stem_key(e.names[0]) and e.table not in used]
        if others:
            names = [many(e.names[0]) for e in (*others, *(e for e in context.model.entities if e.table in used))]
            yield Clarification(piece.text, f"“{piece.text}”: {' or '.join(names)}?", tuple(names), "entity")


def own_table(trace: Trace) -> Iterator[Clarification]:
    """ "Sales" read as a figure of the order lines, where a table is called sales."""
    context = trace.context
    for piece in trace.pieces:
        used = [t for t in piece.of("measure") if t.table in trace.tables]
        if not used or len({t.table for t in piece.names} & trace.tables) > 1:
            continue
        for own in context.model.entities:
            if own.table not in trace.tables and stem_key(own.names[0]) == stem_key(piece.text):
                names = (f"total {many(own.names[0])}", f"{context.called(used[0].table)} {used[0].name}")
                yield Clarification(piece.text, f"“{piece.text}”: {' or '.join(names)}?", names, "aggregation")


def two_ways(trace: Trace) -> Iterator[Clarification]:
    """ "Employees without a review", who review others, too: which of the two, nobody said."""
    for each in trace.frame.existence:
        ways = [way for way in trace.context.graph.ways(trace.frame.subject, each.table) if len(way) == 1]
        names = [name for way in ways for step in way for name in step.join.names[:1]]
        own = roots(trace.context.called(each.table))
        if len(ways) > 1 and not (roots(" ".join(names)) - own) & trace.said:
            called = trace.context.called(each.table)
            question = f"“{called}” is connected in two ways here. As what?"
            yield Clarification(called, question, tuple(names), "entity")


def who(trace: Trace) -> Iterator[Clarification]:
    """ "Who was hired" is no number."""
    frame = trace.frame
    asks = [piece.text for piece in trace.pieces[:1] if piece.text.lower().split()[:1] in (["who"], ["which"])]
    is_number = bool(frame.metrics) and not frame.groups and all(m.aggregate == "count" for m in frame.metrics)
    if asks and is_number and not trace.is_edit and not any(piece.has("howmany") for piece in trace.pieces):
        names = many(trace.context.called(frame.subject))
        yield Clarification(asks[0], f"Which of the {names}, or how many?", (f"list the {names}",), "entity")
