"""Computed figures: shares, rates, growth, and periods or values that are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import cast

from recollect.apps.ask.interpret.conditions import find_moment
from recollect.apps.ask.interpret.frame import Compute, Grain, Group, Metric, Order, Part, Period, Ref
from recollect.apps.ask.interpret.ordering import group_shown
from recollect.apps.ask.interpret.periods import Unit, start_of
from recollect.apps.ask.interpret.work import Work

COPULAS = frozenset(("is", "are", "was", "were", "be", "been", "是"))
MOST_MONTHS = 200  # days above which a period is compared with the year before
GRAINS: tuple[tuple[int, Grain], ...] = ((1, "day"), (7, "week"), (31, "month"), (92, "quarter"))


def add_compute(work: Work) -> None:
    """Shares and growth change how the first figure is shown."""
    for fact in work.facts("compute"):
        work.note("left_over", not COMPUTES[fact.text](work))


def add_share(work: Work) -> bool:
    """Show the share of each group in the total, or the rate of the rows that meet a condition."""
    is_total = all(group.grain for group in work.groups)
    if (is_total or says_what_rows_are(work)) and add_rate(work):
        return True
    is_possible = bool(work.metrics and work.groups)
    if is_possible:
        work.metrics[0] = replace(work.metrics[0], compute="share")
    return is_possible


def says_what_rows_are(work: Work) -> bool:
    """Whether the last condition says what the rows are: "orders were cancelled"."""
    at = max((fact.at for _, fact in work.filters), default=0)
    return at > 0 and work.linked.tokens[at - 1].lower in COPULAS and not work.facts("metric")


def add_rate(work: Work) -> bool:
    """`what percentage of orders was cancelled`: the last condition says which part of the figure is meant."""
    first = work.metrics[0] if work.metrics else Metric("count", Ref(work.subject))
    if work.having or first.aggregate not in ("count", "sum") or first.per:
        return False
    if work.existence:
        part = Part(existence=(work.existence.pop(),))
    elif work.filters:
        last = max(work.filters, key=lambda each: each[1].at)
        work.filters.remove(last)
        part = Part(filters=(last[0],))
    else:
        return False
    work.metrics, work.columns = [replace(first, compute="rate", part=part)], []
    return True


def add_growth(work: Work) -> bool:
    """Show the growth since the period before: by month, unless the question groups by another span of time. "Growth
    vs last year by region" compares the groups with last year."""
    if is_since_last_year(work):
        work.periods = []
        return rank_by_change(work, is_descending=True)
    return follow_time(work, "growth")


def follow_time(work: Work, compute: Compute) -> bool:
    """Show a figure beside what it becomes from one span of time to the next."""
    moment = find_moment(work, work.base)
    is_grouped = any(group.grain for group in work.groups)
    if not is_grouped and moment is not None:
        work.groups.append(Group(moment, cast(Grain, work.linked.vocabulary.grain or "month")))
    if not work.metrics or (moment is None and not is_grouped):
        return False
    work.metrics.insert(1, replace(work.metrics[0], compute=compute))
    return True


def is_since_last_year(work: Work) -> bool:
    """Whether groups are compared with last year alone."""
    last_year = date(work.linked.today.year - 1, 1, 1).isoformat()
    is_named = [period.start for period in work.periods] == [last_year]
    return is_named and bool(work.facts("compare")) and any(not each.grain for each in work.groups)


def rank_by_growth(work: Work, *, is_descending: bool) -> bool:
    """Keep the groups whose figure grew the most or the least; return whether there are a figure and a date."""
    work.set_limit(work.state.limit)
    return rank_by_change(work, is_descending=is_descending)


def rank_by_change(work: Work, *, is_descending: bool) -> bool:
    """Rank groups by how much their figure grew; return whether there are a figure and a date."""
    moment = find_moment(work, work.base)
    if not work.metrics or moment is None:
        return False
    periods = tuple(Period(moment, a.isoformat(), b.isoformat()) for a, b in find_compared_spans(work))
    group_shown(work, work.metrics[0])
    work.groups = work.groups or [Group(Ref(work.subject))]
    work.metrics = [replace(work.metrics[0], compute="change", part=Part(periods=periods))]
    work.periods, work.order = [], [Order("metric", 0, is_descending)]
    return True


def find_compared_spans(work: Work) -> tuple[tuple[date, date], tuple[date, date]]:
    """Return this year and the same time of the year before; if a short period was named, that and the one before."""
    given = [(each.start, each.end) for each in work.periods if each.start and each.end]
    today = work.linked.today
    start, end = map(date.fromisoformat, given[0]) if given else (date(today.year, 1, 1), today + timedelta(days=1))
    if given and (end - start).days <= MOST_MONTHS:
        return (start, end), (start - (end - start), start)
    return (start, end), (shift_year(start), shift_year(end))


def shift_year(day: date) -> date:
    return day.replace(year=day.year - 1, day=min(day.day, 28) if day.month == 2 else day.day)


def add_comparison(work: Work) -> None:
    """`compare 2021 and 2022`: a figure for each year, or for each value of the column."""
    if not work.facts("compare"):
        return
    count_compared(work)
    if not work.metrics or not all(map(can_compare, work.periods)):
        work.note("left_over")
        return
    is_split = work.last is not None and any(each.grain for each in work.groups)
    compared = [*([] if is_split else compared_periods(work)), *compared_values(work)]
    work.groups += [group for group in compared[:1] if group not in work.groups]
    work.note("left_over", 0 if work.groups else 0.5)


def count_compared(work: Work) -> None:
    """`orders in 2021 vs 2022` are compared by their number."""
    if not work.metrics and not work.columns and work.named_entities:
        work.metrics.append(Metric("count", Ref(work.subject)))
        work.note("default_aggregate")


def compared_values(work: Work) -> list[Group]:
    counted = Counter(each.of for each, _ in work.filters if each.op == "=")
    return [Group(ref) for ref, count in counted.items() if count > 1]


def compared_periods(work: Work) -> list[Group]:
    return [Group(each.of, compared_grain(each)) for each in work.periods if each.others]


def can_compare(period: Period) -> bool:
    """Return whether the unit that ranges are grouped by tells them apart: each lies in one of its own. A fiscal year
    lies in two calendar years."""
    if not period.others:
        return True
    grain = cast(Unit, compared_grain(period))
    bounds = [(date.fromisoformat(start), date.fromisoformat(end)) for start, end in period.ranges if start and end]
    first = [start_of(start, grain) for start, _ in bounds]
    last = [start_of(end - timedelta(days=1), grain) for _, end in bounds]
    return first == last and len(set(first)) == len(period.ranges)


def compared_grain(period: Period) -> Grain:
    """Return the unit that tells the ranges apart: the same months of two years differ by year."""
    starts = [start or "" for start, _ in period.ranges]
    if len({start[4:] for start in starts}) == 1:
        return "year"
    days = (date.fromisoformat(period.end or starts[0]) - date.fromisoformat(starts[0])).days
    return next((grain for longest, grain in GRAINS if days <= longest), "year")


COMPUTES: dict[str, Callable[[Work], bool]] = {
    "share": add_share, "rate": add_rate, "growth": add_growth, "running": partial(follow_time, compute="running"),
    "fastest": partial(rank_by_growth, is_descending=True), "slowest": partial(rank_by_growth, is_descending=False),
}  # fmt: skip
