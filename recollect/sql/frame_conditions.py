"""Conditions: what a frame takes in: filters, periods, thresholds, and rows that must or must not be there. Called for
figures and lists alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from recollect.sql.context import EVENTS, Context, Refused, Unclear
from recollect.sql.filter_numbers import compared, compared_targets, conversion
from recollect.sql.filter_periods import as_one, period, periods
from recollect.sql.filters import definition_filters, value_filters
from recollect.sql.frame import Existence, Filter, Frame, Having, Metric, Op, Period, Ref
from recollect.sql.known import Target
from recollect.sql.metrics import is_numeric
from recollect.sql.naming import many, singular
from recollect.sql.places import is_reached_safely, nearest, placed, ref_of
from recollect.sql.render_where import owner_of
from recollect.sql.roles_compare import KEY
from recollect.sql.semantic import Dimension
from recollect.sql.sketch import CompareAsk, Missing, Sketch
from recollect.sql.vocabulary import vocabulary


def with_conditions(context: Context, sketch: Sketch, frame: Frame) -> Frame:
    base = frame.subject
    filters = [*value_filters(context, base, sketch.values), *definition_filters(context, base, sketch.definitions)]
    frame = replace(frame, filters=tuple(filters), periods=tuple(joined_periods(context, sketch, base)))
    frame = with_happened(context, sketch, frame)
    for ask in sketch.compares:
        frame = with_comparison(context, frame, ask)
    for gap in sketch.missing:
        frame = with_missing(context, frame, gap, sketch)
    frame = with_mentions(context, sketch, frame)
    check_both(context, sketch, frame)
    check_missing_then(context, sketch, frame)
    frame = with_figures_of_then(context, frame)
    open_ones = [each for each in frame.existence if each.is_negated and not each.periods]
    dates = [p.of for p in frame.periods] if open_ones else []
    far = [ref for ref in (*(f.of for f in frame.filters), *dates) if not is_reached_safely(context, base, ref)]
    if far and not frame.groups and any(each.is_negated for each in frame.existence):
        raise Refused(
            "“Never” together with a condition on what it was: please ask for the ones who did, and for all of them."
        )
    return frame


def check_both(context: Context, sketch: Sketch, frame: Frame) -> None:
    """ "Who have a cat and a dog": one of them, or each? Where rows are looked for elsewhere, "and" is not "or"."""
    far = [f for f in frame.filters if f.op == "in" and not is_reached_safely(context, frame.subject, f.of)]
    places = [ask.at for ask in sketch.values if ask.is_alternative]
    joints = [piece.word("or") for at in places for piece in sketch.pieces[max(at - 3, 0) : at] if piece.has("or")]
    if far and "and" in joints and not frame.metrics:
        said = " and ".join(far[0].values)
        raise Unclear(said, f"Each of “{said}”, or one of them?", (" or ".join(far[0].values),), "entity")


def check_missing_then(context: Context, sketch: Sketch, frame: Frame) -> None:
    """ "Customers without an order in 2024": the orders of then, or the customers of then?"""
    gone = [e for e in frame.existence if e.is_negated and not e.periods and context.main_moment(e.table)]
    own = [each for each in frame.periods if each.of.table == frame.subject]
    named = any(t.kind == "moment" for ask in sketch.columns for t in ask.targets)
    if gone and own and not named:
        name = gone[0].name
        raise Refused(f"“Without” a {name} and a period: please ask for those that have one then, and for all of them.")


def with_figures_of_then(context: Context, frame: Frame) -> Frame:
    """ "How many customers have 5 orders in 2024": five of then, and not one of then and five in all."""
    if frame.groups or not frame.having:
        return frame
    far = [each for each in frame.periods if not is_reached_safely(context, frame.subject, each.of)]
    others = [each.of for each in frame.filters if not is_reached_safely(context, frame.subject, each.of)]
    tables = {each.metric.of.table for each in frame.having}
    if others or not all(is_reached_safely(context, table, replace(p.of, via=())) for table in tables for p in far):
        name = frame.having[0].metric.of.name
        question = f"The number of {name} in all, or only of what else was asked for?"
        raise Unclear(name, question, category="quantitative")
    having = tuple(replace(each, periods=tuple(far)) for each in frame.having)
    return replace(frame, having=having, periods=tuple(each for each in frame.periods if each not in far))


def with_happened(context: Context, sketch: Sketch, frame: Frame) -> Frame:
    """ "Orders that were shipped": those that have the date."""
    asks = [] if sketch.spans or any(each.grain for each in sketch.groups) else sketch.columns
    for ask in asks:
        own = [t for t in ask.targets if t.kind == "moment" and t.table == frame.subject and is_done(ask.text)]
        main = context.main_moment(frame.subject)
        if own and (main is None or own[0].column != main.column):
            frame = replace(frame, filters=(*frame.filters, Filter(ref_of(own[0]), "not null")))
    return frame


def is_done(text: str) -> bool:
    """A participle: it happened."""
    low = text.lower()
    return low.endswith(("ed", "en", "sold", "sent", "paid", "born")) or low in vocabulary().words("moments", "done")


def joined_periods(context: Context, sketch: Sketch, base: str) -> list[Period]:
    """One period; of several that follow each other the whole, of two open ones what they have in common."""
    found = as_one(periods(context, base, sketch, sketch.spans))
    if len(found) > 1 or any(each.others for each in found):
        raise Refused("Two periods that do not follow each other: please ask for one at a time.")
    return found


def with_comparison(context: Context, frame: Frame, ask: CompareAsk) -> Frame:
    """A condition on each row, or on the figure of each group."""
    if ask.ask.concept == KEY:
        return replace(frame, filters=(*frame.filters, numbered_row(context, frame.subject, ask)))
    if ask.is_average:
        return with_average(context, frame, ask)
    owner = owner_of(frame)
    check_whose(context, frame, owner, ask)
    if any(t.kind == "entity" for t in ask.ask.targets):
        return counted_of(context, frame, owner, ask)
    counts = bool(frame.metrics) and frame.metrics[0].aggregate == "count"
    if counts and ask.unit and not ask.ask.targets:  # "over 20 kg" is said of each row, however they are counted
        each = compared(context, frame.subject, ask)
        condition = row_filter(context, frame.subject, each.target, ask, each.numbers)
        return replace(frame, filters=(*frame.filters, condition))
    if frame.groups and frame.metrics and not ask.ask.targets and not ask.ask.concept:
        return having(frame, frame.metrics[0], ask, in_own_unit(context, frame.metrics[0], ask))
    if is_shown(context, frame, owner, ask):
        return having(frame, frame.metrics[0], ask, in_own_unit(context, frame.metrics[0], ask))
    found = compared(context, owner.table, ask)
    is_own = found.target.table == owner.table and not (frame.groups and frame.metrics)
    is_far = not is_reached_safely(context, found.target.table, Ref(owner.table, via=owner.via))
    if found.target.kind == "dimension" or is_own or is_far:
        condition = row_filter(context, frame.subject, found.target, ask, found.numbers)
        return replace(frame, filters=(*frame.filters, condition))
    metric = Metric(found.aggregate or found.target.aggregate, ref_of(found.target))
    check_bound(context, frame, owner, metric, ask)
    return having(frame, metric, ask, found.numbers)


def with_average(context: Context, frame: Frame, ask: CompareAsk) -> Frame:
    """Rows above or below the average of all rows; of which rows it is, must be plain."""
    found = compared(context, frame.subject, ask)
    if found.target.kind != "measure" or found.target.table != frame.subject or frame.groups:
        raise Unclear(ask.text, f"The average of what: “{ask.text}”?", category="quantitative")
    if frame.filters or frame.periods or frame.existence:
        name = many(context.called(frame.subject))
        raise Unclear(ask.text, f"“{ask.text}” of all {name}, or of these?", category="quantitative")
    op: Op = "> average" if ask.op == ">" else "< average"
    ref = placed(context, frame.subject, found.target, ask.text)
    return replace(frame, filters=(*frame.filters, Filter(ref, op, (), is_text=False)))


def numbered_row(context: Context, base: str, ask: CompareAsk) -> Filter:
    """ "Store 2": by its key, if it has one, and no number of another kind."""
    target = nearest(context, base, ask.ask.targets, ask.text)
    entity, table = context.entity(target.table), context.catalog.table(target.table)
    key = entity.key[0] if entity and len(entity.key) == 1 else ""
    column = table.column(key) if table and key else None
    own = [d for d in context.model.dimensions if d.table == target.table and d.column != key]
    other = [d.names[0] for d in own if is_number_of(d, context.called(target.table))]
    if column is None or other:
        raise Unclear(ask.text, f"By what is “{ask.text}” found?", other, "entity")
    ref = placed(context, base, Target("dimension", target.table, key, name=key), ask.text)
    return Filter(ref, "=", (str(int(ask.numbers[0])),), is_text=column.type == "text")


def is_number_of(dimension: Dimension, name: str) -> bool:
    """A room has its number besides its id."""
    own, _, last = dimension.names[0].rpartition(" ")
    return own in ("", name, name.split()[-1]) and last in ("number", "no", "nr", "code", "num")


def is_shown(context: Context, frame: Frame, owner: Ref, ask: CompareAsk) -> bool:
    """ "Stores with more than 1000 units": the units that are shown for each."""
    if not frame.groups or not frame.metrics or ask.ask.aggregate or not (ask.ask.targets or ask.ask.concept):
        return False
    shown = frame.metrics[0].of
    targets = ask.ask.targets or compared_targets(context, owner.table, ask)
    return bool(shown.expression) and any((t.table, t.expression) == (shown.table, shown.expression) for t in targets)


def check_bound(context: Context, frame: Frame, owner: Ref, metric: Metric, ask: CompareAsk) -> None:
    """A figure of another table must belong to what it is said of; whether a period is said of it too is asked."""
    if frame.groups and metric.of.table == frame.subject:
        return
    if not context.graph.ways(metric.of.table, owner.table) or (frame.groups and frame.groups[0].grain):
        name = context.called(owner.table)
        raise Unclear(ask.text, f"Of what is “{ask.text}” said? Not of a {name}.", category="quantitative")
    if frame.groups and (frame.periods or frame.filters):
        question = f"“{ask.text}”: in all, or only of what else was asked for?"
        raise Unclear(ask.text, question, category="quantitative")


def in_own_unit(context: Context, metric: Metric, ask: CompareAsk) -> tuple[str, ...]:
    """ "Over 1000 dollars" of a sum of cents."""
    of = metric.of
    target = Target("measure", of.table, of.column, expression=of.expression, name=of.name)
    factor = conversion(context, target, ask.unit, ask.text, ask.numbers) if ask.unit else 1.0
    return tuple(str_of(round(number * factor, 6)) for number in ask.numbers)


def check_whose(context: Context, frame: Frame, owner: Ref, ask: CompareAsk) -> None:
    """ "Accounts with opportunities over 1000": said of an opportunity, and not of the account."""
    if ask.of and not ask.of & {owner.table, frame.subject} and not ask.ask.aggregate:
        name = context.called(min(ask.of))
        question = f"Is “{ask.text}” about one {name}, or about all of them together?"
        raise Unclear(ask.text, question, (f"one {name} {ask.text}",), "quantitative")


def counted_of(context: Context, frame: Frame, owner: Ref, ask: CompareAsk) -> Frame:
    """ "With more than 5 orders": how many there are for each."""
    target = nearest(context, owner.table, [t for t in ask.ask.targets if t.kind == "entity"], ask.text)
    if target.is_partial and ask.ask.text.lower() in ("people", "persons"):
        names = [m.names[0] for m in context.own_measures(owner.table)]
        raise Unclear(ask.text, f"Which people is “{ask.text}” about?", names, "quantitative")
    measures = [m.names[0] for m in context.own_measures(owner.table)]
    is_often = ask.text.lower().endswith(("times", "time"))
    if own := [name for name in measures if target.name in map(singular, name.split()) and not is_often]:
        names = [own[0], f"number of {target.name}s"]
        raise Unclear(ask.text, f"Is “{ask.text}” the {own[0]}?", names, "quantitative")
    if target.table == owner.table and not owner.column and not owner.via:
        raise Unclear(ask.text, f"How many of what should it be: “{ask.text}”?", category="quantitative")
    metric = Metric("count", Ref(target.table, name=target.name))
    check_bound(context, frame, owner, metric, ask)
    return having(frame, metric, ask, tuple(map(str_of, ask.numbers)))


def row_filter(context: Context, base: str, target: Target, ask: CompareAsk, numbers: tuple[str, ...]) -> Filter:
    is_text = target.kind == "dimension" and not is_numeric(context, target)
    if is_text and ask.op != "=":
        raise Unclear(
            ask.text,
            f"{target.name} is a text, not a number: “{ask.text}” cannot be compared.",
            category="quantitative",
        )
    return Filter(placed(context, base, target, ask.text), op_of(ask.op), numbers, is_text=is_text)


def having(frame: Frame, metric: Metric, ask: CompareAsk, numbers: tuple[str, ...]) -> Frame:
    return replace(frame, having=(*frame.having, Having(metric, op_of(ask.op), numbers)))


def op_of(op: str) -> Op:
    return op  # type: ignore[return-value]


def str_of(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def with_missing(context: Context, frame: Frame, gap: Missing, sketch: Sketch) -> Frame:
    """An empty column of the subject, or no row of the other table that belongs to it."""
    base = frame.subject
    target = missing_target(context, base, gap)
    if gap.spans and target.kind not in ("entity", "join"):
        raise Unclear(gap.text, f"“{gap.text}”: none at all, or none then?", category="temporal")
    if target.kind == "measure":
        return with_any(context, frame, target, gap)
    if target.kind in ("dimension", "moment") and target.table == base:
        ref = placed(context, base, target, gap.text)
        return replace(frame, filters=(*frame.filters, Filter(ref, "not null" if gap.is_there else "is null")))
    if target.kind not in ("entity", "join") or (target.table == base and not target.via):
        raise Unclear(gap.text, f"I do not see what “{gap.text}” leaves out.", category="entity")
    via = placed(context, base, replace(target, kind="entity"), gap.text).via
    then = tuple(period(context, target.table, span, ()) for span in gap.spans)
    existence = Existence(target.table, not gap.is_there, target.name or context.called(target.table), via, then)
    return replace(frame, existence=(*frame.existence, existence))


def missing_target(context: Context, base: str, gap: Missing) -> Target:
    """A date of its own that is empty ("not yet shipped"), or the rows of an event ("never rented")."""
    main = context.main_moment(base)
    moment = context.moment_of(gap.event, {base}) if gap.event else None
    dates = [t for t in gap.targets if t.kind == "moment"]
    own = [t for t in dates if t.table == base and not (main and t.column == main.column)]
    if moment and moment != main:
        own = own or [Target("moment", base, moment.column, name=moment.names[0])]
    if own:
        return own[0]
    if not gap.event and len(dates) < len(gap.targets):
        return nearest(context, base, [t for t in gap.targets if t not in dates], gap.text)
    check_whole_event(context, dates, gap)
    events = {*(context.events(gap.event) if gap.event else ()), *(t.table for t in dates)}
    return event_target(
        context, base, [Target("entity", t) for t in events if t != base and context.cost(base, t)], gap
    )


def check_whole_event(context: Context, dates: list[Target], gap: Missing) -> None:
    """ "Never resolved a ticket": none at all, or none that was resolved?"""
    for date in dates:
        main = context.main_moment(date.table)
        if main is None or main.column != date.column:
            name = context.called(date.table)
            question = f"“{gap.text}”: without any {name}, or without one that has a {date.name}?"
            raise Unclear(gap.text, question, (f"without a {name}",), "entity")


def with_any(context: Context, frame: Frame, target: Target, gap: Missing) -> Frame:
    """ "Bookings with children": more than none. Without: none, or nothing said."""
    ref = placed(context, frame.subject, target, gap.text)
    if not gap.is_there or target.table != frame.subject:
        raise Unclear(gap.text, f"Is that {target.name} = 0?", (f"{target.name} = 0",), "quantitative")
    return replace(frame, filters=(*frame.filters, Filter(ref, ">", ("0",), is_text=False)))


def event_target(context: Context, base: str, tables: list[Target], gap: Missing) -> Target:
    if not tables:
        raise Unclear(gap.text, f"I see nothing here that “{gap.text}” could be about.", category="entity")
    return min(tables, key=lambda t: (context.cost(base, t.table) or (9, 9), t.table))


def with_mentions(context: Context, sketch: Sketch, frame: Frame) -> Frame:
    """Something that is only named must be there: "customers with invoices"; a verb means its event."""
    found = list(frame.existence)
    for target, text in (*mentioned(context, sketch, frame), *events(context, sketch, frame)):
        is_far = (context.cost(frame.subject, target.table) or (0, 0))[0] == 1
        if not is_far and target.kind == "entity" and context.acts:
            context.way(frame.subject, target.table, term=text)  # asks, if what was done leads there otherwise
        if is_far and target.table not in on_ways(context, frame) and not is_denied(context, frame, target):
            placed(context, frame.subject, replace(target, via=""), text)
            found.append(Existence(target.table, False, target.name or context.called(target.table)))
    return replace(frame, existence=tuple(dict.fromkeys(found)))


def is_denied(context: Context, frame: Frame, target: Target) -> bool:
    """ "Never borrowed a book": without a loan there is no book to look for."""
    denied = {each.table for each in frame.existence if each.is_negated}
    ways = context.graph.ways(frame.subject, target.table)
    return any(denied & {step.table for step in way} for way in ways)


def mentioned(context: Context, sketch: Sketch, frame: Frame) -> list[tuple[Target, str]]:
    named = [(piece.of("entity", "join"), piece.text) for piece in sketch.mentions]
    return [(nearest(context, frame.subject, targets, text), text) for targets, text in named if targets]


def events(context: Context, sketch: Sketch, frame: Frame) -> Iterator[tuple[Target, str]]:
    """What the verbs are about, where nothing else in the question leads there."""
    for verb in sketch.verbs:
        tables = context.events(verb) if verb in EVENTS and is_active(sketch) else frozenset()
        if not tables or frame.subject in tables or is_covered(context, frame, tables):
            continue
        near = min(tables, key=lambda t: (context.cost(frame.subject, t) or (9, 9), t))
        if context.cost(frame.subject, near):
            yield Target("entity", near), verb


def is_active(sketch: Sketch) -> bool:
    """ "Customers who bought" and "tracks that were sold", not "tracks that we sell"."""
    past = {"sell", "sells", "selling"}
    return not all(p.text.lower() in past for p in sketch.pieces if p.word("verb") == "commerce")


def is_covered(context: Context, frame: Frame, tables: frozenset[str]) -> bool:
    return bool(tables & (on_ways(context, frame) | {e.table for e in frame.existence}))


def on_ways(context: Context, frame: Frame) -> set[str]:
    """Tables that are joined anyway."""
    found = {frame.subject}
    for ref in frame.refs():
        ways = context.graph.ways(frame.subject, ref.table, ref.via)
        found |= {step.table for step in ways[0]} if ways else set()
    for each in frame.existence:
        ways = context.graph.ways(frame.subject, each.table)
        found |= {step.table for step in ways[0]} if ways else set()
    return found
