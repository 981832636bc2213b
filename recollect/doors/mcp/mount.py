"""Over HTTP: POST /mcp of `recollect serve`. It passes what every route passes: the border, the rate limit, the same
identity (`Authorization`, `X-API-Key`). Whose memory it is may stand in headers, which clients are configured with:
`X-User-Id` or `X-Recollect-User`, `X-Recollect-Project`, `X-Recollect-Session`.

Nothing is kept between requests, so that any of several processes can answer the next one: there are no sessions of the
protocol, and no stream for a client to listen at (GET is a 405, as the protocol allows).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from recollect.doors.http.caller import Called, Caller
from recollect.doors.http.completions import PROJECT, SESSION, USER, named
from recollect.doors.mcp.peer import Hosts, Peer
from recollect.doors.mcp.sdk import MISSING, is_installed
from recollect.errors import Forbidden, NotFound
from recollect.model.identity import LOCAL

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
router = APIRouter()


def mount(app: FastAPI) -> None:
    """Adds /mcp to an application, and to its life what has to run beside it."""
    app.include_router(router)
    opened = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(within: Any) -> AsyncIterator[Any]:
        async with opened(within) as state, speaking(app):
            yield state

    app.router.lifespan_context = lifespan


@asynccontextmanager
async def speaking(app: FastAPI) -> AsyncIterator[None]:
    """The protocol, if its SDK is there."""
    app.state.mcp = None
    if not is_installed():
        yield
        return
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from recollect.doors.mcp.server import make_server

    server = make_server(lambda request: cast("Request", request.request).state.peer)
    most = app.state.settings.max_body
    app.state.mcp = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=most)
    async with app.state.mcp.run():
        yield


@router.post(PATH, include_in_schema=False)
async def speak(request: Request, called: Called) -> Response:
    """One message of the protocol; whoever sends it is asked who he is, whatever it says."""
    if request.app.state.mcp is None:
        raise NotFound(MISSING)
    check_origin(called, request.headers.get("origin"))
    request.state.peer = peer_of(called, request)
    return Spoken(request.app.state.mcp, await request.body())


def peer_of(called: Caller, request: Request) -> Peer:
    headers = named(request.headers)
    by_header = {"x-user-id": headers[USER]} if USER in headers else called.headers
    acting = replace(called, headers=by_header)
    hosts = Hosts(request.app.state.analyst, request.app.state.librarian)
    return Peer(acting, hosts, headers.get(SESSION), headers.get(PROJECT))


def check_origin(called: Caller, origin: str | None) -> None:
    """While nobody has to say who they are, a page of another site must not speak through somebody's browser."""
    from recollect.doors.http.serve import is_loopback

    if called.identity is LOCAL and origin and not is_loopback(urlsplit(origin).hostname or ""):
        raise Forbidden(f"a page of {origin} may not speak here without a key; `recollect keys create` makes one")


class Spoken(Response):
    """The SDK's answer to a request whose body is read already."""

    def __init__(self, protocol: StreamableHTTPSessionManager, body: bytes) -> None:
        super().__init__()
        self._protocol = protocol
        self._sent = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        waiting: list[Message] = [{"type": "http.request", "body": self._sent, "more_body": False}]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._protocol.handle_request(scope, again, send)
