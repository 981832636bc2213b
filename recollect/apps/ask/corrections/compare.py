"""Compare two queries clause by clause. `find_changes` is the entry point.

Names come first, because they explain the most; then columns and measures, then conditions, then
joins that serve none of these. Only what differs is looked at. All conditions on one column are one filter: a filter
whose column alone changed is a substitution of that column, any other difference is a changed filter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import product
from operator import itemgetter

from sqlglot import exp

from recollect.apps.ask.corrections import Change, ChangeKind
from recollect.apps.ask.corrections.canonical_forms import find_grain
from recollect.apps.ask.corrections.clauses import Clauses, Item, list_texts, read_clauses
from recollect.apps.ask.corrections.query_tree import DERIVED, Schema, parse_pair, rename_tables

SECOND_USE = re.compile(r"_\d+$")
INNER_TABLE = re.compile(r"/from_ \d+$")  # the place of a derived table
SHARED_COLUMN = 0.5
SAME_PLACE = 0.5


def find_changes(generated_sql: str, corrected_sql: str, dialect: str, schema: Schema | None) -> list[Change]:
    """Return how the corrected query differs from the generated one; nothing if they are equivalent."""
    before, after = parse_pair(generated_sql, corrected_sql, dialect, schema)
    tables = match_tables(before, after)
    rename_tables(before, tables)
    old, new = read_clauses(before, dialect), read_clauses(after, dialect)
    if any(INNER_TABLE.search(place) for place in old.keys() ^ new.keys()):
        return [Change("join")]  # another structure: no single clause says what was wrong
    changes = _list_substituted(tables)
    replaced = Replacements(tables=frozenset(tables.values()))
    places = [place for place in old if place in new]
    for place in places:
        changes += compare_clauses(old[place], new[place], replaced)
    is_same = old.keys() == new.keys() and all(old[place].meaning == new[place].meaning for place in places)
    # A difference that no rule names must not pass for a confirmation.
    return list(dict.fromkeys(changes)) or [Change("projection")] * (not is_same)


def _list_substituted(tables: Mapping[str, str]) -> list[Change]:
    """Return a change for each table, once where a query uses it twice."""
    names = [name for name in tables if SECOND_USE.sub("", name) not in tables.keys() - {name}]
    return [Change("table_substitution", tables[name], name, tables[name]) for name in names]


def compare_clauses(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    """Return the changes from one query to the other, without those of the queries inside."""
    if before.kind != after.kind:
        return [Change("join")]
    changes = find_column_changes(before, after, replaced)
    changes += _find_filter_changes(before, after, replaced)
    changes += _find_join_changes(before, after, replaced)
    if is_reordered(before.order, after.order, replaced):
        changes.append(Change("order", find_table(after.order), show_items(before.order), show_items(after.order)))
    if before.limit != after.limit:
        changes.append(Change("limit", None, before.limit or None, after.limit or None))
    return changes


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


# Joins ----------------------------------------------------------------------------------------------------------------


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


# Conditions -----------------------------------------------------------------------------------------------------------


def _find_filter_changes(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    """Return the conditions that say the same of another column, changed, took the place of others, went or came."""
    delta = Delta.of(before.conditions, after.conditions, replaced)

    def rate_other_column(old: Item, new: Item) -> float | None:
        if not new.columns or new.shape != old.shape or old.subject in (item.subject for item in delta.come):
            return None
        return {*new.columns}.isdisjoint(old.columns) + rate_similarity(old.subject, new.subject)

    def rate_change(old: Item, new: Item) -> float | None:
        return 1.0 if old.subject == new.subject else None

    def rate_place(old: Item, new: Item) -> float | None:
        return 2 * (find_table([old]) == find_table([new])) + rate_similarity(old.subject, new.subject)

    def change(kind: ChangeKind, old: Item | None, new: Item | None) -> Change:
        shown = (item.shown if item else None for item in (old, new))
        return Change(kind, find_table(list(filter(None, (new, old)))), *shown)

    changes = delta.pair(rate_other_column, replaced.replace_columns)
    for rate in (rate_change, rate_place):
        changes += delta.pair(rate, lambda old, new: [change("filter_change", old, new)])
    changes += [change("filter_removal", item, None) for item in delta.gone]
    return changes + [change("filter_addition", None, item) for item in delta.come]


# Columns, measures and groupings --------------------------------------------------------------------------------------


def find_column_changes(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    """Return the changes of GROUP BY and SELECT. What is grouped by is usually shown too: that is one change."""
    changes = _find_grouping_changes(before, after, replaced)
    delta = Delta.of(before.projection, after.projection, replaced)
    shown = _drop_grouped(delta, before, after, bool(changes))
    changes += _find_renamed(shown, replaced) + shown.pair(_rate_measure, replaced.change_measure)
    if shown.items:
        table = find_table(shown.come or shown.gone)
        changes.append(Change("projection", table, show_items(shown.gone), show_items(shown.come)))
    return changes


def _drop_grouped(delta: Delta, before: Clauses, after: Clauses, has_changes: bool) -> Delta:
    """Return what differs in SELECT without what is grouped by, unless it was grouped by before and is shown now."""
    grouped = {*list_texts(before.grouping), *list_texts(after.grouping)}
    if not grouped.isdisjoint(list_texts(delta.come)) and not has_changes and not after.is_distinct:
        return delta
    return Delta(
        [item for item in delta.gone if item.text not in grouped or not before.grouping],
        [item for item in delta.come if item.text not in grouped or item.measure],
    )


def is_reordered(before: Sequence[Item], after: Sequence[Item], replaced: Replacements) -> bool:
    """Whether two lists still differ after the replacements."""
    new = list_texts(after)
    return [item.text if item.text in new else replaced.apply(item) for item in before] != new


def _find_grouping_changes(before: Clauses, after: Clauses, replaced: Replacements) -> list[Change]:
    delta = Delta.of(before.grouping, after.grouping, replaced)
    changes = _find_renamed(delta, replaced)
    is_first_measure = not before.grouping and not any(item.measure for item in before.projection)
    # The grouping comes with the first measure; columns that were shown already are not new.
    known = list_texts(before.projection) if is_first_measure else []
    differing = [item for item in delta.items if item in delta.gone or item.text not in known]
    if differing:
        shown = show_items(before.grouping), show_items(after.grouping)
        changes.append(Change("grouping", find_table(differing), *shown))
    return changes


def _find_renamed(delta: Delta, replaced: Replacements) -> list[Change]:
    """Take from `delta` the pairs that reduce one column to different units, then those that differ in columns only: a
    measure replaces a measure, or a column another one where their numbers or their names agree."""

    def rate(old: Item, new: Item) -> float | None:
        if not old.columns or old.shape != new.shape:
            return None
        gone, come = (sum(item.measure is None for item in items) for items in (delta.gone, delta.come))
        similarity = rate_similarity(old.text, new.text)
        return similarity if new.measure or gone == come or similarity >= SIMILAR else None

    return delta.pair(_rate_grain, replaced.change_grain) + delta.pair(rate, replaced.replace_columns)


def _rate_grain(old: Item, new: Item) -> float | None:
    (unit, column), (new_unit, new_column) = _split_grain(old), _split_grain(new)
    return 1.0 if (unit or new_unit) and column and column == new_column else None


def _split_grain(item: Item) -> tuple[str | None, str | None]:
    """Return the unit and the column of a date part; other expressions have no unit."""
    unit, of = find_grain(item.node) or (None, item.node)
    return unit, of.sql() if isinstance(of, exp.Column) else None


def _rate_measure(old: Item, new: Item) -> float | None:
    shared = len({*old.columns} & {*new.columns})
    return shared if new.measure and (old.measure or shared) else None


# What differs ---------------------------------------------------------------------------------------------------------


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
        self.expressions[old.text] = new.text
        return changes

    def change_grain(self, old: Item, new: Item) -> list[Change]:
        self.expressions[old.text] = new.text
        return [Change("grain", find_table([new]), _split_grain(old)[0], _split_grain(new)[0])]

    def change_measure(self, old: Item, new: Item) -> list[Change]:
        """Return another measure. SUM(a) to AVG(b) is two changes; a count counts rows, whichever column it names."""
        self.expressions[old.text] = new.text
        is_count = old.node.find(exp.Count) or new.node.find(exp.Count)
        has_column = len(old.columns) == len(new.columns) == 1 and not is_count
        changes = [Change("aggregation", find_table([new, old]), old.shown, new.shown)]
        return changes + (self.replace_columns(old, new) if has_column else [])


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

    def pair(
        self, rate: Callable[[Item, Item], float | None], make: Callable[[Item, Item], list[Change]]
    ) -> list[Change]:
        """Take out each item that went with the best rated of those that came, and return what `make` says of both.
        What is rated None does not fit."""
        changes: list[Change] = []
        for old in list(self.gone):
            rated = [(score, new) for new in self.come if (score := rate(old, new)) is not None]
            if rated:
                _, new = max(rated, key=itemgetter(0))
                self.gone.remove(old)
                self.come.remove(new)
                changes += make(old, new)
        return changes


def rate_similarity(one: str, other: str) -> float:
    """Return how alike two names are without their tables, from 0 to 1."""
    return SequenceMatcher(None, one.rpartition(".")[2], other.rpartition(".")[2]).ratio()


def find_table(items: Sequence[Item]) -> str | None:
    """Return the table of the first item that has one."""
    return next((table for item in items for table in sorted(item.tables)), None)


def show_items(items: Sequence[Item]) -> str | None:
    return ", ".join(item.shown for item in items) or None
