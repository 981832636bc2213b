"""Shares: "what percentage of the orders were cancelled": of all that are counted, those for which one thing is so.

The count is read as ever; its one condition moves from the filters into the figure. Only a condition on the counted
rows themselves is taken, and only one: of two, one may say of which rows. Every other ratio is refused.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import Refused
from recollect.sql.draft_subjects import QUOTES
from recollect.sql.frame import Filter, Frame, Metric, Ref

SHARES = "Shares, growth and other ratios are not worked out here: ask for the figures, they can be divided."
PLAIN = ("=", "!=", "in", "not in", "where", "is null", "not null", ">", ">=", "<", "<=")


def shared(frame: Frame, dialect: str) -> Frame:
    """The share in percent."""
    own = [each for each in frame.filters if each.of.table == frame.subject and not each.of.via and each.op in PLAIN]
    is_count = len(frame.metrics) == 1 and frame.metrics[0].aggregate == "count" and frame.metrics[0].per is None
    more = frame.groups or frame.having or frame.existence or frame.order
    if not is_count or more or len(frame.filters) != 1 or len(own) != 1:
        raise Refused(SHARES)
    expression = f"CASE WHEN {written(own[0], dialect)} THEN 100.0 ELSE 0 END"
    name = f"percentage of {own[0].of.name or own[0].of.column}"
    return replace(frame, filters=(), metrics=(Metric("avg", Ref(frame.subject, "", expression, name)),))


def written(each: Filter, dialect: str) -> str:
    """As SQL over the table's own columns."""
    if each.op == "where":
        return f"({each.values[0]})"
    first, last = QUOTES.get(dialect, ('"', '"'))
    column = each.of.expression or f"{first}{each.of.column.replace(last, last * 2)}{last}"
    values = [text(value) if each.is_text else value for value in each.values]
    if each.op in ("in", "not in"):
        return f"{column} {each.op.upper()} ({', '.join(values)})"
    if each.op in ("is null", "not null"):
        return f"{column} IS {'NOT ' if each.op == 'not null' else ''}NULL"
    return f"{column} {'<>' if each.op == '!=' else each.op} {values[0]}"


def text(value: str) -> str:
    doubled = value.replace("'", "''")
    return f"'{doubled}'"
