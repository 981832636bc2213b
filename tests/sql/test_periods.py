"""Periods are half-open ranges of days."""

from __future__ import annotations

from datetime import date

import pytest

from recollect.sql.dates import shifted
from recollect.sql.lexer import tokens_of
from recollect.sql.periods import period_at

TODAY = date(2024, 5, 15)  # a Wednesday

PERIODS = [
    ("in 2011", "2011-01-01", "2012-01-01"),
    ("Q3 2011", "2011-07-01", "2011-10-01"),
    ("2011 Q3", "2011-07-01", "2011-10-01"),
    ("in the third quarter of 2011", "2011-07-01", "2011-10-01"),
    ("the first half of 2011", "2011-01-01", "2011-07-01"),
    ("March 2022", "2022-03-01", "2022-04-01"),
    ("in february 2024", "2024-02-01", "2024-03-01"),
    ("on 2022-03-14", "2022-03-14", "2022-03-15"),
    ("5 March 2022", "2022-03-05", "2022-03-06"),
    ("December 31, 2021", "2021-12-31", "2022-01-01"),
    ("2022-03", "2022-03-01", "2022-04-01"),
    ("the 1990s", "1990-01-01", "2000-01-01"),
    ("since March 2022", "2022-03-01", None),
    ("after 2010", "2011-01-01", None),
    ("before 2010", None, "2010-01-01"),
    ("until 2010", None, "2011-01-01"),
    ("up to 2010", None, "2011-01-01"),
    ("from 2020 on", "2020-01-01", None),
    ("2020 onwards", "2020-01-01", None),
    ("from March 2022 onwards", "2022-03-01", None),
    ("2022 and later", "2022-01-01", None),
    ("2022 or earlier", None, "2023-01-01"),
    ("between 2009 and 2011", "2009-01-01", "2012-01-01"),
    ("from March to May 2012", "2012-03-01", "2012-06-01"),
    ("between 1 May and 31 August 2024", "2024-05-01", "2024-09-01"),
    ("from March 5 to 20, 2024", "2024-03-05", "2024-03-21"),
    ("from 20 December to 5 January 2024", "2023-12-20", "2024-01-06"),
    ("in the first two weeks of March 2024", "2024-03-01", "2024-03-15"),
    ("the last quarter of last year", "2023-10-01", "2024-01-01"),
    ("last month", "2024-04-01", "2024-05-01"),
    ("this year", "2024-01-01", "2025-01-01"),
    ("last quarter", "2024-01-01", "2024-04-01"),
    ("last week", "2024-05-06", "2024-05-13"),
    ("yesterday", "2024-05-14", "2024-05-15"),
    ("past 30 days", "2024-04-16", "2024-05-16"),
    ("last 3 months", "2024-02-16", "2024-05-16"),
    ("year to date", "2024-01-01", "2024-05-16"),
    ("last year", "2023-01-01", "2024-01-01"),
]


@pytest.mark.parametrize(("text", "start", "end"), PERIODS, ids=[each[0] for each in PERIODS])
def test_a_period_is_from_its_first_day_until_before_the_day_after_it(
    text: str, start: str | None, end: str | None
) -> None:
    found = period_at(tokens_of(text), 0, TODAY)
    assert found is not None
    assert found.length == len(tokens_of(text))
    ends = [edge.isoformat() if edge else None for edge in (found.span.start, found.span.end)]
    assert ends == [start, end]


@pytest.mark.parametrize("text", ["in March", "the second quarter"])
def test_a_month_without_a_year_is_left_open(text: str) -> None:
    found = period_at(tokens_of(text), 0, TODAY)
    assert found is not None
    assert (found.span.start, found.span.needs_year) in [(None, 3), (None, 4)]


@pytest.mark.parametrize("text", ["12", "customers", "2022-13-40", "99999", "may I see", "0000-00-00"])
def test_what_is_no_period_is_none(text: str) -> None:
    assert period_at(tokens_of(text), 0, TODAY) is None


@pytest.mark.parametrize(
    ("start", "end", "by", "moved"),
    [
        ("2023-01-01", "2024-01-01", -1, ("2022-01-01", "2023-01-01")),
        ("2024-01-01", "2024-02-01", -1, ("2023-12-01", "2024-01-01")),
        ("2024-04-01", "2024-07-01", 1, ("2024-07-01", "2024-10-01")),
        ("2024-01-01", "2024-01-11", -1, ("2023-12-22", "2024-01-01")),
    ],
)
def test_the_period_before_is_as_long_and_ends_where_this_begins(
    start: str, end: str, by: int, moved: tuple[str, str]
) -> None:
    found = shifted(date.fromisoformat(start), date.fromisoformat(end), by)
    assert tuple(each.isoformat() for each in found) == moved
