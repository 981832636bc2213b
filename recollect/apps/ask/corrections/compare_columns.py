"""Comparing what two queries show and group by: units of time, columns, measures, groupings, in this order.

What is grouped by is usually shown too, and that is one change. Each step takes from the `Delta` what it explains;
what is left over was added to the columns shown, or taken from them.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from recollect.apps.ask.corrections.change import Change
from recollect.apps.ask.corrections.clauses import Clauses, Item
from recollect.apps.ask.corrections.compare_items import (
    Delta,
    Replaced,
    first_table,
    is_measure,
    likeness,
    listed,
    substituted,
    texts,
)
from recollect.apps.ask.corrections.date_parts import grain_of

ALIKE = 0.5  # from which on two names are taken for each other, where counts do not tell


def column_changes(before: Clauses, after: Clauses, replaced: Replaced) -> list[Change]:
    """Of GROUP BY and SELECT together: what is grouped by is usually shown too, and that is one change."""
    had_measures = any(map(is_measure, before.projection))
    changes = grouping_changes(before, after, replaced, had_measures)
    grouped = {item.text for item in (*before.grouping, *after.grouping)}
    delta = Delta.of(before.projection, after.projection, replaced)
    shown = Delta(
        [item for item in delta.gone if item.text not in grouped or not before.grouping],
        [item for item in delta.come if item.text not in grouped or is_measure(item)],
    )
    if any(item.text in grouped for item in delta.come) and not changes and not after.is_distinct:
        shown = delta  # grouped by it before, and only now shown
    changes += shown_changes(shown, replaced)
    is_same_set = not delta.gone and not delta.come
    if (
        (is_same_set and is_reordered(before, after, replaced)) or is_otherwise_distinct(before, after)
    ) and not changes:
        changes.append(shown_change(before, after))
    return changes


def is_reordered(before: Clauses, after: Clauses, replaced: Replaced) -> bool:
    new = texts(after.projection)
    return [item.text if item.text in new else replaced.text(item) for item in before.projection] != new


def is_otherwise_distinct(before: Clauses, after: Clauses) -> bool:
    return before.is_distinct != after.is_distinct and before.rows != after.rows


def shown_change(before: Clauses, after: Clauses) -> Change:
    return Change("projection", None, listed(before.projection), listed(after.projection))


def grouping_changes(before: Clauses, after: Clauses, replaced: Replaced, had_measures: bool) -> list[Change]:
    if before.is_distinct != after.is_distinct and before.rows == after.rows:
        return []
    delta = Delta.of(before.grouping, after.grouping, replaced)
    changes = grain_changes(delta, replaced) + substitutions(delta, replaced, is_one_to_one)
    if not had_measures and not before.grouping:  # it comes with the measure; columns shown already are no news
        known = texts(before.projection)
        delta = Delta(delta.gone, [item for item in delta.come if item.text not in known])
    if delta.gone or delta.come:
        table = first_table(delta.come or delta.gone)
        changes.append(Change("grouping", table, listed(before.grouping), listed(after.grouping)))
    return changes


def shown_changes(delta: Delta, replaced: Replaced) -> list[Change]:
    """Units, then columns, then measures; what is left over was shown or is not shown any more."""
    changes = grain_changes(delta, replaced) + substitutions(delta, replaced, is_likely)
    changes += measure_changes(delta, replaced)
    if delta.gone or delta.come:
        changes.append(
            Change("projection", first_table(delta.come or delta.gone), listed(delta.gone), listed(delta.come))
        )
    return changes


def grain_changes(delta: Delta, replaced: Replaced) -> list[Change]:
    """Takes from `delta` the pairs that cut one column to different units."""
    changes = []
    for old in list(delta.gone):
        new = next((one for one in delta.come if is_other_grain(old, one)), None)
        if new is not None:
            changes.append(Change("grain", first_table([new]), unit(old), unit(new)))
            pair_off(delta, old, new, replaced)
    return changes


def is_other_grain(old: Item, new: Item) -> bool:
    return bool(grain_of(old.node) or grain_of(new.node)) and cut(old) == cut(new) is not None


def cut(item: Item) -> str | None:
    found = grain_of(item.node)
    of = found[1] if found else item.node
    return of.sql() if isinstance(of, exp.Column) else None


def unit(item: Item) -> str | None:
    found = grain_of(item.node)
    return found[0] if found else None


def pair_off(delta: Delta, old: Item, new: Item, replaced: Replaced) -> None:
    delta.gone.remove(old)
    delta.come.remove(new)
    replaced.expressions[old.text] = new.text


Fits = Callable[[Delta, Item, Item], bool]


def substitutions(delta: Delta, replaced: Replaced, fits: Fits) -> list[Change]:
    """Takes from `delta` the pairs that differ in columns only."""
    changes = []
    for old in list(delta.gone):
        alike = [one for one in delta.come if one.shape == old.shape and old.columns and fits(delta, old, one)]
        if alike:
            new = max(alike, key=lambda one: likeness(old.text, one.text))
            changes += substituted(old, new, replaced)
            pair_off(delta, old, new, replaced)
    return changes


def is_one_to_one(delta: Delta, old: Item, new: Item) -> bool:
    return len(delta.gone) == len(delta.come) or likeness(old.text, new.text) >= ALIKE


def is_likely(delta: Delta, old: Item, new: Item) -> bool:
    """A measure is replaced by a measure; a bare column by another where their numbers agree or their names do."""
    if is_measure(new):
        return True
    counts = [sum(not is_measure(item) for item in items) for items in (delta.gone, delta.come)]
    return counts[0] == counts[1] or likeness(old.text, new.text) >= ALIKE


def measure_changes(delta: Delta, replaced: Replaced) -> list[Change]:
    """Takes from `delta` the pairs of which the new one is another measure."""
    changes = []
    for old in list(delta.gone):
        new = next(iter(sorted(filter(is_measure, delta.come), key=lambda one: -shared(old, one))), None)
        if new is None or not (is_measure(old) or shared(old, new)):
            continue
        changes.append(Change("aggregation", first_table([new, old]), old.shown, new.shown))
        changes += also_substituted(old, new, replaced)
        pair_off(delta, old, new, replaced)
    return changes


def also_substituted(old: Item, new: Item, replaced: Replaced) -> list[Change]:
    """SUM(a) to AVG(b) is two changes; a count counts rows, whichever column it names."""
    is_simple = len(old.columns) == len(new.columns) == 1 and not old.node.find(exp.Count)
    return substituted(old, new, replaced) if is_simple and not new.node.find(exp.Count) else []


def shared(old: Item, new: Item) -> int:
    return len(set(old.columns) & set(new.columns))
