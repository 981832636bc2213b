"""Comparing what two queries keep: conditions of WHERE, HAVING and inner joins, whichever of these they stand in.

All conditions on one column are one filter. A filter whose column alone changed is a substitution of that column; one
that says something else about its column, or that stands in place of another, is a changed filter.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from recollect.apps.ask.corrections.change import Change
from recollect.apps.ask.corrections.clauses import OUTER, Clauses, Item
from recollect.apps.ask.corrections.compare_items import Delta, Replaced, first_table, likeness, substituted

Filters = dict[str, list[Item]]  # by what they are about


def filter_changes(before: Clauses, after: Clauses, replaced: Replaced) -> list[Change]:
    delta = Delta.of(before.conditions, after.conditions, replaced)
    changes = [*moved(delta), *column_moves(delta, replaced)]
    gone, come = by_subject(delta.gone), by_subject(delta.come)
    kept = by_subject(after.conditions), by_subject(before.conditions)
    for subject in list(gone.keys() | come.keys()):
        if (subject in gone or subject in kept[1]) and (subject in come or subject in kept[0]):
            gone.pop(subject, None), come.pop(subject, None)
            changes.append(changed(kept[1][subject], kept[0][subject]))
    return changes + in_place(gone, come)


def moved(delta: Delta) -> list[Change]:
    """From WHERE into the ON of an outer join, or back: other rows, same condition."""
    found = []
    for old in list(delta.gone):
        new = next((one for one in delta.come if bare(one) == bare(old)), None)
        if new is not None:
            delta.gone.remove(old)
            delta.come.remove(new)
            found.append(Change("join", first_table([new]), old.shown, new.shown))
    return found


def bare(item: Item) -> str:
    return item.text.removesuffix(OUTER)


def column_moves(delta: Delta, replaced: Replaced) -> list[Change]:
    """The same thing said of another column."""
    changes = []
    for old in list(delta.gone):
        alike = [one for one in delta.come if one.columns and one.shape == old.shape]
        alike = [one for one in alike if not {*one.columns} & {*old.columns}] or alike
        if alike and subject(old) not in {subject(one) for one in delta.come}:
            new = max(alike, key=lambda one: likeness(subject(old), subject(one)))
            delta.gone.remove(old)
            delta.come.remove(new)
            changes += substituted(old, new, replaced)
    return changes


def by_subject(items: Sequence[Item]) -> Filters:
    filters: Filters = {}
    for item in items:
        filters.setdefault(subject(item), []).append(item)
    return filters


def subject(item: Item) -> str:
    """The column, or the measure, or for a condition on several columns all of them."""
    measure = item.node.find(exp.AggFunc)
    if measure is not None:
        return measure.sql()
    return ", ".join(sorted(item.columns)) or item.text


def in_place(gone: Filters, come: Filters) -> list[Change]:
    """What took the place of something else; the rest was added, or taken away."""
    changes = []
    for name, old in list(gone.items()):
        new = nearest(old, come)
        if new is not None:
            changes.append(changed(gone.pop(name), come.pop(new)))
    changes += [Change("filter_removal", first_table(old), together(old), None) for old in gone.values()]
    return changes + [Change("filter_addition", first_table(new), None, together(new)) for new in come.values()]


def nearest(old: Sequence[Item], come: Filters) -> str | None:
    """Of the same table if there is one, and of the same kind of subject."""
    return max(
        come,
        key=lambda name: (first_table(come[name]) == first_table(old), likeness(name, subject(old[0]))),
        default=None,
    )


def changed(old: Sequence[Item], new: Sequence[Item]) -> Change:
    return Change("filter_change", first_table([*new, *old]), together(old), together(new))


def together(items: Sequence[Item]) -> str:
    return " AND ".join(item.shown for item in items)
