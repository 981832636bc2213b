"""Figures: a metric with its groups, on the table from which everything is reached without multiplying rows. Called by
assemble.py; `checked` says no where a sum would be counted twice.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from recollect.sql.context import EVENTS, Context, Refused, Unclear
from recollect.sql.dates import moved
from recollect.sql.draft_elapsed import is_elapsed
from recollect.sql.figure_pairs import paired
from recollect.sql.filters import value_filters
from recollect.sql.frame import Filter, Frame, Group, Metric, Order, Ref
from recollect.sql.frame_conditions import is_done, with_conditions
from recollect.sql.known import Target
from recollect.sql.lexer import stem_key
from recollect.sql.metrics import best, options
from recollect.sql.naming import many
from recollect.sql.ordering import ordered
from recollect.sql.period_tokens import UNITS, Span
from recollect.sql.phrases import phrases
from recollect.sql.places import group, is_key_column, is_reached_safely
from recollect.sql.sketch import Ask, GroupAsk, Sketch
from recollect.sql.vocabulary import vocabulary
from recollect.sql.wholes import check_whole, of_wholes

MOST_GROUPS = 3
TOLD_IN = re.compile(r"^in (?:weeks|months|quarters|years)$")  # of unequal length, or not kept so


def is_money(context: Context, sketch: Sketch) -> bool:
    """ "Sales in 2024" is an amount, unless a list is asked for."""
    asked = sketch.is_list or sketch.is_which or sketch.rank or sketch.metrics or sketch.compares or sketch.columns
    is_sum = any(t.kind == "entity" and context.money(t.table) for t in sketch.subject)
    if bool(sketch.subject) and not asked and is_sum and is_countable(sketch):
        if not sketch.definitions and not sketch.groups and not any(ask.of for ask in sketch.values):
            raise how_many_or_much(many(sketch.subject[0].name))
        return False
    return bool(sketch.subject) and not asked and is_sum


def is_amount(context: Context, sketch: Sketch) -> bool:
    """ "Expenses by type" are added up, "payments by type" are counted; which of the two was done is told."""
    is_sum = any(t.kind == "entity" and context.amounts(t.table) for t in sketch.subject)
    is_said = sketch.definitions or any(ask.of for ask in sketch.values)
    if not is_sum or not is_countable(sketch) or is_said:
        return False
    name = many(sketch.subject[0].name)
    is_added = stem_key(sketch.subject[0].name)[-1] in vocabulary().words("money", "added_up")
    context.assume(name, f"the {'amount' if is_added else 'number'} of {name}", "model", 0.6)
    return is_added


def how_many_or_much(name: str) -> Unclear:
    names = (f"number of {name}", f"total {name}")
    return Unclear(name, f"The number of {name}, or their amount?", names, "aggregation")


def is_countable(sketch: Sketch) -> bool:
    """ "Payments" are counted as often as they are added up, "failed payments" are counted; "sales" are an amount."""
    amounts = set(vocabulary().words("money", "revenue_names"))
    return not amounts & {piece.text.lower() for piece in sketch.pieces} and sketch.subject[0].name not in (
        "sale",
        "sales",
    )


def is_count_by(sketch: Sketch) -> bool:
    """ "Albums per artist" counts them."""
    counts = sketch.subject[0].kind == "entity" or any(is_key_column(t) for t in sketch.subject)
    dated = all(is_dating_column(sketch, ask) for ask in sketch.columns)
    return bool(sketch.groups) and counts and dated and not sketch.compares


def figure_of_subject(context: Context, sketch: Sketch) -> Frame:
    """A figure for each of what is asked for; or how many of them there are for each group."""
    is_added = not sketch.metrics and is_amount(context, sketch)
    subject, sketch.subject = sketch.subject, ()
    is_asked = sketch.is_list or sketch.is_which or not sketch.groups or sketch.rank
    if sketch.metrics and not is_asked:
        return figure(context, sketch)  # "Italian restaurants: revenue per year"
    if sketch.metrics:
        sketch.groups.insert(0, GroupAsk(subject, text=subject[0].name))
    elif is_added:
        sketch.metrics.append(Ask("sum", subject, text=subject[0].name, is_of=True))
    else:
        is_row = subject[0].kind == "entity" and not is_countable(replace(sketch, subject=subject))
        sketch.metrics.append(Ask(None if is_row else "count", subject, text=subject[0].name, is_count=not is_row))
    return figure(context, sketch)


def figure(context: Context, sketch: Sketch) -> Frame:
    if several := together(context, sketch):
        return several
    ask = sketch.metrics[0]
    grouped = {(t.table, t.column) for each in sketch.groups for t in each.targets}
    named = [ask for ask in sketch.columns if not {(t.table, t.column) for t in ask.targets} & grouped]  # said again
    if idle := next((each for each in named if not is_dating_column(sketch, each)), None):
        raise Unclear(idle.text, f"I do not see what “{idle.text}” is for here.", (f"by {idle.text}",), "aggregation")
    check_each_time(context, sketch, ask)
    places = wanted_places(context, sketch)
    chosen = best(context, options(context, ask, is_sold=is_sold(sketch)), places, ask.text)
    chosen = replace(chosen, metric=told_in(context, sketch, chosen.metric))
    others = [other for other in sketch.metrics[1:] if not is_same(other, ask)]
    again = [
        replace(chosen.metric, aggregate=each.aggregate or "") for each in sketch.metrics[1:] if is_same(each, ask)
    ]
    metrics = [chosen.metric, *again, *(second(context, other, chosen.base, places) for other in others)]
    frame = Frame(chosen.base, tuple(metrics))
    frame = averaged(ask, without_itself(of_wholes(context, ask, with_groups(context, sketch, frame))))
    frame = check_whole(context, dated_only(context, with_conditions(context, sketch, frame)))
    frame = ranked(sketch, frame)
    return ordered(context, sketch, checked(context, frame))


def is_same(other: Ask, ask: Ask) -> bool:
    """Another aggregate of the same: "min and max price"."""
    said = (other.targets, other.concept, other.text) == (ask.targets, ask.concept, ask.text)
    return said and bool(other.aggregate) and other.aggregate != ask.aggregate


def together(context: Context, sketch: Sketch) -> Frame | None:
    """Figures that are kept in two tables: each for itself, and then as one."""
    if len(sketch.metrics) < 2 or sketch.rank or all(is_same(each, sketch.metrics[0]) for each in sketch.metrics[1:]):
        return None
    alone = [replace(sketch, metrics=[ask], order=None, groups=[*sketch.groups]) for ask in sketch.metrics]
    frames = [figure(context, each) for each in alone]
    if len({frame.subject for frame in frames}) == 1:
        return None
    found = paired(context, frames)
    return ordered(context, sketch, found) if found else None


def told_in(context: Context, sketch: Sketch, metric: Metric) -> Metric:
    """The figure in the unit that was asked for."""
    of, unit = metric.of, sketch.unit
    if is_elapsed(of.expression) and (other := next(filter(TOLD_IN.search, texts(sketch)), None)):
        raise Unclear(other, "I can tell it in days, hours or minutes.", ("in days",), "quantitative")
    if unit is None:
        return metric
    own = context.unit_of(Target("measure", of.table, of.column, expression=of.expression))
    if own is None or own.kind != unit.kind or not of.expression:
        raise Unclear(of.name, f"I cannot tell the {of.name or 'figure'} in that unit.", category="quantitative")
    factor = own.factor / unit.factor
    told = of.expression if factor == 1 else f"({of.expression}) * {factor:.10g}"
    return replace(metric, of=replace(of, expression=told))


def texts(sketch: Sketch) -> list[str]:
    """Each word with the one in front of it."""
    said = [piece.text.lower() for piece in sketch.pieces]
    return [f"{one} {other}" for one, other in pairwise(said)]


def dated_only(context: Context, frame: Frame) -> Frame:
    """ "How many died per year": who did not die belongs to no year."""
    steps = [each.of for each in frame.groups if each.grain and each.of.table == frame.subject]
    named = [ref for ref in steps if is_optional(context, ref) and not any(p.of == ref for p in frame.periods)]
    return replace(frame, filters=(*frame.filters, *(Filter(ref, "not null") for ref in named)))


def is_optional(context: Context, ref: Ref) -> bool:
    table, main = context.catalog.table(ref.table), context.main_moment(ref.table)
    column = table.column(ref.column) if table else None
    return column is not None and column.nullable and (main is None or main.column != ref.column)


def is_dating_column(sketch: Sketch, ask: Ask) -> bool:
    """A date that is named with a period, or with a step of time."""
    dates = any(t.kind == "moment" for t in ask.targets)
    return dates and bool(sketch.spans or any(each.grain for each in sketch.groups) or is_done(ask.text))


def without_itself(frame: Frame) -> Frame:
    """ "Average nights per booking": a booking has its nights once, so the average is over all of them."""
    own = [each for each in frame.groups if (each.of.table, each.of.column, each.of.via) == (frame.subject, "", ())]
    if any(m.aggregate == "avg" and m.of.expression for m in frame.metrics) and (
        key := next((each.of for each in frame.groups if is_id(each.of)), None)
    ):
        raise Unclear(
            key.name, f"The average of what each {key.name} adds up to, or of its rows?", category="aggregation"
        )
    is_average = all(metric.aggregate == "avg" and metric.of.expression for metric in frame.metrics)
    return replace(frame, groups=tuple(g for g in frame.groups if g not in own)) if is_average else frame


def is_id(ref: Ref) -> bool:
    return bool(ref.column) and is_key_column(Target("dimension", ref.table, ref.column))


def averaged(ask: Ask, frame: Frame) -> Frame:
    """ "The average number of tracks per album": over the counts of each."""
    if frame.metrics[0].aggregate != "count" or ask.aggregate not in ("avg", "min", "max"):
        return frame
    if len(frame.groups) != 1 or len(frame.metrics) != 1:
        raise Unclear(ask.text, f"“{ask.text}” per what?", category="aggregation")
    metric = Metric(ask.aggregate, frame.metrics[0].of, frame.groups[0])
    return replace(frame, metrics=(metric,), groups=())


def second(context: Context, ask: Ask, base: str, places: list[list[Target]]) -> Metric:
    found = [option for option in options(context, ask) if option.base == base]
    if not found:
        raise Refused(f"“{ask.text}” is kept elsewhere than the first figure. Please ask for one at a time.")
    return found[0].metric


def check_each_time(context: Context, sketch: Sketch, ask: Ask) -> None:
    """ "How many books were borrowed": each of them once, or each time? People are counted once."""
    people = phrases().events["person"]
    things = [t for t in ask.targets if t.kind == "entity" and stem_key(t.name) not in people]
    if not ask.is_count or ask.is_distinct or not things:
        return
    for verb in (each for each in sketch.verbs if each in EVENTS and each != "commerce" and is_sold(sketch, each)):
        events = sorted(t for t in context.events(verb) if (context.cost(things[0].table, t) or (0, 0))[0])
        if events and things[0].table not in context.events(verb):
            names = (f"different {many(things[0].name)}", f"number of {many(context.called(events[0]))}")
            raise Unclear(ask.text, f"Each {things[0].name} once, or each time?", names, "aggregation")


def is_sold(sketch: Sketch, verb: str = "commerce") -> bool:
    """ "Were sold", "did we sell", "did he buy"; "customers who bought" and "do we sell" are not."""
    if any(gap.event for gap in sketch.missing):
        return False
    for at, piece in enumerate(sketch.pieces):
        if piece.word("verb") == verb and not piece.of("entity", "measure"):
            back = range(at - 1, max(-1, at - 5), -1)
            if piece.has("aux") or any(sketch.pieces[i].has("aux") for i in back):
                return True
    return False


def wanted_places(context: Context, sketch: Sketch) -> list[list[Target]]:
    """Everything the question must reach, each with its readings."""
    found = [list(ask.targets) for ask in sketch.groups if ask.targets]
    found += [list(ask.targets) for ask in sketch.values]
    found += [list(piece.of("entity", "join")) for piece in sketch.mentions if piece.of("entity", "join")]
    found += [list(sketch.subject)] if sketch.subject else []
    if sketch.spans or any(ask.grain for ask in sketch.groups):
        moments = [Target("moment", m.table, m.column) for m in context.model.moments]
        found += [moments] if moments else []
    return found


def with_groups(context: Context, sketch: Sketch, frame: Frame) -> Frame:
    asks = list(sketch.groups)
    if sketch.is_trend and not any(ask.grain for ask in asks):
        asks.append(GroupAsk(grain=preferred_grain(context), text="over time"))
    dates = [t for ask in sketch.columns for t in ask.targets if t.kind == "moment"]
    groups = [group(context, frame.subject, ask, dates, sketch.verbs) for ask in asks]
    if sketch.is_compared and not groups:
        groups = compared_groups(context, sketch, frame)
    if len(groups) > MOST_GROUPS:
        raise Refused("At most three things can be grouped by at once.")
    return replace(frame, groups=tuple(dict.fromkeys(groups)))


def preferred_grain(context: Context) -> str:
    grain = context.known.preferences.get("time_grain")
    if grain is None:
        raise Unclear("over time", "By which steps of time?", ("by month", "by quarter", "by year"), "temporal")
    context.assume("over time", f"by {grain}", "user", 0.7)
    return grain


def compared_groups(context: Context, sketch: Sketch, frame: Frame) -> list[Group]:
    """ "Compare Germany and France" shows one row for each."""
    if sketch.values:
        found = value_filters(context, frame.subject, sketch.values)
        return [Group(each.of) for each in found if each.op == "in"]
    if len(sketch.spans) > 1:
        return [group(context, frame.subject, GroupAsk(grain=step_of(sketch.spans), text="versus"))]
    return []


def step_of(spans: list[Span]) -> str:
    """ "This month compared to last month": by month, the step that all of them are."""
    ends = [(span.start, span.end) for span in spans]
    for unit in UNITS[::-1]:
        if all(start and end and moved(start, unit, 1) == end for start, end in ends):
            return unit
    raise Unclear("compared", "By which steps of time?", ("by month", "by quarter", "by year"), "temporal")


def ranked(sketch: Sketch, frame: Frame) -> Frame:
    if sketch.rank is None:
        return frame
    if not frame.groups:
        raise Unclear(sketch.rank.text, f"“{sketch.rank.text}” of what?", category="quantitative")
    return replace(frame, order=(Order("metric", 0, sketch.rank.is_descending),), limit=sketch.rank.count or 1)


def checked(context: Context, frame: Frame) -> Frame:
    """The fan-out rule, once more, on the frame itself."""
    for each in frame.groups:
        if is_reached_safely(context, frame.subject, each.of):
            continue
        if any(metric.aggregate in ("sum", "avg") or metric.share for metric in frame.metrics) and not bridged(
            context, frame, each.of
        ):
            raise Refused(f"Split by {each.of.name}, the {frame.metrics[0].of.name} would be counted more than once.")
    return frame


def bridged(context: Context, frame: Frame, ref: Ref) -> bool:
    ways = context.graph.ways(frame.subject, ref.table, ref.via)
    return bool(ways) and all(step.is_safe or step.table in context.graph.bridges for step in ways[0])
