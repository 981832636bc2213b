"""One request to the console: who is signed in, which project and user they look at, and what they may do.

The browser holds a cookie: an API key of its own that signing in created or, where sign-in is off, a random value. A
form is accepted only with a token made from that cookie and from the selected project and user. So no other site can
send one, and a page left open in one tab cannot write to the user who was selected in another tab.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, TypeVar
from urllib.parse import unquote

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from recollect import Credentials, Engine, Forbidden, Identity, InvalidInput, NotFound, RecollectError, Scope, Turn
from recollect.server.access.caller import Applications, Caller, check_address, check_host
from recollect.values.identity import ACTS_FOR_OTHERS, LOCAL, Action, parse_key

T = TypeVar("T")
SESSION_COOKIE = "recollect_console"
SELECTION_COOKIE = "recollect_place"
SESSION_SECONDS = 12 * 3600
SELECTION_SECONDS = 365 * 86400
MAX_FIELDS = 50
MAX_FIELD_BYTES = 2_000_000
LABELS = {"dsn": "Connection string", "sql": "SQL", "corrected": "Corrected SQL", "q": "Question", "top": "Passages"}
WRONG_TOKEN = "This form is out of date. Open the page again and repeat the change."


@dataclass(frozen=True, slots=True)
class Selection:
    """The project and user whose data the console shows. Without a user, only project data can be shown."""

    project: str
    user: str


SAMPLE = Selection("sample", "dana")


@dataclass(frozen=True, slots=True)
class Visit(Applications):
    """One request. `token` goes into every form; `form` holds the checked form fields, None for a GET."""

    request: Request
    caller: Caller
    selection: Selection
    cookie: str = field(repr=False)
    token: str = field(repr=False)
    form: FormData | None = None

    @property
    def wants_fragment(self) -> bool:
        """Whether a script asks for the content alone, to put it into the open page."""
        return "x-piece" in self.request.headers

    @property
    def can_choose_user(self) -> bool:
        return self.caller.identity.user is None and self.caller.identity.role in ACTS_FOR_OTHERS

    @property
    def is_global_admin(self) -> bool:
        """Whether the caller administers all projects."""
        return self._is_allowed(lambda: self.caller.check("work"))

    def can(self, action: Action) -> bool:
        """Return whether the action is allowed for the selection; pages hide what is not."""
        return self._is_allowed(lambda: self.scope(action))

    def _is_allowed(self, check: Callable[[], object]) -> bool:
        # A check notes the operation for the metrics; asking is not doing, so the note is restored.
        operation = self.caller.state.get("operation")
        try:
            check()
        except RecollectError:
            return False
        finally:
            self.caller.state["operation"] = operation
        return True

    def scope(self, action: Action, session: str | None = None) -> Scope:
        """Return the selected user's scope; raise Forbidden where the action is not allowed."""
        return self.caller.authorize(action, self.selection.user or None, session or None, self.selection.project)

    def project_scope(self, action: Action) -> Scope:
        """Return a scope for shared project data. The audit log then names the caller, not the selected user."""
        return self.caller.authorize(action, None, None, self.selection.project)

    async def load_turns(self, session: str, index: str, limit: int) -> list[Turn]:
        """Return the last messages of a session up to the one at `index`."""
        last = parse_number("turn", index, -1)
        scope = self.scope("history", session)
        turns = await self.engine.history(scope, limit=limit, before=last + 1) if session and last >= 0 else []
        if not turns or turns[-1].index != last:
            raise NotFound("This message no longer exists.")
        return turns

    def query(self, name: str, default: str = "") -> str:
        """Return a query parameter of the address."""
        return self.request.query_params.get(name, default)

    def field(self, name: str, default: str | None = None) -> str:
        """Return a form field; without a default it is required."""
        value: Any = None if self.form is None else self.form.get(name, default)
        if not isinstance(value, str):
            raise InvalidInput(name, "is missing in the form; open the page again")
        return value.replace("\r\n", "\n")

    def require_session(self) -> str:
        """Return the session that a form names. Without one, everything about the user would be deleted."""
        if not (session := self.field("session")):
            raise InvalidInput("session", "must name a session, got an empty text")
        return session

    def field_list(self, name: str) -> list[UploadFile | str]:
        """Return all values of a form field that can be repeated."""
        return [] if self.form is None else self.form.getlist(name)

    def files(self, name: str) -> list[UploadFile]:
        """Return the files of a form field; browsers send an empty one if none was chosen."""
        return [each for each in self.field_list(name) if isinstance(each, UploadFile) and each.filename]

    def is_checked(self, name: str) -> bool:
        return self.field(name, "") != ""

    def explain(self, error: RecollectError) -> str:
        """Return what is wrong, for people: with the field as the form names it. Another field is for programs."""
        if not isinstance(error, InvalidInput):
            return str(error)
        given = (*(self.form or ()), *self.request.query_params)
        written = error.as_written({name: LABELS.get(name, name.replace("_", " ").capitalize()) for name in given})
        return error.problem if written.field == error.field else str(written)


async def open_visit(request: Request) -> Visit:
    """Identify the caller by the cookie; raise Unauthorized where they have to sign in first."""
    state = request.app.state
    engine: Engine = state.engine
    cookie = request.cookies.get(SESSION_COOKIE) or secrets.token_urlsafe(24)
    identity = await engine.keys.identify(Credentials("key", cookie) if parse_key(cookie) else None)
    if identity is not LOCAL:
        state.rate_limiter.count(f"key {identity.key}")
    check_address(request)
    check_host(request, identity)
    caller = Caller(engine, state.settings, identity, {}, state.metrics, request.scope["state"])
    if not hasattr(state, "default_selection"):  # loaded once per process
        has_sample = bool(await engine.conversations(Scope(SAMPLE.user, project=SAMPLE.project), limit=1))
        state.default_selection = SAMPLE if has_sample else Selection(state.settings.project, "me")
    selection = resolve_selection(request, identity, state.default_selection)
    # The token of its forms: of no use for another browser, user or project.
    message = json.dumps([selection.project, selection.user]).encode()
    token = hmac.new(cookie.encode(errors="replace"), message, hashlib.sha256).hexdigest()
    return Visit(request, caller, selection, cookie, token)


def resolve_selection(request: Request, identity: Identity, default: Selection) -> Selection:
    """Return the project and user of the identity, else those of a valid cookie, else the default.

    Identities that cannot act for users get no user, whatever the cookie says.
    """
    try:
        project, user = json.loads(unquote(request.cookies.get(SELECTION_COOKIE, "")))
        chosen = Scope(user, project=project)
    except (ValueError, TypeError, RecursionError, InvalidInput):
        project = user = ""
    else:
        project, user = chosen.project, chosen.user if identity.role in ACTS_FOR_OTHERS else ""
    default_user = default.user if identity is LOCAL else ""
    return Selection(identity.project or project or default.project, identity.user or user or default_user)


def set_cookie(request: Request, response: Response, name: str, value: str, seconds: int | None = None) -> None:
    """Set a cookie for the console alone; over TLS, for TLS alone. Uvicorn takes the scheme from a proxy's headers."""
    is_secure = request.url.scheme == "https"
    response.set_cookie(name, value, seconds, path="/console", secure=is_secure, httponly=True, samesite="strict")


async def read_form(visit: Visit, max_files: int = 0) -> Visit:
    """Return the visit with its form; raise Forbidden where the form does not come from one of our pages."""
    request = visit.request
    if not is_same_site(request):
        raise Forbidden(WRONG_TOKEN)
    form = await request.form(max_files=max_files, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES)
    given = form.get("token", "")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(errors="replace"), visit.token.encode()):
        raise Forbidden(WRONG_TOKEN)
    for name, value in form.multi_items():
        if isinstance(value, str) and "\0" in value:
            raise InvalidInput(name, "contains a NUL character, which PostgreSQL cannot store")
    return replace(visit, form=form)


def is_same_site(request: Request) -> bool:
    return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def parse_choice(name: str, text: str, choices: Sequence[T]) -> T:
    """Return the choice that a text names."""
    if text in choices:
        return choices[choices.index(text)]
    raise InvalidInput(name, f"must be one of {', '.join(map(str, choices))}, got {text!r}")


def parse_number(name: str, text: str, default: T) -> int | T:
    if not text.strip():
        return default
    if not text.strip().isdecimal() or len(text) > 9:
        raise InvalidInput(name, f"must be a whole number, got {text!r}")
    return int(text)


def parse_day(name: str, text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(name, f"must be a date such as 2026-03-31, got {text!r}") from None
