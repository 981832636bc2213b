"""Running: the rows of one statement, capped in number and size, as JSON can carry them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from recollect.apps.ask.sources.json_values import LONGEST_TEXT, as_json, size_of
from recollect.apps.ask.sources.statement import Job, read_only
from recollect.apps.ask.sql_text import write_sql
from recollect.errors import QueryFailed

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

MOST_BYTES = 5_000_000
BATCH = 200
LONGEST_VALUE = 1_000_000  # characters of a value that is no text, such as JSON or an array
# PostgreSQL's numbers of types whose values are short: boolean, numbers, dates and times, uuid, void.
SHORT_TYPES = frozenset((16, 20, 21, 23, 26, 700, 701, 790, 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2278, 2950))
TEXT_TYPES = frozenset((25, 1042, 1043, 19))  # text, char, varchar, name
# MySQL's: numbers, dates and times, bits; texts, blobs, JSON, enumerations and sets.
MYSQL_SHORT = frozenset((*range(14), 16, 17, 18, 19, 246))
MYSQL_TEXT = frozenset((15, 245, 247, 248, 249, 250, 251, 252, 253, 254))
DUCKDB_LONG = re.compile(r"BLOB|BIT|JSON|MAP|STRUCT|UNION|VARIANT|GEOMETRY|\[")
Kind = Literal["short", "text", "other"]
# How a value's size is compared, by the name of SQLAlchemy's dialect.
TOO_LONG = {
    "postgresql": "coalesce(octet_length({}::text) > {}, false)",
    "duckdb": "coalesce(strlen(CAST({} AS VARCHAR)) > {}, false)",
    "mysql": "coalesce(octet_length({}) > {}, false)",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """`is_truncated` if there was more than fits; `total` is then the number of all rows, if it is known."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_truncated: bool = False
    seconds: float = 0.0
    total: int | None = None


def run_statement(engine: Engine, job: Job, role: str | None, sql: str, limit: int) -> Rows:
    began = time.monotonic()
    with read_only(engine, job, role) as connection:
        cut = cut_values(connection, sql) if connection.dialect.name in TOO_LONG else None
        # A cursor of the server: it takes one statement that reads, no other, and rows come as they are fetched.
        # Without parameters, `:` and `%` are what they are.
        options = {"stream_results": True, "no_parameters": True, "max_row_buffer": cut.batch if cut else BATCH}
        result = connection.exec_driver_sql(cut.sql if cut else sql, execution_options=options)
        columns = cut.columns if cut else tuple(result.keys()) if result.returns_rows else ()
        found = cut.checked(result) if cut else result
        rows, is_truncated = capped(job, found, limit) if result.returns_rows else ((), False)
        result.close()
    return Rows(columns, rows, is_truncated, time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class Cut:
    """A statement whose long values are cut by the server: a driver reads whole rows, so a value that is too long must
    not leave the server. `batch` is how many rows may be fetched at a time; the last column tells of values that cannot
    be cut."""

    columns: tuple[str, ...]
    sql: str
    batch: int

    def checked(self, rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        for *values, is_too_long in rows:
            if is_too_long:
                raise QueryFailed(f"a value is longer than {LONGEST_VALUE:,} characters; select a part of it")
            yield tuple(values)


def cut_values(connection: Connection, sql: str) -> Cut:
    dialect = connection.dialect.name
    sql, original = with_unique_names(sql) if dialect == "mysql" else (sql, {})
    # With LIMIT 0 the statement is planned, not run; it says the types of its columns.
    options = {"no_parameters": True, "stream_results": True}
    described = connection.exec_driver_sql(f"SELECT * FROM ({sql}\n) AS statement LIMIT 0", execution_options=options)
    cursor: Any = described.cursor
    columns = tuple(original.get(name, name) for name in tuple(described.keys()))
    types = [column[1] for column in cursor.description]
    described.close()
    names = [f"c{place}" for place in range(len(types))]
    kinds = dict(zip(names, (kind_of(each, dialect) for each in types), strict=True))
    others = [name for name in names if kinds[name] == "other"]
    too_long = {name: TOO_LONG[dialect].format(name, LONGEST_VALUE) for name in others}
    shown = [
        f"left({name}, {LONGEST_TEXT + 1})"
        if kinds[name] == "text"
        else f"CASE WHEN NOT {too_long[name]} THEN {name} END"
        if name in too_long
        else name
        for name in names
    ]
    widest = LONGEST_TEXT * list(kinds.values()).count("text") + LONGEST_VALUE * len(others)
    wanted, listed = ", ".join([*shown, " OR ".join(too_long.values()) or "false"]), ", ".join(names)
    return Cut(
        columns=columns,
        # MariaDB gives names to the columns of a CTE only.
        sql=f"WITH statement ({listed}) AS ({sql}\n) SELECT {wanted} FROM statement"
        if dialect == "mysql"
        else f"SELECT {wanted} FROM ({sql}\n) AS statement ({listed})",
        batch=max(1, min(BATCH, MOST_BYTES // widest)) if widest else BATCH,
    )


def with_unique_names(sql: str) -> tuple[str, dict[str, str]]:
    """Return a MySQL statement without two columns of one name, which a derived table may not have, and the original
    name for each new one. A statement without such columns stays as it is."""
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(sql, dialect="mysql")
    except sqlglot.errors.SqlglotError:
        return sql, {}  # the database says what is wrong with it
    if not isinstance(tree, exp.Query):
        return sql, {}
    first, original, seen = tree, dict[str, str](), set[str]()
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
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


def kind_of(type_code: Any, dialect: str) -> Kind:
    """Return how the values of a column can be cut, by what the driver says of its type."""
    if dialect == "duckdb":
        name = str(type_code)
        return "text" if name == "VARCHAR" else "other" if DUCKDB_LONG.search(name) else "short"
    short, texts = (MYSQL_SHORT, MYSQL_TEXT) if dialect == "mysql" else (SHORT_TYPES, TEXT_TYPES)
    return "text" if type_code in texts else "short" if type_code in short else "other"


def capped(job: Job, result: Iterable[Any], limit: int) -> tuple[tuple[tuple[Any, ...], ...], bool]:
    kept: list[tuple[Any, ...]] = []
    size = 0
    for row in result:
        job.check()
        if len(kept) == limit:
            return tuple(kept), True
        made = tuple(as_json(value) for value in row)
        size += sum(size_of(value) for value in made)
        if size > MOST_BYTES:
            return tuple(kept), True
        kept.append(made)
    return tuple(kept), False
