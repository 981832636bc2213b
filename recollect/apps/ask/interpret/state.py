"""State of a partial interpretation: what was read so far, and the operators that wait for their operand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from recollect.apps.ask.interpret.frame import Frame
from recollect.apps.ask.interpret.index import NOWHERE, Target
from recollect.apps.ask.interpret.periods import Span
from recollect.apps.ask.interpret.rank import Feature, score

FactKind = Literal[
    "start", "show", "entity", "metric", "group", "filter", "period", "having", "exists", "order", "superlative",
    "limit", "grain", "distinct", "both", "compute", "compare", "define", "chart", "arrival",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that the question says. Which fields count depends on the kind."""

    kind: FactKind
    at: int
    target: Target = NOWHERE
    aggregate: str = ""
    op: str = ""
    values: tuple[str, ...] = ()
    is_text: bool = True
    is_negated: bool = False
    is_descending: bool = False
    in_where: bool = False
    in_figure: bool = False  # named after "how many" or "total", before the figure itself
    junction: str = ""
    lead: str = ""  # the word before an entity: "of", "and"
    role: str = ""
    number: int | None = None
    text: str = ""
    span: Span | None = None
    fragment: Frame | None = None

    @property
    def is_main_entity(self) -> bool:
        """Whether it names rows outside of conditions."""
        return self.kind == "entity" and not self.in_where

    @property
    def is_equal_number(self) -> bool:
        return self.kind == "filter" and self.op == "=" and not self.is_text


START = Fact("start", -1)  # stands before the first fact


@dataclass(frozen=True, slots=True)
class State:
    """`features` are the scored observations, `skipped` the content words left out."""

    at: int = 0
    score: float = 0.0
    features: tuple[Feature, ...] = ()
    facts: tuple[Fact, ...] = ()
    in_where: bool = False
    aggregates: tuple[str, ...] = ()
    last_aggregates: tuple[str, ...] = ()
    counts: bool = False
    groups: bool = False
    superlative: str = ""  # desc, asc, last, first, or "desc:length"
    compare: str = ""
    numbers: tuple[float, ...] = ()
    order: str = ""
    negates: int = 0  # where the negation ends; 0 without one
    like: str = ""
    junction: str = ""
    role: str = ""
    open: Target | None = None  # the column that was named last and may get a value
    open_at: int = -1
    waits: bool = False  # the open column was named for nothing but its value
    entity: str = ""
    skipped: tuple[int, ...] = ()
    used: tuple[tuple[int, int, Target], ...] = ()  # spans and what they were linked to

    def move(self, at: int, *features: Feature, fact: Fact | None = None, **changes: Any) -> State:
        """Return the state after reading up to `at`; `fact` is added to the facts."""
        if fact is not None:
            changes["facts"] = (*changes.get("facts", self.facts), fact)
        return replace(self, at=at, score=self.score + score(features), features=self.features + features, **changes)

    @property
    def last(self) -> Fact:
        return self.facts[-1] if self.facts else START

    @property
    def limit(self) -> int | None:
        return int(self.numbers[0]) if self.numbers else None

    @property
    def values(self) -> tuple[str, ...]:
        """The numbers that wait, as texts without superfluous decimals."""
        return tuple(map(write_number, self.numbers))

    @property
    def compares_number(self) -> bool:
        """Whether a comparison with a number waits, not one with the average."""
        return self.compare not in ("", "> average", "< average")

    @property
    def ordering(self) -> str:
        """The superlative or the order that waits for what it is about."""
        return self.superlative or self.order

    @property
    def is_descending(self) -> bool:
        return self.ordering.startswith(("desc", "last"))

    @property
    def left_over(self) -> int:
        """How many operators still wait for an operand."""
        pending = (
            self.counts, self.groups, self.superlative, self.compare, self.order, self.like, self.aggregates,
            self.numbers,
        )  # fmt: skip
        return sum(map(bool, pending))

    def signature(self) -> tuple[Any, ...]:
        """States that will read the rest of the question alike have the same signature."""
        return (
            self.at, self.facts, self.in_where, self.aggregates, self.counts, self.groups, self.superlative,
            self.compare, self.numbers, self.order, self.negates, self.like, self.role, self.open, self.waits,
            self.skipped,
        )  # fmt: skip


def write_number(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)
