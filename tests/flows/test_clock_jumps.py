"""The clock of a machine is set back or forward: order, current values and learning do not depend on it."""

from __future__ import annotations

import pytest

from recollect import Lesson, Scope, connect
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.settings import Settings

MONDAY = Scope("alex", "monday")
HOURS = [-2, -9_600, 720]  # by which the clock jumps


@pytest.mark.parametrize("hours", HOURS)
async def test_messages_stay_in_the_order_of_their_recording(settings: Settings, hours: int) -> None:
    clock = FakeClock()
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        await memory.record(MONDAY, [("user", "I live in Porto.")])
        clock.advance(hours=hours)
        await memory.record(MONDAY, [("user", "I moved to Lisbon.")])

        assert [turn.text for turn in await memory.history(MONDAY)] == ["I live in Porto.", "I moved to Lisbon."]


@pytest.mark.parametrize("hours", HOURS)
async def test_the_last_value_counts_whatever_the_clock_says(settings: Settings, hours: int) -> None:
    clock = FakeClock()
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        first = await memory.learn(MONDAY, Lesson("blue", "favourite colour", "fact", owner="user"))
        clock.advance(hours=hours)
        await memory.correct(MONDAY, first.id, "green")

        active = await memory.memories(MONDAY, kinds=["fact"])
        assert [each.value for each in active] == ["green"]
        await memory.close(MONDAY, active[0].id)
        assert await memory.memories(MONDAY, kinds=["fact"]) == []


@pytest.mark.parametrize("hours", HOURS)
async def test_learning_goes_on_after_a_jump(settings: Settings, hours: int) -> None:
    clock = FakeClock()
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        await memory.record(MONDAY, [("user", "My name is Alex.")])
        await memory.settle(MONDAY)
        clock.advance(hours=hours)
        await memory.record(MONDAY, [("user", "I live in Porto.")])
        await memory.settle(MONDAY)

        values = {each.value for each in await memory.memories(MONDAY)}
        assert {"Alex", "Porto"} <= values
