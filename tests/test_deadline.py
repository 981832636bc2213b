"""The deadline of memory: what counts as waiting, and when the circuit breaker opens."""

from __future__ import annotations

import asyncio
import time

import pytest

from recollect.deadline import Breaker, count_waiting, deadline, run_in_time
from recollect.errors import StoreUnavailable


async def answer(seconds: float) -> str:
    with count_waiting():
        await asyncio.sleep(seconds)
    return "answered"


async def fail() -> str:
    raise StoreUnavailable("stopped")


async def test_late_store_is_given_up() -> None:
    with deadline(0.1, Breaker()) as limit, pytest.raises(StoreUnavailable, match=r"longer than 0\.1 s"):
        await run_in_time(answer(60))
    assert "longer" in limit.problem


async def test_busy_process_is_not_a_late_store() -> None:
    """The store answers in time, but the event loop is blocked and cannot look."""

    async def block() -> None:
        await asyncio.sleep(0.05)
        time.sleep(0.7)  # noqa: ASYNC251

    with deadline(0.5, Breaker()) as limit:
        [result, _] = await asyncio.gather(run_in_time(answer(0.1)), block())
    assert (result, limit.problem) == ("answered", "")


async def test_breaker_opens_after_two_failures_in_a_row() -> None:
    breaker = Breaker()

    async def ask() -> str:
        with deadline(5, breaker) as limit:
            with pytest.raises(StoreUnavailable):
                await run_in_time(fail())
            return limit.problem

    assert [await ask() for _ in range(3)] == ["stopped", "stopped", "the memory database did not answer a moment ago"]


async def test_answer_between_failures_keeps_the_breaker_closed() -> None:
    breaker = Breaker()
    for work in (fail, lambda: answer(0), fail):
        with deadline(5, breaker):
            await asyncio.gather(run_in_time(work()), return_exceptions=True)
    assert breaker.can_try()
