"""Change: one way in which a corrected query differs from the one it corrects; Correction: all of them.

Made by correction.py. Plain values: nothing here needs a parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ChangeKind = Literal[
    "table_substitution",
    "column_substitution",
    "filter_addition",
    "filter_removal",
    "filter_change",
    "aggregation",
    "grouping",
    "grain",
    "join",
    "order",
    "limit",
    "projection",
]


@dataclass(frozen=True, slots=True)
class Change:
    """`before` and `after` are names for substitutions, units for a grain, and otherwise SQL with full table names.
    `table` is the one that `after` (or, when something went, `before`) is about. `word` is the question's own word
    that the wrong name came from, or the vague word whose meaning was changed."""

    kind: ChangeKind
    table: str | None = None
    before: str | None = None
    after: str | None = None
    word: str | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """`equivalent`: both say the same, so there is nothing to learn and the first one stands confirmed."""

    changes: tuple[Change, ...]
    equivalent: bool
