"""`recollect worker`, `work` and `maintain` as an operator runs them; and upkeep, which one of many workers does.

A worker that is told to leave is a process of its own; what a command says when it is done, it says in this one too.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from recollect import Engine, Scope, connect
from recollect.learning.upkeep import UpkeepSummary
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.settings import Settings
from recollect.worker import UPKEEP_LEASE, UpkeepWorker
from tests.cli.cli_program import PROGRAM, Cli, Ran, run_program
from tests.cli.conftest import bare_cli, cli
from tests.openai_server import Answer, Server

__all__ = ["bare_cli", "cli"]
SAID = json.dumps({"choices": [{"message": {"content": '{"facts": []}'}, "finish_reason": "stop"}]})


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[Engine]:
    """Three conversations that nobody has learned from."""
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as engine:
        for n in range(3):
            await engine.record(Scope("alex", f"session {n}"), [("user", "My name is Robin.")])
        yield engine


def environment(database: str, **more: str) -> dict[str, str]:
    return {"MEMORY_DB_CONNECTION_STRING": database, "RECOLLECT_EMBEDDER": "none", **more}


@contextmanager
def started(*command: str, **given: str) -> Iterator[subprocess.Popen[str]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "RECOLLECT_"))}
    with subprocess.Popen(
        [PROGRAM, *command], env={**kept, **given}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def left(process: subprocess.Popen[str]) -> Ran:
    out, err = process.communicate(timeout=60)
    return Ran(process.returncode, out, err)


def until(happened: Callable[[], bool]) -> None:
    for _ in range(3000):
        if happened():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def column(database: str, expression: str) -> Any:
    with psycopg.connect(database) as owner:
        row = owner.execute(f"SELECT {expression} FROM recollect.conversation".encode()).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_works_until_it_is_told_to_leave(memory: Engine, database: str, number: signal.Signals) -> None:
    with started("worker", "--json", **environment(database)) as process:
        until(lambda: column(database, "count(*) FILTER (WHERE due)") == 0)
        process.send_signal(number)
        ran = left(process)

    assert (ran.code, ran.json) == (0, {"conversations": 3})
    assert ran.err.splitlines()[0] == (
        "recollect: working on up to 4 conversations at once; stop with Ctrl-C or SIGTERM"
    )
    assert "recollect: stopping: finishing running work" in ran.err.splitlines()


@pytest.fixture
def model() -> Iterator[Server]:
    one = Server()
    thread = threading.Thread(target=one.http.serve_forever, args=(0.01,))
    thread.start()
    yield one
    one.http.shutdown()
    thread.join()
    one.http.server_close()


def test_a_worker_that_leaves_finishes_what_is_at_hand_and_begins_nothing(
    memory: Engine, database: str, model: Server
) -> None:
    answered = threading.Event()

    def slow(body: dict[str, Any]) -> Answer:
        answered.wait(60)
        return 200, SAID

    model.answer = slow
    given = {"RECOLLECT_MODEL_URL": model.url, "RECOLLECT_MODEL": "slow"}
    with started("worker", "--concurrency", "1", "--json", **environment(database, **given)) as process:
        until(lambda: bool(model.bodies))
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)  # the signal arrives while the model still thinks
        assert process.poll() is None
        answered.set()
        ran = left(process)

    assert (ran.code, ran.json) == (0, {"conversations": 1})
    assert column(database, "count(*) FILTER (WHERE NOT due)") == 1
    assert column(database, "count(*) FILTER (WHERE lease_until IS NOT NULL)") == 0


@pytest.fixture
def without_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")


@pytest.mark.usefixtures("memory", "without_embedder")
def test_once_does_what_there_is_to_do(database: str, cli: Cli) -> None:
    assert cli("work", "status", "--json").json["due"] == 3
    assert run_program(PROGRAM, "worker", "--once", **environment(database)).out == ("3 conversations processed.\n")
    assert cli("worker", "--once", "--json").json == {"conversations": 0}
    status = cli("work", "status", "--json")
    none = dict.fromkeys(("due", "leased", "failing", "parked", "documents_waiting", "documents_failed"), 0)
    assert (status.code, status.json) == (0, {"ok": True, "lag": 0.0, "documents_lag": 0.0, "troubles": [], **none})


@pytest.mark.usefixtures("memory", "without_embedder")
def test_parked_work_is_told_with_its_error_and_tried_again_when_asked(
    database: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with psycopg.connect(database) as owner:
        owner.execute(
            "UPDATE recollect.conversation SET due = false, parked = '{reason}', attempts = 5, failed_at = now(),"
            " last_error = 'reason: \x1b[31mno model', retry_at = now() + interval '1 hour'"
            " WHERE session_id = 'session 1'"
        )
    status = cli("work", "status")
    assert status.code == 1
    for shown in ("parked", "reason: \N{REPLACEMENT CHARACTER}[31mno model", "next try"):
        assert shown in status.out
    seen = cli("work", "status", "--json").json
    assert (seen["due"], seen["troubles"][0]["parked"]) == (2, ["reason"])

    assert cli("work", "retry", "--json").json == {"woken": 1}
    assert cli("work", "status", "--json").json["due"] == 3
    assert cli("worker", "--once", "--json").json == {"conversations": 3}
    assert cli("work", "status").code == 0
    assert cli("work", "retry").out == "Nothing is parked.\n"


@pytest.mark.usefixtures("memory", "without_embedder")
def test_maintain_tells_what_it_erased(database: str, cli: Cli) -> None:
    with psycopg.connect(database) as owner:
        owner.execute("UPDATE recollect.conversation SET expires_at = now() WHERE session_id <> 'session 1'")

    ran = cli("maintain", "--json")
    assert (ran.code, ran.json["conversations"], ran.json["rows"]["turn"], ran.err) == (0, 2, 2, "")
    shown = cli("maintain").out.splitlines()
    assert "expired conversations 0" in {" ".join(line.split()) for line in shown}


@pytest.mark.usefixtures("without_embedder")
@pytest.mark.parametrize("command", ["worker", "worker --once", "work status", "work retry", "maintain"])
def test_an_unreachable_database_is_exit_code_4_in_every_command(
    bare_cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    away = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", away)
    ran = bare_cli(*command.split())
    assert (ran.code, ran.err.startswith("recollect: PostgreSQL does not answer")) == (4, True), ran


async def test_of_several_workers_one_does_upkeep_once_an_interval(settings: Settings, clock: FakeClock) -> None:
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        workers = [UpkeepWorker(memory._deps) for _ in range(5)]

        async def rounds() -> list[UpkeepSummary]:
            return [done for done in await asyncio.gather(*(worker.once() for worker in workers)) if done]

        counts = []
        for hours in (0, 1, 22.9, 0.2):
            clock.advance(hours=hours)
            counts.append(len(await rounds()))
        assert counts == [1, 0, 0, 1]

        # One that dies in the middle leaves it to the others.
        clock.advance(hours=24)
        assert await memory._deps.store.upkeep.claim_task("upkeep", clock.now(), clock.now() + UPKEEP_LEASE)
        assert await rounds() == []
        clock.advance(hours=1)
        assert len(await rounds()) == 1


async def test_upkeep_goes_on_by_itself_and_survives_a_failure(
    settings: Settings, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    kept = replace(settings, retention_days=7)
    async with connect(kept, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        await memory.record(Scope("alex", "monday"), [("user", "hello")])
        clock.advance(days=8)
        with psycopg.connect(settings.dsn, autocommit=True) as owner:
            owner.execute("ALTER TABLE recollect.errand RENAME TO hidden")
            running = asyncio.create_task(UpkeepWorker(memory._deps, first=0.0, every=0.01).run())
            await until_soon(lambda: "upkeep failed and is retried later" in caplog.text)
            owner.execute("ALTER TABLE recollect.hidden RENAME TO errand")
            await until_soon(lambda: owner.execute("SELECT id FROM recollect.conversation").fetchone() is None)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until_soon(happened: Callable[[], bool]) -> None:
    for _ in range(3000):
        if happened():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")
