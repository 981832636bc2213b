"""What the tests of the HTTP door share: a server in a thread, keys of each role, and envelopes read."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import uvicorn

from recollect import Grant, SyncEngine
from recollect.server.access.telemetry import Traces
from recollect.server.app import make_app
from recollect.server.serve import listen
from recollect.settings import Settings, read_settings
from tests.copied_database import copied

TURNS = [{"role": "user", "text": "The code word is heron."}, {"role": "assistant", "text": "Noted."}]


@dataclass(frozen=True)
class Served:
    """A server that answers, and the application in it."""

    url: str
    app: Any


class PromptServer(uvicorn.Server):
    """A server that stops within milliseconds, where uvicorn's takes a fifth of a second: hundreds of tests wait for
    it."""

    async def main_loop(self) -> None:
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 1
            await asyncio.sleep(0.005)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the sockets and the connections, wait for the answers under way, then end the application."""
        for closing in (*self.servers, *(sockets or ())):
            closing.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110 (uvicorn has no event)
            await asyncio.sleep(0.005)
        await self.lifespan.shutdown()


@contextmanager
def served(settings: Settings, *, worker: bool = False, traced: Traces | None = None) -> Iterator[Served]:
    app = make_app(settings, worker=worker, traced=traced)
    config = uvicorn.Config(app, log_level="warning", access_log=False, http="httptools", log_config=None)
    server = PromptServer(config)
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}", app)
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def shared_settings(server: str, template: str) -> Iterator[Settings]:
    """Settings with a database for several tests; network callers may add the SQLite files that tests make."""
    with copied(server, template) as dsn:
        folders = tempfile.gettempdir()
        yield replace(read_settings({}, dsn=dsn), rate_limit=0.0, source_folders=folders, deadline=60.0)


@dataclass(frozen=True)
class Keys:
    """The secrets: of alex, of blake (another user), of an application, of whoever keeps the words, of an admin of the
    project, and of an admin of all projects."""

    user: str
    other: str
    service: str
    data: str
    admin: str
    every: str


def keys_of_each_role(memory: SyncEngine) -> Keys:
    def made(name: str, role: Any, user: str | None = None, project: str | None = "shop") -> str:
        return memory.keys.create(Grant(role=role, name=name, project=project, user=user)).secret

    return Keys(
        made("alex", "user", "alex"),
        made("blake", "user", "blake"),
        made("host", "service"),
        made("words", "data"),
        made("boss", "admin"),
        made("root", "admin", project=None),
    )


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def refusal(answer: httpx2.Response) -> tuple[int, str, str | None]:
    """Status, code and field; whatever went wrong, it is told in the envelope."""
    told: Mapping[str, Any] = answer.json()["error"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"]
    assert told["message"]
    assert "Traceback" not in told["message"]
    return answer.status_code, told["code"], told.get("field")
