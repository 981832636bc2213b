"""A fair share of a source: who may run a statement now, and who waits.

A source runs few statements at a time. One user holds at most half of the slots, and a slot that becomes free goes to
the waiting user who holds the fewest, first come first served among equals; so slow statements of one user leave room
for everybody else. Who waits too long gets an error that says whose statements they waited for.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from recollect.errors import RateLimited, SourceUnavailable

LONGEST_WAIT = 10.0  # seconds
RETRY_SECONDS = 5.0


class FairShare:
    """`slots` for all users together; each holds at most half of them."""

    def __init__(self, slots: int, longest_wait: float = LONGEST_WAIT) -> None:
        self.most = max(1, slots // 2)
        self._free = slots
        self._longest_wait = longest_wait
        self._held: Counter[str | None] = Counter()
        self._waiting: list[tuple[str | None, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, user: str | None) -> AsyncIterator[None]:
        """Hold one slot; RateLimited or SourceUnavailable if none becomes free in time."""
        await self._take(user)
        try:
            yield
        finally:
            self._give_back(user)

    async def _take(self, user: str | None) -> None:
        if self._free and self._held[user] < self.most and not self._is_anybody_next():
            self._grant(user)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((user, turn))
        try:
            async with asyncio.timeout(self._longest_wait):
                await turn
        except BaseException as error:
            if (user, turn) in self._waiting:
                self._waiting.remove((user, turn))
            elif turn.done() and not turn.cancelled():  # it was granted at the very moment
                self._give_back(user)
            if isinstance(error, TimeoutError):
                raise self._refusal(user) from None
            raise

    def _is_anybody_next(self) -> bool:
        """Whether somebody could go now who came earlier; those who only wait for their own statements do not count."""
        return any(self._held[other] < self.most for other, _ in self._waiting)

    def _grant(self, user: str | None) -> None:
        self._free -= 1
        self._held[user] += 1

    def _give_back(self, user: str | None) -> None:
        self._free += 1
        self._held[user] -= 1
        if not self._held[user]:
            del self._held[user]
        self._pass_on()

    def _pass_on(self) -> None:
        able = [each for each in self._waiting if self._held[each[0]] < self.most]
        if self._free and able:
            user, turn = min(able, key=lambda each: self._held[each[0]])
            self._waiting.remove((user, turn))
            self._grant(user)
            turn.set_result(None)

    def _refusal(self, user: str | None) -> RateLimited | SourceUnavailable:
        if self._held[user] >= self.most:
            return RateLimited(
                f"{self.most} of your statements still run on this data source; wait until one has ended", RETRY_SECONDS
            )
        return SourceUnavailable("all connections to the data source are busy; try again")
