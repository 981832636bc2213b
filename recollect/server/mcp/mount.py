"""MCP over HTTP: POST /mcp of `recollect serve`, behind the same middleware and authentication as every route. It is
stateless, so that any of several processes can answer the next request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from recollect.errors import Forbidden, NotFound
from recollect.server.access import caller as callers
from recollect.server.access.caller import CurrentCaller
from recollect.server.mcp import SDK_MISSING, is_sdk_installed
from recollect.server.mcp.tools import Peer
from recollect.values.identity import LOCAL

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

router = APIRouter()


@asynccontextmanager
async def run_session_manager(app: FastAPI) -> AsyncIterator[None]:
    """Keep the SDK's session manager in `app.state.mcp` while the server runs; None if the SDK is not installed."""
    app.state.mcp = None
    if not is_sdk_installed():
        yield
        return
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from recollect.server.mcp.server import make_server

    server = make_server(lambda request: cast("Request", request.request).state.peer)
    max_body = app.state.settings.max_body
    app.state.mcp = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=max_body
    )
    async with app.state.mcp.run():
        yield


@router.post("/mcp", include_in_schema=False)
async def handle_message(request: Request, caller: CurrentCaller) -> Response:
    """Answer one protocol message for the authenticated caller."""
    state = request.app.state
    if state.mcp is None:
        raise NotFound(SDK_MISSING)
    origin = request.headers.get("origin")
    # While sign-in is off, a web page of another site must not use the browser of someone on this machine.
    if caller.identity is LOCAL and origin and not callers.is_loopback(urlsplit(origin).hostname or ""):
        raise Forbidden(f"pages of {origin} need an API key to use /mcp; `recollect keys create` makes one")
    headers = callers.read_headers(request.headers)
    if callers.USER_HEADER in headers:
        caller = replace(caller, headers={"x-user-id": headers[callers.USER_HEADER]})
    request.state.peer = Peer(
        caller, state.analyst, state.librarian, headers.get(callers.SESSION_HEADER), headers.get(callers.PROJECT_HEADER)
    )
    return SdkResponse(state.mcp, await request.body())


class SdkResponse(Response):
    """The SDK's response to a request whose body was read already."""

    def __init__(self, manager: StreamableHTTPSessionManager, request_body: bytes) -> None:
        super().__init__()
        self._manager = manager
        self._request_body = request_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        messages: list[Message] = [{"type": "http.request", "body": self._request_body, "more_body": False}]

        async def receive_again() -> Message:
            return messages.pop() if messages else await receive()

        await self._manager.handle_request(scope, receive_again, send)
