"""Render: the SQL of a frame, through sqlglot's tree, so that quoting and functions are those of the dialect.

`sql_of` gives one SELECT; the same frame always gives the same text. Nothing here decides what is meant. Joins that go
from many to one are plain; a condition on the many side is an EXISTS, so that it multiplies no rows; what is counted
along a multiplied way is counted by its key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.sql.catalog import Catalog
from recollect.sql.frame import Frame, Ref
from recollect.sql.joins import graph_of
from recollect.sql.render_tables import Tables
from recollect.sql.semantic import SemanticModel

if TYPE_CHECKING:
    from sqlglot import exp
from recollect.sql.render_figures import by, figures, over_counts, unique, with_empty_groups
from recollect.sql.render_firsts import firsts
from recollect.sql.render_where import where


def sql_of(frame: Frame, model: SemanticModel, catalog: Catalog) -> str:
    tables = Tables(model, catalog, graph_of(model, catalog), frame.subject)
    if frame.metrics and frame.metrics[0].per and not frame.metrics[0].is_ratio:
        select = over_counts(frame, tables)
    elif frame.keeps_empty:
        select = with_empty_groups(frame, tables)
    elif frame.metrics or frame.groups:
        select = figures(frame, tables)
    else:
        select = rows(frame, tables)
    if frame.per:
        select = firsts(frame, tables, select)
    elif frame.limit is not None:
        select = select.limit(frame.limit)
    return select.sql(dialect=catalog.dialect, pretty=True)


def rows(frame: Frame, tables: Tables) -> exp.Select:
    """Rows of the subject. A column of another table is empty where there is none; the row stays."""
    from sqlglot import exp

    for group in frame.per:
        tables.of(group.of)  # what belongs to none is the first of none
    conditions = where(frame, tables)
    refs = frame.columns or tuple(Ref(frame.subject, name) for name in tables.label(frame.subject))
    terms = [(tables.value(ref, keeps=True), column_name(ref, frame)) for ref in refs if ref.column or ref.expression]
    if not terms:
        terms = [(exp.Star(), "")]
    orders = [order for order in frame.order if order.of]
    ranks = [by(tables.value(order.of, keeps=True), order.is_descending) for order in orders if order.of]
    if frame.limit is not None:
        conditions += [
            exp.Not(this=exp.Is(this=tables.value(o.of, keeps=True), expression=exp.Null())) for o in orders if o.of
        ]
    named = [exp.alias_(term, name, quoted=True) if name else term for term, name in unique(terms)]
    select = tables.into(exp.select(*named))
    if conditions:
        select = select.where(exp.and_(*conditions))
    ties = [by(tables.column(tables.aliases[()], key), False) for key in tables.key(frame.subject)]
    return select.order_by(*ranks, *ties) if ranks or ties else select


def column_name(ref: Ref, frame: Frame) -> str:
    plain = ref.column or ref.name
    return plain if ref.table == frame.subject else f"{ref.table.rpartition('.')[2]}{plain}"
