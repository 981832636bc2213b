"""`recollect serve` as a process: it says where it listens, refuses what it must, loads its sample once, and finishes
what it began when it is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import httpx2
import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from recollect import Scope, connect_sync
from recollect.server.serve import prepare
from recollect.settings import Settings
from tests.cli.cli_program import PROGRAM, Cli

from .loopback import TURNS

LISTENS = "Recollect listens on "


class Program:
    """A running `recollect serve`."""

    def __init__(self, *options: str, database: str, **environment: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "RECOLLECT_"))}
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", *options],
            env={**kept, "COLUMNS": "200", "MEMORY_DB_CONNECTION_STRING": database, **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self.url = self._url()

    def _url(self) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if LISTENS in line:
                return line.split(LISTENS)[1].split()[0]
        raise AssertionError("".join(self.said))

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.left()

    def left(self) -> int:
        """Its exit code; what else it said is in `said`."""
        assert self.process.stderr is not None
        self.said.append(self.process.stderr.read())
        return self.process.wait(timeout=60)


def kill_all(process: subprocess.Popen[str]) -> None:
    """Its worker processes too, which would outlive it."""
    with suppress(psutil.NoSuchProcess):
        for one in [*psutil.Process(process.pid).children(recursive=True), process]:
            with suppress(psutil.NoSuchProcess):
                one.kill()


@contextmanager
def running(*options: str, database: str, **environment: str) -> Iterator[Program]:
    program = Program(*options, database=database, **environment)
    try:
        yield program
    finally:
        kill_all(program.process)
        program.process.wait()
        assert program.process.stderr is not None
        program.process.stderr.close()


def test_told_to_stop_it_finishes_and_logs_the_request_at_hand(database: str) -> None:
    said: dict[str, Any] = {"user": "alex", "session": "monday", "turns": TURNS}
    answers: list[int] = []
    with running(database=database) as program, httpx2.Client(base_url=program.url, timeout=60) as http:
        assert http.post("/v1/record", json=said).status_code == 201
        with psycopg.connect(database) as connection:
            connection.execute("SELECT FROM recollect.conversation FOR UPDATE")
            slow = threading.Thread(target=lambda: answers.append(http.post("/v1/record", json=said).status_code))
            slow.start()
            wait_for_lock(database)
            program.process.send_signal(signal.SIGTERM)
            wait_until_closed(program.url)
        slow.join()
        assert answers == [201]
        assert program.left() == 0
    assert "Traceback" not in "".join(program.said)
    lines = [line for line in "".join(program.said).splitlines() if "recollect.operations" in line]
    assert len(lines) == 2
    assert all("record 201 role=admin name='local'" in line for line in lines)


def wait_for_lock(database: str) -> None:
    """Until somebody waits for a lock in this database."""
    asked = "SELECT true FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(database, autocommit=True) as connection:
        while not connection.execute(asked.encode()).fetchone():
            pass


def wait_until_closed(url: str) -> None:
    """Until the server takes no more connections: it heard that it is to stop."""
    host, _, port = url.removeprefix("http://").partition(":")
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            return


def test_the_sample_is_loaded_once_by_however_many_processes(database: str, settings: Settings) -> None:
    with running("--sample", "--workers", "2", database=database) as program:
        asked = {"user": "dana", "project": "sample", "text": "sales by region"}
        assert httpx2.post(f"{program.url}/v1/recall", json=asked, timeout=60).json()["hits"]
        unnamed = {"question": "Show me sales by region for 2024"}
        told = httpx2.post(f"{program.url}/answerQuestion", json=unnamed, timeout=60).json()
        assert len(told["execution_result"]["full"]) == 4
        assert program.stop() == 0
    assert "dana and lee" in "".join(program.said)
    first = count_sample(settings)
    assert first[0] == 10
    asyncio.run(prepare(settings, "127.0.0.1", sample=True))
    assert count_sample(settings) == first


def count_sample(settings: Settings) -> tuple[int, int]:
    with connect_sync(settings, worker=False) as memory:
        dana = Scope("dana", "monday", "sample")
        return len(memory.history(dana)), len(memory.memories(replace(dana, session=None)))


def test_an_open_door_to_the_network_is_refused_with_what_to_do(cli: Cli) -> None:
    ran = cli("serve", "--host", "0.0.0.0", "--port", "0")
    assert ran.code == 2
    assert "recollect keys create" in ran.err
    assert LISTENS not in ran.err


def test_with_a_key_it_may_be_reached_from_other_machines(cli: Cli, database: str) -> None:
    assert cli("keys", "create", "--role", "admin").code == 0
    with running("--host", "0.0.0.0", database=database) as program:
        port = program.url.rpartition(":")[2]
        assert httpx2.get(f"http://127.0.0.1:{port}/v1/memories", timeout=60).status_code == 401
        assert program.stop() == 0


@pytest.mark.parametrize(
    ("host", "problem"),
    [("127.0.0.1", "is in use on 127.0.0.1"), ("no.such.host.invalid", "cannot listen on no.such")],
)
def test_an_address_that_cannot_be_had_is_named(cli: Cli, host: str, problem: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = cli("serve", "--host", host, "--port", str(taken.getsockname()[1]))
    assert ran.code == 2
    assert problem in ran.err
    assert "Traceback" not in ran.err
