"""Suggestions: questions that go on from an answered one, for when no model suggests any. Each is interpreted before it
is shown, so it can be answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from recollect.apps.ask.interpret import Frame
from recollect.apps.ask.interpret.frame import Period
from recollect.apps.ask.interpretation import is_clear
from recollect.apps.ask.proposals import Case, Proposal
from recollect.apps.ask.semantic.model import Dimension
from recollect.values.text import is_cjk

MOST_TRIED = 6  # each is interpreted before it is shown


def further(case: Case, proposal: Proposal, most: int) -> tuple[str, ...]:
    frame = proposal.frame
    if frame is None:
        return ()
    texts = islice(candidates(case, frame), MOST_TRIED)
    return tuple(islice((text for text in texts if is_clear(text, case.view, case.today, frame)), most))


def candidates(case: Case, frame: Frame) -> Iterator[str]:
    """The same for another period, by another dimension, the greatest only."""
    is_chinese = is_cjk(case.question)
    for period in frame.periods[:1]:
        if is_year(period):
            year = int((period.start or "")[:4]) - 1
            yield f"{year}年呢？" if is_chinese else f"What about {year}?"
    if frame.groups and frame.metrics and frame.limit is None:
        yield "只看前5名" if is_chinese else "Only the top 5"
    grouped = {(group.of.table, group.of.column) for group in frame.groups}
    tables = frame.tables | near_to(case, frame)
    for dimension in [each for each in plain_dimensions(case) if each.table in tables][:12]:
        if frame.metrics and (dimension.table, dimension.column) not in grouped:
            yield f"按{dimension.names[0]}呢？" if is_chinese else f"And by {dimension.names[0]}?"


def is_year(period: Period) -> bool:
    start, end = period.start or "", period.end or ""
    return start[4:] == end[4:] == "-01-01" and int(end[:4]) == int(start[:4]) + 1


def plain_dimensions(case: Case) -> list[Dimension]:
    """Those whose name says which is meant: no two have it."""
    named = Counter(each.names[0] for each in case.view.model.dimensions if each.names)
    return [each for each in case.view.model.dimensions if each.names and named[each.names[0]] == 1]


def near_to(case: Case, frame: Frame) -> set[str]:
    """Tables one join away."""
    return {join.to for join in case.view.model.joins if join.table in frame.tables}
