"""Parts of periods: "from 5 to 20 March 2024", "the first two weeks of March 2024", "the last quarter of 2023". Called
by periods.py.

The first week of a month are its first seven days, the last week its last seven. What is said of a month without its
year is not read at all: half of it ("last week") would be another period.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from recollect.sql.dates import day_of, moved
from recollect.sql.period_tokens import DAY, Found, Reader, Span, month_at, number_at, unit_at, year_behind

Read = Callable[[Reader, int], Found | None]


@dataclass(frozen=True, slots=True)
class Day:
    """A day of which the month or the year may be said elsewhere."""

    day: int
    month: int
    year: int
    length: int


def day_range(reader: Reader, at: int) -> Found | None:
    """ "Between 1 May and 31 August 2024", "March 5 to 20, 2024": month and year may be said once."""
    lead = reader.word(at, "between")
    first = partial_day(reader, at + lead)
    behind = at + lead + first.length if first else at
    joint = reader.word(behind, "to") if first else 0
    second = partial_day(reader, behind + joint) if joint else None
    if first is None or second is None or (not lead and reader.low(behind) not in ("to", "through", "until", "till")):
        return None
    month = second.month or first.month
    of = second.year or first.year
    start = day_of(first.year or of, first.month or month, first.day) if month and of else None
    end = day_of(of, month, second.day) if month and of else None
    if start is None or end is None:
        return None
    if start > end and not first.year:
        start = moved(start, "year", -1)  # from December to January
    return Found(Span(start, end + timedelta(1)), lead + first.length + joint + second.length) if start <= end else None


def partial_day(reader: Reader, at: int) -> Day | None:
    """ "5 March", "the 5th of March 2024", "March 5", "5"."""
    size = 1 if reader.low(at) == "the" else 0
    if day := DAY.fullmatch(reader.low(at + size)):
        size += 1
        of = 1 if reader.low(at + size) == "of" else 0
        month = month_at(reader, at + size + of)
        size += of + month[1] if month else 0
        return with_year(reader, at, int(day[1]), month[0] if month else 0, size)
    month = month_at(reader, at + size)
    if month is None:
        return None
    size += month[1] + (1 if reader.low(at + size + month[1]) == "the" else 0)
    day = DAY.fullmatch(reader.low(at + size))
    return with_year(reader, at, int(day[1]), month[0], size + 1) if day else None


def with_year(reader: Reader, at: int, day: int, month: int, size: int) -> Day:
    comma = 1 if reader.low(at + size) == "," else 0
    found = year_behind(reader, at + size + comma) if month or comma else None
    return Day(day, month, found[0], size + comma + found[1]) if found else Day(day, month, 0, size)


def part_of(reader: Reader, at: int, plain: Read) -> Found | None:
    """ "The first two weeks of March 2024": so many units from the one end or the other."""
    for name, is_first in (("first", True), ("final", False)):
        size = reader.word(at, name)
        number, length = number_at(reader, at + size) if size else (0, 0)
        many, length = (number, length) if number else (1, 0)
        unit, unit_size = unit_at(reader, at + size + length) if size else (None, 0)
        whole = behind_of(reader, at + size + length + unit_size, plain) if unit else None
        if unit is None or whole is None or not whole.span.start or not whole.span.end:
            continue
        start, end = whole.span.start, whole.span.end
        span = Span(start, moved(start, unit, many)) if is_first else Span(moved(end, unit, -many), end)
        if span.start and span.end and span.start >= start and span.end <= end:
            return Found(span, size + length + unit_size + whole.length)
    return None


def behind_of(reader: Reader, at: int, plain: Read) -> Found | None:
    """The period behind "of", "in"; with the words between."""
    lead = reader.word(at, "in")
    found = plain(reader, at + lead) if lead else None
    return Found(found.span, lead + found.length) if found else None


def is_cut_short(reader: Reader, at: int, plain: Read) -> bool:
    """ "Last week of December": not last week."""
    return reader.low(at) == "of" and behind_of(reader, at, plain) is not None
