"""Sketch: what the pieces of a question are for, before it is decided which table each is about.

The role passes (roles*.py) fill one in; `assemble.py` makes a frame of it, `edit.py` changes the last frame by it. A
sketch lives for one question and is the only thing here that changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.sql.known import Target
from recollect.sql.period_tokens import Span
from recollect.sql.phrases import Unit
from recollect.sql.spans import Piece


@dataclass(frozen=True, slots=True)
class Ask:
    """Something to measure, to order by or to compare: named, or told by a concept ("longest")."""

    aggregate: str | None = None
    targets: tuple[Target, ...] = ()
    concept: str = ""
    is_distinct: bool = False
    text: str = ""
    is_count: bool = False  # "how many", not a default
    is_of: bool = False  # "the total of the invoices", not the "total invoices"


@dataclass(frozen=True, slots=True)
class GroupAsk:
    targets: tuple[Target, ...] = ()
    grain: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class ValueAsk:
    targets: tuple[Target, ...]
    is_negated: bool = False
    text: str = ""
    at: int = 0
    is_alternative: bool = False  # behind "or" or "and"
    of: frozenset[str] = frozenset()  # tables of the entity right behind: "cancelled orders"
    lead: str = ""  # the word in front: "from", "to"
    is_maker: bool = False  # "by X", "X's", "does X have": whose it is
    others: tuple[Target, ...] = ()  # what else is called so, behind "of", "by", "from"
    whose: frozenset[str] = frozenset()  # tables of the entity in front: "guests from France"
    rivals: tuple[Target, ...] = ()  # people whose first and last name it is as well
    is_done_by: bool = False  # "approved by": somebody did it
    is_or: bool = False  # behind "or"
    beside: frozenset[str] = frozenset()  # tables of the noun it is said of: "courses in the X department"


@dataclass(frozen=True, slots=True)
class CompareAsk:
    ask: Ask
    op: str
    numbers: tuple[float, ...]
    unit: Unit | None = None
    text: str = ""
    of: frozenset[str] = frozenset()  # tables of the entity right in front: "orders over 100"
    is_average: bool = False  # with the average of all, and no number


@dataclass(frozen=True, slots=True)
class Rank:
    is_descending: bool
    count: int | None = None
    by: Ask | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class OrderAsk:
    ask: Ask | None
    is_descending: bool | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """No such row, or an empty column; the other way round if it `is_there`."""

    targets: tuple[Target, ...] = ()
    event: str = ""
    text: str = ""
    is_there: bool = False
    spans: tuple[Span, ...] = ()  # "no orders in 2024": none of then


@dataclass(slots=True)
class Sketch:
    pieces: list[Piece]
    used: set[int] = field(default_factory=set)
    metrics: list[Ask] = field(default_factory=list)
    subject: tuple[Target, ...] = ()
    groups: list[GroupAsk] = field(default_factory=list)
    columns: list[Ask] = field(default_factory=list)
    values: list[ValueAsk] = field(default_factory=list)
    compares: list[CompareAsk] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    mentions: list[Piece] = field(default_factory=list)  # names that only say what is talked about
    definitions: list[Target] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    rank: Rank | None = None
    order: OrderAsk | None = None
    verbs: list[str] = field(default_factory=list)
    is_list: bool = False
    is_which: bool = False
    is_compared: bool = False
    wants_all: bool = False  # "customer data": all that may be seen
    is_trend: bool = False
    is_share: bool = False  # "what percentage of ...": a count that becomes a share
    limit: int | None = None
    unit: Unit | None = None  # "in hours": in what the figure is wanted
    is_several: bool = False  # the subject was said in the plural
    unknown: list[str] = field(default_factory=list)
    dangling: list[str] = field(default_factory=list)  # function words that were left, told if nothing else is unknown
    loose: list[tuple[str, str]] = field(default_factory=list)  # verbs, and what they are about
    vague: list[tuple[str, str]] = field(default_factory=list)  # word, category
    refused: str = ""

    def free(self, at: int) -> bool:
        return 0 <= at < len(self.pieces) and at not in self.used

    def take(self, *places: int) -> None:
        self.used.update(places)

    def after(self, at: int) -> int:
        """The next place that says something."""
        at += 1
        while at < len(self.pieces) and (self.pieces[at].is_skip or at in self.used):
            at += 1
        return at

    def before(self, at: int) -> int:
        at -= 1
        while at >= 0 and (self.pieces[at].is_skip or at in self.used):
            at -= 1
        return at

    @property
    def has_head(self) -> bool:
        return bool(self.metrics or self.subject or (self.rank and self.rank.by and self.rank.by.targets))
