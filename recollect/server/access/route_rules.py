"""What every route has in common, said once: permission and scope (`@authorized`) and idempotency (`@idempotent`).

    @router.post("/correct", status_code=201, response_model=json_model(Memory))
    @authorized("correct")
    @idempotent(memory_replay())
    async def correct(body: CorrectBody, caller: CurrentCaller, scope: Scope) -> Memory: ...

A route returns a value; these decorators turn it into the JSON response with the status of the route. Both change the
signature that FastAPI reads: `scope` is not a parameter of the request, `Idempotency-Key` is one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response

from recollect.server.access.caller import Caller
from recollect.server.access.idempotency import STORED, IdempotencyKey, Replay, run_once
from recollect.server.access.json_response import Json
from recollect.values.permissions import Action
from recollect.values.scope import Scope
from recollect.values.serialization import to_json

ACTIONS = "x-actions"  # where OpenAPI names the actions of a route; docs/reference/http.md is generated from it
Route = Callable[..., Awaitable[Any]]
REQUEST = Parameter("request", Parameter.KEYWORD_ONLY, annotation=Request)
KEY = Parameter("idempotency_key", Parameter.KEYWORD_ONLY, default=None, annotation=IdempotencyKey)


def requires(*actions: Action) -> Callable[[Route], Route]:
    """Declare the actions that a route authorizes itself; of several, the request decides which."""

    def decorate(route: Route) -> Route:
        route.actions = actions  # type: ignore[attr-defined]
        return route

    return decorate


def authorized(
    *actions: Action, session: bool = True, find_scope: Callable[..., Scope] | None = None
) -> Callable[[Route], Route]:
    """Authorize the caller for the first action, and pass the scope that the request names to the route as `scope`.

    The scope is read from `user`, `session` and `project` of the body, else of the path or query. `find_scope` replaces
    this for routes that authorize several actions; it gets the arguments of the route.
    """

    def decorate(route: Route) -> Route:
        takes_request = "request" in signature(route).parameters

        async def endpoint(*, request: Request, **arguments: Any) -> Response:
            if takes_request:
                arguments["request"] = request
            if find_scope is not None:
                scope = find_scope(**arguments)
            else:
                user, named_session, project = read_names(arguments)
                caller: Caller = arguments["caller"]
                scope = caller.authorize(actions[0], user, named_session if session else None, project)
            return respond(request, await route(**arguments, scope=scope))

        return requires(*actions)(change_signature(endpoint, route, REQUEST, drop="scope"))

    return decorate


def read_names(arguments: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    """Return the user, session and project that a request names, under any of the names that our APIs have for them."""
    given = [vars(body) for body in arguments.values() if isinstance(body, BaseModel)]
    sources = [*given, arguments]
    names = (("user", "user_id", "userId"), ("session", "session_id", "sessionId"), ("project",))
    user, session, project = (find_first(sources, each) for each in names)
    return user, session, project


def find_first(sources: Iterable[Mapping[str, Any]], names: Iterable[str]) -> str | None:
    return next((source[name] for source in sources for name in names if source.get(name) is not None), None)


def idempotent(replay: Replay = STORED, render: Callable[[Any], Any] = to_json) -> Callable[[Route], Route]:
    """Do a write once per `Idempotency-Key`, and respond with `render(result)`. Goes below `@authorized`."""

    def decorate(route: Route) -> Route:
        async def endpoint(*, idempotency_key: str | None, request: Request, **arguments: Any) -> Response:
            if takes_request:
                arguments["request"] = request
            result, replayed = await run_once(
                arguments["caller"],
                arguments["scope"],
                idempotency_key,
                [route.__name__, {name: describe_argument(value) for name, value in arguments.items()}],
                lambda: route(**arguments),
                replay,
                arguments,
            )
            return respond(request, render(result), replayed=replayed)

        takes_request = "request" in signature(route).parameters
        return change_signature(endpoint, route, KEY, REQUEST)

    return decorate


def describe_argument(value: Any) -> Any:
    """Return what of an argument tells two requests apart; the caller and the scope are not part of a request."""
    if isinstance(value, Caller | Request | Scope):
        return None
    return value.model_dump() if isinstance(value, BaseModel) else value


def change_signature(endpoint: Route, route: Route, *add: Parameter, drop: str | None = None) -> Route:
    """Return `endpoint` with the name, docstring and parameters of `route`, plus and minus the given ones."""
    taken = signature(route, eval_str=True).parameters.values()
    kept = {each.name: each.replace(kind=Parameter.KEYWORD_ONLY) for each in taken if each.name != drop}
    changed = wraps(route)(endpoint)
    changed.__signature__ = signature(route).replace(  # type: ignore[attr-defined]
        parameters=list((kept | {each.name: each for each in add}).values()), return_annotation=Response
    )
    return changed


def respond(request: Request, result: Any, *, replayed: bool = False) -> Response:
    """Return a result as JSON with the status of the route; a replay has the same status, and a header."""
    if isinstance(result, Response):
        return result
    status = request.scope["route"].status_code or 200
    headers = {"Idempotent-Replayed": "true"} if replayed else None
    if status == 204:
        return Response(status_code=204, headers=headers)
    return Json(to_json(result), status_code=status, headers=headers)
