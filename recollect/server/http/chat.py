"""Chat as routes, whole or as server-sent events; and OpenAI's chat completions API, so that its clients get memory by
changing the base URL. The body of a completion is described in OpenAPI but not validated, and its errors have the form
of OpenAI's."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from fastapi import Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from recollect import Conversation, NotFound, Receipt, RecollectError
from recollect import Scope as Whose
from recollect.apps.chat.completions import Completion, read_completion
from recollect.apps.chat.message import Answer, Ask, MemoryUse
from recollect.apps.chat.proxy import COMPLETIONS, EVENTS, Asking, Proxy, Relayed, State
from recollect.server.access import caller as callers
from recollect.server.access.caller import Call, Caller, CurrentCaller
from recollect.server.access.idempotency import IdempotencyKey, Replay, Stored
from recollect.server.access.responses import ENCODER, Json, handle_error, json_object, list_of, start_stream
from recollect.server.http.bodies import OpenBody
from recollect.server.http.routing import ERRORS, OPENAPI, PROJECT, UPSTREAM_ERRORS, Routes, name_parameter
from recollect.server.http.verbs import find_next_before
from recollect.values.identity import ACTS_FOR_OTHERS, check_permission, choose_project
from recollect.values.query import Reach
from recollect.values.scope import MAX_NAME
from recollect.values.serialization import json_types, to_json

UserParam = Annotated[str | None, Query(description="Whose chat; by default the caller's own.", examples=["alex"])]
Accept = Annotated[str, Header(include_in_schema=False)]
routes = Routes("/chat", "chat", name_parameter("user_id", UserParam), PROJECT)


def rename_session(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a value with its session under the name that chat clients know."""
    return {"session_id" if name == "session" else name: value for name, value in fields.items() if name != "id"}


ChatAnswer = json_object(
    "ChatAnswer",
    doc="`ref` is the reply in the log; `model` is null if the reply was made from memory alone.",
    **rename_session(json_types(Answer)),
)
REPLY_FIELDS = ("memory", "model", "error_stage")
ChatTurn = json_object(
    "ChatTurn",
    doc="`memory` is what was recalled for a reply.",
    source=str,
    role=str,
    text=str,
    at=str,
    memory=MemoryUse | None,
    model=str | None,
    error_stage=str | None,
)
ChatSession = json_object("ChatSession", session_id=str, turns=list_of(ChatTurn), next_before=int | None)
SessionSummary = json_object("SessionSummary", **rename_session(json_types(Conversation)))
ChatSessions = json_object("ChatSessions", sessions=list_of(SessionSummary))


class ChatBody(OpenBody):
    message: str
    user_id: str | None = None
    session_id: str | None = None
    project: str | None = None
    scope: Reach = "auto"
    stream: bool = False


class NameBody(OpenBody):
    name: str
    user_id: str | None = None
    project: str | None = None


@routes.add("POST /", "record", model=ChatAnswer, responses={200: OPENAPI["responses"]["chat"]})
async def chat(
    call: Call, body: ChatBody, idempotency_key: IdempotencyKey = None, accept: Accept = ""
) -> Response | dict[str, Any]:
    """Send a message to an assistant that remembers. The message and the reply are recorded."""
    ask = Ask(body.message, body.scope, idempotency_key)
    if not body.stream and EVENTS not in accept:
        return rename_session(to_json(await call.assistant.answer(call.scope, ask)))
    pieces = await start_stream(call.assistant.stream(call.scope, ask))
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse((make_event(piece) async for piece in pieces), media_type=EVENTS, headers=headers)


def make_event(piece: str | Answer) -> bytes:
    name, data = ("delta", {"text": piece}) if isinstance(piece, str) else ("done", rename_session(to_json(piece)))
    return b"event: " + name.encode() + b"\ndata: " + ENCODER.encode(data) + b"\n\n"


@routes.add("GET /sessions", "history", model=ChatSessions)
async def chat_sessions(call: Call, limit: int = 50, offset: int = 0) -> dict[str, Any]:
    """List a user's conversations, the latest first."""
    found = await call.engine.conversations(call.scope, limit=limit, offset=offset)
    return {"sessions": [rename_session(to_json(each)) for each in found]}


async def rename_again(stored: Stored, call: Call, body: NameBody) -> Any:
    return await rename_chat_session(call, body)


# The name is not stored with the key: the request has it.
RENAME_REPLAY = Replay(lambda _: {}, rename_again)


@routes.write("PATCH /sessions/{session_id:path}", "record", model=SessionSummary, replay=RENAME_REPLAY, status=200)
async def rename_chat_session(call: Call, body: NameBody) -> dict[str, Any]:
    """Give a conversation another name than its first question."""
    return rename_session(to_json(await call.engine.rename(call.scope, body.name)))


@routes.add("GET /sessions/{session_id:path}", "history", model=ChatSession)
async def chat_session(call: Call, session_id: str, limit: int = 50, before: int | None = None) -> dict[str, Any]:
    """Show a conversation, oldest turn first, with what was recalled for each reply; `next_before` pages backwards."""
    turns, shown = await call.engine.history(call.scope, limit=limit, before=before), list[dict[str, Any]]()
    for turn in turns:
        reply = turn.data if turn.data and "answers" in turn.data else {}
        about = {name: reply.get(name) for name in REPLY_FIELDS}
        shown.append({"source": turn.ref, "role": turn.role, "text": turn.text, "at": turn.at, **about})
    return {"session_id": session_id, "turns": shown, "next_before": find_next_before(turns, limit)}


@routes.write("DELETE /sessions/{session_id:path}", "forget")
async def delete_chat_session(call: Call) -> Receipt:
    """Erase a conversation with everything derived from it; the receipt counts the rows per table."""
    return await call.engine.forget(call.scope)


OFF = ("off", "0", "false", "no")
NO_UPSTREAM = (
    "no language model is configured; set RECOLLECT_MODEL_URL (e.g. http://localhost:11434/v1), RECOLLECT_MODEL and, if"
    " it needs one, RECOLLECT_MODEL_KEY, and restart the server"
)
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
FORWARDED_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
FORWARDED_PREFIXES = ("openai-", "x-ratelimit-")


def describe_headers(*names: str) -> dict[str, Any]:
    """Return the headers that a route reads itself, for OpenAPI."""
    shown, text = {"in": "header", "schema": {"type": "string", "maxLength": MAX_NAME}}, OPENAPI["headers"]
    return {"parameters": [{**shown, "name": name, "description": text[name]} for name in names]}


class CompletionBody(BaseModel):
    """OpenAI's request, forwarded as it is. These are the fields that memory reads."""

    model_config = ConfigDict(extra="allow")

    model: str | None = Field(default=None, examples=["gpt-4o-mini"])
    messages: list[dict[str, Any]] = Field(default=[], examples=[[{"role": "user", "content": "What's my name?"}]])
    stream: bool | None = False
    user: str | None = Field(default=None, description="The user, unless a header or `metadata.user_id` names one.")
    safety_identifier: str | None = Field(default=None, description="The user, if nothing else names one.")
    metadata: dict[str, Any] | None = Field(default=None, description="`user_id` and `session_id` are read.")


class UnparsedRequest(Request):
    """A request whose body FastAPI does not parse: the proxy reads the bytes itself."""

    async def json(self) -> Any:
        return {}


class OpenAIRoute(APIRoute):
    """A route whose errors have the form of OpenAI's."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle_request = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handle_request(UnparsedRequest(request.scope, request.receive))
            except (RecollectError, RequestValidationError, HTTPException) as error:
                response = await handle_error(request, error)
            status, kept = response.status_code, ("retry-after", "www-authenticate")
            ours = msgspec.json.decode(bytes(response.body))["error"]
            kind = TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
            theirs = {"message": ours["message"], "type": kind, "param": ours.get("field"), "code": ours["code"]}
            headers = {name: response.headers[name] for name in kept if name in response.headers}
            return Json({"error": theirs}, status_code=status, headers=headers)

        return handle


completion_routes = Routes("/v1", "chat", responses=ERRORS | UPSTREAM_ERRORS, route_class=OpenAIRoute)


@completion_routes.add(
    "POST /chat/completions",
    "record",
    responses={200: OPENAPI["responses"]["completion"]},
    openapi_extra=describe_headers(*OPENAPI["headers"]),
)
async def complete_chat(body: CompletionBody, caller: CurrentCaller, request: Request) -> Response:
    """Complete a chat as OpenAI does, with what is remembered of the user. The request is forwarded to the language
    model's server; the messages are recorded."""
    sent, headers = await request.body(), callers.read_headers(request.headers)
    completion = read_completion(sent)
    if (state := find_bypass(caller, headers, completion)) is None and completion is not None:
        header, user = find_users(caller, headers, completion.user)
        session = headers.get(callers.SESSION_HEADER) or completion.session
        acting = replace(caller, headers={"x-user-id": header} if header else {})
        place = session or completion.derived_session
        scope = acting.authorize("record", user, place, headers.get(callers.PROJECT_HEADER))
        asking = Asking(scope, completion, session is not None, headers.get(callers.RETRIES, "0") != "0")
        return forward_response(await get_proxy(request).complete(asking))
    check_access(caller, headers)
    return forward_response(await get_proxy(request).plain("POST", COMPLETIONS, sent, state or "unreadable"))


@completion_routes.add(
    "GET /models",
    "record",
    responses={200: OPENAPI["responses"]["models"]},
    openapi_extra=describe_headers("X-Recollect-Project"),
)
async def list_models(caller: CurrentCaller, request: Request) -> Response:
    """List the models of the language model's server."""
    check_access(caller, callers.read_headers(request.headers))
    return forward_response(await get_proxy(request).plain("GET", "/models"))


def get_proxy(request: Request) -> Proxy:
    proxy: Proxy = request.app.state.proxy
    if not proxy.is_open:
        raise NotFound(NO_UPSTREAM)
    return proxy


def find_users(caller: Caller, headers: Mapping[str, str], user: str | None) -> tuple[str | None, str | None]:
    """Return the users that the header and the body name; at most one is not None. The header wins, unless
    MEMORY_USER_ID_SOURCE says where to look."""
    header = headers.get(callers.USER_HEADER) or caller.headers.get("x-user-id")
    match caller.settings.user_source:
        case "request":
            return None, user
        case "header":
            return header, None
        case _:
            return header, None if header else user


def find_bypass(caller: Caller, headers: Mapping[str, str], completion: Completion | None) -> State | None:
    """Return why a request is forwarded without memory; None if memory takes part."""
    if headers.get(callers.MEMORY_HEADER, "").lower() in OFF:
        return "off"
    if completion is None:
        return "unreadable"
    is_named = any(find_users(caller, headers, completion.user)) or caller.identity.user is not None
    return "no-user" if caller.identity.role in ACTS_FOR_OTHERS and not is_named else None


def check_access(caller: Caller, headers: Mapping[str, str]) -> None:
    """Check that the caller may use the proxy without memory."""
    identity = caller.identity
    user = headers.get(callers.USER_HEADER) or identity.user or identity.name or "nobody"
    project = choose_project(identity, headers.get(callers.PROJECT_HEADER), caller.settings.project)
    check_permission(identity, "record", Whose(user, project=project))


def forward_response(relayed: Relayed) -> Response:
    """Return an answer of the upstream, with what memory did in headers. A session is percent-encoded there: headers
    have no letters beyond ASCII."""
    note, headers = relayed.note, dict[str, str]()
    for name, value in relayed.headers.items():
        if name in FORWARDED_HEADERS or name.startswith(FORWARDED_PREFIXES):
            headers[name] = value
    headers["X-Recollect-Memory"] = note.state
    if note.session is not None:
        headers["X-Recollect-Session"] = quote(note.session, safe=" !#$&'()*+,/:;=?@[]~")
    if note.request_id is not None:
        headers["X-Recollect-Request"] = str(note.request_id)
    if isinstance(relayed.body, bytes):
        return Response(relayed.body, relayed.status, headers)
    return ClosingStream(relayed.body, relayed.status, {**headers, "X-Accel-Buffering": "no"})


class ClosingStream(StreamingResponse):
    """A stream that closes its source, also if the client has left in the middle."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], status: int, headers: Mapping[str, str]) -> None:
        super().__init__(pieces, status, headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._pieces.aclose()
