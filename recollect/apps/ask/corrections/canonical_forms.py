"""The third step: one way to write what SQL can say in many.

`plain` rewrites a tree in place, leaves first: BETWEEN is two comparisons, a list of one is an equality, NOT is moved
inward, operands that may change places are sorted. What it does to times is in clause_times.py.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from recollect.apps.ask.corrections.date_parts import (
    all_of,
    cast_time,
    extracted,
    formatted,
    is_constant,
    midnight,
    named_part,
    period,
    start_of,
    text,
    truncated,
    whole_day,
)

FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}
OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
}


def plain(query: exp.Query, dialect: str) -> exp.Query:
    """`dialect` matters where true is another word for 1."""
    for node in reversed(list(query.walk())):
        rewrite = RULES.get(type(node))
        made = rewrite(node) if rewrite else node
        if made is not node:
            node.replace(made)
    if dialect in ("sqlite", "mysql"):
        for truth in list(query.find_all(exp.Boolean)):
            truth.replace(exp.Literal.number(int(truth.this)))
    return query


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The parts that all must hold. What is always true is no part."""
    if condition is None:
        return []
    sides = condition.flatten() if isinstance(condition, exp.And) else [condition]
    return [side for side in sides if not _is_always_true(side)]


def _is_always_true(condition: exp.Expr) -> bool:
    if isinstance(condition, exp.Boolean):
        return bool(condition.this)
    is_equality = isinstance(condition, exp.EQ) and isinstance(condition.this, exp.Literal)
    return is_equality and condition.this == condition.expression


def _inside(node: exp.Expr) -> exp.Expr:
    inner: exp.Expr = node.this
    return inner


def _between(node: exp.Expr) -> exp.Expr:
    low = _compared(exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()))
    return exp.And(this=low, expression=_compared(exp.LTE(this=node.this, expression=node.args["high"])))


def _in(node: exp.Expr) -> exp.Expr:
    if node.args.get("query") or not node.expressions:
        return node
    values = {text(value): value for value in node.expressions}
    if len(values) == 1:
        return _compared(exp.EQ(this=node.this, expression=node.expressions[0]))
    node.set("expressions", [values[key] for key in sorted(values)])
    return node


def _not(node: exp.Expr) -> exp.Expr:
    inner = node.this
    if isinstance(inner, exp.Not):
        return _inside(inner)
    if type(inner) in OPPOSITE:
        return _compared(OPPOSITE[type(inner)](this=inner.this.copy(), expression=inner.expression.copy()))
    if isinstance(inner, exp.Column):
        return exp.EQ(this=inner, expression=exp.false())
    if isinstance(inner, (exp.And, exp.Or)):
        return _turned(inner)
    if isinstance(inner, exp.In) and inner.expressions:
        return all_of(exp.NEQ(this=inner.this.copy(), expression=value) for value in inner.expressions)
    return node


def _turned(inner: exp.And | exp.Or) -> exp.Expr:
    """Neither, instead of not both."""
    sides = [_not(exp.Not(this=side.copy())) for side in (inner.this, inner.expression)]
    return exp.Or(this=sides[0], expression=sides[1]) if isinstance(inner, exp.And) else all_of(sides)


def _or(node: exp.Expr) -> exp.Expr:
    """Equalities of one column become a list; the sides stand in the order of their text."""
    _truths(node)
    if isinstance(node.parent, exp.Or):
        return node
    lists: dict[str, list[exp.Expr]] = {}
    others: list[exp.Expr] = []
    for side in node.flatten():
        values = [side.expression] if isinstance(side, exp.EQ) else side.expressions if _is_list(side) else []
        if values:
            lists.setdefault(text(side.this), [side.this]).extend(values)
        else:
            others.append(side.copy())
    made = [
        _in(exp.In(this=of.copy(), expressions=[value.copy() for value in values])) for of, *values in lists.values()
    ]
    first, *rest = sorted([*made, *others], key=text)
    for side in rest:
        first = exp.Or(this=first, expression=side)
    return first


def _is_list(node: exp.Expr) -> bool:
    return isinstance(node, exp.In) and not node.args.get("query")


def _truths(node: exp.Expr) -> exp.Expr:
    """A bare yes-or-no column in the place of a condition is compared with TRUE."""
    for side in ("this", "expression", "on"):
        column = node.args.get(side)
        if isinstance(column, exp.Column):
            column.replace(exp.EQ(this=column.copy(), expression=exp.true()))
    return node


def _is(node: exp.Expr) -> exp.Expr:
    if isinstance(node.expression, exp.Boolean):
        return exp.EQ(this=node.this, expression=node.expression)
    return node


def _compared(node: exp.Expr) -> exp.Expr:
    """The column stands left; a year or a month that is compared with is a range."""
    left, right = node.this, node.expression
    is_reversed = is_constant(left) and not is_constant(right)
    if is_reversed or (not is_constant(right) and text(right) < text(left)):
        node = FLIPPED.get(type(node), type(node))(this=right.copy(), expression=left.copy())
    if isinstance(node, exp.NEQ) and isinstance(node.expression, exp.Boolean):
        return exp.EQ(this=node.this, expression=exp.Boolean(this=not node.expression.this))
    return period(node) or node if isinstance(node, exp.EQ) else node


def _count(node: exp.Expr) -> exp.Expr:
    if isinstance(node.this, exp.Literal):
        node.set("this", exp.Star())
    return node


def _sorted(node: exp.Expr) -> exp.Expr:
    """Operands of + and *: constants last."""
    left, right = node.this, node.expression
    is_right = is_constant(right) or (not is_constant(left) and text(left) <= text(right))
    return node if is_right else type(node)(this=right.copy(), expression=left.copy())


RULES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Paren: _inside,
    exp.TsOrDsToTimestamp: _inside,
    exp.TsOrDsToDate: whole_day,
    exp.Between: _between,
    exp.In: _in,
    exp.Not: _not,
    exp.Or: _or,
    exp.And: _truths,
    exp.Where: _truths,
    exp.Having: _truths,
    exp.Join: _truths,
    exp.Is: _is,
    exp.Count: _count,
    exp.Cast: cast_time,
    exp.Literal: midnight,
    exp.Date: whole_day,
    exp.TimeToStr: formatted,
    exp.TimestampTrunc: truncated,
    exp.DateTrunc: truncated,
    exp.Extract: extracted,
    **dict.fromkeys((exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.DayOfMonth, exp.Hour), named_part),
    exp.Anonymous: start_of,
    exp.Add: _sorted,
    exp.Mul: _sorted,
    **dict.fromkeys(OPPOSITE, _compared),
}
