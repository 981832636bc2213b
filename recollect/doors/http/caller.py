"""The caller of a request: who it is, whose memory is meant, and the engine to ask. Every route begins here."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Header, HTTPException, Request
from starlette.responses import Response

from recollect.doors.http.meters import Meters
from recollect.doors.http.operations import Operation
from recollect.doors.http.render import answered
from recollect.doors.http.repeats import AS_IT_WAS, Repeat
from recollect.engine import Engine
from recollect.errors import Forbidden, InvalidInput
from recollect.model.identity import LOCAL, Identity, credentials_in
from recollect.model.permissions import ALLOWED, Action, check, scope_for
from recollect.model.scope import Scope
from recollect.settings import Settings

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="The same key and body again get the same answer, and nothing is done twice.",
        max_length=200,
        examples=["3f6c2a"],
    ),
]
# What a setting can switch off for everybody.
SWITCHES: Mapping[Action, tuple[str, str]] = {
    "export": ("allow_export", "export is switched off here (MEMORY_ALLOW_DATA_EXPORT)"),
    "forget": ("allow_deletion", "deletion is switched off here (MEMORY_ALLOW_DATA_DELETION)"),
    "redact": ("allow_deletion", "deletion is switched off here (MEMORY_ALLOW_DATA_DELETION)"),
    "learn": ("enabled", "learning is switched off here (MEMORY_ENABLED); the log goes on"),
    "learn_project": ("enabled", "learning is switched off here (MEMORY_ENABLED); the log goes on"),
}
HOST = re.compile(r"(?:\[([^\[\]]*)\]|([^:\[\]]*))(?::\d*)?")
ACTIONS = "x-actions"  # where the schema says what a route takes; docs/reference/http.md is made from it


def does(*actions: Action) -> dict[str, Any]:
    """For a route: what its caller must be allowed. Of several, the request decides which."""
    return {ACTIONS: list(actions)}


@dataclass(frozen=True, slots=True)
class Caller:
    engine: Engine
    settings: Settings
    identity: Identity
    headers: Mapping[str, str]
    meters: Meters
    state: dict[str, Any]

    def scope(self, action: Action, user: str | None, session: str | None = None, project: str | None = None) -> Scope:
        """Whose memory is meant, if the caller may do that to it."""
        self.state["operation"] = Operation(action, self.identity)
        scope = scope_for(self.identity, action, self.settings, self.headers, user, session, project)
        if action in SWITCHES and not getattr(self.settings, SWITCHES[action][0]):
            raise Forbidden(SWITCHES[action][1])
        self.state["operation"] = Operation(action, self.identity, scope)
        return scope

    def check(self, action: Action) -> None:
        """That the caller may do something to the whole installation."""
        self.state["operation"] = Operation(action, self.identity)
        check(self.identity, action, None)

    def may(self, action: Action) -> bool:
        return self.identity.role in ALLOWED[action]

    async def once(
        self,
        scope: Scope,
        key: str | None,
        body: Any,
        work: Callable[[], Awaitable[Any]],
        repeat: Repeat = AS_IT_WAS,
        status: int = 201,
    ) -> Response:
        """A write under an idempotency key: done once, answered every time."""
        if key is None:
            return answered(await work(), status)
        first: list[Any] = []

        async def noted() -> Any:
            first.append(await work())
            return msgspec.to_builtins(repeat.kept(first[0]), enc_hook=str)

        kept, replayed = await self.engine.once(repeat.place(scope), key, digest(body), noted)
        answer = await repeat.told(kept, self.engine, scope) if replayed else first[0]
        return answered(answer, status, replayed=replayed)


def digest(body: Any) -> bytes:
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).digest()


async def caller(request: Request) -> Caller:
    found = await identified(request)
    await check_content(request)
    return found


async def uploader(request: Request) -> Caller:
    """The caller of a route that takes a form. It is known before any of it is read."""
    found = await identified(request)
    check_form(request)
    return found


async def identified(request: Request) -> Caller:
    engine: Engine = request.app.state.engine
    identity = await engine.identify(credentials_in(request.headers))
    if identity is not LOCAL:
        request.app.state.limits.count(f"key {identity.key}" if identity.key else f"name {identity.name}")
    check_address(request)
    check_host(request, identity)
    held = request.app.state
    return Caller(engine, held.settings, identity, named(request.headers), held.meters, request.scope["state"])


def check_host(request: Request, identity: Identity) -> None:
    """While nobody has to say who he is, only names of this machine lead here: a name of somebody else's, made to point
    at it, would let his pages read what is here. Asked of the header itself: for a name that it cannot read,
    `request.url` has the server's own."""
    from recollect.doors.http.serve import is_loopback

    if identity is LOCAL and not is_loopback(host_in(request.headers.get("host", ""))):
        raise Forbidden(
            "without a key this is open as 127.0.0.1 or localhost only; for other names make one: recollect keys create"
        )


def host_in(header: str) -> str:
    """Without the port; IPv6 stands in brackets."""
    found = HOST.fullmatch(header.lower())
    return (found[1] or found[2]) if found else ""


def check_address(request: Request) -> None:
    """PostgreSQL has no NUL; here it can still be said where it was."""
    for name, value in (*request.path_params.items(), *request.query_params.multi_items()):
        if "\0" in value:
            raise InvalidInput(name, "contains a NUL character, which PostgreSQL cannot keep")


async def check_content(request: Request) -> None:
    """A body must say that it is JSON: a form posted by a foreign page does not."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    if request.method not in ("GET", "HEAD") and not is_json and await request.body():
        raise HTTPException(415, f"the body is {kind or 'of no kind'}; send JSON as Content-Type: application/json")


def check_form(request: Request) -> None:
    """A form may come from a foreign page, in the name of whoever looks at it. Then a browser says where it is from;
    a key in a header, which no form can send, says that it does not."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise HTTPException(415, f"the body is {kind or 'of no kind'}; send a form as multipart/form-data")
    headers = request.headers
    if "x-api-key" in headers or headers.get("authorization", "").lower().startswith("bearer "):
        return
    origin, fetched = headers.get("origin"), headers.get("sec-fetch-site", "none")
    is_foreign = origin is not None and origin.partition("://")[2] != headers.get("host")
    if is_foreign or fetched not in ("none", "same-origin"):
        raise Forbidden("a form of another site is not taken; send a key as Authorization: Bearer")


def named(headers: Mapping[str, str]) -> Mapping[str, str]:
    """The headers that name somebody. A name may be in UTF-8, which a server reads as Latin-1."""
    given = headers.get("x-user-id")
    if given is None:
        return {}
    try:
        return {"x-user-id": given.encode("latin-1").decode()}
    except UnicodeError:
        return {"x-user-id": given}


Called = Annotated[Caller, Depends(caller)]
Uploads = Annotated[Caller, Depends(uploader)]
