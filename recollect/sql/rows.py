"""Rows: what is counted where the question names no table: "how many cats", "the most common breed".

A cat is a value of a list of species; what is counted are the rows that name it, if one table has them all: the finest
of those that refer to the list. Called by metrics.py and assemble.py; where two tables could be meant, it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.sql.context import Context, Unclear
from recollect.sql.known import Target
from recollect.sql.lexer import stem_key
from recollect.sql.naming import many
from recollect.sql.phrases import phrases

FREQUENCY, POPULARITY = "frequency", "popularity"


def counted_table(context: Context, targets: Sequence[Target], term: str) -> str:
    """The table whose rows are counted for these values, columns or entities."""
    found = {table for target in targets for table in tables_of(context, target)}
    if len(found) != 1:
        names = [f"number of {many(context.called(table))}" for table in sorted(found)]
        raise Unclear(term, f"What should be counted for “{term}”?", names, "aggregation")
    return found.pop()


def by_label(context: Context, target: Target) -> Target:
    """ "The most common diagnosis": each row is one, and its label says which; where nothing refers to the rows and
    labels come again."""
    entity, table = context.entity(target.table), context.catalog.table(target.table)
    is_referred = any(join.to == target.table for join in context.model.joins)
    if target.kind != "entity" or entity is None or table is None or is_referred or len(entity.label) != 1:
        return target
    column = table.column(entity.label[0])
    is_kind = column is not None and column.type == "text" and column.is_complete and not column.is_unique
    return Target("dimension", target.table, entity.label[0], name=target.name) if is_kind else target


def tables_of(context: Context, target: Target) -> list[str]:
    """Of a name in a list that others refer to the finest of those; of a column its own rows. What else such a list
    says of a thing ("surgery" of a kind of treatment) may be meant of both."""
    if target.kind == "dimension" and is_each_once(context, target) and is_list(context, target.table):
        return finest(context, target.table)  # the coupon code that was used most often
    if target.kind == "dimension" or not is_list(context, target.table):
        return [target.table] if target.kind != "entity" else finest(context, target.table)
    entity = context.entity(target.table)
    is_name = target.kind == "entity" or (entity is not None and target.column in entity.label)
    people = entity is not None and any(stem_key(name) in phrases().events["person"] for name in entity.names)
    if people and target.kind == "value":
        return [target.table]
    return finest(context, target.table) if is_name else [target.table, *finest(context, target.table)]


def is_each_once(context: Context, target: Target) -> bool:
    """No two rows have the same: to count the rows of each says nothing."""
    table = context.catalog.table(target.table)
    column = table.column(target.column) if table else None
    return column is not None and column.is_unique


def is_list(context: Context, table: str) -> bool:
    """Things that others are said to be: it has no dates of its own, and is referred to."""
    return not context.moments(table) and any(join.to == table != join.table for join in context.model.joins)


def finest(context: Context, table: str) -> list[str]:
    told = {entity.table for entity in context.model.entities}
    near = {join.table for join in context.model.joins if join.to == table and join.table in told} - {table}
    whole = [each for each in near if all(is_part_of(context, each, other) for other in near)]
    return whole or sorted(near)


def is_part_of(context: Context, table: str, of: str) -> bool:
    return table == of or (context.cost(table, of) or (1, 0))[0] == 0
