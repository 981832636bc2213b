"""All routes of the console, as one application mounted at /console; sign-in, the choice of a user, error pages and
static files.

Each page module lists its handlers in GET_ROUTES and POST_ROUTES. `serve` identifies the caller and checks the form
before it calls a handler, and turns errors into pages.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from recollect.engine import Engine
from recollect.errors import Forbidden, NotFound, RecollectError, Unauthorized
from recollect.server.access.responses import STATUS
from recollect.server.console import ask, chat, documents, glossary, memory, operations, privacy
from recollect.server.console import visit as visits
from recollect.server.console.render import HEADERS, STATIC, local_path, redirect, render_html, render_page
from recollect.server.console.visit import Selection, Visit
from recollect.values.scope import Scope

log = logging.getLogger("recollect.console")
Handler = Callable[[Visit], Awaitable[Response]]
PAGES = (chat, ask, documents, memory, glossary, operations, privacy)
FILE_LIMITS = {"/documents/add": documents.MAX_FILES, "/terms/import": 1}
STATIC_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


def mount(app: FastAPI) -> None:
    """Add the console, which shares the application's state, and Swagger UI at /docs, which needs no key: it shows no
    data."""
    static = Mount("/static", StaticFolder(directory=STATIC))
    handlers = {HTTPException: show_http_error, Exception: show_failure}
    app.mount("/console", ExceptionMiddleware(Router([static, *make_routes()]), handlers))
    app.mount("/docs/assets", StaticFiles(packages=[("fastapi_offline", "static")]))

    @app.get("/docs", include_in_schema=False)
    async def show_api_docs() -> Response:
        return render_html("api_docs.html")

    @app.get("/", include_in_schema=False)
    async def redirect_to_console() -> RedirectResponse:
        return RedirectResponse("/console/", 303)


def make_routes() -> Sequence[Route]:
    def get(path: str, handler: Handler) -> Route:
        return Route(path, partial(serve, path, handler, None), methods=["GET"])

    def post(path: str, handler: Handler) -> Route:
        return Route(path, partial(serve, path, handler, FILE_LIMITS.get(path, 0)), methods=["POST"])

    return (
        get("/", show_first_page),
        Route("/sign-in", show_sign_in, methods=["GET"]),
        Route("/sign-in", sign_in, methods=["POST"]),
        post("/sign-out", sign_out),
        get("/switch", show_switch),
        post("/switch", switch_user),
        *(get(path, handler) for page in PAGES for path, handler in page.GET_ROUTES.items()),
        *(post(path, handler) for page in PAGES for path, handler in page.POST_ROUTES.items()),
        get("/{rest:path}", show_not_found),
        post("/{rest:path}", show_not_found),
    )


async def serve(path: str, handler: Handler, max_files: int | None, request: Request) -> Response:
    """Call a handler for an identified caller; `max_files` is None for a GET, else the files that a form may have."""
    request.scope["route"] = SimpleNamespace(path=f"/console{path}")  # metrics count by pattern
    try:
        visit = await visits.open_visit(request)
    except Unauthorized:
        return ask_to_sign_in(request)
    except RecollectError as error:
        return show_error(request, error)
    try:
        response = await handler(visit if max_files is None else await visits.read_form(visit, max_files))
    except RecollectError as error:
        if visit.can_choose_user and not visit.selection.user and getattr(error, "field", "") == "user_id":
            return redirect("switch")
        return show_error(request, error, visit)
    except HTTPException as error:  # a form that cannot be parsed
        return render_page(visit, "problem.html", {"message": str(error.detail)}, error.status_code)
    if visits.SESSION_COOKIE not in request.cookies:
        visits.set_cookie(request, response, visits.SESSION_COOKIE, visit.cookie)
    return response


# Errors ---------------------------------------------------------------------------------------------------------------


def show_error(request: Request, error: RecollectError, visit: Visit | None = None) -> Response:
    """Return the error as a page; with the navigation where the caller is known."""
    status = STATUS.get(error.code, 500)
    if status >= 500:
        log.error("%s %s: %s", request.method, request.url.path, error)
    if visit is None:
        return render_html("refused.html", status, message=str(error))
    return render_page(visit, "problem.html", {"message": visit.explain(error)}, status)


async def show_http_error(request: Request, error: Exception) -> Response:
    """Return a page for what failed before a handler was called: an unknown method, an unreadable form."""
    assert isinstance(error, HTTPException)
    return render_html("refused.html", error.status_code, message=str(error.detail))


async def show_failure(request: Request, error: Exception) -> Response:
    """Log an unexpected error in full, and return a page that names only the request."""
    if isinstance(error, ClientDisconnect):
        raise error  # the application's own middleware handles it
    request_id = request.state.request_id
    log.error("request %s failed", request_id, exc_info=error)
    message = f"Something went wrong. The server log has the details under request {request_id}."
    return render_html("refused.html", 500, message=message)


async def show_not_found(visit: Visit) -> Response:
    raise NotFound("This page does not exist.")


# Signing in and out ---------------------------------------------------------------------------------------------------


def ask_to_sign_in(request: Request) -> Response:
    """Redirect to the sign-in page, which leads back to the page that was asked for."""
    if "x-piece" in request.headers or request.method != "GET":
        return render_html("sign_in.html", 401, problem="You are signed out. Sign in and try again.", after="")
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return redirect("sign-in", after=wanted.removeprefix("/console/"))


async def show_sign_in(request: Request) -> Response:
    return render_html("sign_in.html", problem="", after=request.query_params.get("after", ""))


async def sign_in(request: Request) -> Response:
    """Create a key for this browser under the key that was typed, and set it as the session cookie.

    The typed key is in the body, so that it appears in no address.
    """
    if not visits.is_same_site(request):
        return render_html("refused.html", 403, message=visits.WRONG_TOKEN)
    engine: Engine = request.app.state.engine
    form = await request.form(max_files=0, max_fields=5)
    after, secret = str(form.get("after", "")), str(form.get("key", ""))
    try:
        session_key = await engine.keys.sign_in(secret.strip())
    except RecollectError as error:
        status = 400 if isinstance(error, Unauthorized) else STATUS.get(error.code, 500)
        return render_html("sign_in.html", status, problem=str(error), after=after)
    response = RedirectResponse(f"/console/{local_path(after)}", 303, HEADERS)
    visits.set_cookie(request, response, visits.SESSION_COOKIE, session_key.secret, visits.SESSION_SECONDS)
    return response


async def sign_out(visit: Visit) -> Response:
    """Revoke this browser's key and delete both cookies: the next person must not see whose data was shown."""
    if visit.caller.identity.key is not None:
        await visit.engine.keys.revoke(visit.caller.identity.key, by=visit.caller.identity.name)
    response = redirect("sign-in")
    for name in (visits.SESSION_COOKIE, visits.SELECTION_COOKIE):
        response.delete_cookie(name, path="/console", samesite="strict", httponly=True)
    return response


# Choosing a project and user ------------------------------------------------------------------------------------------


async def show_first_page(visit: Visit) -> Response:
    if visit.can_choose_user and not visit.selection.user:
        return redirect("switch")
    if visit.can("history"):
        return redirect("chat")
    if visit.can("terms"):
        return redirect("terms")
    raise Forbidden("This key has no access to any page of the console.")


async def show_switch(visit: Visit) -> Response:
    """Show the form that chooses a user; admins also see the users of the project."""
    if not visit.can_choose_user:
        raise Forbidden("This key is limited to one user.")
    users: list[str] = []
    if visit.caller.can("audit"):
        report = await visit.engine.report(visit.scope("report"))
        users = [each.user for each in report.storage if each.user]
    return render_page(visit, "switch.html", {"users": users})


async def switch_user(visit: Visit) -> Response:
    scope = Scope(visit.field("user").strip(), project=visit.field("project").strip())
    visit.caller.authorize("history", scope.user, None, scope.project)
    response = redirect("chat", notice="" if await has_data(visit, scope) else "empty-selection")
    visits.set_selection_cookie(visit.request, response, Selection(scope.project, scope.user))
    return response


async def has_data(visit: Visit, scope: Scope) -> bool:
    """Return whether anything is stored for a user or their project."""
    return bool(
        await visit.engine.conversations(scope, limit=1)
        or await visit.engine.memories(scope, status=None, limit=1)
        or await visit.engine.memories(scope, owner="project", limit=1)
        or await visit.engine.documents.find(scope, limit=1)
    )


class StaticFolder(StaticFiles):
    """Files whose addresses have their digest: browsers may keep them for good."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers.update(STATIC_HEADERS)
        return response
