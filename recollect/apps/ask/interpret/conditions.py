"""Conditions of a frame: filters, periods, figures of related rows, and taught definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Grain, Group, Having, Metric, Op, Period, Ref
from recollect.apps.ask.interpret.index import NO_COLUMN, ColumnInfo
from recollect.apps.ask.interpret.state import Fact
from recollect.apps.ask.interpret.work import Work, make_ref, negate


def add_conditions(work: Work) -> None:
    for fact in work.facts("filter"):
        ref = with_role(make_ref(fact.target, work.index), fact.role, work)
        work.filters.append((Filter(ref, negate(fact.op, fact.is_negated), fact.values, fact.is_text), fact))
    for fact in work.facts("having"):
        add_having(work, fact)
    for fact in work.facts("exists"):
        work.existence.append(Existence(fact.target.table, fact.is_negated, via=fact.target.via))
    base = work.base
    for fact, period in merge_periods(work):
        add_period(work, base, fact, period)
    grains = work.facts("grain")
    # "The trend by quarter" is one by quarter.
    for fact in [each for each in grains if not each.op] or grains[:1]:
        add_grain(work, base, fact)


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
    joins = work.index.joins
    if not (work.columns or work.metrics or work.groups) and joins.is_below(ref.table, work.subject):
        # "Customers who spent over 1000" are shown with what they spent.
        work.groups, work.metrics, work.having = [Group(Ref(work.subject))], [having.metric], [having]
    elif joins.path(work.subject, ref.table, ref.via) and not joins.belongs(work.subject, ref.table, ref.via):
        work.existence.append(Existence(ref.table, having=having, via=ref.via))
    elif work.metrics or work.groups or work.columns:
        if not work.metrics and not work.groups:
            work.groups, work.columns = [Group(each) for each in work.columns], []
        work.having.append(having)
    else:
        work.note("left_over")


def merge_periods(work: Work) -> list[tuple[Fact, Period]]:
    """Return the periods with the fact that each begins with, their dates still unknown. "From June to August" is one
    range, "2021 and 2023" are alternatives."""
    merged: list[tuple[Fact, Period]] = []
    for fact in work.facts("period"):
        if fact.span is None:
            continue
        start, end = find_bounds(fact.op, fact.span.start.isoformat(), fact.span.end.isoformat())
        made = Period(Ref(""), start, end, fact.text, is_negated=fact.is_negated)
        joined = join_periods(*merged[-1], fact, made) if merged else None
        merged = [*merged[:-1], (merged[-1][0], joined)] if joined else [*merged, (fact, made)]
    return merged


def join_periods(first: Fact, before: Period, fact: Fact, made: Period) -> Period | None:
    """Return both periods as one; None if they have nothing to do with each other."""
    if before.is_negated != made.is_negated:
        return None
    is_continued = first.op == "between" or not fact.junction
    if is_continued and before.start is not None and before.start < (made.end or ""):
        return replace(before, end=made.end, text=f"{before.text} - {made.text}")
    if fact.junction and not fact.op and not first.op:
        others = (*before.others, (made.start, made.end))
        return replace(before, text=f"{before.text}, {made.text}", others=others)
    return None


def find_bounds(op: str, start: str, end: str) -> tuple[str | None, str | None]:
    """Return the half-open range of `after 2008`, `before May`, `since 2020`."""
    ranges = {">": (end, None), ">=": (start, None), "<": (None, start), "<=": (None, end)}
    return ranges.get(op, (start, end))


def add_period(work: Work, base: str, fact: Fact, period: Period) -> None:
    info = work.index.column_of(fact.target)
    year = find_year(work, base, info) if fact.span and fact.span.unit == "year" else None
    if year is not None:
        work.filters.append((filter_year(year, period), Fact("filter", fact.at)))
        work.note("year_column")
        return
    mentioned = find_mentioned_moment(work) if info is NO_COLUMN else None
    moment = mentioned or find_moment(work, base, info)
    if moment is None:
        work.note("left_over")
    else:
        work.periods.append(replace(period, of=moment))


def add_grain(work: Work, base: str, fact: Fact) -> None:
    moment = find_moment(work, base)
    if moment is None:
        work.note("left_over")
        return
    grain: Grain = fact.text  # type: ignore[assignment]
    work.groups.append(Group(moment, grain))
    if not work.metrics:
        work.metrics.append(Metric("count", Ref(work.subject)))
        work.note("default_aggregate", 2)


def find_mentioned_moment(work: Work) -> Ref | None:
    """Return the date of the other rows that were named last: "without orders in 2025" means the orders' date."""
    tables = [fact.target.table for fact in work.facts("entity", "exists", "having")][-1:]
    moment = work.index.tables[tables[0]].main_moment if tables and tables[0] != work.subject else ""
    return Ref(tables[0], moment) if moment else None


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


def filter_year(ref: Ref, period: Period) -> Filter:
    """Compare a column of years with the numbers of the years."""
    years = tuple(start[:4] for start, _ in period.ranges if start)
    last = (str(int(period.end[:4]) - 1),) if period.end else ()
    if len(years) > 1 or years == last:
        return Filter(ref, negate("in" if len(years) > 1 else "=", period.is_negated), years, is_text=False)
    op: Op = "between" if years and last else ">=" if years else "<="
    return Filter(ref, op, years + last, is_text=False)


def find_moment(work: Work, base: str, info: ColumnInfo = NO_COLUMN) -> Ref | None:
    """Return the date column that is meant: the one named, or the main one of the nearest table that has one."""
    named = (work.index.column_of(target) for _, _, target in work.state.used)
    moments = (Ref(column.table, column.name) for column in (info, *named) if column.role == "moment")
    return next(moments, None) or find_nearest_moment(work, base)


def find_nearest_moment(work: Work, base: str) -> Ref | None:
    """Return the main date of the base, of a table that was named, or of the nearest table."""
    joins = work.index.joins
    mentioned = {fact.target.table for fact in work.facts("entity", "exists", "having", "metric")}
    if work.metrics:
        # Rows that a figure is grouped by have dates of their own; "top customers in 2024" is about the sales.
        mentioned -= {group.of.table for group in work.groups}
    mentioned.add(base)
    near = [
        (table not in mentioned, len(joins.path(base, table) or ()), not joins.belongs(base, table), table)
        for table, info in work.index.tables.items()
        if info.main_moment and joins.path(base, table) is not None
    ]
    if not near:
        return None
    nearest = min(near)[-1]
    return Ref(nearest, work.index.tables[nearest].main_moment)


def add_definitions(work: Work) -> None:
    """Add the conditions that taught words stand for."""
    for fact in work.facts("define"):
        fragment = fact.fragment or Frame(work.subject)
        if fact.op:
            work.guess(fact.text)
            work.note("definition_unsure")
        work.existence += [replace(each, is_negated=each.is_negated != fact.is_negated) for each in fragment.existence]
        if not (fragment.existence and (fact.is_negated or fragment.subject != work.subject)):
            # Only a single condition can be turned into its opposite.
            is_negated = fact.is_negated and len(fragment.filters) == 1 and not fragment.periods
            work.filters += [(replace(each, op=negate(each.op, is_negated)), fact) for each in fragment.filters]
            work.periods = join_deadlines(work.periods, fragment.periods)


def join_deadlines(periods: list[Period], defined: Sequence[Period]) -> list[Period]:
    """Return the periods with those of a definition: "60 days overdue" says how long ago the due date was."""
    ends = [each for each in defined if each.start is None]
    before = [each for each in periods if each.start is None and ends]
    joined = [replace(each, of=ends[0].of) for each in before]
    return [each for each in periods if each not in before] + (joined or list(defined))
