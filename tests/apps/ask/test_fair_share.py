"""Users share the few slots of a source fairly."""

from __future__ import annotations

import asyncio

import pytest

from recollect.apps.ask.sources.source import FairShare
from recollect.errors import RateLimited, SourceUnavailable


class Statements:
    """Statements that run until they are told to end, and the order in which they began."""

    def __init__(self, share: FairShare) -> None:
        self.share = share
        self.began: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}

    def start(self, name: str) -> asyncio.Task[None]:
        """The user is the first letter of the name."""
        self._ends[name] = asyncio.Event()
        return asyncio.create_task(self._run(name))

    async def _run(self, name: str) -> None:
        async with self.share.slot(name[0]):
            self.began.append(name)
            await self._ends[name].wait()

    async def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()
        await settled()


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_one_user_holds_at_most_half() -> None:
    running = Statements(FairShare(4))
    tasks = [running.start(name) for name in ("a1", "a2", "a3", "a4", "b1", "b2", "c1")]
    await settled()
    assert running.began == ["a1", "a2", "b1", "b2"]

    await running.end("b1")
    assert running.began[4:] == ["c1"]  # a holds two already
    await running.end("a1", "a2", "b2", "c1")
    assert running.began[5:] == ["a3", "a4"]
    await running.end("a3", "a4")
    assert all(task.done() for task in tasks)


async def test_waiting_too_long_says_for_whose_statements() -> None:
    running = Statements(FairShare(2, longest_wait=0.02))
    first = [running.start("a1"), running.start("b1")]
    await settled()

    own, others = running.start("a2"), running.start("c1")
    with pytest.raises(RateLimited, match="your statements"):
        await own
    with pytest.raises(SourceUnavailable, match="busy"):
        await others
    await running.end("a1", "b1")
    await asyncio.gather(*first)
    running.start("c2")
    await settled()
    assert running.began[-1] == "c2"
    await running.end("c2")


async def test_a_cancelled_wait_gives_up_its_place() -> None:
    running = Statements(FairShare(2))
    running.start("a1"), running.start("b1")
    waits = running.start("c1")
    await settled()
    waits.cancel()
    await settled()
    await running.end("a1", "b1")

    for name in ("d1", "e1"):
        running.start(name)
    await settled()
    assert running.began == ["a1", "b1", "d1", "e1"]
    await running.end("d1", "e1")


async def test_a_statement_that_is_cancelled_twice_gives_back_its_slot() -> None:
    running = Statements(FairShare(1))
    first, _ = running.start("a1"), running.start("b1")
    await settled()
    first.cancel()
    first.cancel()
    await settled()
    assert running.began == ["a1", "b1"]
    await running.end("b1")
