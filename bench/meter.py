"""Meter: the cost of an operation in CPU time of this process and PostgreSQL, and in wall time.

Compare CPU times: wall times on a shared machine mean little. PostgreSQL's share is read from /proc, so it is known
only if the server runs on this Linux machine; elsewhere the figures are those of the client alone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg

Work = Callable[[], Awaitable[object]]
WARM_UP = 3
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds per operation."""

    cpu: float
    wall: float


class Meter:
    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    async def cost(self, work: Work, times: int) -> Cost:
        return (await self.side_by_side([work], times))[0]

    async def side_by_side(self, works: list[Work], times: int, rounds: int = 5) -> list[Cost]:
        """Measure several operations in turns, so that other load on the machine affects all of them."""
        for work in works:
            for _ in range(WARM_UP):
                await work()
        cpu, wall = [0.0] * len(works), [0.0] * len(works)
        batch = max(1, times // rounds)
        for _ in range(rounds):
            for n, work in enumerate(works):
                spent = await self._batch(work, batch)
                cpu[n] += spent.cpu
                wall[n] += spent.wall
        total = batch * rounds
        return [Cost(c / total * 1000, w / total * 1000) for c, w in zip(cpu, wall, strict=True)]

    async def once(self, work: Work) -> Cost:
        """Measure one call without warming up."""
        spent = await self._batch(work, 1)
        return Cost(spent.cpu * 1000, spent.wall * 1000)

    async def _batch(self, work: Work, times: int) -> Cost:
        server, client, wall = self.server_seconds(), time.process_time(), time.perf_counter()
        for _ in range(times):
            await work()
        wall, client = time.perf_counter() - wall, time.process_time() - client
        after = self.server_seconds()
        grown = sum(seconds - server.get(pid, 0.0) for pid, seconds in after.items())
        return Cost(client + grown, wall)

    def server_seconds(self) -> dict[int, float]:
        """Return the CPU seconds so far of each client backend except our own. Vacuum and checkpoints are excluded:
        they would be charged to whatever is measured at the time."""
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            pids = [pid for (pid,) in connection.execute(BACKENDS)]
        seconds = {}
        for pid in pids:
            # A backend may have ended, and a remote server has no /proc entry here.
            with contextlib.suppress(OSError):
                seconds[pid] = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
        return seconds
