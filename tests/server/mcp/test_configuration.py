"""The configuration for clients in docs/howto/mcp.md is true: what it starts starts, and what it calls answers."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from recollect.server.mcp.tools import TOOLS
from tests.docs.pages import ROOT, blocks

from ..http.conftest import Serve
from ..http.loopback import Keys
from .clients import over_http, over_stdio


def entries() -> list[dict[str, Any]]:
    """What each of the page's configurations says about our server."""
    told = [json.loads(block.body) for block in blocks(ROOT / "docs" / "howto" / "mcp.md") if block.language == "json"]
    return [dict((each.get("mcpServers") or each["servers"])["recollect"]) for each in told]


async def test_what_the_page_has_clients_start_lists_every_tool(database: str) -> None:
    started = [each for each in entries() if "command" in each]
    [line] = {(each["command"], *each["args"]) for each in started}
    assert line[:2] == ("recollect", "mcp")
    async with over_stdio(database, *line[2:]) as client:
        assert len((await client.list_tools()).tools) == len(TOOLS)


async def test_what_the_page_has_clients_call_answers_with_a_key_in_that_header(serve: Serve, keys: Keys) -> None:
    called = [each for each in entries() if "url" in each]
    assert {(each["type"], urlsplit(each["url"]).path) for each in called} == {("http", "/mcp")}
    [header] = {name for each in called for name, value in each["headers"].items() if value.startswith("Bearer ")}
    async with over_http(serve().url, {header: f"Bearer {keys.user}"}) as client:
        assert len((await client.list_tools()).tools) == len(TOOLS)
