"""Time in SQL, of every spelling: date parts become GRAIN('month', column), so that a change of the unit can be told
from a change of the column; a year, a month or a day that is compared with becomes a half-open range.

Used by clause_forms.py, whose table names these rules. `text` and `all_of` are here for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta

from sqlglot import exp

GRAIN = "GRAIN"
WRITTEN = "written"
FORMATS = {
    "Y": "year",
    "Ym": "month",
    "YW": "week",
    "GV": "week",
    "Gv": "week",
    "Ymd": "day",
    "YmdH": "hour",
    "YmdHM": "minute",
    "m": "month_of_year",
    "W": "week_of_year",
    "w": "day_of_week",
    "d": "day_of_month",
    "H": "hour_of_day",
}
PARTS = {
    "month": "month_of_year",
    "week": "week_of_year",
    "dow": "day_of_week",
    "isodow": "day_of_week",
    "day": "day_of_month",
    "dayofmonth": "day_of_month",
    "hour": "hour_of_day",
}
TIMES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "DATETIME", "TIME")
MIDNIGHT = re.compile(r"^(\d{4}-\d\d-\d\d)[ T]00:00(?::00(?:\.0+)?)?Z?$")
PERIOD = re.compile(r"^(\d{4})(?:-(\d\d))?(?:-(\d\d))?$")
START_OF = re.compile(r"start of (\w+)")


def grain_of(expression: exp.Expr) -> tuple[str, exp.Expr] | None:
    """The unit and what is cut to it."""
    if isinstance(expression, exp.Anonymous) and expression.name == GRAIN:
        unit, of = expression.expressions
        return unit.name, of
    return None


def grain(unit: str, of: exp.Expr, written: exp.Expr) -> exp.Expr:
    """`written` is kept for people: GRAIN is no SQL."""
    made = exp.Anonymous(this=GRAIN, expressions=[exp.Literal.string(unit), of.copy()])
    made.meta[WRITTEN] = written.copy()
    return made


def as_written(node: exp.Expr) -> exp.Expr:
    """A copy with date parts as the query spells them."""
    found = [one for one in node.find_all(exp.Anonymous) if WRITTEN in one.meta]
    if not found:
        return node
    if found[0] is node:
        return as_written(node.meta[WRITTEN])
    made = node.copy()
    for one in [one for one in made.find_all(exp.Anonymous) if WRITTEN in one.meta]:
        one.replace(one.meta[WRITTEN])
    return made


def period(node: exp.EQ) -> exp.Expr | None:
    """The range that a date part equal to a literal is."""
    cut = grain_of(node.this)
    said = PERIOD.match(node.expression.name) if isinstance(node.expression, exp.Literal) else None
    if cut is None or said is None or cut[0] not in ("year", "month", "day"):
        return None
    try:
        start = date(int(said[1]), int(said[2] or 1), int(said[3] or 1))
        bounds = (exp.GTE, start), (exp.LT, _following(start, cut[0]))
    except (ValueError, OverflowError):
        return None
    return all_of(form(this=cut[1].copy(), expression=exp.Literal.string(str(day))) for form, day in bounds)


def _following(start: date, unit: str) -> date:
    later = start + timedelta(days={"day": 1, "month": 31, "year": 366}[unit])
    return later.replace(day=1, month=1 if unit == "year" else later.month) if unit != "day" else later


def cast_time(node: exp.Expr) -> exp.Expr:
    kind = node.args["to"].this.name if isinstance(node.args.get("to"), exp.DataType) else ""
    if kind in TIMES and isinstance(node.this, exp.Literal) and node.this.is_string:
        return midnight(node.this.copy())
    if kind == "DATE" and not is_constant(node.this):
        return grain("day", node.this, node)
    return node


def midnight(node: exp.Expr) -> exp.Expr:
    found = MIDNIGHT.match(node.name) if node.is_string else None
    return exp.Literal.string(found[1]) if found else node


def whole_day(node: exp.Expr) -> exp.Expr:
    if node.args.get("zone") or node.expressions or node.this is None:
        return node
    if isinstance(node.this, exp.Literal):
        return node.this if PERIOD.match(node.this.name) else node
    return node if is_constant(node.this) else grain("day", node.this, node)


def formatted(node: exp.Expr) -> exp.Expr:
    letters = "".join(re.findall(r"%-?(\w)", node.args["format"].name.replace("%F", "%Y-%m-%d")))
    unit = FORMATS.get(letters)
    return grain(unit, node.this, node) if unit and not is_constant(node.this) else node


def truncated(node: exp.Expr) -> exp.Expr:
    return grain(node.args["unit"].name.lower(), node.this, node) if not is_constant(node.this) else node


def extracted(node: exp.Expr) -> exp.Expr:
    unit = node.this.name.lower()
    return grain(PARTS.get(unit, unit), node.expression, node) if not is_constant(node.expression) else node


def named_part(node: exp.Expr) -> exp.Expr:
    """YEAR(column) and the like, as MySQL and DuckDB write them."""
    cut = grain_of(node.this)  # sqlglot reads YEAR(column) as YEAR(DATE(column))
    of = cut[1] if cut and cut[0] == "day" else node.this
    return grain(PARTS.get(node.key, node.key), of, node) if not is_constant(of) else node


def start_of(node: exp.Expr) -> exp.Expr:
    """SQLite's date(column, 'start of month')."""
    if node.name.upper() != "DATE" or len(node.expressions) != 2:
        return node
    of, step = node.expressions
    found = START_OF.fullmatch(step.name.lower())
    return grain(found[1], of, node) if found and not is_constant(of) else node


def text(node: exp.Expr, dialect: str | None = None) -> str:
    return node.sql(dialect=dialect, comments=False, normalize_functions="upper")


def is_constant(node: exp.Expr) -> bool:
    return node.find(exp.Column, exp.AggFunc, exp.Query) is None


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    first, *rest = conditions
    for condition in rest:
        first = exp.And(this=first, expression=condition)
    return first
