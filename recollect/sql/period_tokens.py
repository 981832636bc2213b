"""The words that periods are made of, at a place in the tokens: a number, a unit, a month, a year, "last week". Read by
periods.py, which puts them together, and by period_parts.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cache

from recollect.sql.dates import Unit, floor, moved
from recollect.sql.lexer import Token
from recollect.sql.phrases import phrases

UNITS: tuple[Unit, ...] = ("day", "week", "month", "quarter", "year")
YEAR = re.compile(r"(?:1[6-9]|20|21)\d\d")
DECADE = re.compile(r"(1[6-9]\d|20\d)0s")
DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
LONGEST = 5  # words of a phrase


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` until before `end`. `month` without a year has neither."""

    start: date | None
    end: date | None
    text: str = ""
    needs_year: int = 0  # the first month, of which the year was not said
    months: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    span: Span
    length: int  # tokens


@cache
def openings(name: str) -> frozenset[str]:
    """The words that phrases of this kind begin with: most tokens begin none."""
    return frozenset(key[0] for key in phrases().periods[name] if key)


@dataclass(frozen=True, slots=True)
class Reader:
    tokens: list[Token]
    today: date

    def word(self, at: int, name: str) -> int:
        """How many tokens of this kind of word stand here."""
        if self.low(at) not in openings(name):
            return 0
        known = phrases().periods[name]
        sizes = range(min(LONGEST, len(self.tokens) - at), 0, -1)
        return next((size for size in sizes if tuple(t.low for t in self.tokens[at : at + size]) in known), 0)

    def low(self, at: int) -> str:
        return self.tokens[at].low if 0 <= at < len(self.tokens) else ""

    def text(self, at: int, length: int) -> str:
        return " ".join(each.text for each in self.tokens[at : at + length])


def number_at(reader: Reader, at: int) -> tuple[int, int]:
    low = reader.low(at)
    if low.isdigit():
        return int(low), 1
    return phrases().numbers.get((low,), 0), 1


def unit_at(reader: Reader, at: int) -> tuple[Unit | None, int]:
    return next(((unit, size) for unit in UNITS if (size := reader.word(at, unit))), (None, 0))


def beside(reader: Reader, at: int) -> Found | None:
    for name, shift in (("last", -1), ("this", 0), ("next", 1)):
        size = reader.word(at, name)
        unit, unit_size = unit_at(reader, at + size) if size else (None, 0)
        if unit:
            start = moved(floor(reader.today, unit), unit, shift)
            return Found(Span(start, moved(start, unit, 1)), size + unit_size)
    return None


def year_behind(reader: Reader, at: int) -> tuple[int, int] | None:
    """The year here, behind "of" or "in"; "this year" and "last year" too."""
    for lead in (0, reader.word(at, "in")):
        found = year(reader, at + lead) or beside(reader, at + lead)
        if found and found.span.start and found.span.end == moved(found.span.start, "year", 1):
            return found.span.start.year, lead + found.length
    return None


def month_at(reader: Reader, at: int) -> tuple[int, int] | None:
    if reader.low(at) == "month" and reader.low(at + 1).isdigit() and 1 <= int(reader.low(at + 1)) <= 12:
        return int(reader.low(at + 1)), 2
    return next(((n, size) for n in range(1, 13) if (size := reader.word(at, f"month{n}"))), None)


def year(reader: Reader, at: int) -> Found | None:
    low = reader.low(at)
    if decade := DECADE.fullmatch(low):
        start = date(int(decade[1] + "0"), 1, 1)
        return Found(Span(start, moved(start, "year", 10)), 1)
    return Found(Span(date(int(low), 1, 1), date(int(low) + 1, 1, 1)), 1) if YEAR.fullmatch(low) else None
