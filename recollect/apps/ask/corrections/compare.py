"""Compare two queries clause by clause. `find_changes` is the entry point.

Names come first, because they explain the most; then columns and measures (compare_columns.py), then conditions, then
joins that serve none of these. Only what differs is looked at. All conditions on one column are one filter: a filter
whose column alone changed is a substitution of that column, any other difference is a changed filter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from sqlglot import exp

from recollect.apps.ask.corrections.canonical_forms import canonicalize
from recollect.apps.ask.corrections.clauses import OUTER, Clauses, Item, read_clauses
from recollect.apps.ask.corrections.compare_columns import (
    Delta,
    Replacements,
    find_column_changes,
    find_table,
    is_reordered,
    rate_similarity,
    show_items,
)
from recollect.apps.ask.corrections.correction import Change, ChangeKind
from recollect.apps.ask.corrections.lessons import split_identifier
from recollect.apps.ask.corrections.query_tree import DERIVED, Schema, parse_pair, rename_tables

SECOND_USE = re.compile(r"_\d+$")
NO_TABLE = re.compile(rf"^{DERIVED}|_\d+$")  # a derived table, or the second use of a table
SHARED_COLUMN = 0.5
SAME_PLACE = 0.5
Filters = dict[str, list[Item]]  # by subject


def find_changes(generated_sql: str, corrected_sql: str, dialect: str, schema: Schema | None) -> list[Change]:
    """Return how the corrected query differs from the generated one; nothing if they are equivalent."""
    before, after = parse_pair(generated_sql, corrected_sql, dialect, schema)
    tables = match_tables(before, after)
    rename_tables(before, tables)
    changes = [
        Change("table_substitution", new, old, new)
        for old, new in tables.items()
        if not (SECOND_USE.search(old) and SECOND_USE.sub("", old) in tables)
    ]
    old, new = (read_clauses(canonicalize(query, dialect), dialect) for query in (before, after))
    found = compare_clauses(old, new, Replacements(tables=frozenset(tables.values())))
    changes += [change for change in found if not _follows_tables(change, tables)]
    # A difference that no rule names must not pass for a confirmation.
    return changes or ([] if old.meaning == new.meaning else [Change("projection")])


def compare_clauses(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    """Return the changes, those of inner queries included, each once."""
    if before.is_set_operation != after.is_set_operation:
        return [Change("join")]
    if before.is_set_operation and before.inner.keys() != after.inner.keys():
        return [Change("join")]
    changes = _find_table_changes(before, after, replaced)
    changes += find_column_changes(before, after, replaced)
    changes += _find_filter_changes(before, after, replaced)
    changes += _find_join_changes(before, after, replaced)
    changes += _find_order_changes(before, after, replaced)
    if before.limit != after.limit:
        changes.append(Change("limit", None, before.limit or None, after.limit or None))
    for one, other in _pair_inner_queries(before, after):
        changes += compare_clauses(one, other, replaced)
    return list(dict.fromkeys(changes))


def _pair_inner_queries(before: Clauses, after: Clauses) -> Iterable[tuple[Clauses, Clauses]]:
    """Yield derived tables of one name, and queries within expressions that are otherwise equal."""
    for name in before.inner.keys() & after.inner.keys():
        yield before.inner[name], after.inner[name]
    for clause in ("conditions", "projection", "order"):
        others = {item.text: item.inner for item in getattr(after, clause)}
        for item in getattr(before, clause):
            yield from zip(item.inner, others.get(item.text, ()), strict=False)


# Tables ---------------------------------------------------------------------------------------------------------------


def match_tables(before: exp.Query, after: exp.Query) -> dict[str, str]:
    """Return the tables that only the first query names, each with the likeliest of those only the second names."""
    old, new = _read_table_uses(before), _read_table_uses(after)
    gone, come = [name for name in old if name not in new], [name for name in new if name not in old]

    def rate(pair: tuple[str, str]) -> float:
        (place, columns), (new_place, new_columns) = old[pair[0]], new[pair[1]]
        shared = SHARED_COLUMN * len(columns & new_columns) + SAME_PLACE * (place == new_place)
        return shared + rate_similarity(*pair)

    pairs: dict[str, str] = {}
    for one, other in sorted(product(gone, come), key=rate, reverse=True):
        if one not in pairs and other not in pairs.values():
            pairs[one] = other
    return {one: pairs[one] for one in gone if one in pairs}


def _read_table_uses(query: exp.Query) -> dict[str, tuple[int, set[str]]]:
    """Return for each table how many were named before it, and its columns in the query."""
    labels = (table.meta.get("label", table.name) for table in query.find_all(exp.Table))
    names = [label for label in labels if not label.startswith(DERIVED)]
    uses: dict[str, tuple[int, set[str]]] = {name: (names.index(name), set()) for name in names}
    for column in query.find_all(exp.Column):
        if column.table in uses:
            uses[column.table][1].add(column.name)
    return uses


def _follows_tables(change: Change, tables: Mapping[str, str]) -> bool:
    """Whether a column follows its table: client_name to customer_name, where clients became customers."""
    if change.kind != "column_substitution" or not change.before or not change.after:
        return False
    old, new = split_identifier(change.before), split_identifier(change.after)
    gone, come = [one for one in old if one not in new], [one for one in new if one not in old]
    return (gone, come) in [(split_identifier(one), split_identifier(other)) for one, other in tables.items()]


def _find_table_changes(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    """Return the table that another replaced here only, while the query uses it elsewhere. Its columns go with it.
    (Tables that were replaced everywhere have the new name already.)"""
    gone, come = before.tables.keys() - after.tables.keys(), after.tables.keys() - before.tables.keys()
    if len(gone) != 1 or len(come) != 1 or any(map(NO_TABLE.search, gone | come)):
        return []
    old, new = min(gone), min(come)
    for column in {column for item in before.items for column in item.columns}:
        if column.startswith(f"{old}."):
            replaced.columns.setdefault(column, new + column.removeprefix(old))
    replaced.tables |= {new}
    return [Change("table_substitution", new, old, new)]


# Joins and order ------------------------------------------------------------------------------------------------------


def _find_join_changes(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    """Return one change at most. A table that something else in the correction needs is no change of its own."""
    added, removed = after.tables.keys() - before.tables.keys(), before.tables.keys() - after.tables.keys()
    other_sides = dict(before.tables.items() - after.tables.items()).keys() & after.tables.keys()
    moved = added | removed | replaced.tables
    links = Delta.of(before.links, after.links, replaced)
    is_changed = (
        _has_unused_table(added, after, before)
        or _has_unused_table(removed, before, after)
        or (len(before.tables) > 1 and other_sides)
        or any(moved.isdisjoint(item.tables) for item in links.items)
    )
    if not is_changed:
        return []
    return [Change("join", min(added or removed or {""}) or None, _show_joins(before), _show_joins(after))]


def _has_unused_table(tables: set[str], clauses: Clauses, other: Clauses) -> bool:
    """Whether only the joins name one of the tables. An unqualified column that only this query has is taken for
    theirs."""
    known = {name.rpartition(".")[2] for item in other.items for name in item.columns}
    unqualified = {name for item in clauses.items for name in item.columns if "." not in name}
    is_used = unqualified - known or any(item.tables & tables for item in clauses.items)
    return bool(tables) and not is_used


def _show_joins(clauses: Clauses) -> str:
    tables = [f"{how} {name}".strip() for name, how in clauses.tables.items()]
    return ", ".join(tables) + (f" on {show_items(clauses.links)}" if clauses.links else "")


def _find_order_changes(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    if not is_reordered(before.order, after.order, replaced):
        return []
    return [Change("order", find_table(after.order), show_items(before.order), show_items(after.order))]


# Conditions -----------------------------------------------------------------------------------------------------------


def _find_filter_changes(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    delta = Delta.of(before.conditions, after.conditions, replaced)
    changes = [*_find_moved_conditions(delta), *_find_moved_columns(delta, replaced)]
    gone, come = _group_by_subject(delta.gone), _group_by_subject(delta.come)
    old, new = _group_by_subject(before.conditions), _group_by_subject(after.conditions)
    for subject in (gone.keys() | come.keys()) & old.keys() & new.keys():
        gone.pop(subject, None), come.pop(subject, None)
        changes.append(_change_filter("filter_change", old[subject], new[subject]))
    for subject in list(gone):
        nearest = _find_nearest(gone[subject], come)
        if nearest is not None:
            changes.append(_change_filter("filter_change", gone.pop(subject), come.pop(nearest)))
    changes += [_change_filter("filter_removal", old=items) for items in gone.values()]
    return changes + [_change_filter("filter_addition", new=items) for items in come.values()]


def _find_moved_conditions(delta: Delta) -> list[Change]:
    """Take from `delta` the conditions that moved from WHERE into the ON of an outer join, or back."""
    changes = []
    for old in list(delta.gone):
        text = old.text.removesuffix(OUTER)
        new = next((one for one in delta.come if one.text.removesuffix(OUTER) == text), None)
        if new is not None:
            delta.remove(old, new)
            changes.append(Change("join", find_table([new]), old.shown, new.shown))
    return changes


def _find_moved_columns(delta: Delta, replaced: Replacements) -> list[Change]:
    """Take from `delta` the conditions that say the same of another column."""
    changes = []
    for old in list(delta.gone):
        alike = [one for one in delta.come if one.columns and one.shape == old.shape]
        alike = [one for one in alike if not {*one.columns} & {*old.columns}] or alike
        if alike and _name_subject(old) not in map(_name_subject, delta.come):
            new = max(alike, key=lambda one: rate_similarity(_name_subject(old), _name_subject(one)))
            delta.remove(old, new)
            changes += replaced.replace_columns(old, new)
    return changes


def _group_by_subject(items: Sequence[Item]) -> Filters:
    filters: Filters = {}
    for item in items:
        filters.setdefault(_name_subject(item), []).append(item)
    return filters


def _name_subject(item: Item) -> str:
    """Return the column or the measure that a condition is about, or all its columns if there are several."""
    measure = item.node.find(exp.AggFunc)
    return measure.sql() if measure is not None else ", ".join(sorted(item.columns)) or item.text


def _find_nearest(old: Sequence[Item], come: Filters) -> str | None:
    """Return the subject of the filter that took the place of another: of the same table if there is one."""
    table, subject = find_table(old), _name_subject(old[0])
    return max(come, key=lambda name: (find_table(come[name]) == table, rate_similarity(name, subject)), default=None)


def _change_filter(kind: ChangeKind, old: Sequence[Item] = (), new: Sequence[Item] = ()) -> Change:
    before, after = (" AND ".join(item.shown for item in items) or None for items in (old, new))
    return Change(kind, find_table([*new, *old]), before, after)
