"""The console's door: its rooms as one application, mounted at /console; and what belongs to no room: signing in and
out, whose memory is looked at, scripts and styles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from urllib.parse import unquote, urlsplit

from fastapi import FastAPI
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from recollect.doors.console import ask, chat, documents, entry, health, memory, privacy, settings, terms
from recollect.doors.console.described import described
from recollect.doors.console.render import HEADERS, STATIC, back, html, page
from recollect.doors.console.serving import UNFORESEEN, done, shown
from recollect.doors.console.visit import Place, Visit
from recollect.doors.http.envelope import STATUS
from recollect.errors import Forbidden, NotFound, RecollectError
from recollect.model.scope import Scope

FOR_GOOD = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
ROOMS = (chat, ask, documents, memory, terms, health, privacy, settings)
LONGEST = 2_000  # characters of an address to come back to
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


async def sign_in_page(request: Request) -> Response:
    return html("sign_in.html", problem="", after=request.query_params.get("after", ""))


async def sign_in(request: Request) -> Response:
    """The key is in the body, never in an address; the cookie gets another one."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return html("refused.html", 403, message=entry.NOT_OURS)
    form = await request.form(max_files=0, max_fields=5)
    after, secret = str(form.get("after", "")), str(form.get("key", ""))
    try:
        value = await entry.signed_in(request.app.state.engine, secret)
    except RecollectError as error:
        return html("sign_in.html", STATUS.get(error.code, 500), problem=str(error).removeprefix("key: "), after=after)
    answer = RedirectResponse(f"/console/{local(after)}", 303, HEADERS)
    entry.give_cookie(answer, value, entry.is_secure(request), entry.HALF_A_DAY)
    return answer


def local(after: str) -> str:
    """Only ever a page of ours. A browser takes `%2e` for a dot, and leaves out what cannot be printed."""
    wanted = after.lstrip("/")
    path = unquote(urlsplit(f"/console/{wanted}").path)
    is_ours = "\\" not in path and ".." not in path and after.isprintable() and len(after) <= LONGEST
    return wanted if is_ours else ""


async def sign_out(visit: Visit) -> Response:
    if visit.caller.identity.key is not None:
        await visit.engine.revoke_key(visit.caller.identity.key, by=visit.caller.identity.name)
    answer = back("sign-in")
    for name in (entry.COOKIE, entry.PLACE):  # whom he looked at is not for the next one at this browser
        answer.delete_cookie(name, path="/console", samesite="strict", httponly=True)
    return answer


async def place_page(visit: Visit) -> Response:
    """For whoever acts for many: whose memory is it to be? An admin sees who there is."""
    if not visit.chooses_user:
        raise Forbidden("this key looks at one memory only")
    known = await visit.engine.report(visit.scope("report")) if visit.caller.may("audit") else None
    users = [each.user for each in known.storage if each.user] if known else []
    return page(visit, "place.html", {"users": users})


async def choose_place(visit: Visit) -> Response:
    """Look at another project's or user's memory, if the caller may."""
    project, user = visit.said("project").strip(), visit.said("user").strip()
    checked = Scope(user, project=project)
    visit.caller.scope("history", checked.user, None, checked.project)
    answer = back("chat")
    entry.choose_place(answer, Place(checked.project, checked.user), entry.is_secure(visit.request))
    return answer


async def first_room(visit: Visit) -> Response:
    if visit.chooses_user and not visit.place.user:
        return back("place")
    if visit.may("history"):
        return back("chat")
    if visit.may("terms"):
        return back("terms")
    raise Forbidden("this key may see no room of the console")


async def static_file(request: Request) -> Response:
    """By name from our own folder; nothing else has a name there."""
    name = request.path_params["name"]
    if name not in files():
        return html("refused.html", 404, message="There is no such file.")
    return FileResponse(STATIC / name, headers=FOR_GOOD, media_type=KINDS[files()[name]])


@cache
def files() -> dict[str, str]:
    """What there is, by name, with its suffix."""
    return {file.name: file.suffix for file in STATIC.iterdir() if file.suffix in KINDS}


async def nothing_here(visit: Visit) -> Response:
    raise NotFound("There is no such page. The rooms are beside this.")


def make_routes() -> Sequence[Route]:
    return (
        shown("/", first_room),
        Route("/sign-in", sign_in_page, methods=["GET"]),
        Route("/sign-in", sign_in, methods=["POST"]),
        done("/sign-out", sign_out),
        shown("/place", place_page),
        done("/place", choose_place),
        Route("/static/{name}", static_file, methods=["GET"]),
        *(route for room in ROOMS for route in room.routes),
        shown("/{rest:path}", nothing_here),
        done("/{rest:path}", nothing_here),
    )


def make_console() -> ASGIApp:
    """Not an application of its own: the engine and the hosts are those of the one it is mounted in."""
    return ExceptionMiddleware(Router(make_routes()), UNFORESEEN)


def mount(app: FastAPI) -> None:
    app.mount("/console", make_console())
    app.add_route("/docs", described, include_in_schema=False)

    @app.get("/", include_in_schema=False)
    async def front() -> RedirectResponse:
        return RedirectResponse("/console/", 303)
