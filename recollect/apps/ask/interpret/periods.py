"""Periods: dates, years, months, quarters and relative spans in a question, as half-open ISO ranges.

`find_periods` returns every span of tokens that names a period, English and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from recollect.apps.ask.interpret.words import Token, read_number

Unit = Literal["day", "week", "month", "quarter", "half", "year"]
MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sep sept", "october oct", "november nov", "december dec"), 1)
    for name in names.split()
}  # fmt: skip
UNITS: dict[str, Unit] = {
    "day": "day", "days": "day", "week": "week", "weeks": "week", "month": "month", "months": "month",
    "quarter": "quarter", "quarters": "quarter", "year": "year", "years": "year",
    "天": "day", "日": "day", "周": "week", "星期": "week", "月": "month", "个月": "month", "季度": "quarter",
    "年": "year",
}  # fmt: skip
ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
QUARTERS = re.compile(r"(?P<unit>[qh])(?P<number>[1-4])")
NEXT = {"this": 0, "current": 0, "last": -1, "previous": -1, "past": -1, "prior": -1, "next": 1, "coming": 1}
DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
UNTIL_NOW = frozenset(("last", "past", "previous", "within", "in", "for", "over"))
YEARS = range(1900, 2100)


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens [first, last) name the dates [start, end). `unit` is what was named."""

    first: int
    last: int
    start: date
    end: date
    unit: Unit
    text: str
    op: str = ""  # "<" where the words name what is before the start: "older than 60 days"


def add_months(day: date, months: int) -> date:
    years, month = divmod(day.month - 1 + months, 12)
    return date(day.year + years, month + 1, 1)


def start_of(day: date, unit: Unit) -> date:
    if unit == "day":
        return day
    if unit == "week":
        return day - timedelta(days=day.weekday())
    month = {
        "month": day.month,
        "quarter": 3 * ((day.month - 1) // 3) + 1,
        "half": 1 if day.month < 7 else 7,
        "year": 1,
    }[unit]
    return date(day.year, month, 1)


def shift(day: date, unit: Unit, count: int) -> date:
    """Return the start of the unit `count` units after the one that begins on `day`."""
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    return add_months(day, count * {"month": 1, "quarter": 3, "half": 6, "year": 12}[unit])


def unit_range(day: date, unit: Unit) -> tuple[date, date]:
    start = start_of(day, unit)
    return start, shift(start, unit, 1)


def find_periods(tokens: Sequence[Token], today: date, anchor: date | None = None) -> list[Span]:
    """Return every period named in the tokens. The only year of the question completes a bare month or quarter, else
    that of `anchor`, the start of the period asked about before, from which "the year before" is counted."""
    found: list[Span] = []
    years = {year_at(tokens, at) for at in range(len(tokens))} - {None}
    year = years.pop() if len(years) == 1 else anchor.year if anchor else None
    for at in range(len(tokens)):
        if tokens[at].quote:
            continue
        for read in READERS:
            # There is no February 30, and no year before the first.
            with suppress(ValueError, OverflowError):
                found += read(tokens, at, today, year)
        if anchor is not None:
            found += read_anchored(tokens, at, anchor)
    return [each for each in found if each.start < each.end]


def word(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].lower if 0 <= at < len(tokens) else ""


def year_at(tokens: Sequence[Token], at: int) -> int | None:
    text = word(tokens, at)
    return int(text) if re.fullmatch(r"\d{4}", text) and int(text) in YEARS else None


def find_year(tokens: Sequence[Token], at: int, today: date) -> tuple[int | None, int]:
    """Return the year that "2024", "of 2024" or "last year" names from here on, and where its words end."""
    at += word(tokens, at) in ("of", "in")
    if (said := year_at(tokens, at)) is not None:
        return said, at + 1
    if word(tokens, at + 1) == "year" and word(tokens, at) in NEXT:
        return today.year + NEXT[word(tokens, at)], at + 2
    return None, at


def span_text(tokens: Sequence[Token], first: int, last: int) -> str:
    return " ".join(token.text for token in tokens[first:last])


def make_span(tokens: Sequence[Token], first: int, last: int, day: date, unit: Unit) -> Span:
    start, end = unit_range(day, unit)
    return Span(first, last, start, end, unit, span_text(tokens, first, last))


def read_iso(tokens: Sequence[Token], at: int, today: date, year: int | None) -> Iterator[Span]:
    match = re.fullmatch(r"(\d{4})-(\d\d)(?:-(\d\d))?", word(tokens, at))
    if not match:
        return
    day = date(int(match[1]), int(match[2]), int(match[3] or 1))
    yield make_span(tokens, at, at + 1, day, "day" if match[3] else "month")


def read_year(tokens: Sequence[Token], at: int, today: date, year: int | None) -> Iterator[Span]:
    if (found := year_at(tokens, at)) is not None:
        last = at + 2 if word(tokens, at + 1) == "年" else at + 1
        yield make_span(tokens, at, last, date(found, 1, 1), "year")


def read_month(tokens: Sequence[Token], at: int, today: date, year: int | None) -> Iterator[Span]:
    """`March 2024`, `March of last year`, `March`, `January to October 2026`."""
    name = word(tokens, at)
    is_verb = name in ("may", "mar") and at > 0 and not tokens[at].is_capital
    if name not in MONTHS or is_verb:
        return
    said, end = find_year(tokens, at + 1, today)
    if said is not None:
        yield make_span(tokens, at, end, date(said, MONTHS[name], 1), "month")
    elif read_number(word(tokens, at + 1)) is None:
        day = date(year or last_year_of(today, MONTHS[name]), MONTHS[name], 1)
        yield make_span(tokens, at, at + 1, day, "month")
    until = at + 1 + (word(tokens, at + 1) in ("to", "through", "until"))
    said, end = find_year(tokens, until + 1, today)
    if word(tokens, until) in MONTHS and said is not None:
        first, last = date(said, MONTHS[name], 1), date(said, MONTHS[word(tokens, until)], 1)
        yield Span(at, end, first, add_months(last, 1), "month", span_text(tokens, at, end))


def last_year_of(today: date, month: int) -> int:
    """A month without a year is the last one that has begun."""
    return today.year if month <= today.month else today.year - 1


def read_day(tokens: Sequence[Token], at: int, today: date, year: int | None) -> Iterator[Span]:
    """`April 1 2023`, `Apr 1st, 2023`, `1 April 2023`."""
    for month_at, day_at in ((at, at + 1), (at + 1, at)):
        month, number = MONTHS.get(word(tokens, month_at)), re.fullmatch(r"(\d\d?)(st|nd|rd|th)?", word(tokens, day_at))
        said = year_at(tokens, at + 2)
        if month is None or not number:
            continue
        day = date(said or year or last_year_of(today, month), month, int(number[1]))
        yield make_span(tokens, at, at + (3 if said else 2), day, "day")


def read_quarter(tokens: Sequence[Token], at: int, today: date, year: int | None) -> Iterator[Span]:
    """`Q1 2024`, `H1`, `the first quarter of 2024`, `the second half of last year`."""
    short, last = QUARTERS.fullmatch(word(tokens, at)), at + 1
    name, number = (
        (short["unit"], int(short["number"])) if short else (word(tokens, last), ORDINALS.get(word(tokens, at)))
    )
    months = {"q": 3, "quarter": 3, "h": 6, "half": 6}.get(name)
    if number is None or months is None or months * number > 12:
        return
    last += not short
    said, end = find_year(tokens, last, today)
    day = date(said or year or today.year, months * (number - 1) + 1, 1)
    yield make_span(tokens, at, end if said is not None else last, day, "quarter" if months == 3 else "half")


def read_near(tokens: Sequence[Token], at: int, today: date, year: int | None) -> Iterator[Span]:
    """`today`, `last month`, `next year`."""
    first, unit = word(tokens, at), UNITS.get(word(tokens, at + 1))
    if first in DAYS:
        yield make_span(tokens, at, at + 1, today + timedelta(days=DAYS[first]), "day")
    if unit and first in NEXT:
        yield make_span(tokens, at, at + 2, shift(start_of(today, unit), unit, NEXT[first]), unit)


def read_until_now(tokens: Sequence[Token], at: int, today: date, year: int | None) -> Iterator[Span]:
    """`the last 90 days`, `in six months`, `over the past year`; `older than 60 days` is what was before."""
    is_before = word(tokens, at) in ("older", "more", "longer") and word(tokens, at + 1) == "than"
    is_over = [word(tokens, at + n) for n in range(3)] in (["over", "the", each] for each in UNTIL_NOW)
    number_at = at + 3 if is_over else at + 2 if is_before else at + 1
    number, unit, last = read_number(word(tokens, number_at)), UNITS.get(word(tokens, number_at + 1)), number_at + 2
    if number and unit and (is_before or word(tokens, at) in UNTIL_NOW):
        span = span_until_today(at, last, today, unit, int(number), span_text(tokens, at, last))
        yield replace(span, op="<" if is_before else "")


def read_same_period(tokens: Sequence[Token], at: int, today: date, year: int | None) -> Iterator[Span]:
    """`the same period last year`: until the day of the year that is today."""
    if [token.lower for token in tokens[at : at + 4]] == ["same", "period", "last", "year"]:
        end = same_day(today, date(today.year - 1, today.month, 1)) + timedelta(days=1)
        yield Span(at, at + 4, date(today.year - 1, 1, 1), end, "day", span_text(tokens, at, at + 4))


def span_until_today(first: int, last: int, today: date, unit: Unit, count: int, text: str) -> Span:
    """Return the last so many units, counted back from today, today included."""
    if unit in ("day", "week"):
        start = shift(today, unit, -count)
    else:
        start = same_day(today, shift(today.replace(day=1), unit, -count))
    return Span(first, last, start, today + timedelta(days=1), "day", text)


def read_anchored(tokens: Sequence[Token], at: int, anchor: date) -> Iterator[Span]:
    """`the year before`, `the previous month`, `the following quarter`, counted from the period asked about before."""
    first, second = word(tokens, at), word(tokens, at + 1)
    for unit_word, direction in ((first, second), (second, first)):
        count = {"before": -1, "earlier": -1, "previous": -1, "prior": -1, "after": 1, "later": 1, "following": 1}.get(
            direction
        )
        if unit_word in UNITS and count is not None:
            unit = UNITS[unit_word]
            yield make_span(tokens, at, at + 2, shift(start_of(anchor, unit), unit, count), unit)


def same_day(day: date, month: date) -> date:
    """Return the day of `month` with the number of `day`, or the last one there is."""
    return min(month + timedelta(days=day.day - 1), add_months(month, 1) - timedelta(days=1))


CHINESE = re.compile(
    r"(?P<relative>今天|昨天|今年|去年|前年|本月|这个月|上个月|上月|本季度|上季度|上个季度|本周|上周)"
    r"|(?:最近|过去|近)(?P<count>[0-9]+|[一二两三四五六七八九十]+)(?P<unit>天|日|周|个月|月|个季度|年)"
    r"|(?P<within>[0-9]+|[一二两三四五六七八九十]+)(?P<within_unit>天|日|周|个月|月|个季度|年)(?:以内|之内|内)"
    r"|(?P<year>\d{4})年(?:(?P<month>\d{1,2})月(?:(?P<day>\d{1,2})[日号])?|第?(?P<quarter>[一二三四1-4])季度)?"
    r"|(?P<bare>\d{1,2})月份?|第(?P<only>[一二三四1-4])季度"
)
RELATIVE: dict[str, tuple[Unit, int]] = {
    "今天": ("day", 0), "昨天": ("day", -1), "今年": ("year", 0), "去年": ("year", -1), "前年": ("year", -2),
    "本月": ("month", 0), "这个月": ("month", 0), "上个月": ("month", -1), "上月": ("month", -1),
    "本季度": ("quarter", 0), "上季度": ("quarter", -1), "上个季度": ("quarter", -1), "本周": ("week", 0),
    "上周": ("week", -1),
}  # fmt: skip


def read_chinese(tokens: Sequence[Token], at: int, today: date, year: int | None) -> Iterator[Span]:
    texts = [token.lower for token in tokens[at : at + 9]]
    match = CHINESE.match("".join(texts))
    if not match:
        return
    last, length = at, 0
    while length < match.end():
        length += len(tokens[last].lower)
        last += 1
    yield chinese_span(tokens, at, last, match, today, year)


def chinese_span(
    tokens: Sequence[Token], at: int, last: int, match: re.Match[str], today: date, year: int | None
) -> Span:
    part = match.groupdict()
    if part["relative"]:
        unit, count = RELATIVE[part["relative"]]
        return make_span(tokens, at, last, shift(start_of(today, unit), unit, count), unit)
    if number := part["count"] or part["within"]:
        unit = UNITS[(part["unit"] or part["within_unit"] or "").removeprefix("个")]
        return span_until_today(at, last, today, unit, int(read_number(number) or 0), match.group())
    if part["bare"]:
        month = int(part["bare"])
        return make_span(tokens, at, last, date(year or last_year_of(today, month), month, 1), "month")
    if part["only"]:
        return make_span(tokens, at, last, date(year or today.year, first_month(part["only"]), 1), "quarter")
    day, unit = chinese_date(part)
    return make_span(tokens, at, last, day, unit)


def chinese_date(part: Mapping[str, str | None]) -> tuple[date, Unit]:
    """Return the day that a year, with month, day or quarter if there are any, begins with."""
    unit: Unit = next((unit for unit in ("day", "month", "quarter") if part[unit]), "year")
    month = int(part["month"]) if part["month"] else first_month(part["quarter"] or "1")
    return date(int(part["year"] or 0), month, int(part["day"] or 1)), unit


def first_month(quarter: str) -> int:
    return 3 * int(read_number(quarter) or 1) - 2


READERS = (
    read_iso, read_day, read_month, read_quarter, read_year, read_near, read_until_now, read_same_period, read_chinese,
)  # fmt: skip
