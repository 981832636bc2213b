"""Fit a model's statement to the data, without asking the model: `fit_to_data`.

The interpreter knows which columns have stray blanks, which values a question names, and how tables join. Small models
get these wrong while the rest of their statement is right.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import sqlglot
from sqlglot import exp

from recollect.apps.ask.source_registry import View
from recollect.apps.ask.sql_text import write_sql

Place = tuple[str, str]  # of a table and a column


class Match(NamedTuple):
    """A value of the data that the question names."""

    table: str
    column: str
    value: str


def fit_to_data(sql: str, view: View, values: Collection[tuple[str, str, str]]) -> str:
    """Return a checked statement with values spelled as in the data, names looked up where it compares a foreign key
    with them, blanks trimmed, and rows not repeated by a join that only filters."""
    dialect, matches = view.catalog.dialect, [Match(*each) for each in values]
    tree = sqlglot.parse_one(sql, dialect=dialect)
    for compared in list(tree.find_all(exp.EQ, exp.NEQ, exp.In)):
        fit_values(compared, view, matches)
    for equal in list(tree.find_all(exp.EQ)):
        compare_with_all(equal)
    for column in list(tree.find_all(exp.Column)):
        trim_column(column, view)
    if isinstance(tree, exp.Select):  # an inner one may be counted or averaged
        drop_repeated_rows(tree, view)
    return write_sql(tree, dialect)


def list_sources(select: exp.Select) -> dict[str, str]:
    """Return the tables that a SELECT reads itself, by their names in it."""
    parts = [select.args.get("from_"), *(select.args.get("joins") or ())]
    tables = [part.this for part in parts if part is not None and isinstance(part.this, exp.Table)]
    return {each.alias_or_name.casefold(): ".".join(filter(None, (each.db, each.name))) for each in tables}


def find_place(column: exp.Column, view: View) -> Place | None:
    """Return the table and the column of the catalog that a column of a statement stands for."""
    select = column.find_ancestor(exp.Select)
    while isinstance(select, exp.Select):
        for alias, name in list_sources(select).items():
            table = view.catalog.table(name) if column.table.casefold() in ("", alias) else None
            found = table.column(column.name) if table else None
            if table and found:
                return table.name, found.name
        select = select.find_ancestor(exp.Select)
    return None


def fit_values(compared: exp.Expr, view: View, matches: Collection[Match]) -> None:
    """Spell compared values as the data does. A foreign key that is compared with a name is looked up by the name."""
    place = find_place(compared.this, view) if isinstance(compared.this, exp.Column) else None
    if place is None:
        return
    others = compared.expressions or filter(None, [compared.expression])  # IN (SELECT ...) has neither
    for literal in [each for each in others if each.is_string]:
        same = find_spellings(literal.this, view, place, matches)
        if same:
            literal.replace(exp.Literal.string(literal.this if literal.this in same else same[0]))
        elif isinstance(compared, exp.EQ):
            look_up_name(compared, place, literal.this.strip().casefold(), view, matches)


def find_spellings(text: str, view: View, place: Place, matches: Collection[Match]) -> list[str]:
    """Return how the data spells a value: as the question names it, or else as the catalog has it."""
    table = view.catalog.table(place[0])
    column = table.column(place[1]) if table else None
    named = [each.value for each in matches if (each.table, each.column) == place]
    stored = [each.strip() for each in named or (column.values if column else ())]
    return [each for each in stored if each.casefold() == text.strip().casefold()]


def look_up_name(compared: exp.EQ, place: Place, name: str, view: View, matches: Collection[Match]) -> None:
    """Compare a foreign key with the rows that have the name, if one column of the table that it points to has it."""
    joins = {each.to: each.to_columns[0] for each in view.model.joins if (each.table, *each.columns) == place}
    named = [each for each in matches if joins.get(each.table, each.column) != each.column]
    found = [each for each in named if each.value.casefold() == name]
    if len(found) == 1:
        match = found[0]
        query = exp.select(exp.column(joins[match.table], quoted=True)).from_(exp.to_table(match.table, quoted=True))
        where = exp.EQ(this=exp.column(match.column, quoted=True), expression=exp.Literal.string(match.value))
        compared.replace(exp.In(this=compared.this.copy(), query=query.where(where).subquery()))


def compare_with_all(equal: exp.EQ) -> None:
    """Compare with every row of a subquery that may have several, not with its first."""
    query = equal.expression.unnest()
    if isinstance(query, exp.Select) and not query.args.get("limit") and not query.selects[0].find(exp.AggFunc):
        equal.replace(exp.In(this=equal.this.copy(), query=equal.expression.copy()))


def trim_column(column: exp.Column, view: View) -> None:
    """Trim the blanks of a column whose values have stray ones."""
    place = find_place(column, view)
    if place is None or not view.index.column(*place).needs_trim or isinstance(column.parent, exp.Trim):
        return
    made = exp.Trim(this=column.copy())
    is_shown = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
    column.replace(exp.alias_(made, column.name, quoted=True) if is_shown else made)


def drop_repeated_rows(select: exp.Select, view: View) -> None:
    """Add DISTINCT where a joined table of which nothing is shown can repeat the rows of a shown one."""
    if not can_be_distinct(select):
        return
    sources = list_sources(select)
    shown = [column for each in select.selects for column in each.find_all(exp.Column)]
    tables = {sources.get(column.table.casefold(), "").casefold() for column in shown}
    others = {name.casefold() for name in sources.values()} - tables
    if any(join.table.casefold() in others and join.to.casefold() in tables for join in view.model.joins):
        select.distinct(copy=False)


def can_be_distinct(select: exp.Select) -> bool:
    """Whether a SELECT shows rows as they are, and is sorted only by what it shows."""
    order = select.args.get("order")
    is_grouped = select.args.get("group") or select.args.get("distinct") or select.find(exp.AggFunc)
    return not is_grouped and all(key.this in select.selects for key in (order.expressions if order else ()))
