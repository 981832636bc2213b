"""Load over HTTP: a server as a process of its own, clients that cost as little as Python lets them, and what both
take. Used by bench_http.py; nothing here knows a verb."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from recollect.errors import RecollectError, StoreUnavailable

START_SECONDS = 60
STOP_SECONDS = 30
Ask = Callable[[int], Awaitable[str | None]]  # a client's next request; what was wrong with the answer


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Of all its threads, so far."""
        return sum(_nanoseconds(task) for task in Path(f"/proc/{self.pid}/task").iterdir()) / 1e9

    def resident_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


def _nanoseconds(task: Path) -> int:
    try:
        return int((task / "schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):  # the thread ended between the two looks
        return 0


@asynccontextmanager
async def served(
    command: Callable[[int], Sequence[str]], environment: Mapping[str, str], path: str
) -> AsyncIterator[Served]:
    """A process that serves on a free port, from its first answer at `path` until the end of the block."""
    port = free_port()
    with tempfile.TemporaryFile() as said:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, *command(port)], env={**os.environ, **environment}, stdout=said, stderr=said
        )
        try:
            await _answering(process, port, path)
            yield Served(port, process.pid)
        except StoreUnavailable as error:
            said.seek(0)
            raise RecollectError(f"{error}; it said: {said.read()[-2000:].decode(errors='replace')}") from error
        finally:
            await _stopped(process)


async def _answering(process: asyncio.subprocess.Process, port: int, path: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.returncode is None and time.monotonic() < deadline:
        with suppress(OSError, asyncio.IncompleteReadError):
            async with Client(port) as client:
                await client.send("GET", path)
                return
        await asyncio.sleep(0.05)
    raise StoreUnavailable("the server to be measured did not start")


async def _stopped(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


class Client:
    """One connection that is kept open, and opened anew if it broke. Use it as a context manager. It knows just as much
    of HTTP as our servers speak: an answer has a Content-Length."""

    def __init__(self, port: int, headers: Mapping[str, str] | None = None) -> None:
        self._port = port
        given = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json", **(headers or {})}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        await self._connected()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._close()

    async def send(self, method: str, path: str, body: bytes = b"", more: str = "") -> tuple[int, bytes]:
        """Status and body. `more` are further header lines."""
        length = f"Content-Length: {len(body)}\r\n"
        try:
            (await self._connected()).write(
                f"{method} {path} HTTP/1.1\r\n{self._head}{more}{length}\r\n".encode() + body
            )
            return await self._answer()
        except (OSError, asyncio.IncompleteReadError):
            await self._close()
            raise

    async def _connected(self) -> asyncio.StreamWriter:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**20)
        return self._writer

    async def _answer(self) -> tuple[int, bytes]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        _, _, rest = head.partition(b"content-length:")
        return int(head[9:12]), await self._reader.readexactly(int(rest.partition(b"\r\n")[0]))

    async def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


@dataclass(frozen=True, slots=True)
class Ran:
    """What a load came to."""

    seconds: float
    latencies: Sequence[float]  # of each request, in seconds, ascending
    problems: Sequence[str]

    @property
    def requests(self) -> int:
        return len(self.latencies)

    def percentile(self, share: float) -> float:
        """In milliseconds."""
        return self.latencies[min(int(self.requests * share), self.requests - 1)] * 1000


async def load(asks: Sequence[Ask], more: Callable[[], bool]) -> Ran:
    """Each client asks again and again, as soon as it is answered, while there is `more`."""
    latencies: list[float] = []
    problems: list[str] = []

    async def one(ask: Ask) -> None:
        n = 0
        while more():
            began = time.perf_counter()
            problem = await ask(n)
            latencies.append(time.perf_counter() - began)
            n += 1
            if problem is not None:
                problems.append(problem)

    started = time.perf_counter()
    await asyncio.gather(*(one(ask) for ask in asks))
    return Ran(time.perf_counter() - started, sorted(latencies), problems)


def so_many(count: int) -> Callable[[], bool]:
    left = iter(range(count))
    return lambda: next(left, None) is not None


def so_long(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end
