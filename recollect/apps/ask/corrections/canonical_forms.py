"""One way to write what SQL can say in many. `canonicalize` is the entry point.

sqlglot's `simplify` moves NOT inward, writes BETWEEN as two comparisons, puts columns on the left, and drops conditions
that say nothing more. The rules here do the rest.

Date parts of every dialect become GRAIN('month', column), so that a change of the unit can be told from a change of the
column. A year, month or day that a date part is compared with becomes a half-open range.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from operator import attrgetter

from sqlglot import exp
from sqlglot.optimizer.simplify import Simplifier, simplify

GRAIN = "GRAIN"
WRITTEN = "written"
# Units by the letters of a format, and by the names of parts of a date.
FORMATS = {
    "Y": "year", "Ym": "month", "YW": "week", "GV": "week", "Gv": "week", "Ymd": "day", "YmdH": "hour",
    "YmdHM": "minute", "m": "month_of_year", "W": "week_of_year", "w": "day_of_week", "d": "day_of_month",
    "H": "hour_of_day",
}  # fmt: skip
PARTS = {
    "month": "month_of_year", "week": "week_of_year", "dow": "day_of_week", "isodow": "day_of_week",
    "day": "day_of_month", "dayofmonth": "day_of_month", "hour": "hour_of_day",
}  # fmt: skip
TIMES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "DATETIME", "TIME")
PERIOD = re.compile(r"^(\d{4})(?:-(\d\d))?(?:-(\d\d))?$")
UNITS = (exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.DayOfMonth, exp.Hour)


def canonicalize(query: exp.Query, dialect: str) -> exp.Query:
    """Return the query in its canonical form, rewritten leaves first. `dialect` matters where TRUE is another word for
    1."""
    with suppress(ValueError, ArithmeticError):  # dates that Python does not have
        query = simplify(query.copy(), dialect=dialect)
    for node in reversed(list(query.walk())):
        rewrite = RULES.get(type(node))
        made = rewrite(node) if rewrite else node
        if made is not node:
            node.replace(made)
    if dialect in ("sqlite", "mysql"):
        for boolean in list(query.find_all(exp.Boolean)):
            boolean.replace(exp.Literal.number(int(boolean.this)))
    return query


def render(node: exp.Expr, dialect: str | None = None) -> str:
    """Return the SQL of a node, the same for nodes that differ in comments or in the case of functions only."""
    return node.sql(dialect=dialect, comments=False, normalize_functions="upper")


def is_constant(node: exp.Expr) -> bool:
    return node.find(exp.Column, exp.AggFunc, exp.Query) is None


# Conditions -----------------------------------------------------------------------------------------------------------


def split_conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """Return the conditions that AND connects."""
    return [*condition.flatten()] if isinstance(condition, exp.And) else [*filter(None, [condition])]


def _rewrite_in(node: exp.Expr) -> exp.Expr:
    """Make a list of one value an equality, and sort the values of a longer one."""
    if node.args.get("query") or not node.expressions:
        return node
    values = {render(value): value for value in node.expressions}
    if len(values) == 1:
        return _rewrite_comparison(exp.EQ(this=node.this, expression=node.expressions[0]))
    node.set("expressions", [values[key] for key in sorted(values)])
    return node


def _rewrite_not(node: exp.Expr) -> exp.Expr:
    """Return the condition without NOT before a column, a list or a comparison."""
    inner = node.this
    if isinstance(inner, exp.Column):
        return exp.EQ(this=inner, expression=exp.false())
    if isinstance(inner, exp.In) and inner.expressions:
        unequal = (exp.NEQ(this=inner.this.copy(), expression=value) for value in inner.expressions)
        return exp.and_(*unequal, copy=False, wrap=False)
    opposite = Simplifier.COMPLEMENT_COMPARISONS.get(type(inner))
    if opposite:
        return _rewrite_comparison(opposite(this=inner.this.copy(), expression=inner.expression.copy()))
    return node


def _rewrite_or(node: exp.Expr) -> exp.Expr:
    """Make equalities of one column a list, and sort the sides."""
    _compare_with_true(node)
    if isinstance(node.parent, exp.Or):
        return node
    lists: dict[str, list[exp.Expr]] = {}
    sides: list[exp.Expr] = []
    for side in node.flatten():
        values = [side.expression] if isinstance(side, exp.EQ) else side.expressions
        if isinstance(side, (exp.EQ, exp.In)) and values:
            lists.setdefault(render(side.this), [side.this]).extend(values)
        else:
            sides.append(side.copy())
    for column, *values in lists.values():
        sides.append(_rewrite_in(exp.In(this=column.copy(), expressions=[value.copy() for value in values])))
    return exp.or_(*sorted(sides, key=render), copy=False, wrap=False)


def _compare_with_true(node: exp.Expr) -> exp.Expr:
    """Compare a boolean column that is a condition by itself with TRUE."""
    for side in ("this", "expression", "on"):
        column = node.args.get(side)
        if isinstance(column, exp.Column):
            column.replace(exp.EQ(this=column.copy(), expression=exp.true()))
    return node


def _rewrite_is(node: exp.Expr) -> exp.Expr:
    is_boolean = isinstance(node.expression, exp.Boolean)
    return exp.EQ(this=node.this, expression=node.expression) if is_boolean else node


def _rewrite_comparison(node: exp.Expr) -> exp.Expr:
    """Sort two columns, and make a comparison with a year, month or day a range."""
    left, right = node.this, node.expression
    if not is_constant(right) and render(right) < render(left):
        form = Simplifier.INVERSE_COMPARISONS.get(type(node), type(node))
        node = form(this=right.copy(), expression=left.copy())
    if isinstance(node, exp.EQ):
        return _expand_period(node) or node
    if isinstance(node, exp.NEQ) and isinstance(node.expression, exp.Boolean):
        return exp.EQ(this=node.this, expression=exp.Boolean(this=not node.expression.this))
    return node


def _rewrite_count(node: exp.Expr) -> exp.Expr:
    """Make COUNT(1) a COUNT(*)."""
    if isinstance(node.this, exp.Literal):
        node.set("this", exp.Star())
    return node


# Dates and times ------------------------------------------------------------------------------------------------------


def find_grain(expression: exp.Expr) -> tuple[str, exp.Expr] | None:
    """Return the unit of a date part and the expression that is reduced to it."""
    if isinstance(expression, exp.Anonymous) and expression.name == GRAIN:
        unit, of = expression.expressions
        return unit.name, of
    return None


def _rewrite_date_part(node: exp.Expr) -> exp.Expr:
    """Return the date part of a column as a GRAIN that keeps what is written; anything else as it is."""
    unit, of = _read_date_part(node)
    if unit is None or is_constant(of):
        return node
    made = exp.Anonymous(this=GRAIN, expressions=[exp.Literal.string(unit), of.copy()])
    made.meta[WRITTEN] = node.copy()
    return made


def _rewrite_date(node: exp.Expr) -> exp.Expr:
    """Return a date or time that is written as a text as that text; any other as a date part."""
    is_cast = isinstance(node, exp.Cast) and node.is_type(*TIMES)
    is_text = isinstance(node.this, exp.Literal) and node.this.is_string and not node.expressions
    return node.this if is_text and (is_cast or PERIOD.match(node.this.name)) else _rewrite_date_part(node)


def _read_date_part(node: exp.Expr) -> tuple[str | None, exp.Expr]:
    """Return the unit and the expression that is reduced to it; no unit if the node is not a date part."""
    match node:
        case exp.TimestampTrunc() | exp.DateTrunc():
            return node.args["unit"].name.lower(), node.this
        case exp.Extract():
            unit = node.this.name.lower()
            return PARTS.get(unit, unit), node.expression
        case exp.TimeToStr():
            letters = "".join(re.findall(r"%-?(\w)", node.args["format"].name.replace("%F", "%Y-%m-%d")))
            return FORMATS.get(letters), node.this
        case exp.Cast() | exp.Date() | exp.TsOrDsToDate():
            return "day" if _is_day(node) else None, node.this
    unit, of = find_grain(node.this) or ("", node.this)  # sqlglot parses YEAR(column) as YEAR(DATE(column))
    return PARTS.get(node.key, node.key), of if unit == "day" else node.this


def _is_day(node: exp.Expr) -> bool:
    """Return whether a conversion to a date only drops the time of day."""
    is_date = node.is_type("date") or not isinstance(node, exp.Cast)
    return is_date and not (node.args.get("zone") or node.expressions)


def restore_date_parts(node: exp.Expr) -> exp.Expr:
    """Return the node with date parts as the query spells them."""
    return node.transform(lambda one: restore_date_parts(one.meta[WRITTEN]) if WRITTEN in one.meta else one)


def _expand_period(node: exp.EQ) -> exp.Expr | None:
    """Return the range that a date part equal to a literal stands for."""
    grain = find_grain(node.this)
    period = PERIOD.match(node.expression.name) if isinstance(node.expression, exp.Literal) else None
    if grain is None or period is None or grain[0] not in ("year", "month", "day"):
        return None
    unit, of = grain
    try:
        start = date(int(period[1]), int(period[2] or 1), int(period[3] or 1))
        end = start + timedelta(days={"day": 1, "month": 31, "year": 366}[unit])
    except (ValueError, OverflowError):
        return None
    if unit != "day":
        end = end.replace(day=1, month=1 if unit == "year" else end.month)
    low = exp.GTE(this=of.copy(), expression=exp.Literal.string(str(start)))
    return exp.And(this=low, expression=exp.LT(this=of.copy(), expression=exp.Literal.string(str(end))))


DATE_PARTS = (*UNITS, exp.TimestampTrunc, exp.DateTrunc, exp.Extract, exp.TimeToStr)
RULES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    **dict.fromkeys((exp.Paren, exp.TsOrDsToTimestamp), attrgetter("this")),
    **dict.fromkeys(DATE_PARTS, _rewrite_date_part),
    **dict.fromkeys((exp.Cast, exp.Date, exp.TsOrDsToDate), _rewrite_date),
    exp.In: _rewrite_in,
    exp.Not: _rewrite_not,
    exp.Or: _rewrite_or,
    **dict.fromkeys((exp.And, exp.Where, exp.Having, exp.Join), _compare_with_true),
    exp.Is: _rewrite_is,
    exp.Count: _rewrite_count,
    **dict.fromkeys(Simplifier.COMPLEMENT_COMPARISONS, _rewrite_comparison),
}
