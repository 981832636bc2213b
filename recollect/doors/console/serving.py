"""Serving: from a request to a room and back. Who comes is asked first, a form is read and checked, errors become
pages, also those that nobody foresaw; a visitor who has to say who he is comes to the page where he signs in. Rooms
list their routes with `shown` and `done`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from types import SimpleNamespace

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from recollect.doors.console import entry
from recollect.doors.console.render import back, html, page
from recollect.doors.console.visit import Visit
from recollect.doors.http.envelope import STATUS
from recollect.errors import InvalidInput, RecollectError, Unauthorized

log = logging.getLogger("recollect.console")
Room = Callable[[Visit], Awaitable[Response]]


def shown(path: str, room: Room) -> Route:
    """A page, or a piece of one."""
    return Route(path, partial(serve, path, room, None), methods=["GET"])


def done(path: str, room: Room, most_files: int = 0) -> Route:
    """What a form of ours asks for."""
    return Route(path, partial(serve, path, room, most_files), methods=["POST"])


async def serve(path: str, room: Room, most_files: int | None, request: Request) -> Response:
    request.scope["route"] = SimpleNamespace(path=f"/console{path}")  # for the meters, which count by pattern
    try:
        visit = await entry.enter(request)
    except Unauthorized:
        return sign_in_first(request)
    except RecollectError as error:
        return problem(request, error)
    try:
        answer = await room(visit if most_files is None else await entry.with_form(visit, most_files))
    except RecollectError as error:
        if visit.chooses_user and not visit.place.user and getattr(error, "field", "") == "user_id":
            return back("place")
        return problem(request, error, visit)
    except HTTPException as error:  # a form that cannot be read
        return page(visit, "problem.html", {"message": str(error.detail), "field": "form"}, error.status_code)
    if entry.COOKIE not in request.cookies:
        entry.give_cookie(answer, visit.cookie, entry.is_secure(request))
    return answer


def sign_in_first(request: Request) -> Response:
    if "x-piece" in request.headers or request.method != "GET":
        return html("sign_in.html", 401, problem="You are signed out. Sign in, and repeat it.", after="")
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return back("sign-in", after=wanted.removeprefix("/console/"))


def problem(request: Request, error: RecollectError, visit: Visit | None = None) -> Response:
    """What went wrong, in the words of whoever knows; with the rooms around it where we know who looks."""
    status = STATUS.get(error.code, 500)
    field = error.field if isinstance(error, InvalidInput) else ""
    if status >= 500:
        log.error("%s %s: %s", request.method, request.url.path, error)
    if visit is None:
        return html("refused.html", status, message=str(error))
    return page(visit, "problem.html", {"message": str(error), "field": field}, status)


async def not_taken(request: Request, error: Exception) -> Response:
    """What no room was asked: a method that we have not, a form that cannot be read."""
    assert isinstance(error, HTTPException)
    return html("refused.html", error.status_code, message=str(error.detail))


async def failed(request: Request, error: Exception) -> Response:
    """What nobody foresaw: logged in full, told in a sentence. A visitor who left is for the border."""
    if isinstance(error, ClientDisconnect):
        raise error
    told = request.state.request_id
    log.error("request %s failed", told, exc_info=error)
    return html("refused.html", 500, message=f"Something went wrong here; the log has it under request {told}.")


UNFORESEEN = {HTTPException: not_taken, Exception: failed}
