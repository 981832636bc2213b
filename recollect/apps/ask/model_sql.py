"""Fit a model's statement to the data, without asking the model: `fit_to_data`.

The interpreter knows which columns have stray blanks, which values a question names, and how tables join. Small models
get these wrong while the rest of their statement is right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.apps.ask.source_registry import View
from recollect.apps.ask.sql_text import write_sql

if TYPE_CHECKING:
    from sqlglot import exp

Place = tuple[str, str]  # of a table and a column


@dataclass(frozen=True, slots=True)
class Match:
    """A value of the data that the question names."""

    table: str
    column: str
    value: str


def fit_to_data(sql: str, view: View, values: Collection[tuple[str, str, str]]) -> str:
    """Return a checked statement with values spelled as in the data, names looked up where it compares a foreign key
    with them, blanks trimmed, and rows not repeated by a join that only filters."""
    import sqlglot
    from sqlglot import exp

    dialect, matches = view.catalog.dialect, [Match(*each) for each in values]
    tree = sqlglot.parse_one(sql, dialect=dialect)
    places = {id(column): place for column in tree.find_all(exp.Column) if (place := find_place(column, view))}
    for literal in list(tree.find_all(exp.Literal)):
        if literal.is_string:
            fit_value(literal, places, view, matches)
    for equal in list(tree.find_all(exp.EQ)):
        compare_with_all(equal)
    for column in list(tree.find_all(exp.Column)):
        trim_column(column, find_place(column, view), view)
    for select in tree.find_all(exp.Select):
        drop_repeated_rows(select, view)
    return write_sql(tree, dialect)


def list_sources(select: exp.Select) -> dict[str, str]:
    """Return the tables that a SELECT reads itself, by their names in it."""
    from sqlglot import exp

    parts = [select.args.get("from_"), *(select.args.get("joins") or ())]
    tables = [part.this for part in parts if part is not None and isinstance(part.this, exp.Table)]
    return {each.alias_or_name.casefold(): ".".join(filter(None, (each.db, each.name))) for each in tables}


def find_place(column: exp.Column, view: View) -> Place | None:
    """Return the table and the column of the catalog that a column of a statement stands for."""
    from sqlglot import exp

    select = column.find_ancestor(exp.Select)
    while isinstance(select, exp.Select):
        for alias, name in list_sources(select).items():
            table = view.catalog.table(name) if column.table.casefold() in ("", alias) else None
            found = table.column(column.name) if table else None
            if table and found:
                return table.name, found.name
        select = select.find_ancestor(exp.Select)
    return None


def fit_value(literal: exp.Literal, places: dict[int, Place], view: View, matches: Collection[Match]) -> None:
    """Spell a compared value as the data does. A foreign key that is compared with a name is looked up by the name."""
    from sqlglot import exp

    compared = literal.parent
    if not isinstance(compared, exp.EQ | exp.NEQ | exp.In) or not isinstance(compared.this, exp.Column):
        return
    place = places.get(id(compared.this))
    if place is None:
        return
    text = literal.this.strip().casefold()
    stored = [each.value for each in matches if (each.table, each.column) == place] or list_values(view, place)
    same = [each.strip() for each in stored if each.strip().casefold() == text]
    if same and literal.this not in same:
        literal.replace(exp.Literal.string(same[0]))
    elif not same and isinstance(compared, exp.EQ):
        look_up_name(compared, place, text, view, matches)


def look_up_name(compared: exp.EQ, place: Place, name: str, view: View, matches: Collection[Match]) -> None:
    """Compare a foreign key with the rows that have the name, if one column of the table that it points to has it."""
    from sqlglot import exp

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
    from sqlglot import exp

    query = equal.expression.this if isinstance(equal.expression, exp.Subquery) else None
    if isinstance(query, exp.Select) and not query.args.get("limit") and not query.selects[0].find(exp.AggFunc):
        equal.replace(exp.In(this=equal.this.copy(), query=equal.expression.copy()))


def list_values(view: View, place: Place) -> Collection[str]:
    table = view.catalog.table(place[0])
    column = table.column(place[1]) if table else None
    return column.values if column else ()


def trim_column(column: exp.Column, place: Place | None, view: View) -> None:
    from sqlglot import exp

    if place is None or not view.index.column(*place).needs_trim or isinstance(column.parent, exp.Trim):
        return
    made = exp.Trim(this=column.copy())
    is_shown = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
    column.replace(exp.alias_(made, column.name, quoted=True) if is_shown else made)


def drop_repeated_rows(select: exp.Select, view: View) -> None:
    """Add DISTINCT where a joined table of which nothing is shown can repeat the rows of a shown one."""
    from sqlglot import exp

    sources = list_sources(select)
    shown = list(find_shown(select))
    is_plain = not (select.args.get("group") or select.args.get("distinct") or select.find(exp.AggFunc))
    order = select.args.get("order")
    if not is_plain or not shown or (order and not all(each.this in select.selects for each in order.expressions)):
        return
    tables = {sources.get(column.table.casefold(), "").casefold() for column in shown}
    others = {name.casefold() for name in sources.values()} - tables
    if any(join.table.casefold() in others and join.to.casefold() in tables for join in view.model.joins):
        select.distinct(copy=False)


def find_shown(select: exp.Select) -> Iterator[exp.Column]:
    from sqlglot import exp

    for each in select.selects:
        yield from each.find_all(exp.Column)
