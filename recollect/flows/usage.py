"""Usage: how often memories were used, counted in memory and written now and then, one statement per scope.

Recall and context note what they used and go on; nobody waits, and a database that is away costs counts, never answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable

from recollect.errors import RecollectError
from recollect.model.ids import MemoryId, ScopeId
from recollect.ports import Clock
from recollect.store.store import Store

log = logging.getLogger("recollect.usage")
PAUSE = 1.0  # seconds in which counts gather
MOST = 10_000  # memories counted at a time; while there are so many, others go uncounted


class Usage:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._used: dict[ScopeId, Counter[MemoryId]] = {}
        self._size = 0
        self._writer: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def note(self, scope: ScopeId, memories: Iterable[MemoryId]) -> None:
        """Returns at once."""
        self._add(scope, Counter(memories))
        if self._used and (self._writer is None or self._writer.done()):
            self._writer = asyncio.create_task(self._write_soon())

    async def flush(self) -> None:
        """Everything noted so far is in the database when this returns, unless the database is away."""
        async with self._writing:
            while self._used:
                scope = next(iter(self._used))
                used = self._used.pop(scope)
                self._size -= len(used)
                try:
                    await self._store.memories.use(scope, dict(sorted(used.items())), self._clock.now())
                except BaseException:  # also when cancelled: it may have been written, but twice is better than never
                    self._add(scope, used)
                    raise

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.cancel()
        try:
            await self.flush()
        except RecollectError as error:
            log.warning("the use of %d memories was not counted: %s", self._size, error)

    def _add(self, scope: ScopeId, used: Counter[MemoryId]) -> None:
        counted = self._used.get(scope, Counter())
        for memory, count in used.items():
            if memory in counted or self._size < MOST:
                self._size += memory not in counted
                counted[memory] += count
        if counted:
            self._used[scope] = counted

    async def _write_soon(self) -> None:
        await asyncio.sleep(PAUSE)
        try:
            await self.flush()
        except RecollectError as error:
            # Counting must never break an answer; the counts stay until the next use tries again.
            log.warning("uses of memories are not being counted: %s", error)
