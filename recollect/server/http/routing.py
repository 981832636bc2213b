"""What every route has in common, said once: permission, scope, idempotency and the response.

    @routes.add("POST /correct", "correct", model=Memory, status=201, replay=memory_replay())
    async def correct(call: Call, body: CorrectBody) -> Memory: ...

A route that takes a `Call` is authorized for its action before it runs, and returns a value that becomes the JSON
response. A route that takes a `caller` authorizes itself. A route need only declare the parameters that it uses: those
of the path are added and, without a body, those that name a user and a project (`names`). A route with a `replay` gets
an `Idempotency-Key`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from recollect.server.access.caller import Call, Caller, CurrentCaller
from recollect.server.access.idempotency import IdempotencyKey, Replay, run_once
from recollect.server.access.responses import Json, json_model
from recollect.server.http.openapi import ERRORS
from recollect.values.identity import Action
from recollect.values.scope import Scope
from recollect.values.serialization import to_json

Route = Callable[..., Awaitable[Any]]
UserParam = Annotated[str | None, Query(description="Whose memory; by default the caller's own.", examples=["alex"])]
ProjectParam = Annotated[str | None, Query(description="The project; by default the caller's.", examples=["shop"])]
PATH_NAME = re.compile(r"\{(\w+)")
NAMES = (("user", "user_id", "userId"), ("session", "session_id", "sessionId"), ("project",))


def name_parameter(name: str, annotation: Any) -> Parameter:
    """Return an optional parameter of a route."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def path_parameter(name: str) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=str)


USER, PROJECT = name_parameter("user", UserParam), name_parameter("project", ProjectParam)
CALLER = Parameter("caller", Parameter.KEYWORD_ONLY, annotation=CurrentCaller)
REQUEST = Parameter("request", Parameter.KEYWORD_ONLY, annotation=Request)
KEY = name_parameter("idempotency_key", IdempotencyKey)


class Routes:
    """Routes with a common path and tag. `names` are the parameters that name a user and a project in the query."""

    def __init__(self, prefix: str, tag: str, *names: Parameter, **options: Any) -> None:
        self.router = APIRouter(prefix=prefix, tags=[tag], **{"responses": ERRORS, **options})
        self._prefix = prefix
        self._names = names

    def add(
        self,
        address: str,
        *actions: Action,
        model: Any = None,
        status: int | None = None,
        replay: Replay | None = None,
        render: Callable[[Any], Any] = to_json,
        find_scope: Callable[..., Scope] | None = None,
        session: bool = True,
        **options: Any,
    ) -> Callable[[Route], Route]:
        """Add a route at an address such as `POST /recall`, and return it as it was.

        The caller must be allowed the first of the actions; the second, if the request is about what the project owns.
        The scope is what the request names; `find_scope` replaces this, and gets the arguments of the route.
        """
        method, path = address.rstrip("/").split(" ")

        def decorate(route: Route) -> Route:
            given = signature(route, eval_str=True).parameters
            if not {"call", "caller"} & given.keys():
                raise TypeError(f"{route.__name__} takes neither a call nor a caller: anybody could use it")

            async def endpoint(*, caller: Caller, request: Request, **arguments: Any) -> Response:
                key = None if replay is None else arguments.pop("idempotency_key")
                if find_scope is not None:
                    scope = find_scope(caller=caller, **arguments)
                else:
                    user, named_session, project = read_names(arguments)
                    action = actions[-1] if is_about_project(arguments) else actions[0]
                    scope = caller.authorize(action, user, named_session if session else None, project)
                call = Call(caller, scope, request)
                taken = {name: value for name, value in arguments.items() if name in given}
                if replay is None:
                    return respond(request, render(await route(call=call, **taken)))
                identity = [route.__name__, {name: describe_argument(value) for name, value in arguments.items()}]
                work = partial(route, call=call, **taken)
                result, replayed = await run_once(call, key, identity, work, replay, taken)
                return respond(request, render(result), replayed=replayed)

            decorated = route
            if "call" in given:
                has_body = any(is_body(each.annotation) for each in given.values())
                in_path = [path_parameter(name) for name in PATH_NAME.findall(self._prefix + path)]
                names = () if has_body else self._names
                keys = () if replay is None else (KEY,)
                added = (*in_path, *names, CALLER, REQUEST, *keys)
                decorated = change_signature(endpoint, route, *added, drop="call")
            decorated.actions = actions  # type: ignore[attr-defined]
            response_model = json_model(model) if is_dataclass(model) else model  # type: ignore[arg-type]
            shown = {"methods": [method], "status_code": status, "response_model": response_model, **options}
            self.router.add_api_route(path, decorated, **shown)
            return route

        return decorate


def is_body(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def is_about_project(arguments: Mapping[str, Any]) -> bool:
    return arguments.get("owner") == "project" or arguments.get("shared") is True


def read_names(arguments: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    """Return the user, session and project that a request names, under any of the names that our APIs have for them."""
    given = [vars(body) for body in arguments.values() if isinstance(body, BaseModel)]
    user, session, project = (find_first([*given, arguments], each) for each in NAMES)
    return user, session, project


def find_first(sources: Iterable[Mapping[str, Any]], names: Iterable[str]) -> str | None:
    return next((source[name] for source in sources for name in names if source.get(name) is not None), None)


def describe_argument(value: Any) -> Any:
    return value.model_dump() if isinstance(value, BaseModel) else value


def change_signature(endpoint: Route, route: Route, *add: Parameter, drop: str) -> Route:
    """Return `endpoint` with the name, docstring and parameters of `route`, plus and minus the given ones."""
    taken = signature(route, eval_str=True).parameters.values()
    kept = {each.name: each.replace(kind=Parameter.KEYWORD_ONLY) for each in taken if each.name != drop}
    changed = wraps(route)(endpoint)
    changed.__signature__ = signature(route).replace(  # type: ignore[attr-defined]
        parameters=list(({each.name: each for each in add} | kept).values()), return_annotation=Response
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
