"""Read the catalog of a database: first the whole schema, then samples of the values while there is time, so that a
large database is known after a bounded wait, if in less detail. `find_values` says which phrases are values of a
column, for names in tables too large to be read whole. Runs in a thread of source.py.

Each query has a short time limit. A sample that takes too long is taken from the first rows only; of a large table in
PostgreSQL, its statistics are used. Values of sensitive columns are never read; sensitive means by the column's name,
or by the values (values/sensitive_data.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.apps.ask.interpret.words import split_name
from recollect.apps.ask.semantic.access import find_row_rule
from recollect.apps.ask.semantic.catalog import Catalog, Column, ColumnType, ForeignKey, Table
from recollect.apps.ask.semantic.draft import is_moment
from recollect.apps.ask.sources.opening import FOLD, estimate_rows, read_columns, read_statistics
from recollect.apps.ask.sources.running import Job, convert_value, read_only
from recollect.errors import QueryFailed
from recollect.values.sensitive_data import find_sensitive, format_label

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Select
    from sqlalchemy.engine.reflection import Inspector

# Schemas of the database itself, and our own.
SYSTEM_SCHEMAS = re.compile(r"pg_|(information_schema|INFORMATION_SCHEMA|mysql|performance_schema|sys|recollect)$")


def read_catalog(engine: Engine, job: Job, dialect: str, role: str | None, limits: CatalogLimits) -> Catalog:
    """Return the catalog of the tables that this role may read."""
    from sqlalchemy import inspect

    with read_only(engine, job, role) as connection:
        inspector = inspect(connection)
        schemas = _list_schemas(inspector, limits)
        found = (table for schema in schemas for table in _read_schema(connection, inspector, schema))
        tables = list(islice(found, limits.most_tables))
    values = job.part(limits.seconds)
    made, columns = [], 0
    for table in tables:
        typed = infer_types(engine, values, role, table) if dialect == "sqlite" else table
        made.append(sample_table(engine, values, role, typed, limits) if columns < limits.most_columns else typed)
        columns += len(table.columns)
    return Catalog(dialect, tuple(made))


def _list_schemas(inspector: Inspector, limits: CatalogLimits) -> list[str | None]:
    """Return the schemas to read, the default one first, as None."""
    default, dialect = inspector.default_schema_name, inspector.dialect.name
    # A MySQL address names one database; the account may see others, which are other sources.
    if default is None or dialect == "sqlite" or (dialect == "mysql" and not limits.schemas):
        return [None]
    named = limits.schemas or [name for name in inspector.get_schema_names() if not SYSTEM_SCHEMAS.match(name)]
    schemas = [None if name == default else name for name in named]
    return sorted(schemas, key=lambda name: name is not None)


def _read_schema(connection: Connection, inspector: Inspector, schema: str | None) -> Iterator[Table]:
    from sqlalchemy.engine.reflection import ObjectKind

    columns = inspector.get_multi_columns(schema=schema, kind=ObjectKind.ANY)
    primary = inspector.get_multi_pk_constraint(schema=schema, kind=ObjectKind.ANY)
    foreign = inspector.get_multi_foreign_keys(schema=schema, kind=ObjectKind.ANY)
    comments: Any = _read_if_supported(lambda: inspector.get_multi_table_comment(schema=schema, kind=ObjectKind.ANY))
    materialized: Any = _read_if_supported(lambda: inspector.get_materialized_view_names(schema))
    views = {*inspector.get_view_names(schema), *materialized}
    no_key: Any = {"constrained_columns": ()}
    no_comment: Any = {"text": ""}
    unique, readable = _find_unique_columns(inspector, schema), read_columns(connection, schema)
    for key in sorted(columns, key=lambda each: each[1]):
        name, keys = key[1], tuple((primary.get(key) or no_key)["constrained_columns"])
        own = unique.get(key, set()) | ({*keys} if len(keys) == 1 else set())
        given = [each for each in columns[key] if readable is None or (name, each["name"]) in readable]
        if given:
            yield Table(
                name=_join_name(schema, name),
                columns=tuple(_make_column(each, own, keys) for each in given),
                primary_key=keys,
                foreign_keys=tuple(_read_foreign_keys(foreign.get(key, ()), inspector.default_schema_name)),
                comment=comments.get(key, no_comment)["text"] or "",
                is_view=name in views,
            )


def _read_if_supported(read: Callable[[], Any]) -> Any:
    """Return what a dialect reflects; nothing if it does not implement this."""
    try:
        return read()
    except NotImplementedError:
        return {}


def _join_name(schema: str | None, name: str) -> str:
    return f"{schema}.{name}" if schema else name


def _make_column(given: Any, unique: set[str], keys: tuple[str, ...]) -> Column:
    from sqlalchemy.types import NullType

    kind, name = given["type"], given["name"]
    enums = tuple(getattr(kind, "enums", None) or ())
    return Column(
        name=name,
        type=classify_type(kind),
        # SQLite's columns need no type, and the expressions of its views have none.
        native="" if isinstance(kind, NullType) else str(kind),
        nullable=bool(given.get("nullable", True)) and keys != (name,),
        comment=given.get("comment") or "",
        values=enums,
        is_complete=bool(enums),
        is_unique=name in unique,
    )


def classify_type(kind: Any) -> ColumnType:
    """Return a driver's column type as one of ours."""
    from sqlalchemy import types

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


def _read_foreign_keys(given: Iterable[Any], default: str | None) -> Iterator[ForeignKey]:
    for key in given:
        schema = key.get("referred_schema")
        table = _join_name(None if schema == default else schema, key["referred_table"])
        yield ForeignKey(tuple(key["constrained_columns"]), table, tuple(key["referred_columns"] or ()))


def _find_unique_columns(inspector: Inspector, schema: str | None) -> Mapping[Any, set[str]]:
    """Return for each table the columns that have a unique index or constraint of their own."""
    from sqlalchemy.engine.reflection import ObjectKind

    found: dict[Any, set[str]] = {}
    indexes: Any = inspector.get_multi_indexes(schema=schema, kind=ObjectKind.TABLE)
    constraints: Any = inspector.get_multi_unique_constraints(schema=schema, kind=ObjectKind.TABLE)
    for key, given in (*indexes.items(), *constraints.items()):
        sets = [each["column_names"] for each in given if each.get("unique", True)]
        found.setdefault(key, set()).update(names[0] for names in sets if len(names) == 1 and names[0])
    return found


# Values ---------------------------------------------------------------------------------------------------------------


T = TypeVar("T")
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
    """How much of a catalog is read. No schemas means all but those of the database itself."""

    schemas: tuple[str, ...] = ()
    seconds: float = 30.0  # for the values
    most_tables: int = 1_000
    most_columns: int = 2_000  # whose values are read
    most_values: int = 1_000
    longest_value: int = 80
    query_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value as the database writes it."""

    table: str
    column: str
    value: str


def make_table_clause(name: str, *columns: str) -> Any:
    """Return a clause for `table`, or for `schema.table` outside the default schema."""
    from sqlalchemy import column, table

    schema, _, own = name.rpartition(".")
    return table(own, *map(column, columns), schema=schema or None)


# Samples --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sampler:
    """One table with the time and the limits of its queries."""

    engine: Engine
    job: Job
    role: str | None
    table: Table
    limits: CatalogLimits

    def attempt(self, query: Callable[[Connection], T]) -> T | None:
        """Return the result, or None if it takes too long or the database refuses it: a view may be broken, a right
        missing."""
        if self.job.is_over:
            return None
        try:
            with read_only(self.engine, self.job.part(self.limits.query_seconds), self.role) as connection:
                return query(connection)
        except QueryFailed:
            if self.job.stopped.is_set():
                raise
            return None

    def fetch_sample(self, names: Sequence[str], select: Callable[[Any], Any]) -> tuple[list[Any], bool]:
        """Return the result of a query over these columns of all rows, or else of the first, and whether it is of all
        rows. `select` makes the query for a table clause."""
        import sqlalchemy

        table = make_table_clause(self.table.name, *names)
        found = self.attempt(lambda connection: list(connection.execute(select(table))))
        if found is not None:
            return found, True
        first = sqlalchemy.select(table).limit(FIRST_ROWS).subquery()
        return self.attempt(lambda connection: list(connection.execute(select(first)))) or [], False


def sample_table(engine: Engine, job: Job, role: str | None, table: Table, limits: CatalogLimits) -> Table:
    """Return the table with its number of rows, the distinct values of texts, and the ranges of numbers and times."""
    from sqlalchemy import func, select

    table = replace(table, columns=tuple(map(_mark_sensitive, table.columns)))
    sampler = Sampler(engine, job, role, table, limits)
    estimate = sampler.attempt(lambda connection: estimate_rows(connection, table.name))
    if estimate is not None and estimate > LARGE:
        known = sampler.attempt(lambda connection: read_statistics(connection, table.name)) or {}
        columns = (_use_statistics(each, limits, *known.get(each.name, ([], []))) for each in table.columns)
        return replace(table, rows=estimate, columns=tuple(columns))
    count = select(func.count()).select_from(make_table_clause(table.name))
    rows = sampler.attempt(lambda connection: int(connection.execute(count).scalar_one()))
    ranged = [column.name for column in table.columns if column.type in RANGED and not column.is_sensitive]
    ranges = _read_ranges(sampler, ranged)
    columns = (_sample_column(sampler, column, ranges, rows) for column in table.columns)
    return replace(table, rows=rows if rows is not None else estimate, columns=tuple(columns))


def _mark_sensitive(column: Column) -> Column:
    is_sensitive = is_named_sensitive(column.name)
    return replace(column, is_sensitive=True, values=(), is_complete=False) if is_sensitive else column


def _sample_column(sampler: Sampler, column: Column, ranges: Mapping[str, tuple[str, str]], rows: int | None) -> Column:
    if column.is_sensitive or column.values:
        return column
    if column.type == "text":
        return _sample_text(sampler, column, rows)
    low, high = ranges.get(column.name, (None, None))
    return replace(column, low=low, high=high)


def _sample_text(sampler: Sampler, column: Column, rows: int | None) -> Column:
    limits = sampler.limits
    found, is_complete = _read_values(sampler, column.name)
    seen, is_complete = found[: limits.most_values], is_complete and len(found) <= limits.most_values
    if has_sensitive_values(column.name, seen):
        return replace(column, is_sensitive=True)
    kept = drop_sensitive(column.name, [value for value in seen if len(value) <= limits.longest_value])
    is_complete = is_complete and len(kept) == len(seen)
    is_unique = column.is_unique or (is_complete and len(kept) == rows and len(kept) > 1)
    made = replace(column, values=tuple(sorted(kept)), is_complete=is_complete, is_unique=is_unique)
    low, high = _read_ranges(sampler, [column.name] if is_moment(made) else []).get(column.name, (None, None))
    return replace(made, low=low, high=high)


def _read_values(sampler: Sampler, name: str) -> tuple[list[str], bool]:
    """Return distinct values, at most one more than wanted, each at most one character longer than wanted, and whether
    they are of all rows."""
    from sqlalchemy import String, cast, func, select

    def select_values(rows: Any) -> Any:
        own = rows.c[name]
        start = func.substr(cast(own, String), 1, sampler.limits.longest_value + 1)
        return select(start).distinct().where(own.is_not(None)).limit(sampler.limits.most_values + 1)

    found, is_whole = sampler.fetch_sample([name], select_values)
    return [str(value) for (value,) in found if value is not None and str(value).strip()], is_whole


def _read_ranges(sampler: Sampler, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the least and the greatest value of each column."""
    found: dict[str, tuple[str, str]] = {}
    for start in range(0, len(names), MAX_RANGES):
        found |= _read_ends(sampler, names[start : start + MAX_RANGES])
    numbers = {column.name for column in sampler.table.columns if column.type in NUMBERS}
    return {name: ends for name, ends in found.items() if name not in numbers or _are_numbers(ends)}


def _read_ends(sampler: Sampler, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    from sqlalchemy import func, select

    def select_ends(rows: Any) -> Any:
        return select(*(end(rows.c[name]) for name in names for end in (func.min, func.max)))

    found, _ = sampler.fetch_sample(names, select_ends)
    row = found[0] if found else ()
    ends = zip(names, row[::2], row[1::2], strict=False)
    return {name: (str(convert_value(low)), str(convert_value(high))) for name, low, high in ends if low is not None}


def _are_numbers(ends: tuple[str, str]) -> bool:
    """Whether both ends are numbers: SQLite stores what it is given, also "n/a" among numbers."""
    try:
        return all(float(end) == float(end) for end in ends)
    except ValueError:
        return False


def _use_statistics(column: Column, limits: CatalogLimits, common: list[str], bounds: list[str]) -> Column:
    """Return the column with what PostgreSQL has gathered of a table too large to be read."""
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
    return replace(column, low=seen[0], high=seen[-1])


def infer_types(engine: Engine, job: Job, role: str | None, table: Table) -> Table:
    """Return a SQLite table whose columns without a type (expressions in views) have the type of their first value."""
    from sqlalchemy import func, select

    unknown = [column.name for column in table.columns if not column.native]
    if not unknown or job.is_over:
        return table
    rows, stored = make_table_clause(table.name, *unknown), dict[str, ColumnType]()
    try:
        with read_only(engine, job.part(2.0), role) as connection:
            for name in unknown:
                query = select(func.typeof(rows.c[name])).where(rows.c[name].is_not(None)).limit(1)
                stored[name] = STORED.get(str(connection.execute(query).scalar()), "other")
    except QueryFailed:
        return table
    columns = (replace(column, type=stored.get(column.name, column.type)) for column in table.columns)
    return replace(table, columns=tuple(columns))


# Lookup ---------------------------------------------------------------------------------------------------------------


def find_values(
    engine: Engine,
    job: Job,
    role: str | None,
    refs: Sequence[tuple[str, str]],
    phrases: Sequence[str],
    rules: Mapping[str, str],
) -> list[FoundValue]:
    """Return which phrases are values of these columns (table, column), ignoring case; what is not found in time counts
    as not found. `rules` are conditions per table, as Access.rows has them: only rows that meet them are read."""
    wanted = _fold_phrases(phrases)
    found: list[FoundValue] = []
    for table, column in list(dict.fromkeys(refs))[: MAX_COLUMNS if wanted else 0]:
        if job.is_over:
            break
        try:
            with read_only(engine, job, role) as connection:
                query = _match_column(connection, table, column, wanted, find_row_rule(rules, table))
                found += [FoundValue(table, column, str(value)) for value in connection.execute(query).scalars()]
        except QueryFailed:
            if job.stopped.is_set() or not job.is_over:
                raise
    return found


def _fold_phrases(phrases: Sequence[str]) -> list[str]:
    folded = dict.fromkeys(" ".join(phrase.split()).lower() for phrase in phrases)
    return [phrase for phrase in folded if 0 < len(phrase) <= MAX_PHRASE_CHARS][:MAX_PHRASES]


def _match_column(connection: Connection, table: str, name: str, wanted: list[str], rule: str | None) -> Select[Any]:
    from sqlalchemy import String, and_, cast, column, func, select, text

    own: Any = column(name)
    # SQLite's own function is three times as fast, and enough for phrases of A to Z only.
    is_plain = connection.dialect.name != "sqlite" or all(phrase.isascii() for phrase in wanted)
    fold = getattr(func, "lower" if is_plain else FOLD)
    where: Any = fold(cast(own, String)).in_(wanted)
    if rule is not None:  # it was parsed when it was given; a colon in it is not a parameter
        where = and_(text("(" + rule.replace(":", "\\:") + ")"), where)
    return select(own).distinct().select_from(make_table_clause(table)).where(where).limit(MAX_FOUND)


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
