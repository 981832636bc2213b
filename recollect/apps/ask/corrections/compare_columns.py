"""Compare what two queries show and group by: units of time, columns, measures and groupings, in this order.

`Delta` holds the items of a clause that differ, `Replacements` what earlier changes already explain: a column that was
replaced in one clause is not a second change in another. Each step takes from the `Delta` what it explains; what is
left over was added to the columns shown, or removed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from sqlglot import exp

from recollect.apps.ask.corrections.canonical_forms import find_grain
from recollect.apps.ask.corrections.clauses import Clauses, Item, list_texts
from recollect.apps.ask.corrections.correction import Change

SIMILAR = 0.5  # from which similarity on one name replaces another, where the number of columns does not tell


@dataclass(slots=True)
class Replacements:
    """Columns and whole expressions that others took the place of, so far."""

    columns: dict[str, str] = field(default_factory=dict)
    expressions: dict[str, str] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()  # that took the place of others: their keys follow them

    def apply(self, item: Item) -> str:
        """Return the text of an item after the replacements; DESC is not part of the expression."""
        made = self.expressions.get(item.text.removesuffix(item.ending))
        return (item.replace_columns(self.columns) if made is None else made) + item.ending

    def replace_columns(self, old: Item, new: Item) -> list[Change]:
        """Record and return the columns that `new` has in place of those of `old`."""
        changes = []
        gone = [name for name in old.columns if name not in new.columns]
        come = [name for name in new.columns if name not in old.columns]
        for before, after in zip(gone, come, strict=False):
            if self.columns.get(before) != after:
                self.columns[before] = after
                table, _, name = after.rpartition(".")
                changes.append(Change("column_substitution", table or None, before.rpartition(".")[2], name))
        return changes


@dataclass(frozen=True, slots=True)
class Delta:
    """Items of one clause that only the first query has, and those that only the second has."""

    gone: list[Item]
    come: list[Item]

    @classmethod
    def of(cls, before: Sequence[Item], after: Sequence[Item], replaced: Replacements) -> Delta:
        kept = {*list_texts(before)} & {*list_texts(after)}
        gone = [item for item in before if item.text not in kept]
        come = [item for item in after if item.text not in kept]
        explained = {*map(replaced.apply, gone)} & {*list_texts(come)}
        return cls(
            [item for item in gone if replaced.apply(item) not in explained],
            [item for item in come if item.text not in explained],
        )

    @property
    def items(self) -> list[Item]:
        """What came, then what went."""
        return self.come + self.gone

    def remove(self, old: Item, new: Item) -> None:
        self.gone.remove(old)
        self.come.remove(new)


def rate_similarity(one: str, other: str) -> float:
    """Return how alike two names are without their tables, from 0 to 1."""
    return SequenceMatcher(None, one.rpartition(".")[2], other.rpartition(".")[2]).ratio()


def find_table(items: Sequence[Item]) -> str | None:
    """Return the table of the first item that has one."""
    return next((table for item in items for table in sorted(item.tables)), None)


def show_items(items: Sequence[Item]) -> str | None:
    return ", ".join(item.shown for item in items) or None


def find_column_changes(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    """Return the changes of GROUP BY and SELECT. What is grouped by is usually shown too: that is one change."""
    changes = _find_grouping_changes(before, after, replaced)
    delta = Delta.of(before.projection, after.projection, replaced)
    changes += _find_shown_changes(_drop_grouped(delta, before, after, bool(changes)), replaced)
    is_otherwise_distinct = before.is_distinct != after.is_distinct and before.row_key != after.row_key
    is_moved = not delta.items and is_reordered(before.projection, after.projection, replaced)
    if not changes and (is_moved or is_otherwise_distinct):
        changes.append(Change("projection", None, show_items(before.projection), show_items(after.projection)))
    return changes


def _drop_grouped(delta: Delta, before: Clauses, after: Clauses, has_changes: bool) -> Delta:
    """Return what differs in SELECT without what is grouped by, unless it was grouped by before and is shown now."""
    grouped = {*list_texts(before.grouping), *list_texts(after.grouping)}
    if not grouped.isdisjoint(list_texts(delta.come)) and not has_changes and not after.is_distinct:
        return delta
    return Delta(
        [item for item in delta.gone if item.text not in grouped or not before.grouping],
        [item for item in delta.come if item.text not in grouped or item.is_measure],
    )


def is_reordered(before: Sequence[Item], after: Sequence[Item], replaced: Replacements) -> bool:
    """Whether two lists still differ after the replacements."""
    new = list_texts(after)
    return [item.text if item.text in new else replaced.apply(item) for item in before] != new


def _find_grouping_changes(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    if before.is_distinct != after.is_distinct and before.row_key == after.row_key:
        return []
    delta = Delta.of(before.grouping, after.grouping, replaced)
    changes = _find_grain_changes(delta, replaced) + _find_substitutions(delta, replaced, _can_group_instead)
    is_first_measure = not before.grouping and not any(item.is_measure for item in before.projection)
    if is_first_measure:  # the grouping comes with the measure; columns that were shown already are not new
        known = list_texts(before.projection)
        delta = Delta(delta.gone, [item for item in delta.come if item.text not in known])
    if delta.items:
        shown = show_items(before.grouping), show_items(after.grouping)
        changes.append(Change("grouping", find_table(delta.come or delta.gone), *shown))
    return changes


def _find_shown_changes(delta: Delta, replaced: Replacements) -> list[Change]:
    changes = _find_grain_changes(delta, replaced) + _find_substitutions(delta, replaced, _can_show_instead)
    changes += _find_measure_changes(delta, replaced)
    if delta.items:
        table = find_table(delta.come or delta.gone)
        changes.append(Change("projection", table, show_items(delta.gone), show_items(delta.come)))
    return changes


def _find_grain_changes(delta: Delta, replaced: Replacements) -> list[Change]:
    """Take from `delta` the pairs that reduce one column to different units."""
    changes = []
    for old in list(delta.gone):
        unit, column = _split_grain(old)
        for new in list(delta.come):
            new_unit, new_column = _split_grain(new)
            if (unit or new_unit) and column and column == new_column:
                changes.append(Change("grain", find_table([new]), unit, new_unit))
                delta.remove(old, new)
                replaced.expressions[old.text] = new.text
                break
    return changes


def _split_grain(item: Item) -> tuple[str | None, str | None]:
    """Return the unit and the column of a date part; other expressions have no unit."""
    unit, of = find_grain(item.node) or (None, item.node)
    return unit, of.sql() if isinstance(of, exp.Column) else None


def _find_substitutions(
    delta: Delta, replaced: Replacements, can_replace: Callable[[Delta, Item, Item], bool]
) -> list[Change]:
    """Take from `delta` the pairs that differ in columns only."""
    changes = []
    for old in [item for item in delta.gone if item.columns]:
        alike = [one for one in delta.come if one.shape == old.shape and can_replace(delta, old, one)]
        if alike:
            new = max(alike, key=lambda one: rate_similarity(old.text, one.text))
            changes += replaced.replace_columns(old, new)
            delta.remove(old, new)
            replaced.expressions[old.text] = new.text
    return changes


def _can_group_instead(delta: Delta, old: Item, new: Item) -> bool:
    return len(delta.gone) == len(delta.come) or rate_similarity(old.text, new.text) >= SIMILAR


def _can_show_instead(delta: Delta, old: Item, new: Item) -> bool:
    """Whether a measure replaces a measure, or a column another one where their numbers or their names agree."""
    gone, come = (sum(not item.is_measure for item in items) for items in (delta.gone, delta.come))
    return new.is_measure or gone == come or rate_similarity(old.text, new.text) >= SIMILAR


def _find_measure_changes(delta: Delta, replaced: Replacements) -> list[Change]:
    """Take from `delta` the pairs whose second item is another measure."""
    changes = []
    for old in list(delta.gone):
        measures = [one for one in delta.come if one.is_measure]
        new = max(measures, key=lambda one: _count_shared_columns(old, one), default=None)
        if new is None or not (old.is_measure or _count_shared_columns(old, new)):
            continue
        changes.append(Change("aggregation", find_table([new, old]), old.shown, new.shown))
        # SUM(a) to AVG(b) is two changes; a count counts rows, whichever column it names.
        is_count = old.node.find(exp.Count) or new.node.find(exp.Count)
        if len(old.columns) == len(new.columns) == 1 and not is_count:
            changes += replaced.replace_columns(old, new)
        delta.remove(old, new)
        replaced.expressions[old.text] = new.text
    return changes


def _count_shared_columns(old: Item, new: Item) -> int:
    return len({*old.columns} & {*new.columns})
