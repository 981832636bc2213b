"""OpenAI's chat completions API, so that its clients get memory by changing the base URL: `POST /v1/chat/completions`
and `GET /v1/models`. The proxy (recollect/apps/chat/proxy.py) forwards requests to the language model's server; it is
`app.state.proxy`.

The user may be named by `X-User-Id`, and by headers and fields that OpenAI's clients can set. The body is described in
OpenAPI but not validated. Our own errors have the form of OpenAI's.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import msgspec
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from recollect.apps.chat.completions import Completion, read_completion
from recollect.apps.chat.proxy import COMPLETIONS, EVENTS, Asking, Note, Proxy, Relayed, State
from recollect.errors import NotFound, RecollectError
from recollect.server.access import responses
from recollect.server.access.caller import MEMORY, PROJECT, RETRIES, SESSION, USER, Caller, CurrentCaller, read_headers
from recollect.server.access.responses import Json
from recollect.server.http.routing import ERRORS, Routes, error_example
from recollect.values.identity import ACTS_FOR_OTHERS, check_permission, choose_project
from recollect.values.scope import MAX_NAME
from recollect.values.scope import Scope as Whose

OFF = ("off", "0", "false", "no")
NO_UPSTREAM = (
    "no language model is configured; set RECOLLECT_MODEL_URL (e.g. http://localhost:11434/v1), RECOLLECT_MODEL and, if"
    " it needs one, RECOLLECT_MODEL_KEY, and restart the server"
)
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
FORWARDED_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
FORWARDED_PREFIXES = ("openai-", "x-ratelimit-")
HEADERS = {
    "X-Recollect-User": "The user; wins over every field of the body; by default the caller.",
    "X-Recollect-Session": "The conversation; wins over `metadata.session_id`; by default named by its first message.",
    "X-Recollect-Project": "The project; by default the caller's.",
    "X-Recollect-Memory": "`off`: the request is forwarded unchanged; nothing is recalled or recorded.",
}
OBJECT = {"application/json": {"schema": {"type": "object"}}}
NO_ANSWER = error_example("The language model's server gave no answer.", "reasoner_failed", "no answer; try again")
COMPLETION = {
    "description": "The upstream's answer. `X-Recollect-Memory` says what memory did, `X-Recollect-Request` is for"
    " `explain`, `X-Recollect-Session` names the conversation.",
    "content": OBJECT | {EVENTS: {"schema": {"type": "string"}}},
}
MODELS = {"content": OBJECT, "description": "The upstream's answer."}


def describe_headers(*names: str) -> dict[str, Any]:
    """Return the headers that a route reads itself, for OpenAPI."""
    text = {"type": "string", "maxLength": MAX_NAME}
    return {
        "parameters": [{"in": "header", "name": name, "schema": text, "description": HEADERS[name]} for name in names]
    }


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
            except RecollectError as error:
                return convert_error(await responses.handle_error(request, error))
            except RequestValidationError as error:
                return convert_error(await responses.handle_validation_error(request, error))
            except HTTPException as error:
                return convert_error(await responses.handle_http_error(request, error))

        return handle


routes = Routes("/v1", "chat", responses={**ERRORS, 502: NO_ANSWER}, route_class=OpenAIRoute)


def convert_error(response: Json) -> Json:
    error = msgspec.json.decode(bytes(response.body))["error"]
    kind = TYPES.get(response.status_code, "server_error" if response.status_code >= 500 else "invalid_request_error")
    converted = {"message": error["message"], "type": kind, "param": error.get("field"), "code": error["code"]}
    kept = {name: response.headers[name] for name in ("retry-after", "www-authenticate") if name in response.headers}
    return Json({"error": converted}, status_code=response.status_code, headers=kept)


@routes.add("POST /chat/completions", "record", responses={200: COMPLETION}, openapi_extra=describe_headers(*HEADERS))
async def complete_chat(body: CompletionBody, caller: CurrentCaller, request: Request) -> Response:
    """Complete a chat as OpenAI does, with what is remembered of the user. The request is forwarded to the language
    model's server; the messages are recorded."""
    sent, headers = await request.body(), read_headers(request.headers)
    completion = read_completion(sent)
    if (state := find_bypass(caller, headers, completion)) is None and completion is not None:
        asking = make_asking(caller, headers, completion)
        return forward_response(await get_proxy(request).complete(asking))
    check_access(caller, headers)
    return forward_response(await get_proxy(request).plain("POST", COMPLETIONS, sent, state or "unreadable"))


@routes.add("GET /models", "record", responses={200: MODELS}, openapi_extra=describe_headers("X-Recollect-Project"))
async def list_models(caller: CurrentCaller, request: Request) -> Response:
    """List the models of the language model's server."""
    check_access(caller, read_headers(request.headers))
    return forward_response(await get_proxy(request).plain("GET", "/models"))


def get_proxy(request: Request) -> Proxy:
    proxy: Proxy = request.app.state.proxy
    if not proxy.is_open:
        raise NotFound(NO_UPSTREAM)
    return proxy


def make_asking(caller: Caller, headers: Mapping[str, str], completion: Completion) -> Asking:
    """Return the completion with its scope, if the caller may record in it."""
    header, request = find_users(caller, headers, completion.user)
    by_header = {"x-user-id": header} if header else {}
    session = headers.get(SESSION) or completion.session
    place = session or completion.derived_session
    scope = replace(caller, headers=by_header).authorize("record", request, place, headers.get(PROJECT))
    return Asking(scope, completion, session is not None, headers.get(RETRIES, "0") != "0")


def find_users(caller: Caller, headers: Mapping[str, str], user: str | None) -> tuple[str | None, str | None]:
    """Return the users that the header and the body name; at most one is not None. The header wins, unless
    MEMORY_USER_ID_SOURCE says where to look."""
    header = headers.get(USER) or caller.headers.get("x-user-id")
    match caller.settings.user_source:
        case "request":
            return None, user
        case "header":
            return header, None
        case _:
            return header, None if header else user


def find_bypass(caller: Caller, headers: Mapping[str, str], completion: Completion | None) -> State | None:
    """Return why a request is forwarded without memory; None if memory takes part."""
    if headers.get(MEMORY, "").lower() in OFF:
        return "off"
    if completion is None:
        return "unreadable"
    is_named = any(find_users(caller, headers, completion.user)) or caller.identity.user is not None
    return "no-user" if caller.identity.role in ACTS_FOR_OTHERS and not is_named else None


def check_access(caller: Caller, headers: Mapping[str, str]) -> None:
    """Check that the caller may use the proxy without memory."""
    identity = caller.identity
    user = headers.get(USER) or identity.user or identity.name or "nobody"
    project = choose_project(identity, headers.get(PROJECT), caller.settings.project)
    check_permission(identity, "record", Whose(user, project=project))


def forward_response(relayed: Relayed) -> Response:
    kept = {
        name: value
        for name, value in relayed.headers.items()
        if name in FORWARDED_HEADERS or name.startswith(FORWARDED_PREFIXES)
    }
    headers = {**kept, **describe_memory(relayed.note)}
    if isinstance(relayed.body, bytes):
        return Response(relayed.body, relayed.status, headers)
    return ClosingStream(relayed.body, relayed.status, {**headers, "X-Accel-Buffering": "no"})


def describe_memory(note: Note) -> dict[str, str]:
    """Return what memory did, as headers. A session is percent-encoded: headers have no letters beyond ASCII."""
    session = None if note.session is None else quote(note.session, safe=" !#$&'()*+,/:;=?@[]~")
    request = None if note.request_id is None else str(note.request_id)
    values = {"X-Recollect-Memory": note.state, "X-Recollect-Session": session, "X-Recollect-Request": request}
    return {name: value for name, value in values.items() if value is not None}


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
