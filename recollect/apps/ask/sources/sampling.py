"""Sampling: what stands in a table's columns: how many rows, the distinct values of texts, the ends of numbers and
times.

Each question has a short time limit. One that takes too long is asked of the first rows only; of a large table in
PostgreSQL, its statistics answer. Of a sensitive column nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from recollect.apps.ask.semantic.catalog import Column, ColumnType, Table
from recollect.apps.ask.semantic.draft import is_moment
from recollect.apps.ask.sources.json_values import as_json
from recollect.apps.ask.sources.postgres import estimated_rows, statistics
from recollect.apps.ask.sources.sensitive_columns import is_named_sensitive, shows_sensitive, without_sensitive
from recollect.apps.ask.sources.statement import Job, read_only
from recollect.apps.ask.sources.value_lookup import named_table
from recollect.errors import QueryFailed

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

T = TypeVar("T")
FIRST_ROWS = 20_000
LARGE = 2_000_000  # rows that are not read whole
RANGED: tuple[ColumnType, ...] = ("integer", "number", "date", "datetime")
AT_ONCE = 50  # columns in one question
STORED: dict[str, ColumnType] = {"integer": "integer", "real": "number", "text": "text", "blob": "other"}


class Asked(Protocol):
    """What reading.Reading says of values."""

    @property
    def most_values(self) -> int: ...
    @property
    def longest_value(self) -> int: ...
    @property
    def query_seconds(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Sampler:
    """One table, asked again and again."""

    engine: Engine
    job: Job
    role: str | None
    table: Table
    asked: Asked

    def attempt(self, ask: Callable[[Connection], T]) -> T | None:
        """The answer, unless it takes too long or the database refuses: a view may be broken, a right missing."""
        if self.job.is_over:
            return None
        try:
            with read_only(self.engine, self.job.part(self.asked.query_seconds), self.role) as connection:
                return ask(connection)
        except QueryFailed:
            if self.job.stopped.is_set():
                raise
            return None


def sampled(engine: Engine, job: Job, role: str | None, table: Table, asked: Asked) -> Table:
    table = replace(table, columns=tuple(flagged(column) for column in table.columns))
    sampler = Sampler(engine, job, role, table, asked)
    estimate = sampler.attempt(partial(estimated_rows, table=table.name))
    if estimate is not None and estimate > LARGE:
        return replace(table, rows=estimate, columns=from_statistics(sampler))
    rows = sampler.attempt(partial(counted, name=table.name))
    ends = ranges(
        sampler, [column.name for column in table.columns if column.type in RANGED and not column.is_sensitive]
    )
    columns = tuple(described(sampler, column, ends, rows) for column in table.columns)
    return replace(table, rows=rows if rows is not None else estimate, columns=columns)


def flagged(column: Column) -> Column:
    return (
        replace(column, is_sensitive=True, values=(), is_complete=False) if is_named_sensitive(column.name) else column
    )


def counted(connection: Connection, name: str) -> int:
    from sqlalchemy import func, select

    return int(connection.execute(select(func.count()).select_from(named_table(name))).scalar_one())


def described(sampler: Sampler, column: Column, ends: dict[str, tuple[str, str]], rows: int | None) -> Column:
    if column.is_sensitive or column.values:
        return column
    if column.type == "text":
        return with_values(sampler, column, rows)
    low, high = ends.get(column.name, (None, None))
    return replace(column, low=low, high=high)


def with_values(sampler: Sampler, column: Column, rows: int | None) -> Column:
    seen, is_complete = distinct_values(sampler, column.name)
    if shows_sensitive(column.name, seen):
        return replace(column, is_sensitive=True)
    short = [value for value in seen if len(value) <= sampler.asked.longest_value]
    kept = without_sensitive(column.name, short[: sampler.asked.most_values])
    whole = is_complete and len(kept) == len(seen)
    unique = column.is_unique or (whole and rows is not None and rows > 1 and len(kept) == rows)
    made = replace(column, values=tuple(sorted(kept)), is_complete=whole, is_unique=unique)
    return with_ends(sampler, made) if is_moment(made) else made


def with_ends(sampler: Sampler, column: Column) -> Column:
    """A text that says when has a first and a last."""
    low, high = ranges(sampler, [column.name]).get(column.name, (None, None))
    return replace(column, low=low, high=high)


def distinct_values(sampler: Sampler, name: str) -> tuple[list[str], bool]:
    """Some of them, cut where too long; and whether these are all."""
    most = sampler.asked.most_values
    whole, first = (partial(distinct, sampler=sampler, name=name, first_rows=each) for each in (False, True))
    if (found := sampler.attempt(whole)) is not None:
        return found[:most], len(found) <= most
    return (sampler.attempt(first) or [])[:most], False


def distinct(connection: Connection, sampler: Sampler, name: str, *, first_rows: bool) -> list[str]:
    from sqlalchemy import String, cast, column, func, select

    own: Any = column(name)
    text = own if connection.dialect.name == "sqlite" else cast(own, String)
    rows: Any = named_table(sampler.table.name)
    cut = func.substr(text, 1, sampler.asked.longest_value + 1).label("value")
    if first_rows:
        rows = select(own).select_from(rows).limit(FIRST_ROWS).subquery()
        cut = func.substr(cast(rows.c[name], String), 1, sampler.asked.longest_value + 1).label("value")
        own = rows.c[name]
    query = select(cut).distinct().select_from(rows).where(own.is_not(None)).limit(sampler.asked.most_values + 1)
    return [str(value) for value in connection.execute(query).scalars() if value is not None and str(value).strip()]


def ranges(sampler: Sampler, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The least and the greatest of each."""
    found: dict[str, tuple[str, str]] = {}
    for start in range(0, len(names), AT_ONCE):
        part = names[start : start + AT_ONCE]
        whole, first = (partial(ends, table=sampler.table.name, names=part, first_rows=each) for each in (False, True))
        found |= paired(part, sampler.attempt(whole) or sampler.attempt(first) or [])
    kinds = {column.name: column.type for column in sampler.table.columns}
    return {name: pair for name, pair in found.items() if kinds[name] not in ("integer", "number") or are_numbers(pair)}


def ends(connection: Connection, table: str, names: Sequence[str], *, first_rows: bool) -> list[Any]:
    from sqlalchemy import column, func, select

    rows: Any = named_table(table)
    if first_rows:
        rows = select(*(column(name) for name in names)).select_from(rows).limit(FIRST_ROWS).subquery()
    wanted: list[Any] = [end(column(name)) for name in names for end in (func.min, func.max)]
    return list(connection.execute(select(*wanted).select_from(rows)).one())


def paired(names: Sequence[str], row: Sequence[Any]) -> dict[str, tuple[str, str]]:
    both = zip(names, row[::2], row[1::2], strict=False)
    return {name: (str(as_json(low)), str(as_json(high))) for name, low, high in both if low is not None}


def are_numbers(pair: tuple[str, str]) -> bool:
    """SQLite keeps what it is given, a "n/a" among numbers too."""
    try:
        return all(float(end) == float(end) for end in pair)
    except ValueError:
        return False


def from_statistics(sampler: Sampler) -> tuple[Column, ...]:
    """What PostgreSQL has gathered of a table too large to be read."""
    known = sampler.attempt(partial(statistics, table=sampler.table.name)) or {}
    return tuple(estimated(sampler, column, *known.get(column.name, ([], []))) for column in sampler.table.columns)


def estimated(sampler: Sampler, column: Column, common: list[str], bounds: list[str]) -> Column:
    if column.is_sensitive or column.values or shows_sensitive(column.name, common):
        return replace(column, is_sensitive=column.is_sensitive or not column.values)
    if column.type == "text":
        short = [value for value in (*common, *bounds) if len(value) <= sampler.asked.longest_value]
        return replace(column, values=tuple(sorted(set(without_sensitive(column.name, short)))))
    if column.type not in RANGED or not (common or bounds):
        return column
    seen = sorted((*common, *bounds), key=float if column.type in ("integer", "number") else str)
    return replace(column, low=seen[0], high=seen[-1])


def typed_by_content(engine: Engine, job: Job, role: str | None, table: Table) -> Table:
    """SQLite's columns without a type (expressions in views) have the type of what stands in them first."""
    unknown = [column.name for column in table.columns if not column.native]
    if not unknown or job.is_over:
        return table
    try:
        with read_only(engine, job.part(2.0), role) as connection:
            stored = {name: first_type(connection, table.name, name) for name in unknown}
    except QueryFailed:
        return table
    columns = (replace(column, type=stored.get(column.name, column.type)) for column in table.columns)
    return replace(table, columns=tuple(columns))


def first_type(connection: Connection, table: str, name: str) -> ColumnType:
    from sqlalchemy import column, func, select

    own: Any = column(name)
    query = select(func.typeof(own)).select_from(named_table(table)).where(own.is_not(None)).limit(1)
    return STORED.get(str(connection.execute(query).scalar()), "other")
