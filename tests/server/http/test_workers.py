"""`recollect serve --workers 2` as processes: both under load, neither knows of the other but through PostgreSQL. What
is promised of one server holds of both together; what each counts for itself is told in docs/howto/serve.md."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any
from uuid import uuid4

import psutil  # type: ignore[import-untyped]
import pytest

from bench.http_load import Client
from recollect import Grant, Scope, connect_sync
from recollect.server.serve import listen
from recollect.settings import Settings

from .loopback import shared_settings
from .test_serve import Program, running

MONDAY = Scope("alex", "monday")
OF_EACH = 3  # clients of each process
MOST_CLIENTS = 200
UNLIMITED = {"RECOLLECT_RATE_LIMIT": "0"}


class Bound(Client):
    """A client of one process: a connection stays with whoever took it. The server closes one that is idle for some
    seconds; then it comes back to the same process, unless it is of nobody any more."""

    def __init__(self, program: Program, headers: Mapping[str, str]) -> None:
        super().__init__(int(program.url.rpartition(":")[2]), headers)
        self._program = program
        self.of: int | None = None

    async def send(self, method: str, path: str, body: bytes = b"", more: str = "") -> tuple[int, bytes]:
        try:
            return await super().send(method, path, body, more)
        except (OSError, asyncio.IncompleteReadError):
            if self.of is None:
                raise
            while await self.met() != self.of:
                await self._close()
            return await super().send(method, path, body, more)

    async def met(self) -> int:
        """The process at the other end."""
        assert (await super().send("GET", "/health"))[0] == 200
        assert self._writer is not None
        ends = [self._writer.get_extra_info(name)[1] for name in ("peername", "sockname")]
        for process in psutil.Process(self._program.process.pid).children(recursive=True):
            for held in process.net_connections("tcp"):
                if held.raddr and [held.laddr.port, held.raddr.port] == ends:
                    return int(process.pid)
        raise AssertionError("nobody took it")


@dataclass(frozen=True)
class Pair:
    """A server of two processes, and clients of each."""

    program: Program
    clients: Sequence[Sequence[Bound]]

    @property
    def everybody(self) -> list[Bound]:
        """One of each in turn."""
        return [client for both in zip(*self.clients, strict=True) for client in both]


@asynccontextmanager
async def two(database: str, secret: str = "", **environment: str) -> AsyncIterator[Pair]:
    """A server of this test's own."""
    with running("--workers", "2", database=database, **UNLIMITED | environment) as program:
        async with met(program, secret) as pair:
            yield pair


@asynccontextmanager
async def met(program: Program, secret: str = "") -> AsyncIterator[Pair]:
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    async with AsyncExitStack() as stack:
        yield Pair(program, await clients_of_both(lambda: Bound(program, headers), stack))


@pytest.fixture(scope="module")
def shared(server: str, template: str) -> Iterator[tuple[Program, Settings]]:
    """A server for the tests that leave it running, each with a session of its own."""
    with (
        shared_settings(server, template) as settings,
        running("--workers", "2", database=settings.dsn, **UNLIMITED) as program,
    ):
        yield program, settings


async def clients_of_both(make: Callable[[], Bound], stack: AsyncExitStack) -> list[list[Bound]]:
    """Connects until each process has enough; the second may be late."""
    found: dict[int, list[Bound]] = {}
    for _ in range(MOST_CLIENTS):
        client = await stack.enter_async_context(make())
        client.of = await client.met()
        found.setdefault(client.of, []).append(client)
        if len(found) == 2 and min(map(len, found.values())) >= OF_EACH:
            return [clients[:OF_EACH] for clients in found.values()]
    raise AssertionError(f"one process took all: {[len(clients) for clients in found.values()]}")


async def record(client: Client, text: str, key: str = "", session: str = "monday") -> tuple[int, dict[str, Any]]:
    body = json.dumps({"user": "alex", "session": session, "turns": [{"role": "user", "text": text}]}).encode()
    status, answer = await client.send("POST", "/v1/record", body, f"Idempotency-Key: {key or uuid4()}\r\n")
    return status, json.loads(answer)


async def read(client: Client, session: str) -> list[str]:
    status, answer = await client.send("GET", f"/v1/history?user=alex&session={session}&limit=200")
    return [turn["text"] for turn in json.loads(answer)["turns"]] if status == 200 else []


def log_of(settings: Settings) -> list[str]:
    with connect_sync(settings, worker=False) as memory:
        return [turn.text for turn in memory.history(MONDAY, limit=1000)]


async def test_a_key_that_comes_to_both_processes_at_once_is_written_once(shared: tuple[Program, Settings]) -> None:
    program, settings = shared
    async with met(program) as pair:
        for n in range(15):
            answers = await asyncio.gather(*(record(client, f"line {n}", f"key-{n}") for client in pair.everybody))

            assert {status for status, _ in answers} == {201}
            assert len({answer["refs"][0] for _, answer in answers}) == 1
        again = [await record(clients[0], "line 3", "key-3") for clients in pair.clients]

    assert [answer["refs"] for _, answer in again] == [["monday#3"]] * 2
    assert log_of(settings) == [f"line {n}" for n in range(15)]


async def test_what_one_process_acknowledged_is_in_the_next_answer_of_the_other(
    shared: tuple[Program, Settings],
) -> None:
    async with met(shared[0]) as pair:
        busy = asyncio.create_task(loaded(pair.everybody[2:], lambda client, n: read(client, "tuesday")))
        writers = islice(cycle([(0, 1), (1, 0)]), 30)
        for n, (writer, reader) in enumerate(writers):
            status, _ = await record(pair.clients[writer][0], f"line {n}", session="tuesday")
            assert status == 201
            assert (await read(pair.clients[reader][0], "tuesday"))[-1] == f"line {n}"
        busy.cancel()


async def loaded(clients: Sequence[Client], ask: Callable[[Client, int], Any]) -> None:
    """All of them, again and again, until it is cancelled or they are cut off."""

    async def one(client: Client) -> None:
        n = 0
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                await ask(client, n)
                n += 1

    await asyncio.gather(*(one(client) for client in clients))


async def test_metrics_are_of_both_processes_whichever_is_asked(shared: tuple[Program, Settings]) -> None:
    async with met(shared[0]) as pair:
        [one, *_], [other, *_] = pair.clients
        before = recorded(await metrics(one))
        for n in range(5):
            await record(one if n % 2 else other, f"line {n}", session="wednesday")

        told = [await metrics(client) for client in (one, other)]

    assert [recorded(text) - before for text in told] == [5.0, 5.0]
    assert all(text.count('recollect_work{state="due"}') == 1 for text in told)


async def metrics(client: Client) -> str:
    return (await client.send("GET", "/metrics"))[1].decode()


def recorded(text: str) -> float:
    """How many requests wrote something."""
    lines: Mapping[str, str] = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    name = 'recollect_http_seconds_count{method="POST",route="/v1/record",status="201"}'
    return float(lines.get(name, 0.0))


async def test_each_process_limits_its_callers_by_itself(database: str, settings: Settings) -> None:
    with connect_sync(settings, worker=False) as memory:
        secret = memory.keys.create(Grant(role="service", name="host", project="default")).secret
    async with two(database, secret, RECOLLECT_RATE_LIMIT="1") as pair:
        [one, *_], [other, *_] = pair.clients
        told = [(await one.send("GET", "/v1/memories?user=alex"))[0] for _ in range(40)]

        assert set(told) == {200, 429}
        assert (await other.send("GET", "/v1/memories?user=alex"))[0] == 200


async def test_told_to_stop_under_load_both_finish_what_they_began(database: str, settings: Settings) -> None:
    acknowledged: list[str] = []
    statuses: set[int] = set()
    are_busy = asyncio.Event()

    async def say(client: Client, n: int) -> None:
        text = f"{id(client)} {n}"
        status, _ = await record(client, text)
        statuses.add(status)
        acknowledged.extend([text] if status == 201 else [])
        if len(acknowledged) == 40:
            are_busy.set()

    async with two(database) as pair:
        processes = psutil.Process(pair.program.process.pid).children(recursive=True)
        for client in pair.everybody:
            client.of = None  # who is cut off stays so
        load = asyncio.create_task(loaded(pair.everybody, say))
        await are_busy.wait()
        assert await asyncio.to_thread(pair.program.stop) == 0
        await load

    assert statuses == {201}
    assert set(acknowledged) <= set(log_of(settings))
    assert [process for process in processes if is_running(process)] == []
    assert "Traceback" not in "".join(pair.program.said)


def is_running(process: psutil.Process) -> bool:
    """One that ended may still be in the list where nobody collects orphans."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


async def test_killed_parent_takes_its_workers_along(database: str) -> None:
    async with two(database) as pair:
        parent = pair.program.process
        workers = psutil.Process(parent.pid).children(recursive=True)
        port = int(pair.program.url.rpartition(":")[2])
        parent.kill()
        await asyncio.to_thread(parent.wait)

        _, alive = await asyncio.to_thread(psutil.wait_procs, workers, 60)

        assert [process for process in alive if is_running(process)] == []
        listen("127.0.0.1", port).close()
