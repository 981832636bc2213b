"""All routes of the console, as one application mounted at /console; sign-in, the choice of a user, error pages and
static files."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from recollect import Engine, Forbidden, NotFound, RecollectError, Scope, Unauthorized
from recollect.server.access.responses import STATUS
from recollect.server.console import ask, chat, documents, glossary, memory, operations, privacy
from recollect.server.console import visit as visits
from recollect.server.console.handlers import Pages, Values
from recollect.server.console.render import HEADERS, STATIC, local_path, redirect, render_html
from recollect.server.console.visit import Visit

log = logging.getLogger("recollect.console")
pages = Pages()
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
    sign_in_routes = Route("/sign-in", show_sign_in, methods=["GET"]), Route("/sign-in", sign_in, methods=["POST"])
    modules = (chat, ask, documents, memory, glossary, operations, privacy)
    return (*sign_in_routes, *(route for each in modules for route in each.pages.routes), *pages.routes)


# Errors before or after a handler -------------------------------------------------------------------------------------


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


# Signing in and out ---------------------------------------------------------------------------------------------------


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


@pages.post("/sign-out")
async def sign_out(visit: Visit) -> Response:
    """Revoke this browser's key and delete both cookies: the next person must not see whose data was shown."""
    if visit.caller.identity.key is not None:
        await visit.engine.keys.revoke(visit.caller.identity.key, by=visit.caller.identity.name)
    response = redirect("sign-in")
    for name in (visits.SESSION_COOKIE, visits.SELECTION_COOKIE):
        response.delete_cookie(name, path="/console", samesite="strict", httponly=True)
    return response


# Choosing a project and user ------------------------------------------------------------------------------------------


@pages.get("/")
async def show_first_page(visit: Visit) -> Response:
    if visit.can_choose_user and not visit.selection.user:
        return redirect("switch")
    if visit.can("history"):
        return redirect("chat")
    if visit.can("terms"):
        return redirect("terms")
    raise Forbidden("This key has no access to any page of the console.")


@pages.get("/switch", "switch.html")
async def show_switch(visit: Visit) -> Values:
    """Show the form that chooses a user; admins also see the users of the project."""
    if not visit.can_choose_user:
        raise Forbidden("This key is limited to one user.")
    report = await visit.engine.report(visit.scope("report")) if visit.caller.can("audit") else None
    return {"users": [each.user for each in report.storage if each.user] if report else []}


@pages.post("/switch")
async def switch_user(visit: Visit, user: str, project: str) -> Response:
    scope, engine = Scope(user.strip(), project=project.strip()), visit.engine
    visit.caller.authorize("history", scope.user, None, scope.project)
    has_data = (
        await engine.conversations(scope, limit=1)
        or await engine.memories(scope, status=None, limit=1)
        or await engine.memories(scope, owner="project", limit=1)
        or await engine.documents.find(scope, limit=1)
    )
    response = redirect("chat", notice="" if has_data else "empty-selection")
    # In a cookie, so that user names never appear in an address.
    selection = quote(json.dumps([scope.project, scope.user]))
    visits.set_cookie(visit.request, response, visits.SELECTION_COOKIE, selection, visits.SELECTION_SECONDS)
    return response


@pages.get("/{rest:path}")
@pages.post("/{rest:path}")
async def show_not_found(visit: Visit) -> Response:
    raise NotFound("This page does not exist.")


class StaticFolder(StaticFiles):
    """Files whose addresses have their digest: browsers may keep them for good."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers.update(STATIC_HEADERS)
        return response
