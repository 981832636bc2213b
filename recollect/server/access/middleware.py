"""The middleware that every request passes before a route is chosen: a request id, limits, and an error response
whatever happens. Observers are called when a request is finished: metrics, and the log of operations."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from fastapi import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.server.access.responses import error_response, unexpected_error_response
from recollect.server.access.telemetry import Traces
from recollect.values.identity import Action, Identity
from recollect.values.scope import Scope as MemoryScope
from recollect.values.scope import uuid7

log = logging.getLogger("recollect.http")
operations = logging.getLogger("recollect.operations")
REQUEST_ID = re.compile(rb"[\w.:-]{1,128}")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
HEALTH = frozenset({"/health", "/ready"})
CLIENT_CLOSED = 499  # the client left before there was an answer
READS: frozenset[Action] = frozenset(
    (
        *("recall", "context", "history", "explain", "resolve", "resolve_all", "memories", "episodes", "rejections"),
        *("settle", "audit", "terms", "memories_project", "audit_project", "report", "metrics", "ask"),
        *("data_sources", "documents"),
    )
)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a request tried to do. `scope` is None if it was refused."""

    action: Action
    identity: Identity
    scope: MemoryScope | None = None


def log_operation(finished: CurrentRequest) -> None:
    """Log one line for a request that wrote, erased or exported something; on with MEMORY_LOG_OPERATIONS.

    The line names the caller, the action, the status and the id of the scope, which is a hash; never any text.
    """
    done = finished.scope["state"].get("operation")
    if not isinstance(done, Operation) or done.action in READS:
        return
    if finished.method == "GET" and done.action != "export":
        return
    operations.info(
        "%s %s role=%s name=%r scope=%s request=%s",
        done.action,
        finished.status,
        done.identity.role,
        done.identity.name,
        "-" if done.scope is None else done.scope.id,
        finished.id,
    )


class BodyTooLarge(HTTPException):
    """The body is longer than its limit. An HTTPException, since FastAPI lets no other pass while it reads a body."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"the body has more than {most:,} bytes")


@dataclass(slots=True)
class RequestMiddleware:
    """`larger` has the paths whose bodies have a limit of their own."""

    app: ASGIApp
    most_bytes: int
    most_seconds: float
    most_requests: int = 0
    larger: Mapping[str, int] = field(default_factory=dict)
    observers: Sequence[Callable[[CurrentRequest], None]] = ()
    traces: Traces | None = None
    running: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        current = CurrentRequest(scope, receive, send, self.larger.get(scope["path"], self.most_bytes))
        started = time.perf_counter()
        self.running += 1
        try:
            with self.traces.trace_request(current) if self.traces else nullcontext():
                if 0 < self.most_requests < self.running and scope["path"] not in HEALTH:  # always answered
                    busy = f"the server works on {self.most_requests} requests already; try again in a moment"
                    refusal = error_response(429, "rate_limited", busy, Retry_After="1")
                    await refusal(current.scope, current.receive, current.send)
                else:
                    await self._run(current)
        finally:
            self.running -= 1
            current.seconds = time.perf_counter() - started
            current.status = current.status or CLIENT_CLOSED
            for observe in self.observers:
                observe(current)

    async def _run(self, current: CurrentRequest) -> None:
        """Run the application. The time limit ends when the response starts: a stream may take as long as it likes."""
        timeout = asyncio.timeout(self.most_seconds)
        current.on_start = lambda: timeout.reschedule(None)
        try:
            async with timeout:
                await self.app(current.scope, current.receive, current.send)
        except ClientDisconnect:
            current.status = current.status or CLIENT_CLOSED
        # The last place that can turn any error into a response.
        except Exception as error:  # noqa: BLE001
            current.on_start = lambda: None  # the timeout is over
            # A response that has begun cannot be taken back: returning here leaves it unfinished, and the server
            # closes the connection, which tells the client.
            if current.status != 0:
                if not timeout.expired():
                    log.error("request %s broke off: %s: %s", current.id, type(error).__name__, error)
                return
            if timeout.expired():
                late = f"no answer within {self.most_seconds:g} seconds; try again"
                response = error_response(503, "unavailable", late, Retry_After="1")
            else:
                response = unexpected_error_response(error, current.id)
            await response(current.scope, current.receive, current.send)


class CurrentRequest:
    """One request with its id. Limits the body while it is received, and adds the id to the response."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, most_bytes: int) -> None:
        given = read_header(scope, b"x-request-id")
        self.id = given.decode() if REQUEST_ID.fullmatch(given) else str(uuid7())
        self.scope = {**scope, "state": {**scope.get("state", {}), "request_id": self.id}}
        self.status = 0
        self.seconds = 0.0  # once it is finished
        self.on_start: Callable[[], None] = lambda: None
        self._receive = receive
        self._send = send
        self._most = self._left = most_bytes
        length = read_header(scope, b"content-length")
        self._is_too_large = length.isdigit() and (len(length) > 18 or int(length) > most_bytes)

    @property
    def route(self) -> str:
        """The pattern that matched. All paths that match none count as one: callers can invent any number."""
        return str(getattr(self.scope.get("route"), "path", "(none)"))

    @property
    def method(self) -> str:
        given = self.scope["method"]
        return given if given in METHODS else "(other)"

    async def receive(self) -> Message:
        if self._is_too_large:
            raise BodyTooLarge(self._most)
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise BodyTooLarge(self._most)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.on_start()
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self.id.encode())]
        await self._send(message)


def read_header(scope: Scope, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")
