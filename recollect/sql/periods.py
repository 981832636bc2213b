"""Periods: "in Q3 2011", "past 30 days", "since March 2022" as half-open ranges of days, relative to `today`.

`period_at` reads one at a place in the tokens; spans.py calls it. dates.py moves it, as a follow-up asks ("the year
before"). A month without a year is given back as open (`needs_year`): the reader asks, or takes the last frame's.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

from recollect.sql.dates import day_of, moved
from recollect.sql.lexer import Token
from recollect.sql.period_parts import day_range, is_cut_short, part_of
from recollect.sql.period_tokens import (
    DAY,
    YEAR,
    Found,
    Reader,
    Span,
    beside,
    month_at,
    number_at,
    unit_at,
    year,
    year_behind,
)

ISO = re.compile(r"(\d{4})-(\d\d?)(?:-(\d\d?))?")


def period_at(tokens: list[Token], at: int, today: date) -> Found | None:
    """The longest period that begins here, with the prepositions that belong to it."""
    reader = Reader(tokens, today)
    found = (
        day_range(reader, at) or between(reader, at) or open_ended(reader, at) or edge(reader, at) or led(reader, at)
    )
    return replace(found, span=replace(found.span, text=reader.text(at, found.length))) if found else None


def led(reader: Reader, at: int) -> Found | None:
    """A plain period, behind "in", "during", "for"."""
    if found := plain(reader, at):
        return found
    lead = reader.word(at, "in")
    found = plain(reader, at + lead) if lead else None
    return Found(found.span, lead + found.length) if found else None


def between(reader: Reader, at: int) -> Found | None:
    lead = reader.word(at, "between")
    first = led(reader, at + lead)
    if first is None or (not lead and not is_year_range(reader, at + first.length)):
        return None
    joint = reader.word(at + lead + first.length, "to")
    second = led(reader, at + lead + first.length + joint) if joint else None
    if second is None:
        return None
    one = with_year(first.span, second.span)
    if one.start is None or second.span.end is None:
        return None
    return Found(Span(one.start, second.span.end), lead + first.length + joint + second.length)


def is_year_range(reader: Reader, at: int) -> bool:
    return reader.low(at) in ("to", "through", "until", "till")


def with_year(span: Span, other: Span) -> Span:
    """ "From March to May 2012": the year is said once."""
    if span.needs_year and other.start is not None:
        return in_year(span, other.start.year)
    return span


def open_ended(reader: Reader, at: int) -> Found | None:
    """ "From 2020 on", "2020 onwards", "2022 and earlier": the word behind says that one end is open."""
    lead = reader.word(at, "from")
    found = led(reader, at + lead)
    if found is None or not found.span.start or not found.span.end:
        return None
    behind = at + lead + found.length
    name = next((each for each in ("onward", "backward") if reader.word(behind, each)), "")
    if not name and lead and reader.low(behind) == "on":
        return Found(Span(found.span.start, None), lead + found.length + 1)
    if not name or is_edge_of_another(reader, behind, name):
        return None
    size = lead + found.length + reader.word(behind, name)
    return Found(Span(found.span.start, None) if name == "onward" else Span(None, found.span.end), size)


def is_edge_of_another(reader: Reader, at: int, name: str) -> bool:
    """ "In 2020 and after 2022": the word belongs to what is behind it."""
    return led(reader, at + reader.word(at, name)) is not None


def edge(reader: Reader, at: int) -> Found | None:
    for name in ("since", "after", "before", "until"):
        size = reader.word(at, name)
        found = led(reader, at + size) if size else None
        if found and found.span.start and found.span.end:
            return Found(edged(name, found.span.start, found.span.end), size + found.length)
    return None


def edged(name: str, start: date, end: date) -> Span:
    return {
        "since": Span(start, None),
        "after": Span(end, None),
        "before": Span(None, start),
        "until": Span(None, end),
    }[name]


def plain(reader: Reader, at: int) -> Found | None:
    if at >= len(reader.tokens):
        return None
    for read in (dated, to_date, part, relative, named_month, iso, year):
        if found := read(reader, at):
            return found
    return None


def dated(reader: Reader, at: int) -> Found | None:
    """As the Chinese patterns write it: date 2022 3 14."""
    numbers = [reader.low(at + step) for step in (1, 2, 3)]
    if reader.low(at) != "date" or not all(each.isdigit() for each in numbers):
        return None
    day = day_of(*map(int, numbers))
    return Found(Span(day, day + timedelta(1)), 4) if day else None


def to_date(reader: Reader, at: int) -> Found | None:
    size = reader.word(at, "to_date")
    return Found(Span(date(reader.today.year, 1, 1), reader.today + timedelta(1)), size) if size else None


def relative(reader: Reader, at: int) -> Found | None:
    for name, shift in (("today", 0), ("yesterday", -1), ("tomorrow", 1)):
        if size := reader.word(at, name):
            day = reader.today + timedelta(shift)
            return Found(Span(day, day + timedelta(1)), size)
    found = counted(reader, at) or beside(reader, at)
    return None if found and is_cut_short(reader, at + found.length, plain) else found


def counted(reader: Reader, at: int) -> Found | None:
    """ "Past 30 days" ends today; "last 3 months" are the 3 months up to today."""
    size = reader.word(at, "past")
    number, length = number_at(reader, at + size)
    unit, unit_size = unit_at(reader, at + size + length)
    if not size or not number or unit is None or number > 4_000:
        return None
    end = reader.today + timedelta(1)
    return Found(Span(moved(end, unit, -number), end), size + length + unit_size)


def part(reader: Reader, at: int) -> Found | None:
    """A quarter or a half of a year that is said, or the first weeks of a month."""
    if cut := part_of(reader, at, plain):
        return cut
    halves = (("first_half", 1, 6), ("second_half", 7, 6))
    for name, first, months in (*halves, *((f"q{n}", 3 * n - 2, 3) for n in (1, 2, 3, 4))):
        size = reader.word(at, name)
        found = year_behind(reader, at + size) if size else None
        if found:
            start = date(found[0], first, 1)
            return Found(Span(start, moved(start, "month", months)), size + found[1])
        if size:
            return Found(Span(None, None, needs_year=first, months=months), size)
    return year_first(reader, at)


def year_first(reader: Reader, at: int) -> Found | None:
    """ "2011 Q3" """
    found = year(reader, at)
    n = next((n for n in (1, 2, 3, 4) if reader.low(at + 1) == f"q{n}"), 0)
    return Found(quarter(found.span.start.year, n), 2) if found and found.span.start and n else None


def quarter(of: int, n: int) -> Span:
    start = date(of, 3 * n - 2, 1)
    return Span(start, moved(start, "month", 3))


def named_month(reader: Reader, at: int) -> Found | None:
    """ "March 2022", "5 March 2022", "March 5, 2022", "March"."""
    day = DAY.fullmatch(reader.low(at))
    if day and (found := month_at(reader, at + 1)) and (of := year_behind(reader, at + 1 + found[1])):
        return one_day(of[0], found[0], int(day[1]), 1 + found[1] + of[1])
    found = month_at(reader, at)
    if found is None:
        return None
    number, size = found
    if (day := DAY.fullmatch(reader.low(at + size))) and not YEAR.fullmatch(reader.low(at + size)):
        comma = 1 if reader.low(at + size + 1) == "," else 0
        of = year_behind(reader, at + size + 1 + comma)
        return one_day(of[0], number, int(day[1]), size + 1 + comma + of[1]) if of else None
    if of := year_behind(reader, at + size):
        return Found(month(of[0], number), size + of[1])
    return lone_month(reader, at, number, size)


def lone_month(reader: Reader, at: int, number: int, size: int) -> Found | None:
    """Of one that is also another word ("may", "mar") only the capital tells."""
    text = reader.tokens[at].text
    if len(text) <= 3 and not text[0].isupper():
        return None
    return Found(Span(None, None, needs_year=number), size)


def one_day(of: int, number: int, day: int, length: int) -> Found | None:
    found = day_of(of, number, day)
    return Found(Span(found, found + timedelta(1)), length) if found else None


def iso(reader: Reader, at: int) -> Found | None:
    match = ISO.fullmatch(reader.low(at))
    if match is None or not 1 <= int(match[2]) <= 12:
        return None
    if match[3]:
        return one_day(int(match[1]), int(match[2]), int(match[3]), 1)
    return Found(month(int(match[1]), int(match[2])), 1) if 1600 <= int(match[1]) <= 2200 else None


def in_year(span: Span, of: int) -> Span:
    start = date(of, span.needs_year, 1)
    return Span(start, moved(start, "month", span.months), span.text)


def month(of: int, number: int) -> Span:
    start = date(of, number, 1)
    return Span(start, moved(start, "month", 1))
