"""Comparing two queries clause by clause: what `Clauses` of the first became in the second.

Names come first, because they explain the most; then columns and measures (compare_columns.py), then conditions
(compare_filters.py), then joins that serve none of these. Only what differs is looked at; equal items never reach the
rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from recollect.apps.ask.corrections.change import Change
from recollect.apps.ask.corrections.clauses import Clauses, Item
from recollect.apps.ask.corrections.compare_columns import column_changes
from recollect.apps.ask.corrections.compare_filters import filter_changes
from recollect.apps.ask.corrections.compare_items import Delta, Replaced, first_table, listed, texts
from recollect.apps.ask.corrections.qualified_names import DERIVED

NO_TABLE = re.compile(rf"^{DERIVED}|_\d+$")  # a derived table, or the second use of one


def differences(before: Clauses, after: Clauses, replaced: Replaced) -> list[Change]:
    """All changes, inner queries included; the same change in two places is one."""
    if before.is_united != after.is_united or (before.is_united and before.inner.keys() != after.inner.keys()):
        return [Change("join")]
    changes = table_changes(before, after, replaced)
    changes += column_changes(before, after, replaced)
    changes += filter_changes(before, after, replaced)
    changes += join_changes(before, after, replaced)
    changes += order_changes(before, after, replaced)
    for name in before.inner.keys() & after.inner.keys():
        changes += differences(before.inner[name], after.inner[name], replaced)
    for one, other in inner_pairs(before, after):
        changes += differences(one, other, replaced)
    return list(dict.fromkeys(changes))


def table_changes(before: Clauses, after: Clauses, replaced: Replaced) -> list[Change]:
    """A table that another replaced here only, while the query uses it elsewhere. (Those replaced everywhere have the
    new name already.) Its columns go with it."""
    gone = [name for name in before.tables if name not in after.tables]
    come = [name for name in after.tables if name not in before.tables]
    if len(gone) != 1 or len(come) != 1 or any(map(NO_TABLE.search, (*gone, *come))):
        return []
    old, new = gone[0], come[0]
    for name in {name for item in before.items for name in item.columns if name.startswith(f"{old}.")}:
        replaced.columns.setdefault(name, new + name.removeprefix(old))
    replaced.tables |= {new}
    return [Change("table_substitution", new, old, new)]


def inner_pairs(before: Clauses, after: Clauses) -> Iterable[tuple[Clauses, Clauses]]:
    """Queries within expressions that are otherwise equal."""
    for name in ("conditions", "projection", "order"):
        theirs = {item.text: item for item in getattr(after, name)}
        for item in getattr(before, name):
            if item.inner and item.text in theirs:
                yield from zip(item.inner, theirs[item.text].inner, strict=False)


def join_changes(before: Clauses, after: Clauses, replaced: Replaced) -> list[Change]:
    """One at most. A table that something else in the correction needs is no change of its own."""
    added, removed = after.tables.keys() - before.tables.keys(), before.tables.keys() - after.tables.keys()
    is_idle = (added and not used(added, after, before)) or (removed and not used(removed, before, after))
    both = before.tables.keys() & after.tables.keys()
    is_other = any(before.tables[name] != after.tables[name] for name in both) and len(before.tables) > 1
    links = Delta.of(before.links, after.links, replaced)
    is_relinked = any(not item.tables & (added | removed | replaced.tables) for item in links.gone + links.come)
    if not (is_idle or is_other or is_relinked):
        return []
    return [Change("join", min(added or removed or {""}) or None, joined(before), joined(after))]


def used(tables: set[str], clauses: Clauses, other: Clauses) -> bool:
    """Whether anything but the joins speaks of one of them. A column that only this query has, and of which nobody
    knows the table, is taken for theirs."""
    known = {name.rpartition(".")[2] for item in other.items for name in item.columns}
    loose = {name for item in clauses.items for name in item.columns if "." not in name}
    return bool(loose - known) or any(item.tables & tables for item in clauses.items)


def joined(clauses: Clauses) -> str:
    tables = [f"{how} {name}".strip() for name, how in clauses.tables.items()]
    return ", ".join(tables) + (f" on {listed(clauses.links)}" if clauses.links else "")


def order_changes(before: Clauses, after: Clauses, replaced: Replaced) -> list[Change]:
    changes = []
    old, new = texts(before.order), texts(after.order)
    if old != new and [ordered(item, new, replaced) for item in before.order] != new:
        changes.append(Change("order", first_table(after.order), listed(before.order), listed(after.order)))
    if before.limit != after.limit:
        changes.append(Change("limit", None, before.limit or None, after.limit or None))
    return changes


def ordered(item: Item, new: list[str], replaced: Replaced) -> str:
    """With what was replaced elsewhere; DESC is no part of the expression."""
    way = " DESC" if item.text.endswith(" DESC") else ""
    made = replaced.expressions.get(item.text.removesuffix(" DESC"))
    if made is None:
        made = item.with_columns(replaced.columns)
    return item.text if item.text in new else made + way
