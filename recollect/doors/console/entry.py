"""Entry: who comes in. A browser shows a cookie: a key of its own that signing in made, or, where nobody has to say
who he is, a number that only ties forms to the browser they were shown to.

A form counts when it carries the token of that cookie and of the place it was made for: no foreign page knows the
first, and a page left open while another tab went to another user's memory does not have the second.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from dataclasses import replace
from urllib.parse import quote, unquote

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from recollect.doors.console.visit import Place, Visit
from recollect.doors.http.caller import Caller, check_address, check_host
from recollect.engine import Engine
from recollect.errors import Forbidden, InvalidInput, Unauthorized
from recollect.model.api_key import presented
from recollect.model.identity import ACTS_FOR_OTHERS, LOCAL, Credentials, Identity
from recollect.model.scope import Scope

COOKIE = "recollect_console"
PLACE = "recollect_place"
HALF_A_DAY = 12 * 3600
A_YEAR = 365 * 86400
NOBODY = ""  # whom a key looks at that acts for no user, or has not said for whom
NOT_OURS = "this form was not made for this page; open the page again and repeat it"
MOST_FIELDS = 50
FIELD_BYTES = 2_000_000
SAMPLE = Place("sample", "dana")


async def enter(request: Request) -> Visit:
    """Who comes; Unauthorized where he has to say so first."""
    engine: Engine = request.app.state.engine
    cookie = request.cookies.get(COOKIE) or new_cookie()
    identity = await engine.identify(Credentials("key", cookie) if presented(cookie) else None)
    if identity is not LOCAL:
        request.app.state.limits.count(f"key {identity.key}")
    check_address(request)
    check_host(request, identity)
    held = request.app.state
    caller = Caller(engine, held.settings, identity, {}, held.meters, request.scope["state"])
    place = place_of(request, identity, await default_place(request))
    return Visit(request, caller, place, cookie, token_of(cookie, place))


async def default_place(request: Request) -> Place:
    """The sample's first user where the sample is loaded. Asked once."""
    held = request.app.state
    if not hasattr(held, "default_place"):
        sample = Scope(SAMPLE.user, project=SAMPLE.project)
        has_sample = bool(await held.engine.conversations(sample, limit=1))
        held.default_place = SAMPLE if has_sample else Place(held.settings.project, "me")
    place: Place = held.default_place
    return place


def place_of(request: Request, identity: Identity, default: Place) -> Place:
    """The identity's own where it has one; else the one chosen last; else the default. Who may speak for no user looks
    for nobody, whatever the cookie says."""
    chosen = chosen_place(request)
    project = identity.project or chosen.project or default.project
    user = chosen.user if identity.role in ACTS_FOR_OTHERS else NOBODY
    return Place(project, identity.user or user or (default.user if identity is LOCAL else NOBODY))


def chosen_place(request: Request) -> Place:
    try:
        project, user = json.loads(unquote(request.cookies.get(PLACE, "")))
        checked = Scope(user, project=project)
    except (ValueError, TypeError, RecursionError, InvalidInput):
        return Place("", "")
    return Place(checked.project, checked.user)


def choose_place(answer: Response, place: Place, is_secure: bool) -> None:
    """Names of people are in no address; the cookie says whose memory is looked at."""
    text = quote(json.dumps([place.project, place.user]))
    answer.set_cookie(PLACE, text, A_YEAR, path="/console", secure=is_secure, httponly=True, samesite="strict")


def give_cookie(answer: Response, value: str, is_secure: bool, seconds: int | None = None) -> None:
    answer.set_cookie(COOKIE, value, seconds, path="/console", secure=is_secure, httponly=True, samesite="strict")


def new_cookie() -> str:
    return secrets.token_urlsafe(24)


def token_of(cookie: str, place: Place) -> str:
    about = json.dumps([place.project, place.user]).encode()
    return hmac.new(cookie.encode(errors="replace"), about, hashlib.sha256).hexdigest()


async def with_form(visit: Visit, most_files: int = 0) -> Visit:
    """What was sent, if one of our own pages sent it."""
    request = visit.request
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Forbidden(NOT_OURS)
    form = await request.form(max_files=most_files, max_fields=MOST_FIELDS, max_part_size=FIELD_BYTES)
    check_form(visit, form)
    return replace(visit, form=form)


def check_form(visit: Visit, form: FormData) -> None:
    shown = form.get("token", "")
    if not isinstance(shown, str) or not hmac.compare_digest(shown.encode(errors="replace"), visit.token.encode()):
        raise Forbidden(NOT_OURS)
    for name, value in form.multi_items():
        if isinstance(value, str) and "\0" in value:
            raise InvalidInput(name, "contains a NUL character, which PostgreSQL cannot keep")


def is_secure(request: Request) -> bool:
    """Behind a proxy that ends TLS, as uvicorn tells it from that proxy's headers."""
    return request.url.scheme == "https"


async def signed_in(engine: Engine, secret: str) -> str:
    """The secret of a key for this browser."""
    try:
        return (await engine.sign_in(secret.strip())).secret
    except Unauthorized as error:
        raise InvalidInput("key", str(error)) from None
