"""The border: what every request passes, before any route is chosen. An id, a limit on its body, a limit on its time,
and the promise that whatever happens an envelope comes out. Plain ASGI: it costs microseconds.

When a request is done, those who keep count are told: meters, the log of operations."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from fastapi import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.doors.http.envelope import envelope, failed
from recollect.doors.http.traces import Traces
from recollect.model.ids import uuid7

log = logging.getLogger("recollect.http")
KNOWN_ID = re.compile(rb"[\w.:-]{1,128}")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
GONE = 499  # the client left before there was an answer


@dataclass(frozen=True, slots=True)
class Passed:
    """A request that is done. `state` is what its route left behind."""

    route: str
    method: str
    status: int
    seconds: float
    request_id: str
    state: dict[str, Any]


Note = Callable[[Passed], None]


class TooLarge(HTTPException):
    """The body goes on beyond its limit. Raised while it is read, where FastAPI lets only its own exceptions pass."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"the body has more than {most:,} bytes")


class Border:
    """`larger` are the paths whose bodies have a limit of their own."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        most_bytes: int,
        most_seconds: float,
        larger: Mapping[str, int] | None = None,
        notes: Sequence[Note] = (),
        traces: Traces | None = None,
    ) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._larger = larger or {}
        self._most_seconds = most_seconds
        self._notes = notes
        self._traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        crossing = Crossing(scope, receive, send, self._larger.get(scope["path"], self._most_bytes))
        started = time.perf_counter()
        try:
            with self._traces.request(crossing) if self._traces else nullcontext():
                await self._pass(crossing)
        finally:
            passed = crossing.passed(time.perf_counter() - started)
            for note in self._notes:
                note(passed)

    async def _pass(self, crossing: Crossing) -> None:
        """A stream has as long as it takes to begin; after that only its client ends it."""
        timed_out = asyncio.timeout(self._most_seconds)
        crossing.on_start = lambda: timed_out.reschedule(None)
        try:
            async with timed_out:
                await self._app(crossing.scope, crossing.receive, crossing.send)
        except ClientDisconnect:
            crossing.status = crossing.status or GONE
        # The last place that can turn anything into an answer.
        except Exception as error:  # noqa: BLE001
            crossing.on_start = lambda: None  # the clock has stopped
            if timed_out.expired():
                late = f"no answer within {self._most_seconds:g} seconds; try again"
                await crossing.answer(503, "unavailable", late, Retry_After="1")
            else:
                await self._fail(crossing, error)

    async def _fail(self, crossing: Crossing, error: Exception) -> None:
        """An answer that has begun cannot be taken back: returning here leaves it unfinished, and the server cuts the
        connection, which tells the client."""
        if crossing.status == 0:
            await failed(error, crossing.id)(crossing.scope, crossing.receive, crossing.send)
        else:
            log.error("request %s broke off: %s: %s", crossing.id, type(error).__name__, error)


class Crossing:
    """One request with its id; counts what comes in, marks what goes out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, most_bytes: int) -> None:
        self.id = request_id(scope)
        self.scope = {**scope, "state": {**scope.get("state", {}), "request_id": self.id}}
        self.status = 0
        self.on_start: Callable[[], None] = lambda: None
        self._receive = receive
        self._send = send
        self._most = self._left = most_bytes
        length = header(scope, b"content-length")
        self._is_too_large = length.isdigit() and (len(length) > 18 or int(length) > most_bytes)

    @property
    def route(self) -> str:
        """The pattern that matched. Paths that match none are one: they are anybody's invention."""
        return str(getattr(self.scope.get("route"), "path", "(none)"))

    @property
    def method(self) -> str:
        given = self.scope["method"]
        return given if given in METHODS else "(other)"

    def passed(self, seconds: float) -> Passed:
        return Passed(self.route, self.method, self.status or GONE, seconds, self.id, self.scope["state"])

    async def receive(self) -> Message:
        if self._is_too_large:
            raise TooLarge(self._most)
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise TooLarge(self._most)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.on_start()
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self.id.encode())]
        await self._send(message)

    async def answer(self, status: int, code: str, message: str, **headers: str) -> None:
        if self.status == 0:
            await envelope(status, code, message, **headers)(self.scope, self.receive, self.send)


def request_id(scope: Scope) -> str:
    given = header(scope, b"x-request-id")
    return given.decode() if KNOWN_ID.fullmatch(given) else str(uuid7())


def header(scope: Scope, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")
