"""The caller of a request: their identity, their permissions, and the engine. Routes get one as `caller: CurrentCaller`
and pass through `Caller.authorize` before they read or write anything (see http/routing.py)."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import Depends, Request

from recollect.apps.ask.sources.dsn import VARIABLE
from recollect.engine import Engine
from recollect.errors import Forbidden, InvalidInput, RateLimited
from recollect.server.access.metrics import Metrics
from recollect.server.access.middleware import Operation
from recollect.server.access.request_checks import (
    check_address,
    check_form,
    check_host,
    check_json,
    read_user_header,
)
from recollect.settings import Settings
from recollect.values.identity import (
    ALLOWED,
    LOCAL,
    Action,
    Identity,
    authorize_scope,
    check_permission,
    parse_credentials,
)
from recollect.values.scope import Scope

if TYPE_CHECKING:
    from recollect.apps.ask.analyst import Analyst
    from recollect.apps.chat.assistant import Assistant
    from recollect.apps.documents.librarian import Librarian

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
    headers = read_user_header(request.headers)
    return Caller(engine, app.settings, identity, headers, app.metrics, request.scope["state"])


async def get_caller(request: Request) -> Caller:
    caller = await identify_caller(request)
    await check_json(request)
    return caller


async def get_uploader(request: Request) -> Caller:
    """Return the caller of a route that takes a form, before any of the form is read."""
    caller = await identify_caller(request)
    check_form(request)
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
