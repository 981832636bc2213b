"""A message that breaks our own code: it is logged and counted, and nothing else waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from recollect import Engine, Scope, StoreUnavailable, connect
from recollect.flows import derive, learn
from recollect.learning import claims
from recollect.providers.fake import FakeReasoner
from recollect.settings import Settings
from recollect.values.work import MOST_TRIES
from recollect.worker import Worker

MONDAY, TUESDAY = Scope("alex", "monday"), Scope("alex", "tuesday")
POISON = "The poison is in the cup, I don't drink it any more. Forget that I drink poison."


def break_on_poison(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """Make a function fail for each call that has the poison in it."""
    works: Callable[..., Any] = getattr(module, name)

    def fail(*given: Any) -> Any:
        if "poison" in repr(given):
            raise KeyError("poison")
        return works(*given)

    monkeypatch.setattr(module, name, fail)


@pytest.mark.parametrize("name", ["extract_turn", "reports_change", "build_changes", "build_retractions"])
async def test_later_messages_are_learned_after_one_that_fails(
    memory: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    break_on_poison(monkeypatch, learn, name)
    await memory.record(MONDAY, [("user", "My name is Alex."), ("user", POISON), ("user", "I live in Graz.")])

    await memory.settle(MONDAY)

    assert {each.key: each.value for each in await memory.memories(MONDAY)}.items() >= {
        ("name", "Alex"),
        ("location", "Graz"),
    }
    assert (await memory.rejections(MONDAY))["failed"] == 1
    assert (await memory.health()).ok
    [failed] = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert "monday#1" in failed.getMessage()
    assert failed.exc_info


async def test_a_model_s_answer_that_fails_is_not_asked_for_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasoner = FakeReasoner("0, fact, poison, in the cup", "0, fact, drink, tea")
    break_on_poison(monkeypatch, claims, "judge_claim")
    async with connect(settings, reasoner=reasoner, worker=False) as memory:
        for text in (POISON, "I like to drink tea."):
            await memory.record(MONDAY, [("user", text)])
            await memory.settle(MONDAY)

        assert len(reasoner.asked) == 2
        assert (await memory.rejections(MONDAY))["failed"] == 1
        assert (await memory.health()).ok


async def test_a_stage_that_fails_is_shown_and_parked_while_the_others_go_on(
    memory: Engine, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_on_poison(monkeypatch, derive, "summarize_by_quoting")
    worker = Worker(memory._deps)
    await memory.record(MONDAY, [("user", POISON), *(("user", f"line {n}") for n in range(60))])
    await memory.record(TUESDAY, [("user", "My name is Alex.")])

    for _ in range(MOST_TRIES):
        await worker.once()
        assert [each.value for each in await memory.memories(TUESDAY, key="name")] == ["Alex"]
        assert not (await memory.health()).ok
        with psycopg.connect(database) as owner:  # the pause is over
            owner.execute("UPDATE recollect.conversation SET lease_until = NULL")

    work = (await memory.health()).work
    assert work
    assert (work.failing, work.parked) == (0, 1)
    assert work.troubles[0].parked == ["episodes"]
    assert work.troubles[0].error.startswith("episodes: KeyError in test_broken_learning.py")
    assert "poison" not in work.troubles[0].error
    await memory.record(MONDAY, [("user", "I live in Graz.")])
    await worker.drain()
    assert [each.value for each in await memory.memories(MONDAY, key="location")] == ["Graz"]


async def test_a_statement_that_the_database_refuses_is_retried_and_parked(
    memory: Engine, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any) -> None:
        with psycopg.connect(database) as owner:
            owner.execute("SELECT 1/0")

    monkeypatch.setattr(derive, "learn_by_rules", refuse)
    worker = Worker(memory._deps)
    await memory.record(MONDAY, [("user", "My name is Alex.")])

    for _ in range(MOST_TRIES):
        await worker.once()
        with psycopg.connect(database) as owner:
            owner.execute("UPDATE recollect.conversation SET lease_until = NULL")

    work = (await memory.health()).work
    assert work
    assert work.troubles[0].parked == ["learn"]


async def test_a_database_that_is_away_counts_as_no_try(memory: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(derive, "learn_by_rules", refuse)
    await memory.record(MONDAY, [("user", "My name is Alex.")])

    with pytest.raises(StoreUnavailable):
        await Worker(memory._deps).once()


async def test_a_worker_goes_on_after_any_error(memory: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, tries, is_done = Worker(memory._deps, every=0.01), list[int](), asyncio.Event()
    find, process = worker.find, worker.process

    async def fail_once() -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise KeyError("a row that nobody expected")
        return await find()

    async def process_and_tell(*given: Any) -> bool:
        done = await process(*given)
        is_done.set()
        return done

    monkeypatch.setattr(worker, "find", fail_once)
    monkeypatch.setattr(worker, "process", process_and_tell)
    await memory.record(MONDAY, [("user", "My name is Alex.")])
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(30):
        await is_done.wait()
    running.cancel()
    await asyncio.wait([running])

    assert running.cancelled()
    assert [each.value for each in await memory.memories(MONDAY)] == ["Alex"]
