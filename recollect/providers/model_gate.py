"""Replies before learning: who may call a language model now. One gate per server, for the whole process.

Calls of background work (`background`) wait for a free slot, and are ended and begun again when a reply needs theirs: a
server with one slot would answer them first. Replies never wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
_in_background: ContextVar[bool] = ContextVar("in_background", default=False)
_gates: dict[str, ModelGate] = {}
QUIET = 0.5  # seconds without a reply before background work goes on


@contextmanager
def background() -> Iterator[None]:
    """Mark model calls inside as background work."""
    token = _in_background.set(True)
    try:
        yield
    finally:
        _in_background.reset(token)


def gate_for(url: str, slots: int) -> ModelGate:
    """Return the gate of a server; all adapters of one server share it."""
    gate = _gates.setdefault(url, ModelGate())
    gate.slots = slots
    return gate


class ModelGate:
    def __init__(self) -> None:
        self.slots = 1
        self.problem = ""  # why the last call failed; empty if it did not
        self._replies = 0
        self._calls: list[asyncio.Task[object]] = []  # of background work
        self._ended: set[asyncio.Task[object]] = set()  # by a reply

    @contextmanager
    def reply(self) -> Iterator[None]:
        """Hold a slot for a reply; background calls beyond the slots are ended. Background work holds none here."""
        if _in_background.get():
            yield
            return
        self._replies += 1
        for call in self._calls[max(0, self.slots - self._replies) :]:
            self._ended.add(call)
            call.cancel()
        try:
            yield
        finally:
            self._replies -= 1

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a call, in its turn."""
        if not _in_background.get():
            with self.reply():
                return await call()
        while True:
            # Polled: the first free moment is too early, because a user who got a reply often writes again.
            while self._replies + len(self._calls) >= self.slots:  # noqa: ASYNC110
                await asyncio.sleep(QUIET)
            task: asyncio.Task[T] = asyncio.ensure_future(call())
            self._calls.append(task)
            try:
                return await task
            except asyncio.CancelledError:
                if task not in self._ended:
                    task.cancel()
                    raise
            finally:
                self._calls.remove(task)
                self._ended.discard(task)
