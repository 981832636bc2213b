"""The MCP server: tools, resources and the prompt behind the protocol's SDK. Over stdio only the protocol is written to
stdout."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from recollect import InvalidInput, NotFound, Query, RecollectError, Scope, Settings, connect
from recollect.admin import watch_stop_signals
from recollect.bootstrap import open_analyst, open_librarian
from recollect.prompts import mark_data, render_prompt
from recollect.server.mcp.results import to_text
from recollect.server.mcp.tools import TOOLS, Peer, Tool, make_local_peer
from recollect.values.serialization import to_json

INTERNAL_ERROR = "internal error; see the server's log"
ERROR_CODES: Mapping[str, int] = {
    "invalid_request": types.INVALID_PARAMS,
    "not_found": types.INVALID_PARAMS,
    "unauthorized": types.INVALID_REQUEST,
    "forbidden": types.INVALID_REQUEST,
}
ARGUMENT_ERRORS = {"missing": "is required", "extra_forbidden": "is not an argument of this tool"}
TOOLS_BY_NAME = {tool.name: tool for tool in TOOLS}
Request = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams | None
T = TypeVar("T")
log = logging.getLogger("recollect.mcp")


def make_server(find_peer: Callable[[Request], Peer]) -> Server[Any]:
    async def call(request: Request, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await call_tool(find_peer(request), params.name, params.arguments or {})

    async def read(request: Request, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        reading = read_resource(find_peer(request), params.uri)
        text = await convert_errors(f"resource {params.uri}", reading)
        content = types.TextResourceContents(uri=params.uri, mime_type=JSON, text=text)
        return types.ReadResourceResult(contents=[content])

    async def get_prompt(request: Request, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != WITH_MEMORY:
            problem = f"there is no prompt {params.name!r}; there is {WITH_MEMORY}"
            raise MCPError(types.INVALID_PARAMS, problem)
        building = build_prompt(find_peer(request), params.arguments or {})
        texts = await convert_errors("the prompt", building)
        return types.GetPromptResult(
            description="A question with relevant memory.",
            messages=[types.PromptMessage(role="user", content=make_text(text)) for text in texts],
        )

    server: Server[Any] = Server(
        "recollect",
        title="Recollect",
        version=version("recollect"),
        instructions=" ".join(LISTS["instructions"].split()),
        on_list_tools=always(types.ListToolsResult(tools=[describe_tool(tool) for tool in TOOLS])),
        on_call_tool=call,
        on_list_resources=always(types.ListResourcesResult(resources=RESOURCES)),
        on_list_resource_templates=always(types.ListResourceTemplatesResult(resource_templates=TEMPLATES)),
        on_read_resource=read,
        on_list_prompts=always(types.ListPromptsResult(prompts=PROMPTS)),
        on_get_prompt=get_prompt,
    )
    # The SDK's own tracing spans would contain what clients send.
    server.middleware.clear()
    return server


def always(result: T) -> Callable[[Request, Page], Awaitable[T]]:
    """Return a handler of requests for a list that is the same for every peer."""

    async def handle(request: Request, params: Page) -> T:
        return result

    return handle


def describe_tool(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.arguments.model_json_schema(),
        output_schema=tool.result.model_json_schema(mode="serialization"),
        annotations=types.ToolAnnotations(title=tool.title, open_world_hint=False, **tool.hints),
    )


async def call_tool(peer: Peer, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """Run a tool. An error becomes a message that names the argument, for the assistant to correct it."""
    if (tool := TOOLS_BY_NAME.get(name)) is None:
        raise MCPError(types.INVALID_PARAMS, f"there is no tool {name!r}; there are {', '.join(TOOLS_BY_NAME)}")
    try:
        result = await tool.run(peer, **vars(tool.arguments.model_validate(arguments)))
    except ValidationError as error:
        problem = explain_validation(error)
    except InvalidInput as error:
        problem = str(error.as_written({name: name for name in tool.arguments.model_fields}))
    except RecollectError as error:
        problem = str(error)
    # The last place that can turn an unexpected error into a message.
    except Exception:
        log.exception("tool %s failed", name)
        problem = INTERNAL_ERROR
    else:
        structured = to_jsonable_python(to_json(result))
        return types.CallToolResult(content=[make_text(to_text(result))], structured_content=structured)
    return types.CallToolResult(content=[make_text(problem)], is_error=True)


async def convert_errors(subject: str, work: Awaitable[T]) -> T:
    """Await what is not a tool, and raise its errors as errors of the protocol."""
    try:
        return await work
    except RecollectError as error:
        raise MCPError(ERROR_CODES.get(error.code, types.INTERNAL_ERROR), str(error)) from None
    # The last place that can turn an unexpected error into a message.
    except Exception:
        log.exception("%s failed", subject)
        raise MCPError(types.INTERNAL_ERROR, INTERNAL_ERROR) from None


def explain_validation(error: ValidationError) -> str:
    """Return the first problem, with the path of its argument."""
    first = error.errors(include_url=False)[0]
    path = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in first["loc"]).lstrip(".")
    return f"{path}: {ARGUMENT_ERRORS.get(first['type'], first['msg'])}"


def make_text(text: str) -> types.TextContent:
    # A message may quote a lone surrogate, which UTF-8 cannot encode.
    return types.TextContent(text=text.encode(errors="backslashreplace").decode())


async def serve_stdio(settings: Settings, scope: Scope) -> None:
    """Serve one client until it closes its pipes or the process gets a signal. The engine is closed first in both
    cases: clients send SIGTERM early, and the embedded server must not be left running."""
    stop_signal = watch_stop_signals()
    async with (
        connect(settings) as engine,
        open_analyst(engine, settings) as analyst,
        open_librarian(engine, settings) as librarian,
    ):
        peer = make_local_peer(engine, analyst, librarian, settings, scope)
        server = make_server(lambda request: peer)

        async def run_server() -> None:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

        serving = asyncio.create_task(run_server())
        stopping = asyncio.create_task(stop_signal.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not serving.done():
        # A thread of the SDK is blocked reading the client's next line and cannot be interrupted.
        os._exit(0)
    stopping.cancel()
    serving.result()


PROFILE, SESSIONS = "recollect://profile", "recollect://sessions"
SESSION = f"{SESSIONS}/{{id}}"
WITH_MEMORY = "with_memory"
MAX_MEMORIES, MAX_SESSIONS, MAX_TURNS = 200, 100, 200
NO_MEMORY = "(nothing is remembered about this)"
JSON = "application/json"
LISTS = tomllib.loads(files("recollect.server.mcp").joinpath("lists.toml").read_text("utf-8"))
RESOURCES = [types.Resource(mime_type=JSON, **row) for row in LISTS["resources"]]
TEMPLATES = [types.ResourceTemplate(mime_type=JSON, **row) for row in LISTS["templates"]]
PROMPTS = [types.Prompt(**row) for row in LISTS["prompts"]]


async def read_resource(peer: Peer, uri: str) -> str:
    """Return a resource as JSON."""
    content: dict[str, Any]
    if uri == PROFILE:
        scope = peer.scope("memories")
        memories = await peer.engine.memories(scope, limit=MAX_MEMORIES)
        content = {"user": scope.user, "memories": to_json(memories)}
    elif uri == SESSIONS:
        conversations = await peer.engine.conversations(peer.scope("history"), limit=MAX_SESSIONS)
        uris = [f"{SESSIONS}/{quote(each.session, safe='')}" for each in conversations]
        content = {"sessions": [{"uri": uri, **to_json(each)} for uri, each in zip(uris, conversations, strict=True)]}
    elif session := unquote(uri.removeprefix(f"{SESSIONS}/") if uri.startswith(f"{SESSIONS}/") else ""):
        turns = await peer.engine.history(peer.session_scope("history", session), limit=MAX_TURNS)
        content = {"session": session, "turns": to_json(turns)}
    else:
        raise NotFound(f"there is no resource {uri}; there are {PROFILE}, {SESSIONS} and {SESSION}")
    return json.dumps(content, default=str, ensure_ascii=False)


async def build_prompt(peer: Peer, arguments: Mapping[str, str]) -> tuple[str, str]:
    """Return relevant memory as marked data, and the user's question unchanged."""
    if unknown := set(arguments) - {"question", "session"}:
        raise InvalidInput(min(unknown), f"is not an argument of {WITH_MEMORY}")
    question = arguments.get("question", "")
    if not question.strip():
        raise InvalidInput("question", "is required")
    scope = peer.session_scope("context", arguments.get("session"))
    context = await peer.engine.context(scope, Query(question))
    peer.caller.metrics.count_context(context)
    return render_prompt("remembered", memory=mark_data("memory", context.text or NO_MEMORY)), question
