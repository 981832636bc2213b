"""Load over HTTP: a server as a separate process, clients that use little CPU, and the resources of the process."""

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
Send = Callable[[int], Awaitable[str | None]]  # sends a client's n-th request; returns what was wrong, or None


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of all its threads so far."""
        return sum(read_thread_nanoseconds(task) for task in Path(f"/proc/{self.pid}/task").iterdir()) / 1e9

    def resident_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


def read_thread_nanoseconds(task: Path) -> int:
    try:
        return int((task / "schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):  # the thread has ended
        return 0


@asynccontextmanager
async def run_server(
    command: Callable[[int], Sequence[str]], environment: Mapping[str, str], path: str
) -> AsyncIterator[ServerProcess]:
    """Run a server process on a free port, from its first response at `path` until the end of the block."""
    port = find_free_port()
    with tempfile.TemporaryFile() as output:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, *command(port)], env={**os.environ, **environment}, stdout=output, stderr=output
        )
        try:
            await wait_until_ready(process, port, path)
            yield ServerProcess(port, process.pid)
        except StoreUnavailable as error:
            output.seek(0)
            raise RecollectError(f"{error}; its output: {output.read()[-2000:].decode(errors='replace')}") from error
        finally:
            await stop_process(process)


async def wait_until_ready(process: asyncio.subprocess.Process, port: int, path: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.returncode is None and time.monotonic() < deadline:
        with suppress(OSError, asyncio.IncompleteReadError):
            async with Client(port) as client:
                await client.send("GET", path)
                return
        await asyncio.sleep(0.05)
    raise StoreUnavailable("the server to be measured did not start")


async def stop_process(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


def find_free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


class Client:
    """A keep-alive connection that is reopened if it breaks; an async context manager. It knows only the HTTP that our
    servers speak: every response has a Content-Length."""

    def __init__(self, port: int, headers: Mapping[str, str] | None = None) -> None:
        self._port = port
        lines = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json", **(headers or {})}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        await self._connect()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._close()

    async def send(self, method: str, path: str, body: bytes = b"", more: str = "") -> tuple[int, bytes]:
        """Return status and body of the response. `more` are further header lines."""
        length = f"Content-Length: {len(body)}\r\n"
        try:
            (await self._connect()).write(f"{method} {path} HTTP/1.1\r\n{self._head}{more}{length}\r\n".encode() + body)
            return await self._read_response()
        except (OSError, asyncio.IncompleteReadError):
            await self._close()
            raise

    async def _connect(self) -> asyncio.StreamWriter:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**20)
        return self._writer

    async def _read_response(self) -> tuple[int, bytes]:
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
class LoadResult:
    seconds: float
    latencies: Sequence[float]  # of each request, in seconds, ascending
    problems: Sequence[str]

    @property
    def requests(self) -> int:
        return len(self.latencies)

    def percentile(self, share: float) -> float:
        """Return a percentile of the latencies in milliseconds."""
        return self.latencies[min(int(self.requests * share), self.requests - 1)] * 1000


async def run_load(sends: Sequence[Send], has_more: Callable[[], bool]) -> LoadResult:
    """Let each client send requests one after the other while `has_more`."""
    latencies: list[float] = []
    problems: list[str] = []

    async def run_client(send: Send) -> None:
        n = 0
        while has_more():
            start = time.perf_counter()
            problem = await send(n)
            latencies.append(time.perf_counter() - start)
            n += 1
            if problem is not None:
                problems.append(problem)

    started = time.perf_counter()
    await asyncio.gather(*(run_client(send) for send in sends))
    return LoadResult(time.perf_counter() - started, sorted(latencies), problems)


def count_down(count: int) -> Callable[[], bool]:
    left = iter(range(count))
    return lambda: next(left, None) is not None


def until_deadline(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end
