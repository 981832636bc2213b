"""Which date: a period rests on a date, and often nobody said which. Called by grounds.py.

It is asked, where the question has a word of another date; where a row is written down on one day and takes place on
another; where the date belongs to a table that nobody named. What confirms a date: its own word in the question, or
that it is called after its table. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.sql.context import is_upkeep
from recollect.sql.frame import Ref
from recollect.sql.grounds_trace import Trace, inner_periods, listed, roots
from recollect.sql.lexer import stem_key
from recollect.sql.phrases import phrases
from recollect.sql.semantic import Moment
from recollect.sql.unclear import Clarification
from recollect.sql.vocabulary import vocabulary


def dates(trace: Trace) -> Iterator[Clarification]:
    happened = [each.of for each in trace.frame.filters if each.op == "not null"]
    named = {(t.table, t.column) for piece in trace.pieces for t in piece.of("moment")}
    for ref in trace.dates:
        if ref not in happened and (ref.table, ref.column) not in named and not is_ahead(trace, ref):
            yield from about_date(trace, ref)
            yield from own_deed(trace, ref)
    yield from oldest(trace)
    yield from gone(trace)
    yield from another_time(trace)


def another_time(trace: Trace) -> Iterator[Clarification]:
    """ "And in 2023?" after those who did not order in 2024: a time of its own is not told apart from theirs."""
    inner = inner_periods(trace.frame)
    if trace.is_edit and trace.last and inner and trace.frame.periods != trace.last.periods:
        text = inner[0].text or "the period"
        yield Clarification(text, f"Instead of “{text}”? Please ask the whole question.", (), "temporal")


def is_ahead(trace: Trace, ref: Ref) -> bool:
    """Days to come: of what takes place then, nothing was written down then."""
    starts = [each.start for each in trace.frame.periods if each.of == ref]
    return bool(starts) and all(start and start > trace.context.today.isoformat() for start in starts)


def about_date(trace: Trace, ref: Ref) -> Iterator[Clarification]:
    own = roots(ref.name) - listed("general")
    table = roots(trace.context.called(ref.table))
    kept = [m for m in trace.context.moments(ref.table) if m.column != ref.column and not is_upkeep(m)]
    years = years_of(trace, ref)
    others = [name for name in (*(m.names[0] for m in kept), *years) if is_called(trace, name, own | table)]
    others += [m.names[0] for m in kept if is_done_then(trace, m)]
    if others and not own & trace.said:
        yield which_date(trace, ref, others)
    elif not own & trace.said and not own & table:
        two = [m.names[0] for m in kept if is_other_day(own, table, roots(m.names[0]))]
        if two:
            yield which_date(trace, ref, two)
        elif is_of_a_person(trace, ref):
            yield which_date(trace, ref, ())
        elif is_later(trace, ref):
            yield which_date(trace, ref, [m.names[0] for m in kept[:1]])
        elif is_borrowed(trace, ref, own, table):
            name = f"{trace.context.called(ref.table)} {ref.name}"
            yield Clarification(name, f"By which date? I would take the {name}.", (f"by {name}",), "temporal")


def years_of(trace: Trace, ref: Ref) -> list[str]:
    """Other columns of the table that say when, as a number."""
    own = [d for d in trace.context.model.dimensions if d.table == ref.table and d.column != ref.column]
    return [d.names[0] for d in own if roots(d.names[0]) & listed("years")]


def is_done_then(trace: Trace, moment: Moment) -> bool:
    """ "Bought" is said, and a date here is called "purchased": the same deed."""
    words = [word for part in moment.names[0].split() for word in phrases().of((part,))]
    said = {word.value for word in words if word.kind == "verb"}
    return bool((said - {"money"}) & set(trace.sketch.verbs))


def is_other_day(own: frozenset[str], table: frozenset[str], other: frozenset[str]) -> bool:
    """When it was written down, and when it takes place: two days. Of an appointment the second is meant."""
    written, held = listed("written"), listed("takes_place")
    if own & held and table & listed("happening"):
        return False
    return bool(own & written and other & held) or bool(own & held and other & written)


def is_borrowed(trace: Trace, ref: Ref, own: frozenset[str], table: frozenset[str]) -> bool:
    """The date of another table, which is neither named nor what that table is about: when a shop opened, for its
    sales."""
    measured = {trace.frame.subject, *(metric.of.table for metric in trace.frame.metrics)}
    acts = {each for verb in (*trace.sketch.verbs, "commerce") for each in trace.context.events(verb)}
    is_event = bool(own & listed("takes_place") and table & listed("happening"))
    is_calendar = bool(table & roots(" ".join(vocabulary().words("calendars"))))
    return ref.table not in measured | acts | trace.context.mentioned and not is_event and not is_calendar


def own_deed(trace: Trace, ref: Ref) -> Iterator[Clarification]:
    """ "Cars bought in 2020": when we bought them is kept with them, and not what customers bought."""
    own = trace.context.moments(trace.frame.subject) if ref.table != trace.frame.subject else []
    if names := [m.names[0] for m in own if is_done_then(trace, m)]:
        yield which_date(trace, ref, names)


def is_called(trace: Trace, name: str, known: frozenset[str]) -> bool:
    """The question has a word of this name, and it is not one of what was taken."""
    return bool((roots(name) - listed("general") - known) & trace.said)


def is_of_a_person(trace: Trace, ref: Ref) -> bool:
    """ "Students in 2024", with no word for what happened to them then."""
    people, entity = phrases().events["person"], trace.context.entity(ref.table)
    is_person = entity is not None and any(stem_key(name) in people for name in entity.names)
    is_said = bool(trace.sketch.verbs) or trace.is_edit or any(p.text.lower() == "new" for p in trace.pieces)
    return is_person and not is_said and bool(trace.frame.periods) and ref.table == trace.frame.subject


def which_date(trace: Trace, ref: Ref, others: Sequence[str]) -> Clarification:
    names = tuple(dict.fromkeys((ref.name, *others)))
    of = trace.context.called(ref.table)
    question = f"Which date of the {of}: {' or '.join(names)}?" if others else f"By the {ref.name} of the {of}?"
    return Clarification(of, question, names, "temporal")


def oldest(trace: Trace) -> Iterator[Clarification]:
    """The oldest car: by the year it was built, or by the day it was bought?"""
    words = [p.text for p in trace.pieces if (p.word("superlative") or "").lstrip("-") in ("age", "newness")]
    by = next((each.of for each in trace.frame.order if each.of), None)
    if not words or by is None or trace.is_edit or roots(by.name) & (trace.said | roots("birth")):
        return
    if years := years_of(trace, by):
        yield Clarification(words[0], f"By the {by.name}, or by the {years[0]}?", (by.name, *years), "temporal")


def is_later(trace: Trace, ref: Ref) -> bool:
    """The first date of a row is as a rule when it came to be; another one is taken for it only with a sign."""
    own = [m for m in trace.context.moments(ref.table) if not is_upkeep(m)]
    is_event = bool(
        roots(ref.name) & listed("takes_place") and roots(trace.context.called(ref.table)) & listed("happening")
    )
    return bool(own) and own[0].column != ref.column and any(m.column == ref.column for m in own) and not is_event


def gone(trace: Trace) -> Iterator[Clarification]:
    """ "How many people work here", where some have left: the present says which."""
    frame, words = trace.frame, " ".join(piece.text.lower() for piece in trace.pieces)
    is_present = any(f" {each} " in f" {words} " for each in vocabulary().words("grounds", "present"))
    ends = [m for m in trace.context.moments(frame.subject) if roots(m.names[0]) & listed("gone")]
    states = [each for each in frame.filters if each.op == "where" and each.of.table == frame.subject]
    if is_present and not trace.is_edit and not states and ends and (ends[0].table, ends[0].column) not in trace.met:
        name, called = ends[0].names[0], trace.context.called(frame.subject)
        question = f"All of them, or only each {called} without a {name}?"
        yield Clarification(called, question, (f"without {name}", "all of them"), "state")
