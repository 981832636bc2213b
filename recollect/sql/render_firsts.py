"""The first of each: "the most expensive product in each category". The rows or figures of a frame, each with its place
among those of its group, and of them the first ones. What ties is all shown. Called by render.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.sql.frame import Frame
from recollect.sql.render_figures import by, group_terms
from recollect.sql.render_shares import figure_term
from recollect.sql.render_tables import Tables

if TYPE_CHECKING:
    from sqlglot import exp

PLACE = "place_in_group"


def firsts(frame: Frame, tables: Tables, select: exp.Select) -> exp.Select:
    """`select` is what the frame gives without a limit; `tables` are those it was made from."""
    from sqlglot import exp

    _, keys = group_terms(frame.per, tables)
    order = frame.order[0]
    ranked = tables.value(order.of) if order.of else figure_term(frame.metrics[order.at], frame, tables)
    place = exp.Window(
        this=exp.Anonymous(this="RANK"),
        partition_by=keys,
        order=exp.Order(expressions=[by(ranked, order.is_descending)]),
    )
    names = [each.alias for each in select.expressions]
    select.set("order", None)
    inner = select.select(exp.alias_(place, PLACE, quoted=True)).subquery("ranked")
    columns = [exp.column(name, quoted=True) for name in names]
    own = len(group_terms(frame.groups[:1], tables)[0])  # what is ranked, in front of its groups
    lead = columns[own : len(names) - len(frame.metrics)] if frame.groups else columns[: len(frame.per)]
    found = exp.column(PLACE, quoted=True)
    limit = exp.LTE(this=found, expression=exp.Literal.number(frame.limit or 1))
    sorted_by = [*lead, found, *(each for each in columns if each not in lead)]
    return exp.select(*columns).from_(inner).where(limit).order_by(*(each.copy() for each in sorted_by))
