"""Frame: a question to a database that was understood, as data: what is measured, by what, of which, when.

`reading.py` makes one of a question, `edit.py` makes another of it for a follow-up, `render.py` writes its SQL and
`explain.py` says it in words. It names tables and columns as the database does and is kept as JSON in the turn; joins
are not part of it, they follow from the tables (joins.py), except where `via` says which of two ways is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

VERSION = 1
Op = Literal["=", "!=", "in", "not in", ">", ">=", "<", "<=", "between", "is null", "not null", "where", "> average",
             "< average"]  # fmt: skip
Grain = Literal["", "hour", "day", "weekday", "week", "month", "quarter", "year"]


@dataclass(frozen=True, slots=True)
class Ref:
    """A column, or an SQL expression over the table's columns. Without a column the row itself is meant. `via` are the
    joins that the way to it must use."""

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
    """`per`: the aggregate is taken over the counts, or the sums, of each of these ("average number of tracks per
    album"). With a `share` it is told in percent of all rows."""

    aggregate: str
    of: Ref
    per: Group | None = None
    share: Share | None = None

    @property
    def is_ratio(self) -> bool:
        """The average of sums is all of it by their number; so it can be split, too."""
        return self.per is not None and self.aggregate == "avg" and bool(self.of.expression)


@dataclass(frozen=True, slots=True)
class Filter:
    """`is_text`: the values are written as texts. With `where` the value is a condition over the table's columns."""

    of: Ref
    op: Op
    values: tuple[str, ...] = ()
    is_text: bool = True


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` until before `end`; ISO dates. `is_year`: the column holds only the year, as a number. `others` are
    further such ranges of the same column, any of which will do ("2021 and 2023")."""

    of: Ref
    start: str | None
    end: str | None
    text: str = ""
    is_year: bool = False
    others: tuple[tuple[str | None, str | None], ...] = ()

    @property
    def ranges(self) -> tuple[tuple[str | None, str | None], ...]:
        return ((self.start, self.end), *self.others)


@dataclass(frozen=True, slots=True)
class Having:
    """`periods`: the figure is that of then."""

    metric: Metric
    op: Op
    values: tuple[str, ...]
    periods: tuple[Period, ...] = ()


@dataclass(frozen=True, slots=True)
class Existence:
    """Rows of the subject for which there is such a row, or none; with `periods`, one of then. `via` as of a Ref."""

    table: str
    is_negated: bool = False
    name: str = ""
    via: tuple[str, ...] = ()
    periods: tuple[Period, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """What the part meets that a figure is the share of; without a condition each group is a part of all."""

    filters: tuple[Filter, ...] = ()
    existence: tuple[Existence, ...] = ()
    having: tuple[Having, ...] = ()
    periods: tuple[Period, ...] = ()

    def refs(self) -> Iterable[Ref]:
        yield from (each.of for each in self.filters)
        yield from (each.of for each in self.periods)
        yield from (each.metric.of for each in self.having)


@dataclass(frozen=True, slots=True)
class Order:
    """By the metric with this number, by the group, or by a column of a listing."""

    by: Literal["metric", "group", "column"]
    at: int = 0
    is_descending: bool = False
    of: Ref | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """With metrics it is a table of figures, without it is a list of rows of `subject` (or of distinct `groups`)."""

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
    keeps_empty: bool = False  # a group without any row counts 0
    per: tuple[Group, ...] = ()  # the limit is that of each of these: "the cheapest in each category"
    version: int = VERSION

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Frame | None:
        """None, if it was written by another version: then the next question stands alone."""
        if data.get("version") != VERSION:
            return None
        parts = {
            "metrics": tuple(metric_from(each) for each in data["metrics"]),
            "groups": tuple(Group(ref_from(each["of"]), each["grain"]) for each in data["groups"]),
            "columns": tuple(ref_from(each) for each in data["columns"]),
            "filters": tuple(filter_from(each) for each in data["filters"]),
            "periods": tuple(period_from(each) for each in data["periods"]),
            "having": tuple(having_from(each) for each in data["having"]),
            "existence": tuple(existence_from(each) for each in data["existence"]),
            "order": tuple(order_from(each) for each in data["order"]),
            "per": tuple(Group(ref_from(each["of"]), each["grain"]) for each in data.get("per", ())),
        }
        return cls(**{**data, **parts})

    def refs(self) -> Iterable[Ref]:
        """Every place it touches, the subject aside."""
        yield from (metric.of for metric in self.metrics)
        yield from (metric.per.of for metric in self.metrics if metric.per)
        yield from (ref for metric in self.metrics if metric.share for ref in metric.share.refs())
        yield from (group.of for group in (*self.groups, *self.per))
        yield from self.columns
        yield from (each.of for each in self.filters)
        yield from (each.of for each in self.periods)
        yield from (each.metric.of for each in self.having)

    @property
    def tables(self) -> frozenset[str]:
        rows = [*self.existence, *(e for m in self.metrics if m.share for e in m.share.existence)]
        return frozenset((self.subject, *(ref.table for ref in self.refs()), *(e.table for e in rows)))


def existence_from(data: Mapping[str, Any]) -> Existence:
    periods = tuple(period_from(each) for each in data.get("periods", ()))
    return Existence(**{**data, "via": tuple(data.get("via", ())), "periods": periods})


def ref_from(data: Mapping[str, Any]) -> Ref:
    return Ref(**{**data, "via": tuple(data["via"])})


def period_from(data: Mapping[str, Any]) -> Period:
    others = tuple((start, end) for start, end in data.get("others", ()))
    return Period(**{**data, "of": ref_from(data["of"]), "others": others})


def metric_from(data: Mapping[str, Any]) -> Metric:
    per, share = data["per"], data.get("share")
    group = Group(ref_from(per["of"]), per["grain"]) if per else None
    return Metric(data["aggregate"], ref_from(data["of"]), group, share_from(share) if share else None)


def share_from(data: Mapping[str, Any]) -> Share:
    return Share(
        tuple(filter_from(each) for each in data["filters"]),
        tuple(existence_from(each) for each in data["existence"]),
        tuple(having_from(each) for each in data["having"]),
        tuple(period_from(each) for each in data["periods"]),
    )


def filter_from(data: Mapping[str, Any]) -> Filter:
    return Filter(ref_from(data["of"]), data["op"], tuple(data["values"]), data["is_text"])


def having_from(data: Mapping[str, Any]) -> Having:
    periods = tuple(period_from(each) for each in data.get("periods", ()))
    return Having(metric_from(data["metric"]), data["op"], tuple(data["values"]), periods)


def order_from(data: Mapping[str, Any]) -> Order:
    return Order(data["by"], data["at"], data["is_descending"], ref_from(data["of"]) if data["of"] else None)
