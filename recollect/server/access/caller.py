"""The caller of a request: the checks before any route, identity, permissions, and the engine. Routes get a caller as
`caller: CurrentCaller`, and pass through `Caller.authorize` before they read or write anything (http/routing.py)."""

from __future__ import annotations

import ipaddress
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import UploadFile

from recollect import Engine, Forbidden, Identity, InvalidInput, RateLimited, Scope, Settings
from recollect.apps.ask.sources.address_rules import VARIABLE
from recollect.server.access.middleware import Operation
from recollect.server.access.telemetry import Metrics
from recollect.values.identity import ALLOWED, LOCAL, Action, authorize_scope, check_permission, parse_credentials

if TYPE_CHECKING:
    from recollect.apps.ask.analyst import Analyst
    from recollect.apps.chat.assistant import Assistant
    from recollect.apps.documents.librarian import Librarian

USER_HEADER, SESSION_HEADER = "x-recollect-user", "x-recollect-session"
PROJECT_HEADER, MEMORY_HEADER = "x-recollect-project", "x-recollect-memory"
RETRIES = "x-stainless-retry-count"  # set by OpenAI's clients when they repeat a request
CHUNK_BYTES = 1 << 20  # of a file, read at once
HOST = re.compile(r"(?:\[([^\[\]]*)\]|([^:\[\]]*))(?::\d*)?")


def read_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers that this server defines, decoded as UTF-8."""
    names = (USER_HEADER, SESSION_HEADER, PROJECT_HEADER, MEMORY_HEADER, RETRIES)
    return {name: decode_utf8(headers[name]) for name in names if headers.get(name)}


def decode_utf8(header: str) -> str:
    """Return a header as UTF-8 where possible; ASGI servers decode headers as Latin-1."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(request: Request, identity: Identity) -> None:
    """Refuse other host names than the loopback ones while sign-in is off.

    Otherwise a page could read memory through a DNS name that it points at this machine. The header itself is checked:
    `request.url` falls back to the server's own name for a host that it cannot parse.
    """
    if identity is not LOCAL:
        return
    found = HOST.fullmatch(request.headers.get("host", "").lower())  # an IPv6 address is in brackets
    if not is_loopback((found[1] or found[2]) if found else ""):
        raise Forbidden(
            "without a key this server answers as 127.0.0.1 or localhost only; for other names create a key with"
            " `recollect keys create`"
        )


def check_address(request: Request) -> None:
    """Refuse NUL characters in the path or query: PostgreSQL has none, and its error would not name the parameter."""
    for name, value in (*request.path_params.items(), *request.query_params.multi_items()):
        if "\0" in value:
            raise InvalidInput(name, "contains a NUL character, which PostgreSQL cannot store")


def read_content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_chunks(file: UploadFile) -> AsyncIterator[bytes]:
    """Yield an uploaded file from its beginning, never whole."""
    await file.seek(0)
    while chunk := await file.read(CHUNK_BYTES):
        yield chunk


# The caller -----------------------------------------------------------------------------------------------------------

DELETION_OFF = "deletion is turned off on this server (MEMORY_ALLOW_DATA_DELETION)"
LEARNING_OFF = "learning is turned off on this server (MEMORY_ENABLED=0); messages are still recorded"
# Actions that a setting turns off for every caller: the setting, and the message of the refusal.
SWITCHES: Mapping[Action, tuple[str, str]] = {
    "export": ("allow_export", "export is turned off on this server (MEMORY_ALLOW_DATA_EXPORT)"),
    "forget": ("allow_deletion", DELETION_OFF),
    "redact": ("allow_deletion", DELETION_OFF),
    "learn": ("enabled", LEARNING_OFF),
    "learn_project": ("enabled", LEARNING_OFF),
}
BURST_SECONDS = 2.0  # of requests that a caller may send at once
MAX_CALLERS = 10_000  # remembered by the rate limit


@dataclass(frozen=True, slots=True)
class Caller:
    engine: Engine
    settings: Settings
    identity: Identity
    headers: Mapping[str, str]
    metrics: Metrics
    state: dict[str, Any]

    def authorize(
        self, action: Action, user: str | None, session: str | None = None, project: str | None = None
    ) -> Scope:
        """Return the scope that the request names; raise Forbidden if the caller may not do `action` in it."""
        self.state["operation"] = Operation(action, self.identity)
        scope = authorize_scope(self.identity, action, self.settings, self.headers, user, session, project)
        if action in SWITCHES and not getattr(self.settings, SWITCHES[action][0]):
            raise Forbidden(SWITCHES[action][1])
        self.state["operation"] = Operation(action, self.identity, scope)
        return scope

    def check(self, action: Action) -> None:
        """Raise Forbidden if the caller may not do `action` to the whole installation."""
        self.state["operation"] = Operation(action, self.identity)
        check_permission(self.identity, action, None)

    def can(self, action: Action) -> bool:
        return self.identity.role in ALLOWED[action]


class Applications:
    """What an identified request may use: the engine, and the applications of the server."""

    __slots__ = ()
    caller: Caller
    request: Request

    @property
    def engine(self) -> Engine:
        return self.caller.engine

    @property
    def role(self) -> str:
        return self.caller.identity.role

    @property
    def assistant(self) -> Assistant:
        return cast("Assistant", self.request.app.state.assistant)

    @property
    def analyst(self) -> Analyst:
        return cast("Analyst", self.request.app.state.analyst)

    @property
    def librarian(self) -> Librarian:
        return cast("Librarian", self.request.app.state.librarian)


@dataclass(frozen=True, slots=True)
class Call(Applications):
    """An authorized request: who calls, and whose memory is meant."""

    caller: Caller
    scope: Scope
    request: Request


class RateLimiter:
    """A token bucket per caller, in the memory of this process."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # caller -> (tokens, time)

    def count(self, caller: str) -> None:
        """Count a request of a caller; raise RateLimited if it is one too many."""
        if not self._per_second:
            return
        now, most = time.monotonic(), self._per_second * BURST_SECONDS
        tokens, then = self._buckets.pop(caller, (most, now))
        tokens = min(most, tokens + (now - then) * self._per_second)
        self._buckets[caller] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        if tokens < 1:
            seconds = (1 - tokens) / self._per_second
            raise RateLimited(f"more than {self._per_second:g} requests a second; wait {seconds:.1f} s", seconds)


async def identify_caller(request: Request) -> Caller:
    app = request.app.state
    engine: Engine = app.engine
    identity = await engine.keys.identify(parse_credentials(request.headers))
    if identity is not LOCAL:
        app.rate_limiter.count(f"key {identity.key}" if identity.key else f"name {identity.name}")
    check_address(request)
    check_host(request, identity)
    user = request.headers.get("x-user-id")
    headers = {} if user is None else {"x-user-id": decode_utf8(user)}
    return Caller(engine, app.settings, identity, headers, app.metrics, request.scope["state"])


async def get_caller(request: Request) -> Caller:
    """Return the caller of a route. A body that is not declared as JSON is refused: a form posted by a foreign page
    cannot declare that."""
    caller, kind = await identify_caller(request), read_content_type(request)
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    if request.method not in ("GET", "HEAD") and not is_json and await request.body():
        raise HTTPException(415, f"the body is {kind or 'of no type'}; send JSON as Content-Type: application/json")
    return caller


async def get_uploader(request: Request) -> Caller:
    """Return the caller of a route that takes a form, before any of the form is read.

    A form that another site may have posted through the user's browser is refused: a form cannot set an `Authorization`
    or `X-API-Key` header, and a browser says which site a form comes from.
    """
    caller, kind, headers = await identify_caller(request), read_content_type(request), request.headers
    if kind != "multipart/form-data":
        raise HTTPException(415, f"the body is {kind or 'of no type'}; send a form as multipart/form-data")
    if "x-api-key" in headers or headers.get("authorization", "").lower().startswith("bearer "):
        return caller
    origin, fetch_site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    is_foreign = origin is not None and origin.partition("://")[2] != headers.get("host")
    if is_foreign or fetch_site not in ("none", "same-origin"):
        raise Forbidden("forms of other sites are refused; send a key as Authorization: Bearer")
    return caller


CurrentCaller = Annotated[Caller, Depends(get_caller)]
CurrentUploader = Annotated[Caller, Depends(get_uploader)]


def key_scope(caller: Caller, project: str | None, every: bool) -> tuple[Scope, str | None]:
    """Return the caller's scope and the project whose keys are meant; None means all projects."""
    if every and project:
        raise InvalidInput("every_project", "name a project, or say every_project; not both")
    scope = caller.authorize("keys", None, None, project)
    if every:
        caller.check("keys")
    return scope, None if every else scope.project


def check_environment_use(caller: Caller, dsn: str) -> None:
    """Refuse environment variables in the address of a data source, except from an admin of all projects.

    The server's environment belongs to all projects, and an address could send one of its values to any host.
    """
    if VARIABLE.search(dsn):
        try:
            caller.check("work")
        except Forbidden:
            message = "${...} takes a value from the server's environment; only an admin of all projects may use it"
            raise Forbidden(message) from None
