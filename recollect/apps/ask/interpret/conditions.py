"""Conditions of a frame: filters, periods, figures of related rows, and taught definitions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Grain, Group, Having, Metric, Op, Period, Ref
from recollect.apps.ask.interpret.index import NO_COLUMN, ColumnInfo, SchemaIndex, Target
from recollect.apps.ask.interpret.periods import Unit
from recollect.apps.ask.interpret.render import CannotRender, render_keys
from recollect.apps.ask.interpret.state import Fact
from recollect.apps.ask.interpret.work import Work, make_ref, negate

Range = tuple[str | None, str | None]
SELDOM = 0.5  # share of rows that lack a date
NEAR = 2  # words between two periods that belong together


def add_conditions(work: Work) -> None:
    for fact in work.facts("filter"):
        ref = with_role(make_ref(fact.target, work.index), fact.role, work)
        work.filters.append((Filter(ref, negate(fact.op, fact.is_negated), fact.values, fact.is_text), fact))
        work.note("value_of_namesake", is_of_namesake(ref, work))
    for fact in work.facts("having"):
        add_having(work, fact)
    for fact in work.facts("exists"):
        if fact.target.table == work.subject:
            work.note("left_over")
        else:
            work.existence.append(Existence(fact.target.table, fact.is_negated, via=fact.target.via))
    base = work.base
    for period in merge_periods(work):
        add_period(work, base, period)
    grains = work.facts("grain")[int(work.averaged_grain) :]
    # "The trend by quarter" is one by quarter.
    for fact in [each for each in grains if not each.op] or grains[:1]:
        add_grain(work, base, fact)


def is_of_namesake(ref: Ref, work: Work) -> bool:
    """Whether the subject has a column of that name itself, and nobody named the rows that have the value: open orders
    are no orders of open customers. Names are told apart by what they name."""
    other = work.index.tables[ref.table]
    is_same = ref.table != work.subject and ref.column in work.index.tables[work.subject].columns
    return is_same and ref.column not in other.label and ref.table not in work.tables("entity", "group", "show")


def with_role(ref: Ref, role: str, work: Work) -> Ref:
    """Return the reference through the key that a role word names: the airport that a flight departs from."""
    if not role or ref.via:
        return ref
    for name, join in work.index.joins.by_name.items():
        if join.to == ref.table and role in work.index.column(join.table, join.columns[0]).concepts:
            work.note("role_matched")
            return replace(ref, via=(name,))
    return ref


def add_having(work: Work, fact: Fact) -> None:
    """Add a condition on a count or a sum: of the related rows of each subject, or of each group."""
    ref = make_ref(fact.target, work.index)
    having = Having(Metric(fact.aggregate, ref), negate(fact.op, fact.is_negated), fact.values)
    if (groups := find_compared_groups(work, ref)) is not None:
        # "Customers who spent over 1000" are shown with what they spent.
        work.groups, work.metrics, work.having = groups, [having.metric], [having]
    elif is_of_rows(work) and is_fan_out(work, ref):
        work.existence.append(Existence(ref.table, having=having, via=ref.via))
    elif not (work.metrics or work.groups or work.columns):
        work.note("left_over")
    else:
        if not work.metrics and not work.groups:
            work.groups, work.columns = [Group(each) for each in work.columns], []
        work.having.append(having)


def find_compared_groups(work: Work, ref: Ref) -> list[Group] | None:
    """Return the groups whose figures are compared if nothing else is said: the rows of the subject, or the spans of
    time that are added later ("months with sales over 1000")."""
    if not says_nothing_else(work):
        return None
    if work.facts("grain") and not work.named_entities:
        return []
    is_below = not ref.via and work.index.joins.is_below(ref.table, work.subject)
    return [Group(Ref(work.subject))] if is_below else None


def says_nothing_else(work: Work) -> bool:
    return not (work.columns or work.metrics or work.groups or work.order or work.having)


def is_of_rows(work: Work) -> bool:
    """Whether a condition is about each row of the subject, not about groups."""
    return not work.groups and (not work.columns or work.subject in work.tables("entity"))


def is_fan_out(work: Work, ref: Ref) -> bool:
    """Whether a row of the subject has several rows there."""
    is_one = work.index.joins.belongs(work.subject, ref.table, ref.via)
    return not is_one and bool(work.index.joins.path(work.subject, ref.table, ref.via))


@dataclass(frozen=True, slots=True)
class Interval:
    """Periods of a question that belong together: one range, or alternatives."""

    target: Target
    unit: Unit
    text: str
    ranges: tuple[Range, ...]
    op: str
    at: int
    last: int  # where its last word ends
    is_negated: bool


def merge_periods(work: Work) -> list[Interval]:
    """Join "from June to August" into one range and "2021 and 2023" into alternatives. Periods that are compared are
    alternatives, however far apart they are named."""
    merged: list[Interval] = []
    is_compared = bool(work.facts("compare"))
    for fact in work.facts("period"):
        if fact.span is None:
            continue
        bounds = find_bounds(fact.op, fact.span.start.isoformat(), fact.span.end.isoformat())
        made = Interval(
            fact.target, fact.span.unit, fact.text, (bounds,), fact.op, fact.at, fact.span.last, fact.is_negated
        )
        is_related = bool(merged) and (
            is_compared or (made.at - merged[-1].last <= NEAR and merged[-1].target == made.target)
        )
        joined = join_intervals(merged[-1], made, fact) if is_related else None
        merged = [*merged[:-1], joined] if joined else [*merged, made]
    return merged


def join_intervals(before: Interval, made: Interval, fact: Fact) -> Interval | None:
    """Return both periods as one interval; None if they have nothing to do with each other."""
    [bounds] = made.ranges
    if is_one_range(before, fact, bounds):
        ranges = ((before.ranges[0][0], bounds[1]), *before.ranges[1:])
        return replace(before, text=f"{before.text} - {fact.text}", ranges=ranges)
    if fact.junction and not fact.op and not before.op and made.is_negated == before.is_negated:
        return replace(before, text=f"{before.text}, {fact.text}", ranges=(*before.ranges, bounds))
    return None


def is_one_range(before: Interval, fact: Fact, bounds: Range) -> bool:
    """Whether a period ends the range that the one before begins."""
    start = before.ranges[0][0]
    is_continued = before.op == "between" or fact.op == "<=" or not fact.junction
    return is_continued and start is not None and start < (bounds[1] or "")


def find_bounds(op: str, start: str, end: str) -> Range:
    """Return the half-open range of `after 2008`, `before May`, `since 2020`."""
    ranges: dict[str, Range] = {">": (end, None), ">=": (start, None), "<": (None, start), "<=": (None, end)}
    return ranges.get(op, (start, end))


def make_period(ref: Ref, interval: Interval) -> Period:
    (start, end), *others = interval.ranges
    return Period(ref, start, end, interval.text, tuple(others), interval.is_negated)


def add_period(work: Work, base: str, interval: Interval) -> None:
    info = work.index.column_of(interval.target)
    year = find_year(work, base, info) if interval.unit == "year" else None
    if year is not None:
        work.filters.append((filter_year(year, interval), Fact("filter", interval.at)))
        work.note("year_column")
        return
    mentioned = find_mentioned_moment(work, interval.at) if info is NO_COLUMN else None
    moment = mentioned or find_moment(work, base, info)
    if moment is None:
        work.note("left_over")
        return
    made, before = make_period(moment, interval), work.periods[-1:] if work.last else []
    if work.facts("compare") and [each.of for each in before] == [moment]:
        # "Compare that with 2024": both periods are wanted.
        text, others = f"{before[0].text}, {made.text}", (*before[0].others, *made.ranges)
        work.periods[-1] = replace(before[0], text=text, others=others)
    else:
        work.periods.append(made)


def add_grain(work: Work, base: str, fact: Fact) -> None:
    moment = find_moment(work, base)
    if moment is None:
        work.note("left_over")
        return
    grain: Grain = fact.text  # type: ignore[assignment]
    # A span of time comes before the groups of the last answer.
    work.groups.insert(0 if work.last else len(work.groups), Group(moment, grain))
    if not work.metrics:
        work.metrics.append(Metric("count", Ref(work.subject)))
        work.note("default_aggregate", 2)


def find_mentioned_moment(work: Work, at: int) -> Ref | None:
    """Return the date of the rows named just before the period: "without orders in 2025" means the orders' date."""
    before = [fact.target.table for fact in work.facts("entity", "exists", "having") if fact.at < at]
    if before[-1:] in ([], [work.subject]):
        # "This year, which customers did not order": what happened comes later.
        before = [fact.target.table for fact in work.facts("exists") if fact.is_negated and fact.at > at]
    if before[-1:] in ([], [work.subject]) or is_dated_below(work.base, before[-1], work.index):
        return None
    moment = work.index.tables[before[-1]].main_moment
    return Ref(before[-1], moment) if moment else None


def is_dated_below(table: str, other: str, index: SchemaIndex) -> bool:
    """Whether dated rows belong to others: "sales to customers in 2025" are those of 2025."""
    return bool(index.tables[table].main_moment) and index.joins.belongs(table, other)


def find_year(work: Work, base: str, info: ColumnInfo) -> Ref | None:
    """Return a column of years: the one named before, or the only one of the tables in play where no date is."""
    if info is not NO_COLUMN:
        return Ref(info.table, info.name) if info.is_when and info.role != "moment" else None
    for table in dict.fromkeys((base, work.subject, *(fact.target.table for fact in work.facts("entity")))):
        if work.index.tables[table].main_moment:
            return None
        for each in work.index.tables[table].columns.values():
            if each.is_year:
                return Ref(table, each.name)
    return None


def filter_year(ref: Ref, interval: Interval) -> Filter:
    """Compare a column of years with the numbers of the years."""
    _, end = interval.ranges[0]
    years = tuple(begin[:4] for begin, _ in interval.ranges if begin)
    last = (str(int(end[:4]) - 1),) if end else ()
    if len(years) > 1:
        return Filter(ref, negate("in", interval.is_negated), years, is_text=False)
    if years == last:
        return Filter(ref, negate("=", interval.is_negated), years, is_text=False)
    op: Op = "between" if years and last else ">=" if years else "<="
    return Filter(ref, op, years + last, is_text=False)


def find_moment(work: Work, base: str, info: ColumnInfo = NO_COLUMN) -> Ref | None:
    """Return the date column that is meant: the one named, or the main one of the nearest table that has one."""
    named = (work.index.column_of(target) for _, _, target in work.state.used)
    moments = [Ref(column.table, column.name) for column in (info, *named) if column.role == "moment"]
    if work.last and work.last.periods and work.metrics == list(work.last.metrics):
        moments.append(work.last.periods[0].of)  # the date that was meant before
    return next(iter(moments), None) or find_nearest_moment(work, base)


def find_nearest_moment(work: Work, base: str) -> Ref | None:
    """Return the main date of the base, of a table that was named, or of the nearest table. One that most rows lack is
    that of its own rows at most."""
    mentioned = list_dated_tables(work) | {base}

    def rank(table: str, date: str) -> tuple[bool, bool, int, bool, str]:
        is_others, joins = table != base and is_seldom(Ref(table, date), work), work.index.joins
        return (
            is_others,
            table not in mentioned,
            len(joins.path(base, table) or ()),
            not joins.belongs(base, table),
            table,
        )

    near = [
        rank(table, info.main_moment)
        for table, info in work.index.tables.items()
        if info.main_moment and work.index.joins.path(base, table) is not None
    ]
    if not near:
        return None
    info = work.index.tables[min(near)[-1]]
    if len(info.moments) > 1 and not work.guessed_moment:
        work.guessed_moment = info.main_moment
        work.note("moment_guessed")
    return Ref(info.name, info.main_moment)


def list_dated_tables(work: Work) -> set[str]:
    """Return the tables that were named, whose dates are meant first. Rows that a figure is grouped by have dates of
    their own; "top customers in 2024" is about the sales."""
    mentioned = {fact.target.table for fact in work.facts("entity", "exists", "having", "metric")}
    return mentioned - ({group.of.table for group in work.groups} if work.metrics else set())


def is_seldom(date: Ref, work: Work) -> bool:
    """Whether most rows lack a date: the day that a product was discontinued says nothing of its sales."""
    column = work.index.catalog.column(date.table, date.column)
    return column is not None and (column.missing or 0) > SELDOM


def add_definitions(work: Work) -> None:
    """Add the conditions that taught words stand for."""
    named = work.tables("entity", "metric", "having", "superlative") | {work.base}
    for fact in work.facts("define"):
        fragment = fact.fragment or Frame(work.subject)
        is_near = fragment.subject in named
        work.note("definition_elsewhere", 0 if fragment.subject == work.subject else 0.3 if is_near else 1)
        if fact.op:
            work.guesses.append(fact.text)
            work.note("definition_unsure")
        if is_plain(fragment, work.base, is_negated=fact.is_negated):
            work.existence += [
                replace(each, is_negated=each.is_negated != fact.is_negated) for each in fragment.existence
            ]
            work.filters += [(replace(each, op=negate(each.op, fact.is_negated)), fact) for each in fragment.filters]
            work.periods = join_deadlines(work.periods, fragment.periods)
            continue
        with suppress(CannotRender):
            keys, place = render_keys(fragment, work.index, fragment.subject), Ref(fragment.subject, name=fact.text)
            work.filters.append((Filter(place, negate("where", fact.is_negated), (keys,), is_text=False), fact))
            continue
        work.note("definition_missed")


def is_plain(fragment: Frame, base: str, *, is_negated: bool) -> bool:
    """Whether the conditions of a definition can stand beside others. The opposite of several is none of them, a row
    without a date is in no period, and conditions on related rows concern the rows of one table."""
    is_single = fragment.conditions == 1 and not fragment.periods
    return (is_single or not is_negated) and (not fragment.existence or fragment.subject == base)


def join_deadlines(periods: list[Period], defined: Sequence[Period]) -> list[Period]:
    """Return the periods with those of a definition: "60 days overdue" says how long ago the due date was."""
    ends = [each for each in defined if each.start is None]
    before = [each for each in periods if each.start is None and ends]
    joined = [replace(each, of=ends[0].of) for each in before]
    return [each for each in periods if each not in before] + (joined or list(defined))
