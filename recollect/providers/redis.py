"""The cache in Redis, or in a server that speaks its protocol, such as Valkey: one hash per owner.

A hash lives for `ttl` seconds from its first value and starts anew when it grows too large. Whatever goes wrong, the
answer is "not there": the first failure opens a breaker, nobody asks Redis while it is open, and a task of ours tries
in the background until Redis answers again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from recollect.errors import InvalidSetting
from recollect.ports import CacheCounts

log = logging.getLogger("recollect.cache")

WAIT = 0.25  # seconds that an answer may take, a new connection included
FIRST_PAUSE = 0.1  # seconds until the next try; doubled with each failure
LONGEST_PAUSE = 5.0
MOST_AT_ONCE = 16  # readers, each on a connection; more do without
MOST_BYTES = 65_536  # of one value
MOST_VALUES = 2_000  # of one owner
MOST_WAITING = 1_000  # writes; the oldest go first
MOST_OWED = 100_000  # owners to drop when Redis is back
AT_ONCE = 50  # writes in one round trip
QUIET = 60  # seconds after a drop in which nothing is kept: a slow request could bring back what was dropped
GONE = "gone"  # a name that nothing else has

# One atomic step, so that no hash is ever left without an end.
WRITE = f"""
if redis.call('HEXISTS', KEYS[1], '{GONE}') == 1 then return 0 end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[2]) then redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
if redis.call('TTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return 1
"""


class RedisCache:
    """A `Cache`. Made by `opened`."""

    def __init__(self, url: str, ttl: int) -> None:
        self.counts = CacheCounts()
        self.is_up = True
        self._client, self._refusals, self._failures = _client(url)
        self._ttl = ttl
        self._readers = 0
        self._waiting: deque[tuple[str, list[Any]]] = deque(maxlen=MOST_WAITING)
        self._writer: asyncio.Task[None] | None = None
        self._owed: dict[str, None] = {}
        self._mending: asyncio.Task[None] | None = None

    async def read(self, owner: UUID, names: Sequence[str]) -> list[bytes | None]:
        if not self.is_up or self._readers >= MOST_AT_ONCE:
            return [None] * len(names)
        self._readers += 1
        try:
            found = await self._tried(lambda: self._client.execute_command("HMGET", key(owner), *names))
        finally:
            self._readers -= 1
        return found if isinstance(found, list) and len(found) == len(names) else [None] * len(names)

    def write(self, owner: UUID, values: Mapping[str, bytes]) -> None:
        kept = [part for name, value in values.items() if len(value) <= MOST_BYTES for part in (name, value)]
        if kept and self.is_up:
            self._waiting.append((key(owner), kept))
            if self._writer is None or self._writer.done():
                self._writer = asyncio.create_task(self._write_waiting())

    async def drop(self, owner: UUID) -> None:
        if len(self._owed) < MOST_OWED:
            self._owed[key(owner)] = None
        if self.is_up:
            await self._pay()

    async def flush(self) -> None:
        """What was written so far is there, or lost."""
        while self._writer is not None and not self._writer.done():
            await asyncio.wait([self._writer])

    async def close(self) -> None:
        tasks = [task for task in (self._writer, self._mending) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.aclose()

    async def _write_waiting(self) -> None:
        while self._waiting and self.is_up:
            batch = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
            await self._tried(partial(self._write_batch, batch))

    async def _write_batch(self, batch: Sequence[tuple[str, list[Any]]]) -> None:
        async with self._client.pipeline(transaction=False) as pipeline:
            for place, values in batch:
                pipeline.execute_command("EVAL", WRITE, 1, place, self._ttl, MOST_VALUES, *values)
            await pipeline.execute()

    async def _pay(self) -> None:
        """Drops what is owed; what fails stays owed."""
        for place in list(self._owed):
            if await self._tried(partial(self._drop, place)):
                self._owed.pop(place, None)

    async def _drop(self, place: str) -> bool:
        async with self._client.pipeline(transaction=True) as pipeline:
            pipeline.execute_command("DEL", place)
            pipeline.execute_command("HSET", place, GONE, b"")
            pipeline.execute_command("EXPIRE", place, QUIET)
            await pipeline.execute()
        return True

    async def _tried(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """What Redis answers, or None. A refusal is about one request; anything else means that Redis is away."""
        try:
            async with asyncio.timeout(WAIT):
                return await ask()
        except self._refusals as error:
            self.counts.errors += 1
            log.debug("Redis refused: %s", error)
        except self._failures as error:
            self.counts.errors += 1
            self._went_away(error)
        return None

    def _went_away(self, error: Exception) -> None:
        if self.is_up:
            self.is_up = False
            log.warning("Redis is away (%s); working without a cache until it answers", type(error).__name__)
            self._mending = asyncio.create_task(self._mend())

    async def _mend(self) -> None:
        pause = FIRST_PAUSE
        while True:
            await asyncio.sleep(pause)
            await self._client.connection_pool.disconnect(inuse_connections=False)
            if await self._tried(self._client.ping):
                await self._pay()
                break
            pause = min(pause * 2, LONGEST_PAUSE)
        self._waiting.clear()
        self.is_up = True
        log.warning("Redis is back")


async def opened(url: str, ttl: int) -> RedisCache:
    """A cache that was tried once: if Redis is away, it says so and goes on trying."""
    cache = RedisCache(url, ttl)
    await cache._tried(cache._client.ping)
    return cache


def key(owner: UUID) -> str:
    return f"recollect:1:{owner.hex}"


def _client(url: str) -> tuple[Any, tuple[type[Exception], ...], tuple[type[Exception], ...]]:
    """A client, the errors that are about one request, and those that mean it is away."""
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import RedisError, ResponseError

    try:
        # RESP2: with 3 the pool takes a connection on which something waits to be read for a good one.
        # No driver_info: to tell our name would take more round trips before a connection can be used.
        client = Redis.from_url(url, protocol=2, retry=Retry(NoBackoff(), 0), driver_info=None)
    except (ValueError, TypeError) as error:
        raise InvalidSetting("MEMORY_REDIS_URL", f"{error}; it looks like redis://localhost:6379/0") from None
    # A peer that is no Redis at all answers what cannot be read as numbers or lists.
    return client, (ResponseError,), (RedisError, OSError, ValueError, TypeError)
