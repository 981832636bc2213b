"""Replies come before learning: background calls to a model wait, and give way when a reply needs their slot."""

from __future__ import annotations

import asyncio

import pytest

from recollect.providers import model_gate
from recollect.providers.model_gate import ModelGate, background


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_gate, "QUIET", 0.001)


class Calls:
    """A server that answers when it is told to, and counts what it was sent."""

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self.may_answer = asyncio.Event()

    async def __call__(self) -> str:
        self.begun += 1
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.ended += 1
            raise
        return "done"


async def in_background(gate: ModelGate, call: Calls) -> str:
    with background():
        return await gate.run(call)


async def until_begun(call: Calls, count: int) -> None:
    while call.begun < count:  # noqa: ASYNC110
        await asyncio.sleep(0.001)


async def test_reply_ends_a_background_call_which_begins_again_after_it() -> None:
    gate, learning, reply = ModelGate(), Calls(), Calls()
    learned = asyncio.create_task(in_background(gate, learning))
    await until_begun(learning, 1)

    replied = asyncio.create_task(gate.run(reply))
    await until_begun(reply, 1)
    await asyncio.sleep(0.02)
    assert (learning.begun, learning.ended) == (1, 1)
    assert not learned.done()

    reply.may_answer.set()
    learning.may_answer.set()
    assert await replied == "done"
    assert await learned == "done"
    assert learning.begun == 2


async def test_background_calls_of_a_server_with_one_slot_come_one_by_one() -> None:
    gate, first, second = ModelGate(), Calls(), Calls()
    one = asyncio.create_task(in_background(gate, first))
    await until_begun(first, 1)
    two = asyncio.create_task(in_background(gate, second))
    await asyncio.sleep(0.02)
    assert second.begun == 0

    first.may_answer.set()
    second.may_answer.set()
    assert list(await asyncio.gather(one, two)) == ["done", "done"]
    assert first.ended == second.ended == 0


async def test_more_slots_leave_learning_alone() -> None:
    gate, learning, reply = ModelGate(), Calls(), Calls()
    gate.slots = 2
    learned = asyncio.create_task(in_background(gate, learning))
    await until_begun(learning, 1)
    reply.may_answer.set()
    assert await gate.run(reply) == "done"
    learning.may_answer.set()
    assert await learned == "done"
    assert (learning.begun, learning.ended) == (1, 0)


async def test_background_work_that_is_cancelled_ends_its_call() -> None:
    gate, learning = ModelGate(), Calls()
    learned = asyncio.create_task(in_background(gate, learning))
    await until_begun(learning, 1)
    learned.cancel()
    with pytest.raises(asyncio.CancelledError):
        await learned
    await asyncio.sleep(0)
    assert learning.ended == 1
