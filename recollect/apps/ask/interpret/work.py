"""Work: a frame in the making, from the facts of a reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from recollect.apps.ask.interpret.frame import (
    Existence,
    Filter,
    Frame,
    Group,
    Having,
    Metric,
    Op,
    Order,
    Period,
    Ref,
)  # fmt: skip
from recollect.apps.ask.interpret.index import SchemaIndex, Target
from recollect.apps.ask.interpret.link import Linked
from recollect.apps.ask.interpret.rank import Features
from recollect.apps.ask.interpret.render import base_table
from recollect.apps.ask.interpret.state import Fact, State

SEVERAL = 5  # rows of a superlative in the plural
NEGATED = {
    "=": "!=", ">": "<=", ">=": "<", "<": ">=", "<=": ">", "contains": "not contains", "is null": "not null",
    "in": "not in", "where": "not where",
}  # fmt: skip


def negate(op: str, is_negated: bool) -> Op:
    """Return the comparison, or its opposite if it is negated and has one."""
    return cast(Op, NEGATED.get(op, op) if is_negated else op)


@dataclass(frozen=True, slots=True)
class Draft:
    """A frame with everything that was observed about it."""

    frame: Frame
    features: Features
    score: float
    state: State
    chart: str = ""
    guesses: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()  # slots that a follow-up changed
    assumptions: tuple[str, ...] = ()


@dataclass(slots=True)
class Work:
    """The frame in the making."""

    linked: Linked
    state: State
    subject: str = ""
    metrics: list[Metric] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    columns: list[Ref] = field(default_factory=list)
    filters: list[tuple[Filter, Fact]] = field(default_factory=list)
    periods: list[Period] = field(default_factory=list)
    having: list[Having] = field(default_factory=list)
    existence: list[Existence] = field(default_factory=list)
    order: list[Order] = field(default_factory=list)
    limit: int | None = None
    with_ties: bool = False
    features: list[tuple[str, float]] = field(default_factory=list)
    guesses: list[str] = field(default_factory=list)
    guessed_moment: str = ""  # the date that is meant, where the question does not say which
    ranks_within: bool = False  # the groups that were asked for are not ranked, but something within each of them
    averaged_grain: bool = False  # the first span of time is what a figure is averaged over
    last: Frame | None = None  # the frame that a follow-up changes

    @classmethod
    def from_frame(cls, frame: Frame, state: State, linked: Linked) -> Work:
        """Return the last answered frame as a frame in the making. What nobody asked for is decided again."""
        filters = [(each, Fact("filter", -1)) for each in frame.filters if not each.is_default]
        return cls(
            linked, state, frame.subject, list(frame.metrics), list(frame.groups), list(frame.columns), filters,
            list(frame.periods), list(frame.having), list(frame.existence), list(frame.order), frame.limit,
            frame.with_ties, last=frame,
        )  # fmt: skip

    @property
    def index(self) -> SchemaIndex:
        return self.linked.index

    def facts(self, *kinds: str) -> list[Fact]:
        return [fact for fact in self.state.facts if fact.kind in kinds]

    def tables(self, *kinds: str) -> set[str]:
        """Return the tables that facts of these kinds are about."""
        return {fact.target.table for fact in self.facts(*kinds)}

    def refs(self, kind: str) -> list[Ref]:
        return [make_ref(fact.target, self.index) for fact in self.facts(kind)]

    @property
    def base(self) -> str:
        """The table whose rows are counted, summed or listed so far."""
        return base_table(self.frame(), self.index)

    @property
    def is_table(self) -> bool:
        """Whether it is a figure for each group so far."""
        return bool(self.metrics and self.groups)

    @property
    def is_extreme(self) -> bool:
        """Whether it is the lowest or the highest value so far."""
        return not self.groups and [each.aggregate for each in self.metrics] in (["min"], ["max"])

    @property
    def named_entities(self) -> list[Fact]:
        """The tables that were named outside of conditions."""
        return [fact for fact in self.state.facts if fact.is_main_entity]

    def set_limit(self, number: int | None) -> None:
        """Keep so many rows; without a number, as many as before, several if the question asks for them, or the first
        one and all that share its place."""
        if number is None and self.limit is not None:
            return
        self.with_ties = number is None and not self.ranks_several
        self.limit = number or (SEVERAL if self.ranks_several else 1)

    @property
    def ranks_several(self) -> bool:
        """Whether the rows named right after a superlative are in the plural: "our biggest customers"."""
        tokens, links = self.linked.tokens, self.linked.links
        named = {fact.at for fact in self.facts("entity") if 0 < fact.at < len(tokens)}
        plural = {at for at in named if tokens[at].is_plural}
        operators = (link for there in links for link in there if link.operator and link.operator.kind == "superlative")
        return any(link.end in plural for link in operators)

    def note(self, name: str, amount: float = 1.0) -> None:
        """Add a feature, unless there is nothing of it."""
        if amount:
            self.features.append((name, float(amount)))

    def frame(self) -> Frame:
        parts = len(set(self.refs("group"))) if self.ranks_within else 0
        return Frame(
            self.subject, tuple(dict.fromkeys(self.metrics)), tuple(dict.fromkeys(self.groups)),
            tuple(dict.fromkeys(self.columns)), tuple(dict.fromkeys(each for each, _ in self.filters)),
            tuple(self.periods), tuple(self.having), tuple(self.existence), tuple(self.order), self.limit,
            self.with_ties, bool(self.facts("distinct")), parts if parts < len(set(self.groups)) else 0,
        )  # fmt: skip


def make_ref(target: Target, index: SchemaIndex) -> Ref:
    """Return the place of a target in a frame; an expression has the name of its measure."""
    if target.column or target.kind == "entity":
        return Ref(target.table, target.column, target.expression, via=target.via)
    names = (each.names[0] for each in index.model.measures if each.expression == target.expression)
    return Ref(target.table, target.column, target.expression, next(names, "amount"), target.via)
