"""The cache in Redis, or in a server with the same protocol such as Valkey: one hash per owner. `open_cache` makes one.
A failure never raises: the value counts as missing, and Redis is not asked until a background task got an answer."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from recollect.errors import InvalidSetting, describe_missing_extra
from recollect.ports import CacheCounts

log = logging.getLogger("recollect.cache")

TIMEOUT = 0.25  # seconds for an answer, including a new connection
FIRST_PAUSE = 0.1  # seconds until the next try; doubled with each failure
LONGEST_PAUSE = 5.0
MAX_READERS = 16  # at once, each on a connection; further ones do without
MAX_VALUE_BYTES = 65_536
MAX_VALUES = 2_000  # of one owner
MAX_WAITING = 1_000  # writes; the oldest are dropped first
MAX_PENDING_DROPS = 100_000  # owners to drop when Redis is back
BATCH = 50  # writes in one round trip
QUIET = 60  # seconds after a drop without writes: a slow request could bring back what was dropped
DROPPED = "gone"  # field of a hash that was dropped; no value has this name

# One atomic step, so that no hash is left without an expiry.
WRITE = f"""
if redis.call('HEXISTS', KEYS[1], '{DROPPED}') == 1 then return 0 end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[2]) then redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
if redis.call('TTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return 1
"""


class RedisCache:
    """A `Cache`. Use `open_cache` to make one."""

    def __init__(self, url: str, ttl: int) -> None:
        self.counts = CacheCounts()
        self.is_up = True
        self._client, self._refusals, self._failures = _client(url)
        self._ttl = ttl
        self._readers = 0
        self._waiting: deque[tuple[str, list[Any]]] = deque(maxlen=MAX_WAITING)
        self._writer: asyncio.Task[None] | None = None
        self._pending_drops: dict[str, None] = {}
        self._reconnecting: asyncio.Task[None] | None = None

    async def read(self, owner: UUID, names: Sequence[str]) -> list[bytes | None]:
        if not self.is_up or self._readers >= MAX_READERS:
            return [None] * len(names)
        self._readers += 1
        try:
            found = await self._try(lambda: self._client.execute_command("HMGET", hash_key(owner), *names))
        finally:
            self._readers -= 1
        return found if isinstance(found, list) and len(found) == len(names) else [None] * len(names)

    def write(self, owner: UUID, values: Mapping[str, bytes]) -> None:
        kept = [part for name, value in values.items() if len(value) <= MAX_VALUE_BYTES for part in (name, value)]
        if kept and self.is_up:
            self._waiting.append((hash_key(owner), kept))
            if self._writer is None or self._writer.done():
                self._writer = asyncio.create_task(self._write_waiting())

    async def drop(self, owner: UUID) -> None:
        if len(self._pending_drops) < MAX_PENDING_DROPS:
            self._pending_drops[hash_key(owner)] = None
        if self.is_up:
            await self._drop_pending()

    async def flush(self) -> None:
        """Wait until everything written so far is stored or lost."""
        while self._writer is not None and not self._writer.done():
            await asyncio.wait([self._writer])

    async def close(self) -> None:
        tasks = [task for task in (self._writer, self._reconnecting) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.aclose()

    async def _write_waiting(self) -> None:
        while self._waiting and self.is_up:
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            await self._try(partial(self._write_batch, batch))

    async def _write_batch(self, batch: Sequence[tuple[str, list[Any]]]) -> None:
        async with self._client.pipeline(transaction=False) as pipeline:
            for place, values in batch:
                pipeline.execute_command("EVAL", WRITE, 1, place, self._ttl, MAX_VALUES, *values)
            await pipeline.execute()

    async def _drop_pending(self) -> None:
        """Drop the owners that are waiting; those that fail wait on."""
        for place in list(self._pending_drops):
            if await self._try(partial(self._drop, place)):
                self._pending_drops.pop(place, None)

    async def _drop(self, place: str) -> bool:
        async with self._client.pipeline(transaction=True) as pipeline:
            pipeline.execute_command("DEL", place)
            pipeline.execute_command("HSET", place, DROPPED, b"")
            pipeline.execute_command("EXPIRE", place, QUIET)
            await pipeline.execute()
        return True

    async def _try(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """Return what Redis answers, or None. A refusal concerns one request; other errors mean that Redis is away."""
        try:
            async with asyncio.timeout(TIMEOUT):
                return await ask()
        except self._refusals as error:
            self.counts.errors += 1
            log.debug("Redis refused: %s", error)
        except self._failures as error:
            self.counts.errors += 1
            self._open_breaker(error)
        return None

    def _open_breaker(self, error: Exception) -> None:
        if self.is_up:
            self.is_up = False
            log.warning("Redis is away (%s); working without a cache until it answers", type(error).__name__)
            self._reconnecting = asyncio.create_task(self._reconnect())

    async def _reconnect(self) -> None:
        pause = FIRST_PAUSE
        while True:
            await asyncio.sleep(pause)
            await self._client.connection_pool.disconnect(inuse_connections=False)
            if await self._try(self._client.ping):
                await self._drop_pending()
                break
            pause = min(pause * 2, LONGEST_PAUSE)
        self._waiting.clear()
        self.is_up = True
        log.warning("Redis is back")


async def open_cache(url: str, ttl: int) -> RedisCache:
    """Return a cache after one try. If Redis is away, it logs this and goes on trying."""
    cache = RedisCache(url, ttl)
    await cache._try(cache._client.ping)
    return cache


def hash_key(owner: UUID) -> str:
    return f"recollect:1:{owner.hex}"


def _client(url: str) -> tuple[Any, tuple[type[Exception], ...], tuple[type[Exception], ...]]:
    """Return a client, the errors that concern one request, and those that mean that Redis is away."""
    try:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.exceptions import RedisError, ResponseError
    except ModuleNotFoundError:
        raise InvalidSetting("MEMORY_REDIS_CACHE_ENABLED", describe_missing_extra("the cache", "redis")) from None
    try:
        # RESP2: with RESP3 the pool would reuse a connection with unread data.
        # No driver_info: it would cost round trips on every new connection.
        client = Redis.from_url(url, protocol=2, retry=Retry(NoBackoff(), 0), driver_info=None)
    except (ValueError, TypeError) as error:
        raise InvalidSetting("MEMORY_REDIS_URL", f"{error}; it looks like redis://localhost:6379/0") from None
    # A server that is not Redis sends answers that cannot be parsed.
    return client, (ResponseError,), (RedisError, OSError, ValueError, TypeError)
