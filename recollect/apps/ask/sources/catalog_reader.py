"""Read the catalog of a database: first the whole schema, then samples of the values while there is time, so that a
large database is known after a bounded wait, if in less detail. `find_values` says which phrases are values of a
column, for names in tables too large to be read whole. Runs in a thread of source.py.

Each query has a short time limit. A sample that takes too long is taken from the first rows only; of a large table in
PostgreSQL, its statistics are used. Values of sensitive columns are never read; sensitive means by the column's name,
or by the values (values/sensitive_data.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, repeat
from typing import Any, TypeVar

import sqlalchemy as sql
from sqlalchemy import Connection, func, types
from sqlalchemy.engine.reflection import Inspector, ObjectKind

from recollect.apps.ask.interpret import FoundValue
from recollect.apps.ask.semantic.access import find_row_rule
from recollect.apps.ask.semantic.catalog import Catalog, Column, ColumnType, ForeignKey, Table
from recollect.apps.ask.semantic.draft import is_moment
from recollect.apps.ask.sources.opening import FOLD, query_postgres
from recollect.apps.ask.sources.running import Job, convert_value, read_only
from recollect.apps.ask.words import split_name
from recollect.errors import QueryFailed
from recollect.values.sensitive_data import find_sensitive, format_label

# Schemas of the database itself, and our own.
SYSTEM_SCHEMAS = re.compile(r"pg_|(information_schema|INFORMATION_SCHEMA|mysql|performance_schema|sys|recollect)$")


def read_catalog(job: Job, dialect: str, limits: CatalogLimits) -> Catalog:
    """Return the catalog of the tables that the account may read."""
    with read_only(job) as connection:
        tables = list(islice(_read_tables(connection), limits.most_tables))
    part, sampled, columns = job.part(limits.seconds), [], 0
    for each in tables:
        sampler = Sampler(part, each, limits)
        typed = sampler.infer_types() if dialect == "sqlite" else each
        sampled.append(replace(sampler, table=typed).sample() if columns < limits.most_columns else typed)
        columns += len(each.columns)
    return Catalog(dialect, tuple(sampled))


def _read_tables(connection: Connection) -> Iterator[Table]:
    if connection.dialect.name == "duckdb":  # SQLAlchemy has no dialect for it
        from recollect.apps.ask.sources.duckdb_files import read_tables

        return read_tables(connection)
    inspector = sql.inspect(connection)
    schemas = _list_schemas(inspector)
    return (table for schema in schemas for table in _read_schema(connection, inspector, schema))


def _list_schemas(inspector: Inspector) -> list[str | None]:
    """Return the schemas to read, without those of the database itself: the default one first, as None."""
    default = inspector.default_schema_name
    # A MySQL address names one database; the account may see others, which are other sources.
    if default is None or inspector.dialect.name in ("sqlite", "mysql"):
        return [None]
    names = [name for name in inspector.get_schema_names() if not SYSTEM_SCHEMAS.match(name)]
    return [*([None] if default in names else []), *(name for name in names if name != default)]


def _read_schema(connection: Connection, inspector: Inspector, schema: str | None) -> Iterator[Table]:
    reflected, is_postgres = sql.MetaData(), connection.dialect.name == "postgresql"
    reflected.reflect(connection, schema, views=True, resolve_fks=False)
    views = {*inspector.get_view_names(schema)}
    with suppress(NotImplementedError):  # a dialect that has none
        views |= {*inspector.get_materialized_view_names(schema)}
    readable = set(map(tuple, query_postgres(connection, "readable_columns", f"{schema or ''}.")))
    foreign: Any = inspector.get_multi_foreign_keys(schema=schema, kind=ObjectKind.ANY)
    for table in sorted(reflected.tables.values(), key=lambda each: each.name):
        columns = [each for each in table.columns if not is_postgres or (table.name, each.name) in readable]
        keys = foreign.get((schema, table.name)) or ()
        made = Table(
            name=_join_name(schema, table.name),
            columns=tuple(map(_make_column, columns, repeat(_find_unique_columns(table)))),
            # SQLAlchemy's names are a class of their own.
            primary_key=tuple(map(str, table.primary_key.columns.keys())),
            foreign_keys=tuple(map(_read_foreign_key, keys, repeat(inspector.default_schema_name))),
            comment=table.comment or "",
            is_view=table.name in views,
        )
        if made.columns:
            yield made


def _join_name(schema: str | None, name: str) -> str:
    return f"{schema}.{name}" if schema else str(name)


def _read_foreign_key(key: Any, default: str | None) -> ForeignKey:
    schema = key.get("referred_schema")
    table = _join_name(None if schema == default else schema, key["referred_table"])
    return ForeignKey(tuple(key["constrained_columns"]), table, tuple(key["referred_columns"] or ()))


def _find_unique_columns(table: sql.Table) -> set[str]:
    """Return the columns that have a unique index or constraint of their own."""
    constraints = [each for each in table.constraints if isinstance(each, sql.UniqueConstraint)]
    sets: list[list[Any]] = [list(each.columns) for each in (table.primary_key, *constraints)]
    sets += [list(index.expressions) for index in table.indexes if index.unique]
    return {str(unique[0].name) for unique in sets if len(unique) == 1 and isinstance(unique[0], sql.Column)}


def _make_column(column: sql.Column[Any], unique: set[str]) -> Column:
    enums = tuple(getattr(column.type, "enums", None) or ())
    return Column(
        name=str(column.name),
        type=classify_type(column.type),
        # SQLite's columns need no type, and the expressions of its views have none.
        native="" if isinstance(column.type, types.NullType) else str(column.type),
        nullable=bool(column.nullable) and [*column.table.primary_key] != [column],
        comment=column.comment or "",
        values=enums,
        is_complete=bool(enums),
        is_unique=column.name in unique,
    )


def classify_type(kind: Any) -> ColumnType:
    """Return a driver's column type as one of ours."""
    if isinstance(kind, types.Numeric | types.Float):
        return "integer" if type(kind).__name__ in ("NUMERIC", "DECIMAL") and kind.scale == 0 else "number"
    known: tuple[tuple[type[Any], ColumnType], ...] = (
        (types.Boolean, "boolean"),
        (types.Integer, "integer"),
        (types.DateTime, "datetime"),
        (types.Date, "date"),
        (types.Time, "time"),
        (types.Uuid, "other"),
        (types.String, "text"),
    )
    return next((name for each, name in known if isinstance(kind, each)), "other")


# Values ---------------------------------------------------------------------------------------------------------------


T = TypeVar("T")
Range = tuple[str, str, float]  # the least value, the greatest, and the share of rows without one
FIRST_ROWS = 20_000
LARGE = 2_000_000  # rows that are not read whole
NUMBERS: tuple[ColumnType, ...] = ("integer", "number")
RANGED: tuple[ColumnType, ...] = (*NUMBERS, "date", "datetime")
MAX_RANGES = 50  # columns in one query
STORED: dict[str, ColumnType] = {"integer": "integer", "real": "number", "text": "text", "blob": "other"}
MAX_PHRASES = 50
MAX_COLUMNS = 40
MAX_FOUND = 50  # in one column
MAX_PHRASE_CHARS = 200
MAX_CHECKED = 100  # values of a column that are checked for sensitive ones
SENSITIVE_SHARE = 0.1  # of the values checked
SECRETS = (
    "password", "passwd", "pwd", "secret", "token", "salt", "hash", "api key", "private key", "passphrase", "pin",
    "cvv", "cvc", "密码", "密钥",
)  # fmt: skip
PERSONAL = (
    "email", "e mail", "mail address", "phone", "telephone", "mobile", "cell", "fax", "ssn", "social security",
    "passport", "iban", "bic", "swift", "card number", "credit card", "cc number", "account number", "birth",
    "birthday", "birth date", "date of birth", "driver license", "license number", "national id", "tax id",
    "ip address", "salary", "wage", "card no", "dob", "tel", "电话", "手机", "邮箱", "身份证", "银行卡", "出生", "生日",
    "工资", "薪水", "薪资", "护照",
)  # fmt: skip
# Names written as one word, such as `emailaddr`, begin or end with one of these.
JOINED = ("email", "phone", "password", "passwd", "birthday", "birthdate", "salary", "passport")


@dataclass(frozen=True, slots=True)
class CatalogLimits:
    """How much of a catalog is read."""

    seconds: float = 30.0  # for the values
    most_tables: int = 1_000
    most_columns: int = 2_000  # whose values are read
    most_values: int = 1_000
    longest_value: int = 80
    query_seconds: float = 2.0


def make_table_clause(name: str, *columns: str) -> Any:
    """Return a clause for `table`, or for `schema.table` outside the default schema."""
    schema, _, own = name.rpartition(".")
    return sql.table(own, *map(sql.column, columns), schema=schema or None)


# Samples --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sampler:
    """One table with the time and the limits of its queries."""

    job: Job
    table: Table
    limits: CatalogLimits

    def attempt(self, query: Callable[[Connection], T]) -> T | None:
        """Return the result, or None if it takes too long or the database refuses it: a view may be broken, a right
        missing."""
        if self.job.is_over:
            return None
        try:
            with read_only(self.job.part(self.limits.query_seconds)) as connection:
                return query(connection)
        except QueryFailed:
            if self.job.stopped.is_set():
                raise
            return None

    def fetch_sample(self, names: Sequence[str], select: Callable[[Any], Any]) -> tuple[list[Any], bool]:
        """Return the result of a query over these columns of all rows, or else of the first, and whether it is of all
        rows. `select` makes the query for a table clause."""
        table = make_table_clause(self.table.name, *names)
        found = self.attempt(lambda connection: list(connection.execute(select(table))))
        if found is not None:
            return found, True
        first = sql.select(table).limit(FIRST_ROWS).subquery()
        return self.attempt(lambda connection: list(connection.execute(select(first)))) or [], False

    def infer_types(self) -> Table:
        """Return a SQLite table whose columns without a type (expressions in views) have the type of their first
        value."""
        unknown = [column.name for column in self.table.columns if not column.native]
        rows = make_table_clause(self.table.name, *unknown)

        def read_types(connection: Connection) -> dict[str, ColumnType]:
            queries = {name: sql.select(func.typeof(rows.c[name])).where(rows.c[name].is_not(None)) for name in unknown}
            found = {name: connection.execute(query.limit(1)).scalar() for name, query in queries.items()}
            return {name: STORED.get(str(kind), "other") for name, kind in found.items()}

        stored = (self.attempt(read_types) if unknown else None) or {}
        columns = (replace(column, type=stored.get(column.name, column.type)) for column in self.table.columns)
        return replace(self.table, columns=tuple(columns))

    def sample(self) -> Table:
        """Return the table with its number of rows, the distinct values of texts, and the ranges of numbers and
        times."""
        table = replace(self.table, columns=tuple(map(_mark_sensitive, self.table.columns)))
        found = self.attempt(partial(query_postgres, query="row_estimate", table=table.name))
        estimate = found[0][0] if found else -1  # below 0: the table was not analyzed
        if estimate > LARGE:
            return replace(table, rows=estimate, columns=self.use_statistics(table.columns))
        count = sql.select(func.count()).select_from(make_table_clause(table.name))
        rows = self.attempt(lambda connection: int(connection.execute(count).scalar_one()))
        ranges = self.read_ranges(
            [each.name for each in table.columns if each.type in RANGED and not each.is_sensitive]
        )
        sampled = tuple(self.sample_column(each, ranges, rows) for each in table.columns)
        return replace(table, rows=rows if rows is not None or estimate < 0 else estimate, columns=sampled)

    def use_statistics(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Return the columns with what PostgreSQL has gathered of a table too large to be read."""
        known = self.attempt(partial(query_postgres, query="column_statistics", table=self.table.name)) or ()
        # The most common values, and values that divide the column evenly.
        gathered = {name: (common or [], bounds or [], missing) for name, common, bounds, missing in known}
        return tuple(_use_statistics(each, self.limits, *gathered.get(each.name, ([], [], None))) for each in columns)

    def sample_column(self, column: Column, ranges: Mapping[str, Range], rows: int | None) -> Column:
        if column.is_sensitive or column.values:
            return column
        if column.type == "text":
            column = self.sample_text(column, rows)
            ranges = self.read_ranges([column.name] if is_moment(column) else [])
        low, high, missing = ranges.get(column.name, (None, None, None))
        return replace(column, low=low, high=high, missing=missing)

    def sample_text(self, column: Column, rows: int | None) -> Column:
        limits = self.limits
        found, is_complete = self.read_values(column.name)
        seen, is_complete = found[: limits.most_values], is_complete and len(found) <= limits.most_values
        if has_sensitive_values(column.name, seen):
            return replace(column, is_sensitive=True)
        kept = drop_sensitive(column.name, [value for value in seen if len(value) <= limits.longest_value])
        is_complete = is_complete and len(kept) == len(seen)
        is_unique = column.is_unique or (is_complete and len(kept) == rows and len(kept) > 1)
        return replace(column, values=tuple(sorted(kept)), is_complete=is_complete, is_unique=is_unique)

    def read_values(self, name: str) -> tuple[list[str], bool]:
        """Return distinct values, at most one more than wanted, each at most one character longer than wanted, and
        whether they are of all rows."""

        def select(rows: Any) -> Any:
            start = func.substr(sql.cast(rows.c[name], sql.String), 1, self.limits.longest_value + 1)
            return sql.select(start).distinct().where(rows.c[name].is_not(None)).limit(self.limits.most_values + 1)

        found, is_whole = self.fetch_sample([name], select)
        return [str(value) for (value,) in found if value is not None and str(value).strip()], is_whole

    def read_ranges(self, names: Sequence[str]) -> dict[str, Range]:
        """Return the least and the greatest value of each column, and the share of rows that have none."""
        ranges: dict[str, Range] = {}
        for start in range(0, len(names), MAX_RANGES):
            some = names[start : start + MAX_RANGES]
            found, _ = self.fetch_sample(some, _select_ranges)
            rows, *row = list(map(convert_value, found[0])) if found else [0]
            parts = zip(some, row[::3], row[1::3], row[2::3], strict=False)
            ranges |= {
                name: (str(low), str(high), round(1 - int(count) / int(rows), 3))
                for name, low, high, count in parts
                if low is not None
            }
        numbers = {column.name for column in self.table.columns if column.type in NUMBERS}
        return {name: found for name, found in ranges.items() if name not in numbers or _are_numbers(*found[:2])}


def _select_ranges(rows: Any) -> Any:
    parts = (part(column) for column in rows.c for part in (func.min, func.max, func.count))
    return sql.select(func.count(), *parts).select_from(rows)


def _mark_sensitive(column: Column) -> Column:
    is_sensitive = is_named_sensitive(column.name)
    return replace(column, is_sensitive=True, values=(), is_complete=False) if is_sensitive else column


def _are_numbers(*ends: str) -> bool:
    """Whether all are numbers: SQLite stores what it is given, also "n/a" among numbers."""
    try:
        return all(float(end) == float(end) for end in ends)
    except ValueError:
        return False


def _use_statistics(
    column: Column, limits: CatalogLimits, common: list[str], bounds: list[str], missing: float | None
) -> Column:
    if column.is_sensitive or column.values:
        return column
    if has_sensitive_values(column.name, common):
        return replace(column, is_sensitive=True)
    seen = [*common, *bounds]
    if column.type == "text":
        short = [value for value in seen if len(value) <= limits.longest_value]
        return replace(column, values=tuple(sorted(set(drop_sensitive(column.name, short)))))
    if column.type not in RANGED or not seen:
        return column
    seen.sort(key=float if column.type in NUMBERS else str)
    return replace(column, low=seen[0], high=seen[-1], missing=missing)


# Lookup ---------------------------------------------------------------------------------------------------------------


def find_values(
    job: Job, refs: Sequence[tuple[str, str]], phrases: Sequence[str], rules: Mapping[str, str]
) -> list[FoundValue]:
    """Return which phrases are values of these columns (table, column), ignoring case; what is not found in time counts
    as not found. `rules` are conditions per table, as Access.rows has them: only rows that meet them are read."""
    wanted = _fold_phrases(phrases)
    found: list[FoundValue] = []
    for table, column in list(dict.fromkeys(refs))[: MAX_COLUMNS if wanted else 0]:
        if job.is_over:
            break
        try:
            with read_only(job) as connection:
                query = _match_column(connection, table, column, wanted, find_row_rule(rules, table))
                found += [FoundValue(table, column, str(value)) for value in connection.execute(query).scalars()]
        except QueryFailed:
            if job.stopped.is_set() or not job.is_over:
                raise
    return found


def _fold_phrases(phrases: Sequence[str]) -> list[str]:
    folded = dict.fromkeys(" ".join(phrase.split()).lower() for phrase in phrases)
    return [phrase for phrase in folded if 0 < len(phrase) <= MAX_PHRASE_CHARS][:MAX_PHRASES]


def _match_column(connection: Connection, table: str, name: str, wanted: list[str], rule: str | None) -> Any:
    own: Any = sql.column(name)
    # SQLite's own function is three times as fast, and enough for phrases of A to Z only.
    is_plain = connection.dialect.name != "sqlite" or all(phrase.isascii() for phrase in wanted)
    fold = getattr(func, "lower" if is_plain else FOLD)
    query = sql.select(own).distinct().select_from(make_table_clause(table)).limit(MAX_FOUND)
    if rule is not None:  # it was parsed when it was given; a colon in it is not a parameter
        query = query.where(sql.text("(" + rule.replace(":", "\\:") + ")"))
    return query.where(fold(sql.cast(own, sql.String)).in_(wanted))


# Sensitive values -----------------------------------------------------------------------------------------------------


def is_named_sensitive(name: str) -> bool:
    """Whether a column's name says that its values are secret or personal."""
    words = split_name(name)
    text = f" {' '.join(words)} "
    listed = (f" {each} " if each.isascii() else each for each in (*SECRETS, *PERSONAL))
    return any(each in text for each in listed) or any(
        word.startswith(JOINED) or word.endswith(JOINED) for word in words
    )


def has_sensitive_values(name: str, values: Sequence[str]) -> bool:
    """Whether at least a tenth of the values are sensitive."""
    checked = values[:MAX_CHECKED]
    sensitive = len(checked) - len(drop_sensitive(name, checked))
    return bool(checked) and sensitive >= SENSITIVE_SHARE * len(checked)


def drop_sensitive(name: str, values: Sequence[str]) -> list[str]:
    """Return the values without single sensitive ones, such as an address in a column of notes."""
    label = format_label(name)
    return [value for value in values if not any(find.end > len(label) for find in find_sensitive(label + value))]
