"""Periods: dates, years, months, quarters and relative spans in a question, as half-open ISO ranges.

`find_periods` returns every span of tokens that names a period, English and Chinese. What can be said is one table of
patterns (`READERS`), each with the function that turns its parts into dates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from recollect.apps.ask.words import HAN, Token, read_number, tokenize

Unit = Literal["day", "week", "month", "quarter", "half", "year"]
MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sep sept", "october oct", "november nov", "december dec"), 1)
    for name in names.split()
}  # fmt: skip
UNITS: dict[str, Unit] = {
    "day": "day", "week": "week", "month": "month", "quarter": "quarter", "year": "year",
    "天": "day", "日": "day", "周": "week", "月": "month", "季度": "quarter", "年": "year",
}  # fmt: skip
LENGTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12}  # in months
ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
NEAR = {"this": 0, "current": 0, "last": -1, "previous": -1, "past": -1, "prior": -1, "next": 1, "coming": 1}
BESIDE = {"before": -1, "earlier": -1, "previous": -1, "prior": -1, "after": 1, "later": 1, "following": 1}
RELATIVE: dict[str, tuple[Unit, int]] = {
    "today": ("day", 0), "yesterday": ("day", -1), "tomorrow": ("day", 1), "今天": ("day", 0), "昨天": ("day", -1),
    "今年": ("year", 0), "去年": ("year", -1), "前年": ("year", -2), "本月": ("month", 0), "这个月": ("month", 0),
    "上个月": ("month", -1), "上月": ("month", -1), "本季度": ("quarter", 0), "上季度": ("quarter", -1),
    "上个季度": ("quarter", -1), "本周": ("week", 0), "上周": ("week", -1),
}  # fmt: skip
FISCAL_YEAR = "fiscal year"
FISCAL = ("fiscal", "financial", "fy", "财", "财政")  # before a year or a quarter that begins in a taught month
SHORT_FISCAL = re.compile(r"fy(?:20)?(\d\d)")
AMBIGUOUS = ("may", "mar")  # months only with a capital, at the beginning, or beside a number
YEAR = re.compile(r"(19|20)\d\d")

Part = Mapping[str, str | None]  # the named groups of a pattern
Range = tuple[date, date, Unit]


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
    is_bare: bool = False  # a day or a month of which nobody said the year


@dataclass(frozen=True, slots=True)
class Clock:
    """What completes a period: today, the year of a bare month or quarter, and the period asked about before."""

    today: date
    year: int | None
    anchor: date | None

    def shift(self, months: int) -> Clock:
        """Return the clock of a calendar that is some months ahead."""
        anchor = shift_day(self.anchor, months) if self.anchor else None
        return Clock(shift_day(self.today, months), self.year, anchor)


def add_months(day: date, months: int) -> date:
    years, month = divmod(day.month - 1 + months, 12)
    return date(day.year + years, month + 1, 1)


def start_of(day: date, unit: Unit) -> date:
    if unit == "day":
        return day
    if unit == "week":
        return day - timedelta(days=day.weekday())
    return date(day.year, day.month - (day.month - 1) % LENGTHS[unit], 1)


def shift(day: date, unit: Unit, count: int) -> date:
    """Return the start of the unit `count` units after the one that begins on `day`."""
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    return add_months(day, count * LENGTHS[unit])


def unit_range(day: date, unit: Unit, count: int = 0) -> Range:
    """Return the unit that a day is in, or the one `count` units later."""
    start = shift(start_of(day, unit), unit, count)
    return start, shift(start, unit, 1), unit


def same_day(day: date, month: date) -> date:
    """Return the day of `month` with the number of `day`, or the last one there is."""
    return min(month + timedelta(days=day.day - 1), add_months(month, 1) - timedelta(days=1))


def shift_day(day: date, months: int) -> date:
    return same_day(day, add_months(day.replace(day=1), months))


def until_today(today: date, unit: Unit, count: int) -> Range:
    """Return the last so many units, counted back from today, today included."""
    is_short = unit in ("day", "week")
    start = shift(today, unit, -count) if is_short else same_day(today, shift(today.replace(day=1), unit, -count))
    return start, today + timedelta(days=1), "day"


def find_periods(
    tokens: Sequence[Token], today: date, anchor: date | None = None, fiscal_start: int = 0
) -> list[Span]:  # fmt: skip
    """Return every period named in the tokens. The only year of the question completes a bare month or quarter, else
    that of `anchor`, the start of the period asked about before, from which "the year before" is counted.
    `fiscal_start` is the month in which a fiscal year begins, which has the number of the year in which it ends; 0 if
    that is not known."""
    years = {int(token.lower) for token in tokens if YEAR.fullmatch(token.lower)}
    clock = Clock(today, years.pop() if len(years) == 1 else anchor.year if anchor else None, anchor)
    found = read_calendar(tokens, clock, spell_plain)
    if not fiscal_start or not any(map(is_fiscal, tokens)):
        return found
    ahead = (13 - fiscal_start) % 12
    fiscal = read_calendar(tokens, clock.shift(ahead), spell_fiscal)
    named = [span for span in fiscal if span.unit in LENGTHS and any(map(is_fiscal, tokens[span.first : span.last]))]
    return found + [replace(each, start=add_months(each.start, -ahead), end=add_months(each.end, -ahead))
                    for each in named]  # fmt: skip


def read_calendar(tokens: Sequence[Token], clock: Clock, spell: Callable[[Token], str]) -> list[Span]:
    found: list[Span] = []
    for at, token in enumerate(tokens):
        made = list(read_periods(tokens, at, clock, spell)) if not token.quote else []
        found += made
        if made:  # "last month and the month before"
            clock = replace(clock, anchor=max(made, key=lambda span: span.last).start)
    return found


def is_fiscal(token: Token) -> bool:
    return token.lower in FISCAL or bool(SHORT_FISCAL.fullmatch(token.lower))


def spell_fiscal(token: Token) -> str:
    """Return the word as it is in a plain year: "" for "fiscal", 2025 for "FY25"."""
    return "" if token.lower in FISCAL else SHORT_FISCAL.sub(r"20\1", token.lower)


def spell_plain(token: Token) -> str:
    return token.lower


def is_fiscal_word(text: str) -> bool:
    return any(map(is_fiscal, tokenize(text)))


def find_fiscal_start(meaning: str) -> int:
    """Return the month in which a year begins that "starts in April" or "ends June 30"; 0 if the text does not say."""
    found = FISCAL_START.search(meaning.casefold())
    if not found:
        return 0
    month = MONTHS.get(found["month"] or "") or int(found["number"] or found["last"] or 0)
    return (month % 12 + 1 if found["end"] or found["last"] else month) if month <= 12 else 0


def read_periods(
    tokens: Sequence[Token], at: int, clock: Clock, spell: Callable[[Token], str]
) -> Iterator[Span]:  # fmt: skip
    """Yield the periods whose words begin with a token."""
    text, ends = join_tokens(tokens, at, spell)
    for pattern, read in READERS:
        match = pattern.match(text)
        if match is None or match.end() not in ends:
            continue
        # There is no February 30, and no year before the first.
        with suppress(ValueError, OverflowError):
            start, end, unit = read(match.groupdict(), clock)
            if start < end:
                last = ends[match.end()]
                part = match.groupdict()
                is_bare = unit in ("day", "month") and read is read_date and not names_year(part, clock)
                op, words = "<" if part.get("older") else "", " ".join(token.text for token in tokens[at:last])
                yield Span(at, last, start, end, unit, words, op, is_bare)


def names_year(part: Part, clock: Clock) -> bool:
    return bool(clock.year or part.get("year") or part.get("near_year"))


def join_tokens(
    tokens: Sequence[Token], first: int, spell: Callable[[Token], str]
) -> tuple[str, dict[int, int]]:  # fmt: skip
    """Return the next words as a text, and the token that ends at each of its positions. Chinese has no blanks."""
    text, ends = "", dict[int, int]()
    for at, token in enumerate(tokens[first : first + 9], first):
        word = spell(token)
        beside = tokens[max(at - 1, 0) : at + 2]
        is_verb = token.lower in AMBIGUOUS and at > 0 and not token.is_capital and not any(map(is_number, beside))
        is_chinese = bool(re.match(f"[{HAN}]", word) or re.search(f"[{HAN}]$", text))
        if word:
            text += ("" if is_chinese or not text else " ") + ("_" if is_verb else "") + word
            ends[len(text)] = at + 1
    return text, ends


def is_number(token: Token) -> bool:
    return token.lower[:1].isdigit()


def to_number(text: str | None) -> int:
    """Return the number of a month, an ordinal or a number word."""
    return MONTHS.get(text or "") or ORDINALS.get(text or "") or int(read_number(text or "") or 0)


def read_date(part: Part, clock: Clock) -> Range:
    """Return a day, month, quarter, half or year of the calendar. A month without a year is the last that began."""
    units: tuple[Unit, ...] = ("day", "month", "quarter", "half")
    unit: Unit = next((each for each in units if part.get(each)), "year")
    number = to_number(part.get("month") if unit == "day" else part.get(unit))
    month = LENGTHS[unit] * (number - 1) + 1 if unit in ("quarter", "half") else 1 if unit == "year" else number
    year, near = part.get("year"), part.get("near_year")
    is_later = unit in ("day", "month") and month > clock.today.month
    said = int(year) if year else clock.today.year + NEAR[near] if near else clock.year
    day = date(said or clock.today.year - is_later, month, int(part.get("day") or 1))
    start, end, _ = unit_range(day, unit)
    until = part.get("until")
    return start, add_months(date(day.year, MONTHS[until], 1), 1) if until else end, unit


def read_relative(part: Part, clock: Clock) -> Range:
    unit, count = RELATIVE[part["relative"] or ""]
    return unit_range(clock.today, unit, count)


def read_near(part: Part, clock: Clock) -> Range:
    return unit_range(clock.today, UNITS[part["unit"] or ""], NEAR[part["near"] or ""])


def read_near_month(part: Part, clock: Clock) -> Range:
    """Return "last March", the last one that is over, "next March", the first that has not begun, or this year's."""
    month, near = to_number(part.get("month")), NEAR[part["near"] or ""]
    is_past, is_over = month <= clock.today.month, month < clock.today.month
    year = clock.today.year + (-(not is_over) if near < 0 else is_past if near > 0 else 0)
    return unit_range(date(year, month, 1), "month")


def read_until_now(part: Part, clock: Clock) -> Range:
    count = int(read_number(part["count"] or "") or 0)
    if not count:
        raise ValueError("no number of units")
    return until_today(clock.today, UNITS[part["unit"] or ""], count)


def read_same_period(part: Part, clock: Clock) -> Range:
    """Return last year until the day that is today."""
    year, month = clock.today.year - 1, clock.today.month
    return date(year, 1, 1), same_day(clock.today, date(year, month, 1)) + timedelta(days=1), "day"


def read_anchored(part: Part, clock: Clock) -> Range:
    """Return the period beside the one asked about before."""
    if clock.anchor is None:
        raise ValueError("there is no period before")
    return unit_range(clock.anchor, UNITS[part["unit"] or ""], BESIDE[part["beside"] or ""])


def either(words: Mapping[str, object]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


MONTH = either(MONTHS)
ENGLISH_UNIT = "(?P<unit>day|week|month|quarter|year)s?"
CHINESE_UNIT = "个?(?P<unit>天|日|周|月|季度|年)"
FISCAL_START = re.compile(
    rf"\b(?:(?:start|begin|run)(?:s|ning|ing)?|(?P<end>end(?:s|ing)?))\b[^.;]*?\b(?P<month>{MONTH})\b"
    r"|(?P<number>\d{1,2})月[^月]{0,5}?(?:开始|起)|(?P<last>\d{1,2})月[^月]{0,5}?(?:结束|止)"
)
CHINESE_NUMBER = "[0-9]+|[一二两三四五六七八九十]+"
WHEN = rf"(?:(?:of|in) )?(?:(?P<year>(?:19|20)\d\d)|(?P<near_year>{either(NEAR)}) year)"
DAY = r"(?P<day>\d\d?)(?:st|nd|rd|th)?"
READERS: list[tuple[re.Pattern[str], Callable[[Part, Clock], Range]]] = [
    (re.compile(rf"(?:{pattern})(?:(?<=[{HAN}])|(?![a-z\d]))"), read)
    for pattern, read in (
        (r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?", read_date),
        (rf"(?P<month>{MONTH}) {DAY}(?: (?P<year>(?:19|20)\d\d))?", read_date),
        (rf"{DAY} (?P<month>{MONTH})(?: (?P<year>(?:19|20)\d\d))?", read_date),
        (rf"(?P<month>{MONTH}) {WHEN}", read_date),
        (rf"(?P<month>{MONTH})(?! \d| {WHEN})", read_date),
        (rf"(?P<month>{MONTH}) (?:(?:to|through|until) )?(?P<until>{MONTH}) {WHEN}", read_date),
        (rf"(?:q(?P<quarter>[1-4])|h(?P<half>[12]))(?: {WHEN})?", read_date),
        (rf"(?P<quarter>{either(ORDINALS)}) quarter(?: {WHEN})?", read_date),
        (rf"(?P<half>{either(ORDINALS)}) half(?: {WHEN})?", read_date),
        (r"(?:year )?(?P<year>(?:19|20)\d\d)年?", read_date),
        (rf"(?P<relative>{either(RELATIVE)})", read_relative),
        (rf"(?P<near>{either(NEAR)}) {ENGLISH_UNIT}", read_near),
        (rf"(?P<near>{either(NEAR)}) (?P<month>{MONTH})(?! \d| {WHEN})", read_near_month),
        (rf"(?:over the )?(?:last|past|previous|within|in|for|over) (?P<count>\w+) {ENGLISH_UNIT}", read_until_now),
        (rf"(?P<older>older|more|longer) than (?P<count>\w+) {ENGLISH_UNIT}", read_until_now),
        ("same period last year", read_same_period),
        (rf"{ENGLISH_UNIT} (?P<beside>{either(BESIDE)})", read_anchored),
        (rf"(?P<beside>{either(BESIDE)}) {ENGLISH_UNIT}", read_anchored),
        (rf"(?:最近|过去|近)(?P<count>{CHINESE_NUMBER}){CHINESE_UNIT}", read_until_now),
        (rf"(?P<count>{CHINESE_NUMBER}){CHINESE_UNIT}(?:以内|之内|内)", read_until_now),
        (r"(?P<year>\d{4})年(?P<month>\d{1,2})月(?:(?P<day>\d{1,2})[日号])?", read_date),
        (r"(?:(?P<year>\d{4})年)?第?(?P<quarter>[一二三四1-4])季度", read_date),
        (r"(?P<month>\d{1,2})月份?", read_date),
    )
]
