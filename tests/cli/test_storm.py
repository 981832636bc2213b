"""The storm: the database of a real `recollect serve` is killed with -9 under load. Who asked meanwhile is told so at
once, what was acknowledged is there, what was repeated is there once, and nobody has to start anything again."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil  # type: ignore[import-untyped]
import pytest

from bench.http_load import run_server
from recollect.store import embedded
from recollect.store.connection import make_database

WRITERS, READERS = 8, 8
BETWEEN = 10  # lines that each writer gets through before the server is killed, and after it was
PATIENCE = 20.0  # seconds of a client, well below the time in which the server must answer any request
ACKNOWLEDGED = (200, 201)


@pytest.fixture
def own_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="recollect-storm-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Writer:
    """Says one line after another, each under its own key; one that got no answer is said again under the same."""

    client: httpx2.AsyncClient
    name: str
    kept: list[tuple[str, str]] = field(default_factory=list)  # acknowledged: ref and text
    refused: list[httpx2.Response] = field(default_factory=list)

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self.say(len(self.kept))

    async def say(self, n: int) -> None:
        answer = await self.client.post("/v1/record", **self.line(n))
        if answer.status_code in ACKNOWLEDGED:
            self.kept.append((answer.json()["refs"][0], f"line {n}"))
        else:
            self.refused.append(answer)
            await asyncio.sleep(0.05)

    def line(self, n: int) -> dict[str, Any]:
        body = {"user": self.name, "session": "monday", "turns": [{"role": "user", "text": f"line {n}"}]}
        return {"json": body, "headers": {"Idempotency-Key": f"{self.name}-{n}"}}

    async def history(self) -> list[tuple[str, str]]:
        """Every turn of the session: its ref and its text."""
        turns: list[dict[str, Any]] = []
        page: dict[str, Any] = {"next_before": None}
        while not turns or page["next_before"]:
            asked: dict[str, Any] = {"user": self.name, "session": "monday", "limit": 500}
            before = {"before": page["next_before"]} if page["next_before"] else {}
            page = (await self.client.get("/v1/history", params={**asked, **before})).json()
            turns = page["turns"] + turns
        return [(turn["source"], turn["text"]) for turn in turns]


@dataclass
class Reader:
    """Asks what somebody said, again and again."""

    client: httpx2.AsyncClient
    user: str
    answered: int = 0
    refused: list[httpx2.Response] = field(default_factory=list)

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self.ask()

    async def ask(self) -> None:
        answer = await self.client.post("/v1/context", json={"user": self.user, "session": "monday", "text": "line"})
        if answer.status_code in ACKNOWLEDGED:
            self.answered += 1
        else:
            self.refused.append(answer)
            await asyncio.sleep(0.05)


class Crowd:
    """All who talk to one server."""

    def __init__(self, clients: list[httpx2.AsyncClient]) -> None:
        self.writers = [Writer(client, f"writer-{n}") for n, client in enumerate(clients[:WRITERS])]
        self.readers = [Reader(client, f"writer-{n % WRITERS}") for n, client in enumerate(clients[WRITERS:])]
        self.all: list[Writer | Reader] = [*self.writers, *self.readers]
        self._stop = asyncio.Event()

    def start(self) -> None:
        self._running = [asyncio.create_task(each.run(self._stop)) for each in self.all]

    async def gets_through(self) -> None:
        """Until everybody was served some more."""
        lines, answers = [len(writer.kept) for writer in self.writers], [reader.answered for reader in self.readers]
        while not (
            all(len(writer.kept) >= had + BETWEEN for writer, had in zip(self.writers, lines, strict=True))
            and all(reader.answered > had for reader, had in zip(self.readers, answers, strict=True))
        ):
            for task in self._running:
                if task.done():
                    task.result()
            await asyncio.sleep(0.02)

    async def stop(self) -> None:
        self._stop.set()
        await asyncio.gather(*self._running)

    @property
    def refused(self) -> list[httpx2.Response]:
        return [each for one in self.all for each in one.refused]


async def kill_under_way(home: Path, whole: bool) -> None:
    """Halted first, so that there are requests that wait for it when it is killed."""
    pid = embedded.read_status(home).pid
    assert pid is not None
    postmaster = psutil.Process(pid)
    backends = postmaster.children(recursive=True)
    for one in (postmaster, *backends):
        with suppress(psutil.NoSuchProcess):  # a backend may leave by itself
            one.suspend()
    await asyncio.sleep(0.3)
    for one in (postmaster, *backends) if whole else (postmaster,):
        with suppress(psutil.NoSuchProcess):
            one.kill()
    for one in () if whole else backends:
        with suppress(psutil.NoSuchProcess):
            one.resume()


def serving(home: Path, dsn: str = "") -> Any:
    environment = {"RECOLLECT_HOME": str(home), "MEMORY_DB_CONNECTION_STRING": dsn}
    return run_server(lambda port: ["-m", "recollect", "serve", "--port", str(port)], environment, "/health")


@pytest.mark.parametrize("whole", [True, False], ids=["every process of it", "its postmaster"])
async def test_a_database_killed_under_load_costs_nothing_that_was_acknowledged(own_home: Path, whole: bool) -> None:
    async with serving(own_home) as server, AsyncExitStack() as stack:
        address = f"http://127.0.0.1:{server.port}"
        clients = [httpx2.AsyncClient(base_url=address, timeout=PATIENCE) for _ in range(WRITERS + READERS)]
        crowd = Crowd([await stack.enter_async_context(client) for client in clients])
        crowd.start()
        for _ in range(2):
            await crowd.gets_through()
            await kill_under_way(own_home, whole)
        await crowd.gets_through()
        await crowd.stop()

        if whole:  # of a postmaster alone, the others finish what they were asked
            assert crowd.refused
        for answer in crowd.refused:
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
            assert answer.headers["Retry-After"]
        for writer in crowd.writers:
            assert await writer.history() == writer.kept
            again = [await writer.client.post("/v1/record", **writer.line(n)) for n in (0, len(writer.kept) - 1)]
            assert [answer.json()["refs"] for answer in again] == [[writer.kept[0][0]], [writer.kept[-1][0]]]
            assert (
                await writer.history() == writer.kept == [(f"monday#{n}", f"line {n}") for n in range(len(writer.kept))]
            )


async def test_a_database_that_stays_away_is_told_of_at_once(own_home: Path) -> None:
    """One that is not ours to start again."""
    attachment = await asyncio.to_thread(embedded.attach, own_home)
    async with serving(own_home, await make_database(attachment.dsn)) as server:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=PATIENCE) as client:
            writer, reader = Writer(client, "alex"), Reader(client, "alex")
            await writer.say(0)
            await kill_under_way(own_home, whole=True)
            for n in range(2):
                await writer.say(1)
                await reader.ask()
                assert [len(writer.refused), len(reader.refused)] == [n + 1, n + 1]
        for answer in writer.refused + reader.refused:
            assert answer.status_code == 503
    await asyncio.to_thread(attachment.detach)
