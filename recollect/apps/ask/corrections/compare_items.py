"""What all comparisons of clauses share: items that differ (`Delta`), and what already explains them (`Replaced`).

A column that was replaced in one clause is not a second change in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from sqlglot import exp

from recollect.apps.ask.corrections.change import Change
from recollect.apps.ask.corrections.clauses import Item


@dataclass(slots=True)
class Replaced:
    """Columns and whole expressions that others took the place of, so far."""

    columns: dict[str, str] = field(default_factory=dict)
    expressions: dict[str, str] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()  # that took the place of others: their keys follow them

    def text(self, item: Item) -> str:
        made = self.expressions.get(item.text)
        return made if made is not None else item.with_columns(self.columns) if self.columns else item.text


@dataclass(frozen=True, slots=True)
class Delta:
    """Items of one clause that only the first has, and those that only the second has."""

    gone: list[Item]
    come: list[Item]

    @classmethod
    def of(cls, before: Sequence[Item], after: Sequence[Item], replaced: Replaced) -> Delta:
        kept = {item.text for item in before} & {item.text for item in after}
        gone = [item for item in before if item.text not in kept]
        come = [item for item in after if item.text not in kept]
        explained = {replaced.text(item) for item in gone} & {item.text for item in come}
        return cls(
            [item for item in gone if replaced.text(item) not in explained],
            [item for item in come if item.text not in explained],
        )


def substituted(old: Item, new: Item, replaced: Replaced) -> list[Change]:
    """Columns that both have stay; operands may stand in another order now."""
    changes = []
    went = [name for name in old.columns if name not in new.columns]
    came = [name for name in new.columns if name not in old.columns]
    for was, now in zip(went, came, strict=False):
        if replaced.columns.get(was) != now:
            replaced.columns[was] = now
            changes.append(column_change(was, now))
    return changes


def column_change(was: str, now: str) -> Change:
    table, _, name = now.rpartition(".")
    return Change("column_substitution", table or None, was.rpartition(".")[2], name)


def likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.rpartition(".")[2], other.rpartition(".")[2]).ratio()


def is_measure(item: Item) -> bool:
    return item.node.find(exp.AggFunc) is not None


def first_table(items: Sequence[Item]) -> str | None:
    return next((table for item in items for table in sorted(item.tables)), None)


def listed(items: Sequence[Item]) -> str | None:
    return ", ".join(item.shown for item in items) or None


def texts(items: Sequence[Item]) -> list[str]:
    return [item.text for item in items]
