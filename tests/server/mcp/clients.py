"""What the tests of the MCP door share: the official client on either transport, and what it gets, read."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.cli.cli_program import PROGRAM

Connect = Callable[[], AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def over_http(url: str, headers: dict[str, str], mode: str = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(dsn: str, *options: str, mode: str = "auto", command: str = PROGRAM) -> AsyncIterator[Client]:
    """A process of its own, as a client starts one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "RECOLLECT_"))}
    program = StdioServerParameters(
        command=command, args=["mcp", *options], env={**kept, "MEMORY_DB_CONNECTION_STRING": dsn}
    )
    async with Client(program, mode=mode) as client:
        yield client


def text(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


async def done(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a call gives to programs; the client itself holds it to the tool's schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text(result)
    assert text(result)
    return dict(result.structured_content)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The sentence that a call is refused with."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert "Traceback" not in text(result)
    return text(result)


async def resource(client: Client, uri: str) -> dict[str, Any]:
    [content] = (await client.read_resource(uri)).contents
    assert content.mime_type == "application/json"
    return dict(json.loads(content.text))  # type: ignore[union-attr]
