"""Dates: the day so many weeks or months later, the first day of a quarter, the period before another. Used by
periods.py to read a period, and by edit_filters.py to move one. Pure.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal

Unit = Literal["day", "week", "month", "quarter", "year"]


def day_of(of: int, number: int, day: int) -> date | None:
    try:
        return date(of, number, day)
    except ValueError:
        return None


def floor(day: date, unit: Unit) -> date:
    if unit == "week":
        return day - timedelta(day.weekday())
    first = {"day": day.month, "month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}[unit]
    return day if unit == "day" else date(day.year, first, 1)


def moved(day: date, unit: Unit, by: int) -> date:
    """So many units later; the 31st becomes the last of a shorter month."""
    if unit in ("day", "week"):
        return day + timedelta(by * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + by * {"month": 1, "quarter": 3, "year": 12}[unit]
    of, number = max(1, min(9998, months // 12)), months % 12 + 1
    return next(found for back in range(4) if (found := day_of(of, number, day.day - back)))


def shifted(start: date, end: date, by: int, unit: Unit | None = None) -> tuple[date, date]:
    """The period before it or after it, as long as it is; or the same a unit earlier or later."""
    for each in (unit,) if unit else ("year", "quarter", "month", "week"):
        if each and (unit or moved(start, each, 1) == end):
            return moved(start, each, by), moved(end, each, by)
    return start + (end - start) * by, end + (end - start) * by
