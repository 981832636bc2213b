"""Handlers of the console's pages and forms, and what happens around each: the caller is identified, a form is checked,
arguments are read, errors become pages.

    @pages.get("/memory/episodes", "memory_episodes.html")
    async def show_episodes(visit: Visit, session: str = "", start: int = 0) -> Values: ...

Arguments of a handler are read by their names and types from the address or the form: a text, a number, a day, a choice
(Literal) or a tick box (bool). A field of a form without a default is required. Arguments after a `*` are for callers
in Python. A handler returns a response, or the values of its template.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import date
from functools import partial
from inspect import Parameter, signature
from types import SimpleNamespace
from typing import Any, Literal, TypeVar, get_args, get_origin

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recollect.errors import RecollectError, Unauthorized
from recollect.server.access.responses import STATUS
from recollect.server.console import visit as visits
from recollect.server.console.render import redirect, render_html, render_page
from recollect.server.console.visit import Visit, parse_choice, parse_day, parse_number

log = logging.getLogger("recollect.console")
Values = dict[str, Any]
Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Response | Values]])


class Pages:
    """The handlers of one module, as routes."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    def get(self, path: str, template: str = "") -> Callable[[Handler], Handler]:
        return partial(self._add, "GET", path, template, None)

    def post(self, path: str, template: str = "", *, files: int = 0) -> Callable[[Handler], Handler]:
        """`files` is the number of files that the form may have."""
        return partial(self._add, "POST", path, template, files)

    def _add(self, method: str, path: str, template: str, max_files: int | None, handler: Handler) -> Handler:
        parameters = [*signature(handler, eval_str=True).parameters.values()][1:]
        taken = [each for each in parameters if each.kind is Parameter.POSITIONAL_OR_KEYWORD]

        async def handle(visit: Visit) -> Response:
            result = await handler(visit, **{each.name: read_argument(visit, each) for each in taken})
            return render_page(visit, template, result) if isinstance(result, dict) else result

        self.routes.append(Route(path, partial(serve, path, handle, max_files), methods=[method]))
        return handler


def read_argument(visit: Visit, parameter: Parameter) -> Any:
    """Return an argument of a handler. A name that Python reserves has an underscore at its end: `from_`."""
    name, kind, default = parameter.name.rstrip("_"), parameter.annotation, parameter.default
    if kind is bool:
        return visit.is_checked(name)
    text = visit.query(name) if visit.form is None else visit.field(name, None if default is Parameter.empty else "")
    if not text.strip() and default is not Parameter.empty:
        return default
    kinds = (kind, *get_args(kind))
    if int in kinds:
        return parse_number(name, text, default)
    if date in kinds:
        return parse_day(name, text)
    return parse_choice(name, text, get_args(kind)) if get_origin(kind) is Literal else text


async def serve(
    path: str, handle: Callable[[Visit], Awaitable[Response]], max_files: int | None, request: Request
) -> Response:
    """Call a handler for an identified caller; `max_files` is None for a GET, else the files that a form may have."""
    request.scope["route"] = SimpleNamespace(path=f"/console{path}")  # metrics count by pattern
    try:
        visit = await visits.open_visit(request)
    except Unauthorized:
        return ask_to_sign_in(request)
    except RecollectError as error:
        return show_error(request, error)
    try:
        response = await handle(visit if max_files is None else await visits.read_form(visit, max_files))
    except RecollectError as error:
        if visit.can_choose_user and not visit.selection.user and getattr(error, "field", "") == "user_id":
            return redirect("switch")
        return show_error(request, error, visit)
    except HTTPException as error:  # a form that cannot be parsed
        return render_page(visit, "problem.html", {"message": str(error.detail)}, error.status_code)
    if visits.SESSION_COOKIE not in request.cookies:
        visits.set_cookie(request, response, visits.SESSION_COOKIE, visit.cookie)
    return response


def ask_to_sign_in(request: Request) -> Response:
    """Redirect to the sign-in page, which leads back to the page that was asked for."""
    if "x-piece" in request.headers or request.method != "GET":
        return render_html("sign_in.html", 401, problem="You are signed out. Sign in and try again.", after="")
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return redirect("sign-in", after=wanted.removeprefix("/console/"))


def show_error(request: Request, error: RecollectError, visit: Visit | None = None) -> Response:
    """Return the error as a page; with the navigation where the caller is known."""
    status = STATUS.get(error.code, 500)
    if status >= 500:
        log.error("%s %s: %s", request.method, request.url.path, error)
    if visit is None:
        return render_html("refused.html", status, message=str(error))
    return render_page(visit, "problem.html", {"message": visit.explain(error)}, status)
