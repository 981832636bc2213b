"""Terms of a frame's SQL: comparisons, half-open dates, steps of time, counts. Called by render.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.sql.frame import Metric, Op, Ref
from recollect.sql.render_tables import Tables

if TYPE_CHECKING:
    from sqlglot import exp

# A step of time as a text that sorts like time. {} is the column. Weekdays are counted from Sunday, which is 0.
GRAINS = {
    "sqlite": {
        "hour": "STRFTIME('%H', {})",
        "weekday": "STRFTIME('%w', {})",
        "day": "STRFTIME('%Y-%m-%d', {})",
        "week": "DATE({}, 'weekday 0', '-6 days')",
        "month": "STRFTIME('%Y-%m', {})",
        "quarter": "STRFTIME('%Y', {}) || '-Q' || ((CAST(STRFTIME('%m', {}) AS INTEGER) + 2) / 3)",
        "year": "STRFTIME('%Y', {})",
    },
    "mysql": {
        "hour": "DATE_FORMAT({}, '%H')",
        "weekday": "DATE_FORMAT({}, '%w')",
        "day": "DATE_FORMAT({}, '%Y-%m-%d')",
        "week": "DATE_FORMAT({}, '%x-W%v')",
        "month": "DATE_FORMAT({}, '%Y-%m')",
        "quarter": "CONCAT(YEAR({}), '-Q', QUARTER({}))",
        "year": "DATE_FORMAT({}, '%Y')",
    },
    "": {
        "hour": "TO_CHAR({}, 'HH24')",
        "weekday": "EXTRACT(DOW FROM {})",
        "day": "TO_CHAR({}, 'YYYY-MM-DD')",
        "week": "TO_CHAR(DATE_TRUNC('week', {}), 'YYYY-MM-DD')",
        "month": "TO_CHAR({}, 'YYYY-MM')",
        "quarter": "TO_CHAR({}, 'YYYY') || '-Q' || TO_CHAR({}, 'Q')",
        "year": "TO_CHAR({}, 'YYYY')",
    },
}
NEGATED: dict[Op, Op] = {"!=": "=", "not in": "in"}


def negated_op(op: Op) -> Op:
    return NEGATED[op]


def grained(column: exp.Expr, grain: str, dialect: str) -> exp.Expr:
    import sqlglot
    from sqlglot import exp

    template = GRAINS.get(dialect, GRAINS[""])[grain].replace("{}", "moment_")
    tree = sqlglot.parse_one(template, dialect=dialect)
    return tree.transform(
        lambda node: column.copy() if isinstance(node, exp.Column) and node.name == "moment_" else node
    )


def dated(column: exp.Expr, start: str | None, end: str | None) -> exp.Expr:
    """Half-open, against ISO texts: right for texts with and without a time, and for real dates."""
    from sqlglot import exp

    terms: list[exp.Expr] = []
    if start:
        terms.append(exp.GTE(this=column, expression=exp.Literal.string(start)))
    if end:
        terms.append(exp.LT(this=column.copy(), expression=exp.Literal.string(end)))
    return exp.and_(*terms)


def numbered(column: exp.Expr, start: str | None, end: str | None) -> exp.Expr:
    from sqlglot import exp

    terms: list[exp.Expr] = []
    if start:
        terms.append(exp.GTE(this=column, expression=exp.Literal.number(start)))
    if end:
        terms.append(exp.LT(this=column.copy(), expression=exp.Literal.number(end)))
    return exp.and_(*terms)


def compared(term: exp.Expr, op: Op, values: Sequence[str], *, is_text: bool) -> exp.Expr:
    from sqlglot import exp

    said = [exp.Literal.string(value) if is_text else exp.Literal.number(value) for value in values]
    if op in ("is null", "not null"):
        empty = exp.Is(this=term, expression=exp.Null())
        return empty if op == "is null" else exp.Not(this=empty)
    if op == "between":
        return exp.Between(this=term, low=said[0], high=said[-1])
    if op in ("in", "not in"):
        found = exp.In(this=term, expressions=said)
        return found if op == "in" else exp.Not(this=found)
    kinds = {"=": exp.EQ, "!=": exp.NEQ, ">": exp.GT, ">=": exp.GTE, "<": exp.LT, "<=": exp.LTE}
    return kinds[op](this=term, expression=said[0])


def count_of(tables: Tables, ref: Ref) -> exp.Expr:
    """Rows; by their key where a join repeats them, or where they are not the rows that are selected."""
    from sqlglot import exp

    key = tables.key(ref.table)
    if not tables.is_multiplied and ref.table == tables.base:
        return exp.Count(this=exp.Star())
    alias = tables.of(ref)
    columns = [tables.column(alias, name) for name in key]
    if not columns:
        return exp.Count(this=exp.Star())
    return exp.Count(
        this=exp.Distinct(expressions=[columns[0] if len(columns) == 1 else exp.Tuple(expressions=columns)])
    )


def per_whole(value: exp.Expr, whole: Ref, tables: Tables) -> exp.Expr:
    """The average over orders of what their lines add up to: all of it, by the number of orders."""
    from sqlglot import exp

    alias = tables.of(whole)
    orders = exp.Count(this=exp.Distinct(expressions=[tables.column(alias, tables.key(whole.table)[0])]))
    total = exp.Mul(this=exp.Sum(this=value), expression=exp.Literal.number("1.0"))
    return exp.Div(this=total, expression=exp.Nullif(this=orders, expression=exp.Literal.number("0")))


def metric_term(metric: Metric, tables: Tables) -> exp.Expr:
    from sqlglot import exp

    if metric.aggregate == "count":
        return count_of(tables, metric.of)
    value = tables.value(metric.of)
    if metric.per:
        return per_whole(value, metric.per.of, tables)
    if metric.aggregate == "count_distinct":
        return exp.Count(this=exp.Distinct(expressions=[value]))
    kinds = {"sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max}
    return kinds[metric.aggregate](this=value)
