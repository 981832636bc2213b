"""Fetching rows, and knowing whether they are all. The gate caps a statement, so a result that is as long as the cap
may have been cut: `fetch_rows` then counts all rows, or, where counting takes too long, asks for one row more."""

from __future__ import annotations

import logging
from dataclasses import replace

from recollect.apps.ask.gate.check import CheckedSql, check_sql
from recollect.apps.ask.semantic.access import restrict_sql
from recollect.apps.ask.source_registry import View
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sources.source import Source
from recollect.errors import QueryFailed

log = logging.getLogger("recollect.ask")
SECONDS = 30.0  # a statement may take
COUNT_SECONDS = 2.0  # counting its rows may take
MAX_COUNT = 100_000  # rows that are counted


async def fetch_rows(source: Source, view: View, statement: CheckedSql, limit: int, user: str | None) -> Rows:
    """Return at most `limit` rows of a statement that passed the gate with this cap. Where there are more,
    `is_truncated` says so, and `total` is their number if it is cheap to know."""

    async def run(sql: str, rows: int, seconds: float = SECONDS) -> Rows:
        own = restrict_sql(sql, source.dialect, view.access)
        return await source.run(own, rows=rows, timeout=seconds, user=user)

    found = await run(statement.sql, limit)
    if len(found.rows) < limit and not found.is_truncated:
        return found
    try:
        counted = check_sql(statement.full_sql, source.dialect, view.allowed, rows=MAX_COUNT + 1).sql
        [[total]] = (await run(f"SELECT COUNT(*) FROM ({counted}) AS counted", 1, COUNT_SECONDS)).rows
    except QueryFailed as error:
        log.info("the rows of a result were not counted: %s", error)
        more = check_sql(statement.full_sql, source.dialect, view.allowed, rows=limit + 1).sql
        again = await run(more, limit)
        return replace(again, seconds=again.seconds + found.seconds)
    if total > MAX_COUNT:
        return replace(found, is_truncated=True)
    return replace(found, is_truncated=total > len(found.rows), total=total)
