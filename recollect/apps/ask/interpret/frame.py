"""Frame: an interpretation of a question as data. What is measured, by what, of which rows, and when.

compose.py builds frames, followup.py changes them, render.py writes their SQL and explain.py their words. A frame names
tables and columns as the database does and is stored as JSON with the turn or the choice. Joins are not part of it:
they follow from the tables, except where `via` says which of several keys is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import cache
from typing import Any, Literal, cast, get_args, get_type_hints

VERSION = 3
Op = Literal[
    "=", "!=", "in", "not in", ">", ">=", "<", "<=", "between", "is null", "not null", "where", "not where",
    "> average", "< average", "contains", "starts", "ends", "not contains",
]  # fmt: skip
Grain = Literal["", "hour", "day", "weekday", "week", "month", "quarter", "year"]
Compute = Literal["", "share", "growth", "running", "rate", "change"]
POSITIVE: dict[str, Op] = {"!=": "=", "not in": "in", "not contains": "contains"}


@dataclass(frozen=True, slots=True)
class Ref:
    """A column, or an SQL expression over the table's columns; without either, the row itself."""

    table: str
    column: str = ""
    expression: str = ""
    name: str = ""
    via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    of: Ref
    grain: Grain = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """`aggregate` is count, count_distinct, sum, avg, min or max. `compute` shows it as a share of the total, as the
    growth since the row before, added up to the row (running), as the rate of the rows that meet `part`, or as the
    change from its second period to its first. `per` divides it by the number of different groups: orders per
    customer."""

    aggregate: str
    of: Ref
    compute: Compute = ""
    per: Group | None = None
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """`is_text`: the values are texts. With `where` the value is an SQL condition over the table's columns. Filters
    with the same `either` number above 0 are alternatives. `is_default`: nobody asked for it, cancelled rows are left
    out."""

    of: Ref
    op: Op
    values: tuple[str, ...] = ()
    is_text: bool = True
    either: int = 0
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` until before `end`; ISO dates. `others` are further ranges of the same column, any of which fits."""

    of: Ref
    start: str | None
    end: str | None
    text: str = ""
    others: tuple[tuple[str | None, str | None], ...] = ()
    is_negated: bool = False

    @property
    def ranges(self) -> tuple[tuple[str | None, str | None], ...]:
        return ((self.start, self.end), *self.others)


@dataclass(frozen=True, slots=True)
class Having:
    """A condition on a figure of each group."""

    metric: Metric
    op: Op
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Existence:
    """Rows for which a related row of `table` exists (or none does), one that meets the conditions. With `having` the
    related rows are counted or summed. `on` compares a column of the subject instead of its key."""

    table: str
    is_negated: bool = False
    filters: tuple[Filter, ...] = ()
    periods: tuple[Period, ...] = ()
    having: Having | None = None
    on: Ref | None = None
    via: tuple[str, ...] = ()

    @classmethod
    def of_condition(cls, each: Filter | Period) -> Existence:
        """Return the condition that a related row meets this; one that excludes is met if no row has what it
        excludes."""
        if isinstance(each, Period):
            return cls(each.of.table, each.is_negated, periods=(replace(each, is_negated=False),))
        is_negated = each.op in POSITIVE and not each.either
        inner = replace(each, op=POSITIVE[each.op] if is_negated else each.op, either=0)
        return cls(each.of.table, is_negated, (inner,))


@dataclass(frozen=True, slots=True)
class Part:
    """The rows whose rate is asked for, or the two periods that are compared."""

    filters: tuple[Filter, ...] = ()
    existence: tuple[Existence, ...] = ()
    periods: tuple[Period, ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """By the metric with this number, or by a column."""

    by: Literal["metric", "column"]
    at: int = 0
    is_descending: bool = False
    of: Ref | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """With metrics a table of figures by `groups` (showing `columns` of them); otherwise a list of rows of `subject`
    that shows `columns`. `with_ties` keeps all rows that share the last place. `within` ranks within each of the first
    so many groups: the top 3 products of each region."""

    subject: str
    metrics: tuple[Metric, ...] = ()
    groups: tuple[Group, ...] = ()
    columns: tuple[Ref, ...] = ()
    filters: tuple[Filter, ...] = ()
    periods: tuple[Period, ...] = ()
    having: tuple[Having, ...] = ()
    existence: tuple[Existence, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    with_ties: bool = False
    is_distinct: bool = False
    within: int = 0
    version: int = VERSION

    @property
    def conditions(self) -> int:
        return len(self.filters) + len(self.periods) + len(self.having) + len(self.existence)

    @property
    def asked(self) -> Frame:
        """The frame without the conditions that nobody asked for."""
        return replace(self, filters=tuple(each for each in self.filters if not each.is_default))

    @property
    def shown(self) -> tuple[Ref, ...]:
        """The columns and rows that each line of the answer shows."""
        return (*self.columns, *(group.of for group in self.groups))

    def refs(self) -> Iterable[Ref]:
        """Yield every place that the outer query touches, the subject aside."""
        yield from (metric.of for metric in self.metrics)
        yield from (group.of for group in self.groups)
        yield from self.columns
        yield from (each.of for each in self.filters)
        yield from (each.of for each in self.periods)
        yield from (each.metric.of for each in self.having)
        yield from (each.of for each in self.order if each.of)

    @property
    def tables(self) -> frozenset[str]:
        inner = (ref.table for each in self.existence for ref in existence_refs(each))
        return frozenset((self.subject, *(ref.table for ref in self.refs()), *inner))

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Frame | None:
        """Return the frame, or None if another version wrote it: then the next question stands alone."""
        if data.get("version") != VERSION:
            return None
        return cast(Frame, read_value(cls, data))


def existence_refs(existence: Existence) -> Iterable[Ref]:
    yield Ref(existence.table)
    yield from (each.of for each in existence.filters)
    yield from (each.of for each in existence.periods)
    if existence.having:
        yield existence.having.metric.of


@cache
def field_types(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def read_value(kind: Any, data: Any) -> Any:
    """Return the value of a type from JSON data: tuples from arrays, dataclasses from objects."""
    if isinstance(data, list | tuple):
        return tuple(read_value(get_args(kind)[0], each) for each in data)
    if not isinstance(data, Mapping):
        return data
    made: Any = next(each for each in (kind, *get_args(kind)) if is_dataclass(each))
    return made(**{name: read_value(field_types(made)[name], value) for name, value in data.items()})
