"""Run one statement in a read-only transaction that can be stopped from outside (`Job`, `read_only`), and return its
rows, limited in number and size, as JSON values. `run_statement` is the entry point.

When the time of a job is up or it is stopped, its statement ends on the server: SQLite is interrupted and polls
`is_over`, DuckDB is interrupted by a thread that keeps the time, PostgreSQL and MySQL are sent a cancel and keep their
own time limit in addition.

A driver reads whole rows, so a value that is too long must not leave the server: the server shortens texts and reports
other values that are too long.
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Literal

import sqlglot
from sqlglot import exp

from recollect.apps.ask.sql_text import find_first_select, write_sql
from recollect.errors import QueryFailed, RecollectError, SourceUnavailable
from recollect.values.data_source import mask_dsn

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

STEPS = 20_000  # of SQLite's virtual machine between two calls of the progress handler
THREADS = 4  # statements at one time; each has its connection
CONNECT_SECONDS = 10
CANCEL_SECONDS = 5.0
MYSQL_TIMEOUTS = (1969, 3024)  # max_statement_time of MariaDB, max_execution_time of MySQL
MOST_BYTES = 5_000_000
BATCH = 200
LONGEST_TEXT = 20_000
LONGEST_BYTES = 64
LONGEST_NUMBER = 300  # digits before the point; a longer number is text, as nothing calculates with it
LONGEST_VALUE = 1_000_000  # characters of a value that is no text, such as JSON or an array
TRUSTED_DIGITS = 12
NOISE_DIGITS = 5  # that must vanish for the rest of a number to count as noise
# PostgreSQL's numbers of types whose values are short: boolean, numbers, dates and times, uuid, void.
SHORT_TYPES = frozenset((16, 20, 21, 23, 26, 700, 701, 790, 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2278, 2950))
TEXT_TYPES = frozenset((25, 1042, 1043, 19))  # text, char, varchar, name
# MySQL's: numbers, dates and times, bits; texts, blobs, JSON, enumerations and sets.
MYSQL_SHORT = frozenset((*range(14), 16, 17, 18, 19, 246))
MYSQL_TEXT = frozenset((15, 245, 247, 248, 249, 250, 251, 252, 253, 254))
DUCKDB_LONG = re.compile(r"BLOB|BIT|JSON|MAP|STRUCT|UNION|VARIANT|GEOMETRY|\[")
Kind = Literal["short", "text", "other"]
SHOWN: Mapping[Kind, str] = {
    "short": "{name}",
    "text": "left({name}, {most})",
    "other": "CASE WHEN NOT {test} THEN {name} END",
}
# The test for a value that is too long, by the name of SQLAlchemy's dialect.
TOO_LONG = {
    "postgresql": "coalesce(octet_length({}::text) > {}, false)",
    "duckdb": "coalesce(strlen(CAST({} AS VARCHAR)) > {}, false)",
    "mysql": "coalesce(octet_length({}) > {}, false)",
}


# Transactions ---------------------------------------------------------------------------------------------------------


class NotConnected(SourceUnavailable):
    """A source cannot be reached. The message is for the log; source.py decides what the caller sees."""


class Job:
    """One piece of work on a source; `stop` may be called from any thread, at any time."""

    def __init__(self, engine: Engine, seconds: float, whole: Job | None = None) -> None:
        self.engine = engine
        self.seconds = seconds
        self.ends = time.monotonic() + seconds
        self.stopped: Event = whole.stopped if whole else Event()
        self._whole = whole
        self._driver: Any = None
        self._lock = Lock()

    def part(self, seconds: float) -> Job:
        """Return a step of this work, with less time; stopping the whole stops it."""
        return Job(self.engine, min(seconds, self.left), self)

    @property
    def left(self) -> float:
        return max(0.0, self.ends - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.stopped.is_set() or time.monotonic() >= self.ends

    def stop(self) -> None:
        with self._lock:
            self.stopped.set()
            if self._driver is not None:
                interrupt(self._driver)

    def hold(self, driver: Any) -> None:
        with self._lock:
            self._driver = driver
        if self._whole is not None:
            self._whole.hold(driver)

    def check(self) -> None:
        """Raise QueryFailed if the job is over."""
        if self.is_over:
            raise QueryFailed("the statement was stopped" if self.stopped.is_set() else explain_timeout(self.seconds))


def explain_timeout(seconds: float) -> str:
    return f"the statement took longer than {seconds:g} s and was stopped; ask for less, or raise the limit"


def interrupt(driver: Any) -> None:
    """Stop the statement that runs on a driver's connection; drivers that cannot do so are left alone."""
    if hasattr(driver, "cancel_safe"):
        driver.cancel_safe(timeout=CANCEL_SECONDS)
    elif hasattr(driver, "interrupt"):
        driver.interrupt()
    elif hasattr(driver, "cancel"):
        driver.cancel()


@contextmanager
def read_only(job: Job) -> Iterator[Connection]:
    """Open a transaction that cannot write and is always rolled back. Database errors become errors of ours."""
    job.check()
    with translate_errors(job), connect(job) as connection:
        driver = connection.connection.driver_connection
        job.hold(driver)
        done = Event()
        try:
            begin_read_only(connection, driver, job, done)
            job.check()
            yield connection
        finally:
            done.set()
            job.hold(None)
            if isinstance(driver, sqlite3.Connection):
                driver.set_progress_handler(None, 0)
            connection.rollback()


def connect(job: Job) -> Connection:
    """Return a connection, or raise NotConnected whatever the driver's error is."""
    from sqlalchemy.exc import DBAPIError

    try:
        return job.engine.connect()
    except (DBAPIError, sqlite3.Error) as error:
        if job.stopped.is_set():
            raise
        raise NotConnected(format_error(getattr(error, "orig", None) or error)) from None


def begin_read_only(connection: Connection, driver: Any, job: Job, done: Event) -> None:
    """Begin a transaction that can only read, and have the database stop its statements in time."""
    dialect = connection.dialect.name
    if dialect == "sqlite":
        driver.set_progress_handler(lambda: job.is_over, STEPS)
    elif dialect == "postgresql":
        milliseconds = max(1, round(job.left * 1000))
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        for name in ("statement_timeout", "lock_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {name} = {milliseconds}")
        connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = {milliseconds + 60_000}")
    elif dialect == "mysql":
        driver.limit_time(max(0.001, job.left))
    elif dialect == "duckdb":
        driver.begin()
        Thread(target=interrupt_late, args=(driver, job, done), daemon=True).start()


def interrupt_late(driver: Any, job: Job, done: Event) -> None:
    """Interrupt what still runs when the time is up, repeatedly, because a statement may begin just after."""
    late = done.wait(job.left)
    while not late:
        driver.interrupt()
        late = done.wait(0.1)


@contextmanager
def translate_errors(job: Job) -> Iterator[None]:
    """Raise errors of the database as QueryFailed, NotConnected or SourceUnavailable."""
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.exc import TimeoutError as PoolTimeout

    try:
        yield
    except PoolTimeout:
        raise SourceUnavailable("all connections to the data source are busy; try again") from None
    except (SQLAlchemyError, sqlite3.Error) as error:
        is_lost = getattr(error, "connection_invalidated", False)
        raise make_error(job, getattr(error, "orig", None) or error, is_lost=is_lost) from None


def make_error(job: Job, error: BaseException, *, is_lost: bool) -> RecollectError:
    if job.stopped.is_set():
        return QueryFailed("the statement was stopped")
    code = error.args[0] if error.args else None
    if job.is_over or getattr(error, "sqlstate", None) == "57014" or code in MYSQL_TIMEOUTS:
        return QueryFailed(explain_timeout(job.seconds))
    return (NotConnected if is_lost else QueryFailed)(format_error(error))


def format_error(error: BaseException) -> str:
    """Return the database's own message in one line, without secrets."""
    return mask_dsn(" ".join(str(error).split()))[:1000] or type(error).__name__


# Statements -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """`is_truncated` if there was more than fits; `total` is then the number of all rows, if it is known."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_truncated: bool = False
    seconds: float = 0.0
    total: int | None = None


def run_statement(job: Job, sql: str, limit: int) -> Rows:
    """Return the first rows of a statement."""
    began = time.monotonic()
    with read_only(job) as connection:
        limited = limit_values(connection, sql) if connection.dialect.name in TOO_LONG else LimitedStatement(sql)
        # A cursor of the server: it takes one statement that reads, no other, and rows come as they are fetched.
        # Without parameters, `:` and `%` have no other meaning.
        options = {"stream_results": True, "no_parameters": True, "max_row_buffer": limited.batch}
        result = connection.exec_driver_sql(limited.sql, execution_options=options)
        columns, rows, is_truncated = limited.columns, tuple[tuple[Any, ...], ...](), False
        if result.returns_rows:
            columns = tuple(result.keys()) if columns is None else columns
            rows, is_truncated = fetch_rows(job, limited.check_rows(result), limit)
        result.close()
    return Rows(columns or (), rows, is_truncated, time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class LimitedStatement:
    """`columns` are the statement's own names, if `sql` adds a last column that reports values that are too long;
    `batch` is how many rows may be fetched at a time."""

    sql: str
    columns: tuple[str, ...] | None = None
    batch: int = BATCH

    def check_rows(self, rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows without the added column, or raise QueryFailed for a value that is too long."""
        for row in rows:
            if self.columns is not None and row[-1]:
                raise QueryFailed(f"a value is longer than {LONGEST_VALUE:,} characters; select a part of it")
            yield tuple(row) if self.columns is None else tuple(row)[:-1]


def limit_values(connection: Connection, sql: str) -> LimitedStatement:
    """Return the statement with long texts shortened and other long values reported."""
    dialect = connection.dialect.name
    sql, original = make_names_unique(sql) if dialect == "mysql" else (sql, {})
    # With LIMIT 0 the statement is planned, not run; it returns the types of its columns.
    options = {"no_parameters": True, "stream_results": True}
    described = connection.exec_driver_sql(f"SELECT * FROM ({sql}\n) AS statement LIMIT 0", execution_options=options)
    cursor: Any = described.cursor
    columns = tuple(original.get(name, name) for name in tuple(described.keys()))
    kinds = [classify_column(column[1], dialect) for column in cursor.description]
    described.close()
    shown, too_long = [], []
    for place, kind in enumerate(kinds):
        test = TOO_LONG[dialect].format(f"c{place}", LONGEST_VALUE)
        shown.append(SHOWN[kind].format(name=f"c{place}", most=LONGEST_TEXT + 1, test=test))
        too_long += [test] if kind == "other" else []
    wanted, names = ", ".join([*shown, " OR ".join(too_long) or "false"]), ", ".join(f"c{n}" for n in range(len(kinds)))
    widest = LONGEST_TEXT * kinds.count("text") + LONGEST_VALUE * len(too_long)
    made = f"SELECT {wanted} FROM ({sql}\n) AS statement ({names})"
    if dialect == "mysql":  # MariaDB gives names to the columns of a CTE only
        made = f"WITH statement ({names}) AS ({sql}\n) SELECT {wanted} FROM statement"
    return LimitedStatement(made, columns, max(1, min(BATCH, MOST_BYTES // widest)) if widest else BATCH)


def make_names_unique(sql: str) -> tuple[str, dict[str, str]]:
    """Return a MySQL statement without two columns of one name, which a derived table may not have, and the original
    name for each new one. A statement without such columns stays as it is."""
    try:
        tree = sqlglot.parse_one(sql, dialect="mysql")
    except sqlglot.errors.SqlglotError:
        return sql, {}  # the database says what is wrong with it
    first, original, seen = find_first_select(tree) or exp.Select(), dict[str, str](), set[str]()
    shown = list(first.selects)
    for place, column in enumerate(shown):
        name = column.alias_or_name
        if name.lower() in seen and not column.is_star:
            original[f"{name} #{place}"] = name
            shown[place] = exp.alias_(column.unalias(), f"{name} #{place}", quoted=True)
        seen.add(name.lower())
    if not original:
        return sql, {}
    first.set("expressions", shown)
    return write_sql(tree, "mysql"), original


def classify_column(type_code: Any, dialect: str) -> Kind:
    """Return how the values of a column can be cut, by what the driver says of its type."""
    if dialect == "duckdb":
        name = str(type_code)
        return "text" if name == "VARCHAR" else "other" if DUCKDB_LONG.search(name) else "short"
    short, texts = (MYSQL_SHORT, MYSQL_TEXT) if dialect == "mysql" else (SHORT_TYPES, TEXT_TYPES)
    return "text" if type_code in texts else "short" if type_code in short else "other"


def fetch_rows(job: Job, rows: Iterable[Any], limit: int) -> tuple[tuple[tuple[Any, ...], ...], bool]:
    """Return the rows that fit, and whether there were more."""
    kept: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        job.check()
        made = tuple(map(convert_value, row))
        size += sum(map(measure_size, made))
        if len(kept) == limit or size > MOST_BYTES:
            return tuple(kept), True
        kept.append(made)
    return tuple(kept), False


# Values as JSON -------------------------------------------------------------------------------------------------------


def convert_value(value: Any) -> Any:
    """Return a database's value as JSON can hold it: decimals keep their digits, dates and times are ISO text."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…"
        case float():
            return _convert_float(value)
        case Decimal():
            return _convert_decimal(value)
        case Mapping():
            return {str(key): convert_value(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return list(map(convert_value, value))
    return _convert_bytes(value) if isinstance(value, bytes | bytearray | memoryview) else str(value)[:LONGEST_TEXT]


def _convert_float(value: float) -> float | str:
    """Return the number without noise: sums of cents in a database without decimals end in it, as 523.0600000000003."""
    if not math.isfinite(value):
        return _name_special(Decimal(value))
    near = float(f"{value:.{TRUSTED_DIGITS}g}")
    return near if len(repr(near)) + NOISE_DIGITS <= len(repr(value)) else value


def _convert_decimal(value: Decimal) -> int | float | str:
    """Return a number if it survives as one, otherwise its digits."""
    if not value.is_finite():
        return _name_special(value)
    if value.adjusted() >= LONGEST_NUMBER:
        return f"{value:f}"[:LONGEST_TEXT]
    if int(value.as_tuple().exponent) >= 0:
        return int(value)
    near = float(value)
    return near if Decimal(repr(near)) == value else format(value, "f")


def _name_special(value: Decimal) -> str:
    return "NaN" if value.is_nan() else "Infinity" if value > 0 else "-Infinity"


def _convert_bytes(value: bytes | bytearray | memoryview) -> str:
    shown = f"0x{bytes(value[:LONGEST_BYTES]).hex()}"
    return shown if len(value) <= LONGEST_BYTES else f"{shown}… ({len(value):,} bytes)"


def measure_size(value: Any) -> int:
    """Return about how many bytes a value takes as JSON."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, Mapping):
        return sum(measure_size(key) + measure_size(inner) for key, inner in value.items()) + 2
    return sum(map(measure_size, value)) + 2 if isinstance(value, list) else 8
