"""Periods of a sketch as conditions: which date of which table each is about. What is named decides, then what was
done, then the main date; two that may be meant are asked about. Called by assemble.py and edit.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter

from recollect.sql.context import EVENTS, Context, Refused, Unclear
from recollect.sql.frame import Period, Ref
from recollect.sql.known import Target
from recollect.sql.lexer import key_of, root_of
from recollect.sql.naming import many
from recollect.sql.period_tokens import Span
from recollect.sql.phrases import phrases
from recollect.sql.places import DEEDS, called, moment_ref
from recollect.sql.semantic import Moment
from recollect.sql.sketch import Sketch
from recollect.sql.vocabulary import vocabulary

DONE = ("ed", "paid", "sold", "sent")
ENDED = ("cancelled", "canceled", "terminated", "ended", "closed", "expired", "churned", "withdrawn")
YEARS = ("year", "founded", "established", "built")


def periods(context: Context, base: str, sketch: Sketch, spans: Sequence[Span]) -> list[Period]:
    named = [t for ask in sketch.columns for t in ask.targets if t.kind == "moment"]
    named = named or (happened_then(context, base, sketch) if spans else [])
    if spans:
        check_same_word(context, base, named, spans[0].text)
    if not named:
        check_state_then(context, base, sketch)
    return [period(context, base, span, sketch.verbs, named) for span in spans]


def check_same_word(context: Context, base: str, named: Sequence[Target], term: str) -> None:
    """Students who "enrolled" in 2022: by the year that they have themselves, or by their enrollments?"""
    far = {root_of(target.name.split()[0]): target for target in named if target.table != base}
    own = [d for d in context.model.dimensions if d.table == base and d.type != "text"]
    same = [name for d in own if root_of((name := d.names[0]).split()[0]) in far]
    if same:
        names = [same[0], *(called(context, target) for target in far.values())]
        raise Unclear(term, f"Which date does “{term}” mean?", names, "temporal")


def check_state_then(context: Context, base: str, sketch: Sketch) -> None:
    """ "Fines that were paid in 2024", where only the day of the fine is kept: paid then, or a fine of then?"""
    for state, then in pairwise(sketch.pieces):
        is_state = bool(state.values or state.of("definition")) and not state.of("moment") and not state.is_quoted
        text = state.text
        is_taken = any(ask.text == text for ask in sketch.values) or state.of("definition")
        is_verb = any(word.kind == "verb" for word in phrases().of(key_of(text))) or has_end(context, base, text)
        if then.period and is_state and is_taken and is_verb and text.endswith(DONE):
            question = f"When it was {text} is not kept here. Should those of “{then.text}” be taken that are {text}?"
            raise Unclear(text, question, (f"{text} {many(context.called(base))} {then.text}",), "temporal")


def has_end(context: Context, base: str, state: str) -> bool:
    """A contract that was cancelled in 2024 may have begun long before."""
    if root_of(state) not in map(root_of, ENDED):
        return False
    ends = set(vocabulary().words("grounds", "gone")) | {"end", "ended", "closed", "until"}
    return any(ends & set(moment.names[0].split()) for moment in context.moments(base) if not moment.is_main)


def happened_then(context: Context, base: str, sketch: Sketch) -> list[Target]:
    """ "Customers with refunds in 2024": the refunds were then, not the customers."""
    for at, piece in enumerate(sketch.pieces):
        if not piece.period or not at:
            continue
        before = sketch.pieces[at - 1]
        tables = [t.table for t in before.of("entity") if before in sketch.mentions and t.table != base]
        events = [m for t in tables if (context.cost(base, t) or (0, 0))[0] and (m := context.main_moment(t))]
        if events:
            return [Target("moment", m.table, m.column, name=m.names[0]) for m in events]
    return []


def period(context: Context, base: str, span: Span, verbs: Sequence[str], named: Sequence[Target] = ()) -> Period:
    if span.needs_year:
        raise Unclear(
            span.text,
            f"Which year does “{span.text}” mean?",
            (f"{span.text} {context.today.year}", f"{span.text} {context.today.year - 1}"),
            "temporal",
        )
    if (column := year_column(context, base)) and not named and is_own_year(column, verbs):
        return numbered(column, span)
    if not named and (column := said_year(context, base)):
        return numbered(column, span)
    ref = moment_ref(context, base, span.text, verbs, named or taking_place(context, base, span))
    if not context.is_dated(ref.table, ref.column):
        raise Refused(f"{ref.name} is not stored as a date, so “{span.text}” cannot be applied to it.")
    return Period(
        ref, span.start.isoformat() if span.start else None, span.end.isoformat() if span.end else None, span.text
    )


def taking_place(context: Context, base: str, span: Span) -> list[Target]:
    """Bookings of days to come: when they take place, not when they were written down."""
    main, own = context.main_moment(base), context.moments(base)
    is_ahead = span.start is not None and span.start > context.today
    if main is None or not is_ahead or not is_any(main, "noted"):
        return []
    then = [m for m in own if is_any(m, "taking_place")]
    return [Target("moment", base, m.column, name=m.names[0]) for m in then[:1]]


def is_any(moment: Moment, listed: str) -> bool:
    return bool(set(moment.names[0].split()) & set(vocabulary().words("moments", listed)))


def as_one(found: Sequence[Period]) -> list[Period]:
    """Several of one column: what follows each other is one range, an open end meets the other, the rest are "or"."""
    if len({each.of for each in found}) != 1 or len(found) < 2:
        return list(found)
    text = f"{found[0].text} and {found[-1].text}"
    first = next((each.start for each in found if each.start and not each.end), None)
    last = next((each.end for each in found if each.end and not each.start), None)
    if len(found) == 2 and first and last:
        apart = ((first, None),) if last <= first else ()
        return [replace(found[0], start=None if apart else first, end=last, text=text, others=apart)]
    ranges = run_together(sorted(((e.start or "", e.end) for e in found), key=itemgetter(0)))
    return [replace(found[0], start=ranges[0][0], end=ranges[0][1], text=text, others=tuple(ranges[1:]))]


def run_together(ranges: Sequence[tuple[str, str | None]]) -> list[tuple[str | None, str | None]]:
    made: list[tuple[str | None, str | None]] = []
    for start, end in ranges:
        if made and (made[-1][1] is None or made[-1][1] >= start):
            before = made[-1][1]
            made[-1] = (made[-1][0], None if before is None or end is None else max(before, end))
        else:
            made.append((start or None, end))
    return made


def year_column(context: Context, base: str) -> Target | None:
    """A number that is called a year, in a table without dates."""
    if context.main_moment(base):
        return None
    numbers = [d for d in context.model.dimensions if d.table == base and d.type in ("integer", "number")]
    return next(
        (Target("dimension", d.table, d.column, name=d.names[0]) for d in numbers if d.names[0].split()[-1] in YEARS),
        None,
    )


def said_year(context: Context, base: str) -> Target | None:
    """ "Released between 2015 and 2020", where the release year is kept, although the rows have dates too."""
    own = [d for d in context.model.dimensions if d.table == base and d.type in ("integer", "number")]
    years = [d for d in own if d.names[0].split()[-1] in YEARS and " " in d.names[0]]
    said = [d for d in years if root_of(d.names[0].split()[0]) in context.words]
    return Target("dimension", base, said[0].column, name=said[0].names[0]) if len(said) == 1 else None


def is_own_year(column: Target, verbs: Sequence[str]) -> bool:
    """Books "published" in 2020, or just of 2020; not those that were borrowed then."""
    deeds = [verb for verb in verbs if verb in (*EVENTS, *DEEDS)]
    words = {root_of(word) for word in column.name.split()}
    return not deeds or any(words & {root_of(w) for key in phrases().events[v] for w in key} - {"year"} for v in deeds)


def numbered(column: Target, span: Span) -> Period:
    for edge in (span.start, span.end):
        if edge and (edge.month, edge.day) != (1, 1):
            raise Refused(f"{column.name} holds only years, so “{span.text}” cannot be applied to it.")
    start, end = (str(edge.year) if edge else None for edge in (span.start, span.end))
    return Period(Ref(column.table, column.column, name=column.name), start, end, span.text, is_year=True)
