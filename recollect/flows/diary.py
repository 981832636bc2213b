"""The diary: a row per request, written after the answer has gone out. For metrics and for explain()."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

from recollect.errors import RecollectError
from recollect.model.ids import ScopeId
from recollect.store.store import Store

log = logging.getLogger("recollect.diary")
PAUSE = 0.2  # seconds in which rows gather
MOST = 10_000  # rows kept in memory while the database is away; the oldest go first


class Diary:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows: deque[tuple[ScopeId, dict[str, Any]]] = deque(maxlen=MOST)
        self._writer: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def note(self, scope: ScopeId, row: dict[str, Any]) -> None:
        """Returns at once."""
        self._rows.append((scope, row))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_soon())

    async def answered(self, scope: ScopeId, values: Mapping[str, Any]) -> None:
        """Adds what came of a request to its row, be it still here or written already."""
        for owner, row in self._rows:
            if owner == scope and row["id"] == values["id"]:
                row.update({name: value for name, value in values.items() if value is not None})
                return
        async with self._writing:
            await self._store.answered(scope, values)

    async def flush(self) -> None:
        """Everything noted so far is in the database when this returns, unless the database is away."""
        async with self._writing:
            while self._rows:
                scope = self._rows[0][0]
                batch = [row for owner, row in self._rows if owner == scope]
                await self._store.add_requests(scope, batch)
                written = {row["id"] for row in batch}
                kept = [entry for entry in self._rows if entry[1]["id"] not in written]
                self._rows.clear()
                self._rows.extend(kept)

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.cancel()
        try:
            await self.flush()
        except RecollectError as error:
            log.warning("%d requests were not noted: %s", len(self._rows), error)

    async def _write_soon(self) -> None:
        await asyncio.sleep(PAUSE)
        try:
            await self.flush()
        except RecollectError as error:
            # Metrics must never break an answer; the rows stay until the next request tries again.
            log.warning("requests are not being noted: %s", error)
