"""OpenAI's protocol as routes, so that its clients get memory by another base URL: `POST /v1/chat/completions` and
`GET /v1/models`, passed on to the language model's server by the host (recollect/hosts/chat/proxy.py), which the
application keeps as `app.state.proxy`.

Who speaks is the caller's affair, as everywhere (caller.py); beside `X-User-Id`, whom he speaks for may stand in
headers and fields that OpenAI's clients can set. The body is OpenAI's affair: it is shown in the schema, and not
checked. What we refuse ourselves, we refuse in OpenAI's form.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from recollect.doors.http import envelope
from recollect.doors.http.caller import Called, Caller, does
from recollect.doors.http.refusals import REFUSALS, refusal
from recollect.doors.http.render import Json
from recollect.errors import NotFound, RecollectError
from recollect.hosts.chat.proxy import COMPLETIONS, EVENTS, Asking, Note, Proxy, Relayed, State
from recollect.model.completions import Completion, read_completion
from recollect.model.identity import ACTS_FOR_OTHERS, project_for
from recollect.model.permissions import check
from recollect.model.scope import MAX_NAME
from recollect.model.scope import Scope as Whose

USER, SESSION = "x-recollect-user", "x-recollect-session"
PROJECT, MEMORY = "x-recollect-project", "x-recollect-memory"
OFF = ("off", "0", "false", "no")
RETRIES = "x-stainless-retry-count"  # how OpenAI's own clients say that they try again
NO_UPSTREAM = (
    "no language model is configured here to pass this on to; set RECOLLECT_MODEL_URL (e.g. http://localhost:11434/v1),"
    " RECOLLECT_MODEL and, if it wants one, RECOLLECT_MODEL_KEY, and start again"
)
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
PASSED_ON = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
PASSED_ON_PREFIXES = ("openai-", "x-ratelimit-")
PROBLEM = ("The language model's server gave no answer.", "reasoner_failed", "it gave no answer; try again", None)
TOLD_BY = {
    "X-Recollect-User": "Who speaks, before every field of the body; by default the caller.",
    "X-Recollect-Session": "The conversation, before `metadata.session_id`; by default named by its first message.",
    "X-Recollect-Project": "The project; by default the caller's.",
    "X-Recollect-Memory": "`off`: the bytes are passed on as they are, nothing is recalled and nothing kept.",
}
OBJECT = {"application/json": {"schema": {"type": "object"}}}
REFUSED = {**REFUSALS, 502: refusal(*PROBLEM)}
COMPLETED = {
    "description": "The upstream's answer. `X-Recollect-Memory` says what memory did, `X-Recollect-Request` is for"
    " `explain`, `X-Recollect-Session` names the conversation.",
    "content": OBJECT | {EVENTS: {"schema": {"type": "string"}}},
}
LISTED = {"content": OBJECT, "description": "The upstream's answer."}


def takes(*names: str) -> dict[str, Any]:
    """For a route: the headers that it reads itself, as the schema shows them."""
    shape = {"type": "string", "maxLength": MAX_NAME}
    told = [{"in": "header", "name": name, "schema": shape, "description": TOLD_BY[name]} for name in names]
    return {"parameters": told, **does("record")}


class CompletionBody(BaseModel):
    """OpenAI's request, passed on as it is. Here are the fields that memory reads."""

    model_config = ConfigDict(extra="allow")

    model: str | None = Field(default=None, examples=["gpt-4o-mini"])
    messages: list[dict[str, Any]] = Field(default=[], examples=[[{"role": "user", "content": "What's my name?"}]])
    stream: bool | None = False
    user: str | None = Field(default=None, description="Who speaks, unless a header or `metadata.user_id` says it.")
    safety_identifier: str | None = Field(default=None, description="The same, in last place.")
    metadata: dict[str, Any] | None = Field(default=None, description="`user_id` and `session_id` are read.")


class Unread(Request):
    """A request whose body FastAPI does not parse: the proxy does, and perhaps differently."""

    async def json(self) -> Any:
        return {}


class OpenAIRoute(APIRoute):
    """Says in OpenAI's form what was refused."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        plain = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await plain(Unread(request.scope, request.receive))
            except RecollectError as error:
                return in_openai_form(await envelope.told(request, error))
            except RequestValidationError as error:
                return in_openai_form(await envelope.misread(request, error))
            except HTTPException as error:
                return in_openai_form(await envelope.refused(request, error))

        return handle


router = APIRouter(prefix="/v1", tags=["chat"], responses=REFUSED, route_class=OpenAIRoute)


def in_openai_form(told: Json) -> Json:
    error = msgspec.json.decode(bytes(told.body))["error"]
    kind = TYPES.get(told.status_code, "server_error" if told.status_code >= 500 else "invalid_request_error")
    shape = {"message": error["message"], "type": kind, "param": error.get("field"), "code": error["code"]}
    kept = {name: told.headers[name] for name in ("retry-after", "www-authenticate") if name in told.headers}
    return Json({"error": shape}, status_code=told.status_code, headers=kept)


@router.post("/chat/completions", response_model=None, responses={200: COMPLETED}, openapi_extra=takes(*TOLD_BY))
async def complete_chat(body: CompletionBody, called: Called, request: Request) -> Response:
    """OpenAI's chat completions, with what is remembered of the user. The request goes on to the language model's
    server; what is said is kept."""
    sent, headers = await request.body(), named(request.headers)
    completion = read_completion(sent)
    if (state := without_memory(called, headers, completion)) is None and completion is not None:
        asking = asked(called, headers, completion)
        return passed_on(await proxy_of(request).complete(asking))
    allowed(called, headers)
    return passed_on(await proxy_of(request).plain("POST", COMPLETIONS, sent, state or "unreadable"))


@router.get("/models", response_model=None, responses={200: LISTED}, openapi_extra=takes("X-Recollect-Project"))
async def list_models(called: Called, request: Request) -> Response:
    """The models of the language model's server, as it lists them."""
    allowed(called, named(request.headers))
    return passed_on(await proxy_of(request).plain("GET", "/models"))


def proxy_of(request: Request) -> Proxy:
    proxy: Proxy = request.app.state.proxy
    if not proxy.is_open:
        raise NotFound(NO_UPSTREAM)
    return proxy


def asked(called: Caller, headers: Mapping[str, str], completion: Completion) -> Asking:
    """Whose conversation it is, if the caller may speak in it."""
    header, request = whom(called, headers, completion.user)
    by_header = {"x-user-id": header} if header else {}
    session = headers.get(SESSION) or completion.session
    place = session or completion.derived_session
    acting = Caller(called.engine, called.settings, called.identity, by_header, called.meters, called.state)
    scope = acting.scope("record", request, place, headers.get(PROJECT))
    return Asking(scope, completion, session is not None, headers.get(RETRIES, "0") != "0")


def whom(called: Caller, headers: Mapping[str, str], user: str | None) -> tuple[str | None, str | None]:
    """The user that a header names and the one that the body names, as far as each counts: the header first, unless
    MEMORY_USER_ID_SOURCE says where to look."""
    header = headers.get(USER) or called.headers.get("x-user-id")
    match called.settings.user_source:
        case "request":
            return None, user
        case "header":
            return header, None
        case _:
            return header, None if header else user


def without_memory(called: Caller, headers: Mapping[str, str], completion: Completion | None) -> State | None:
    """Why the request is only passed on, if it is: because it says so, or asks nothing, or for nobody."""
    if headers.get(MEMORY, "").lower() in OFF:
        return "off"
    if completion is None:
        return "unreadable"
    is_named = any(whom(called, headers, completion.user)) or called.identity.user is not None
    return "no-user" if called.identity.role in ACTS_FOR_OTHERS and not is_named else None


def allowed(called: Caller, headers: Mapping[str, str]) -> None:
    """That the caller may use the proxy at all, where nothing is kept and nobody's memory is looked at."""
    identity = called.identity
    user = headers.get(USER) or identity.user or identity.name or "nobody"
    project = project_for(identity, headers.get(PROJECT), called.settings.project)
    check(identity, "record", Whose(user, project=project))


def named(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Ours. A name may be in UTF-8, which a server reads as Latin-1."""
    return {name: in_utf8(headers[name]) for name in (USER, SESSION, PROJECT, MEMORY, RETRIES) if headers.get(name)}


def in_utf8(text: str) -> str:
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def passed_on(relayed: Relayed) -> Response:
    kept = {name: value for name, value in relayed.headers.items() if is_passed_on(name)}
    headers = {**kept, **told(relayed.note)}
    if isinstance(relayed.body, bytes):
        return Response(relayed.body, relayed.status, headers)
    return Stream(relayed.body, relayed.status, {**headers, "X-Accel-Buffering": "no"})


def is_passed_on(name: str) -> bool:
    return name in PASSED_ON or name.startswith(PASSED_ON_PREFIXES)


def told(note: Note) -> dict[str, str]:
    """What memory did. A session may be named in any letters; a header has few."""
    session = None if note.session is None else quote(note.session, safe=" !#$&'()*+,/:;=?@[]~")
    request = None if note.request_id is None else str(note.request_id)
    values = {"X-Recollect-Memory": note.state, "X-Recollect-Session": session, "X-Recollect-Request": request}
    return {name: value for name, value in values.items() if value is not None}


class Stream(StreamingResponse):
    """Closes what it streams, also where its client has left in the middle."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], status: int, headers: Mapping[str, str]) -> None:
        super().__init__(pieces, status, headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._pieces.aclose()
