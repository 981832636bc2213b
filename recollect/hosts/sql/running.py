"""Running: the rows of one statement, capped in number and size, as JSON can carry them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recollect.hosts.sql.rendering import as_json, size_of
from recollect.hosts.sql.statement import Job, read_only

if TYPE_CHECKING:
    from sqlalchemy import Engine

MOST_BYTES = 5_000_000
BATCH = 200


@dataclass(frozen=True, slots=True)
class Rows:
    """`is_truncated` if there was more than fits."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_truncated: bool = False
    seconds: float = 0.0


def run_statement(engine: Engine, job: Job, role: str | None, sql: str, limit: int) -> Rows:
    began = time.monotonic()
    with read_only(engine, job, role) as connection:
        # A cursor of the server: it takes one statement that reads, no other, and rows come as they are fetched.
        # Without parameters, `:` and `%` are what they are.
        options = {"stream_results": True, "no_parameters": True, "max_row_buffer": BATCH}
        result = connection.exec_driver_sql(sql, execution_options=options)
        columns = tuple(result.keys()) if result.returns_rows else ()
        rows, is_truncated = capped(job, result, limit) if result.returns_rows else ((), False)
        result.close()
    return Rows(columns, rows, is_truncated, time.monotonic() - began)


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
