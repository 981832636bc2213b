"""Deadline: how long a request may wait for the memory database before it goes on without memory.

`with deadline(seconds, breaker):` bounds a request, `await run_in_time(work)` bounds a call in it, and the store marks
with `count_waiting()` when a call waits for PostgreSQL. Only that time counts: embedders and language models have other
limits.

A call that is late is abandoned, not awaited: the cancellation of a statement waits for a server that may be stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from recollect.errors import Conflict, InvalidInput, NotFound, StoreUnavailable

T = TypeVar("T")
OPEN_SECONDS = 5.0
FAILURES = 2  # in a row before the breaker opens: one slow answer is not an outage
LOOK_SECONDS = 0.05  # between two checks of the elapsed time
NOT_THE_STORE = (Conflict, InvalidInput, NotFound)  # errors of a store that works


class Breaker:
    """A circuit breaker. After two failures in a row, requests continue without memory at once; every few seconds one
    of them retries."""

    def __init__(self, seconds: float = OPEN_SECONDS) -> None:
        self._seconds = seconds
        self._failures = 0
        self._until: float | None = None

    def can_try(self) -> bool:
        """Return whether a request may use the store."""
        if self._until is None:
            return True
        if time.monotonic() < self._until:
            return False
        self._until = time.monotonic() + self._seconds  # other requests do not wait while this one tries
        return True

    def count_failure(self) -> None:
        self._failures += 1
        if self._failures >= FAILURES:
            self._until = time.monotonic() + self._seconds

    def reset(self) -> None:
        self._failures, self._until = 0, None


class Deadline:
    """How long one request may still wait for the store; `problem` says why it continued without memory."""

    def __init__(self, seconds: float, breaker: Breaker) -> None:
        self._seconds = seconds
        self._breaker = breaker
        self._is_open: bool | None = None  # None: the breaker was not checked yet
        self._spent = 0.0
        self._waiting = 0
        self._since = 0.0
        self._looked = time.monotonic()
        self.problem = ""

    @property
    def left(self) -> float:
        now = time.monotonic() - self._since if self._waiting else 0.0
        return self._seconds - self._spent - now

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time inside. Calls that wait at the same time count once."""
        if not self._waiting:
            self._since = self._looked = time.monotonic()
        self._waiting += 1
        try:
            yield
        finally:
            self._discount_stall()
            self._waiting -= 1
            if not self._waiting:
                self._spent += time.monotonic() - self._since

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the work returns; raise StoreUnavailable at once after a failure, or when time is up."""
        if self._is_open is None:
            self._is_open = self._breaker.can_try()
        if not self._is_open:
            work.close()
            self.problem = self.problem or "the memory database did not answer a moment ago"
            raise StoreUnavailable(self.problem)
        task = asyncio.create_task(work)
        self._looked = time.monotonic()
        try:
            while not task.done() and self.left > 0:
                await asyncio.wait({task}, timeout=min(self.left, LOOK_SECONDS))
                self._discount_stall()
        except asyncio.CancelledError:
            abandon(task)
            raise
        if not task.done():
            abandon(task)
            raise self._failed(StoreUnavailable(f"the memory database took longer than {self._seconds:g} s"))
        try:
            result = task.result()
        except NOT_THE_STORE:
            raise
        except Exception as error:  # noqa: BLE001
            raise self._failed(error) from None
        self._breaker.reset()
        return result

    def _discount_stall(self) -> None:
        """Do not count the time in which this process was too busy to look: PostgreSQL may have answered in it."""
        now = time.monotonic()
        stall = now - self._looked - 2 * LOOK_SECONDS
        if stall > 0 and self._waiting:
            self._since = min(now, self._since + stall)
        self._looked = now

    def _failed(self, error: Exception) -> Exception:
        """Record a failure; one of the store itself stops its use in this request."""
        self.problem = self.problem or (str(error) if isinstance(error, StoreUnavailable) else type(error).__name__)
        if isinstance(error, StoreUnavailable):
            self._is_open = False
            self._breaker.count_failure()
        return error


CURRENT: ContextVar[Deadline | None] = ContextVar("recollect_deadline", default=None)


@contextmanager
def deadline(seconds: float, breaker: Breaker) -> Iterator[Deadline]:
    """Bound the `run_in_time` calls inside. Within another deadline, that one applies."""
    if (outer := CURRENT.get()) is not None:
        yield outer
        return
    made = Deadline(seconds, breaker)
    token = CURRENT.set(made)
    try:
        yield made
    finally:
        CURRENT.reset(token)


async def run_in_time(work: Coroutine[Any, Any, T]) -> T:
    """Return the work's result; within a deadline, raise StoreUnavailable if the store takes too long."""
    current = CURRENT.get()
    return await (work if current is None else current.run(work))


@contextmanager
def count_waiting() -> Iterator[None]:
    """Count the time inside as waiting for PostgreSQL; used by the store."""
    current = CURRENT.get()
    if current is None:
        yield
        return
    with current.waiting():
        yield


def abandon(task: asyncio.Task[Any]) -> None:
    """Cancel a task without waiting for it; its result is read so that asyncio does not report it."""
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    task.cancel()
