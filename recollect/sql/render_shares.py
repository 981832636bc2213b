"""A share as SQL: what meets the conditions of the part, in a hundred of all rows of the group; without conditions the
group in a hundred of all groups. Called by render_figures.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.sql.frame import Frame, Metric
from recollect.sql.joins import is_safe
from recollect.sql.render_tables import Tables
from recollect.sql.render_terms import metric_term
from recollect.sql.render_where import conditions

if TYPE_CHECKING:
    from sqlglot import exp


def figure_term(metric: Metric, frame: Frame, tables: Tables) -> exp.Expr:
    """The figure as it is, or the share of it."""
    from sqlglot import exp

    whole = metric_term(metric, tables)
    if metric.share is None:
        return whole
    share = metric.share
    for ref in (*(each.of for each in share.filters), *(each.of for each in share.periods)):
        if is_safe(tables.way(ref)):
            tables.of(ref, keeps=True)  # a row without one is still a part of the whole
    part = conditions(frame, tables, (*share.filters, *share.periods), share.existence, share.having)
    if not part:
        return in_hundred(whole, exp.Window(this=exp.Sum(this=whole.copy())))
    value = exp.Literal.number(1) if metric.aggregate == "count" else tables.value(metric.of)
    case = exp.Case(ifs=[exp.If(this=exp.and_(*part), true=value)], default=exp.Literal.number(0))
    return in_hundred(exp.Sum(this=case), whole)


def in_hundred(part: exp.Expr, whole: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    safe = exp.Anonymous(this="NULLIF", expressions=[whole, exp.Literal.number(0)])
    return exp.Div(this=exp.Mul(this=exp.Literal.number("100.0"), expression=part), expression=safe)
