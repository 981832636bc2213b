"""What every route has in common, said once: permission, scope, idempotency and the response; and the OpenAPI schema.

    @routes.write("POST /correct", "correct")
    async def correct(call: Call, body: CorrectBody) -> Memory: ...

A route that takes a `Call` is authorized for its action before it runs, and returns a value that becomes the JSON
response. A route that takes a `caller` authorizes itself. A route need only declare the parameters that it uses: those
of the path are added and, without a body, those that name a user and a project (`names`). `write` adds an
`Idempotency-Key`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial, wraps
from importlib.resources import files
from inspect import Parameter, Signature, signature
from itertools import islice
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Query
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from recollect import Memory, Receipt, Scope
from recollect.server.access import idempotency
from recollect.server.access.caller import Call, Caller, CurrentCaller
from recollect.server.access.idempotency import IdempotencyKey, Replay
from recollect.server.access.responses import REPLAYED, Json, json_model
from recollect.values.identity import Action
from recollect.values.scope import MAX_NAME
from recollect.values.serialization import to_json

OPENAPI = tomllib.loads(files("recollect.server.http").joinpath("openapi.toml").read_text("utf-8"))
ACTIONS = "x-actions"  # where the schema names the actions of a route; docs/reference/http.md is generated from it
OPEN = ("/health", "/ready")
REPLAYS: Mapping[Any, Replay] = {
    None: idempotency.NO_CONTENT,
    Receipt: idempotency.RECEIPT_REPLAY,
}  # by the type of a route's result
IGNORED_FIELDS = "X-Ignored-Fields"
MAX_IGNORED = 20  # fields that the header names
NEVER = "422"  # FastAPI's own validation error; ours is 400, with our error object

# Errors ---------------------------------------------------------------------------------------------------------------


class ErrorDetail(BaseModel):
    code: str
    message: str
    field: str | None = None


class ErrorResponse(BaseModel):
    error: ErrorDetail


def error_example(description: str, code: str, message: str, field: str | None = None) -> dict[str, Any]:
    error = {"code": code, "message": message} | ({"field": field} if field else {})
    return {
        "model": ErrorResponse,
        "description": description,
        "content": {"application/json": {"example": {"error": error}}},
    }


ERRORS: dict[int | str, dict[str, Any]] = {
    int(status): error_example(**example) for status, example in OPENAPI["errors"].items()
}
UPSTREAM_ERRORS = {502: ERRORS.pop(502)}
ERRORS_WITHOUT_BODY: dict[int | str, dict[str, Any]] = {status: ERRORS[status] for status in (400, 401, 403, 429, 503)}

# The schema -----------------------------------------------------------------------------------------------------------


def install(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    """Add the routes of the routers to the application, and complete its schema with their actions.

    The routes are shared, because `include_router` builds them a second time, which takes 0.3 s of the first request.
    """
    make_schema, actions = app.openapi, dict[str, Sequence[str]]()
    for router in routers:
        app.router.routes.extend(router.routes)
        for route in router.routes:
            if isinstance(route, APIRoute):
                route.unique_id = route.name  # the operation's id in the schema
                if hasattr(route.endpoint, "actions"):
                    actions[route.name] = route.endpoint.actions

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = complete_schema(make_schema(), actions)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def complete_schema(schema: dict[str, Any], actions: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Add credentials, the actions of each route, and the first sentence of its description as its summary; remove
    FastAPI's validation error, which is never sent."""
    schema["components"]["securitySchemes"] = OPENAPI["schemes"]
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            operation["responses"].pop(NEVER, None)
            operation["summary"] = operation["description"].partition(". ")[0].removesuffix(".")
            if path not in OPEN:
                operation["security"] = [{name: []} for name in OPENAPI["schemes"]]
            if operation["operationId"] in actions:
                operation[ACTIONS] = list(actions[operation["operationId"]])
    for unused in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(unused, None)
    return schema


# Routes ---------------------------------------------------------------------------------------------------------------

Route = Callable[..., Awaitable[Any]]
Decorator = Callable[[Route], Route]
UserParam = Annotated[str | None, Query(description="Whose memory; by default the caller's own.", examples=["alex"])]
ProjectParam = Annotated[str | None, Query(description="The project; by default the caller's.", examples=["shop"])]
KEYWORD = Parameter.KEYWORD_ONLY
PATH_NAME = re.compile(r"\{(\w+)")


def name_parameter(name: str, annotation: Any) -> Parameter:
    """Return an optional parameter of a route."""
    return Parameter(name, KEYWORD, default=None, annotation=annotation)


USER, PROJECT = name_parameter("user", UserParam), name_parameter("project", ProjectParam)
CALLER = Parameter("caller", KEYWORD, annotation=CurrentCaller)
REQUEST = Parameter("request", KEYWORD, annotation=Request)
KEY = name_parameter("idempotency_key", IdempotencyKey)


class Routes:
    """Routes with a common path and tag. `names` are the parameters that name a user and a project in the query.
    `aliases` are paths with their other names, which the schema does not show."""

    def __init__(
        self, prefix: str, tag: str, *names: Parameter, aliases: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        self.router = APIRouter(prefix=prefix, tags=[tag], **{"responses": ERRORS, **options})
        self._prefix = prefix
        self._names = names
        self._aliases = aliases or {}

    def write(self, address: str, *actions: Action, status: int | None = None, **options: Any) -> Decorator:
        """Add a route that changes something, with an idempotency key. What is stored under the key follows from the
        type of the result, unless `replay` says it."""

        def decorate(route: Route) -> Route:
            kind = signature(route, eval_str=True).return_annotation
            replay = idempotency.memory_replay() if kind is Memory else REPLAYS.get(kind, idempotency.STORED)
            usual = 204 if kind is None else 200 if address.startswith("DELETE") else 201
            return self.add(address, *actions, status=status or usual, **{"replay": replay, **options})(route)

        return decorate

    def add(
        self,
        address: str,
        *actions: Action,
        model: Any = None,
        replay: Replay | None = None,
        render: Callable[[Any], Any] = to_json,
        find_scope: Callable[..., Scope] | None = None,
        status: int | None = None,
        **options: Any,
    ) -> Decorator:
        """Add a route at an address such as `POST /recall`, and return it as it was. The model of its response is the
        type of its result, if that is a dataclass.

        The caller must be allowed the first of the actions; the second, if the request is about what the project owns.
        The scope is what the request names; `find_scope` replaces this, and gets the arguments of the route.
        """
        method, path = address.rstrip("/").split(" ")

        def decorate(route: Route) -> Route:
            given = signature(route, eval_str=True)
            endpoint = route
            if "caller" not in given.parameters:
                endpoint = make_endpoint(route, given, find_scope or partial(authorize, actions), replay, render)
                # FastAPI reads the signature: that of the route, without the call, and what it need not declare.
                kept = [each for each in given.parameters.values() if each.name != "call"]
                added = [Parameter(name, KEYWORD, annotation=str) for name in PATH_NAME.findall(self._prefix + path)]
                if not any(is_body(each.annotation) for each in kept):
                    added += self._names
                added += [CALLER, REQUEST, *([KEY] if replay is not None else [])]
                every = {each.name: each.replace(kind=KEYWORD) for each in (*added, *kept)}
                shown_as = given.replace(parameters=list(every.values()), return_annotation=Response)
                endpoint.__signature__ = shown_as  # type: ignore[attr-defined]
            endpoint.actions = actions  # type: ignore[attr-defined]
            kind = model or given.return_annotation
            response = json_model(kind) if is_dataclass(kind) else model  # type: ignore[arg-type]
            shown = {"methods": [method], "status_code": status, "response_model": response, **options}
            self.router.add_api_route(path, endpoint, **shown)
            for other in (path.replace(*pair, 1) for pair in self._aliases.items() if path.startswith(pair[0])):
                self.router.add_api_route(other, endpoint, **{**shown, "include_in_schema": False})
            return route

        return decorate


def make_endpoint(
    route: Route,
    given: Signature,
    find_scope: Callable[..., Scope],
    replay: Replay | None,
    render: Callable[[Any], Any],
) -> Route:
    """Return what FastAPI calls for a route: it finds the scope, runs the route once, and returns its response."""
    if "call" not in given.parameters:
        raise TypeError(f"{route.__name__} takes neither a call nor a caller: anybody could use it")

    @wraps(route)
    async def endpoint(*, caller: Caller, request: Request, **every: Any) -> Response:
        key = every.pop("idempotency_key") if replay else None
        call = Call(caller, find_scope(caller=caller, **every), request)
        taken = {name: value for name, value in every.items() if name in given.parameters}
        bodies = {name: value for name, value in every.items() if isinstance(value, BaseModel)}
        work = partial(route, call=call, **taken)
        if replay is None:
            response = respond(request, render(await work()))
        else:
            identity = [route.__name__, every | {name: body.model_dump() for name, body in bodies.items()}]
            result, replayed = await idempotency.run_once(call, key, identity, work, replay, taken)
            response = respond(request, render(result), replayed=replayed)
        return name_ignored(response, (name for body in bodies.values() for name in body.model_extra or ()))

    return endpoint


def name_ignored(response: Response, fields: Iterable[str]) -> Response:
    """Return the response with a header that names the fields of the request that mean nothing here. Headers have no
    letters beyond ASCII, so that others are percent-encoded."""
    if names := ", ".join(quote(name[:MAX_NAME], safe=" /") for name in islice(fields, MAX_IGNORED)):
        response.headers[IGNORED_FIELDS] = names
    return response


def authorize(actions: Sequence[Action], *, caller: Caller, **arguments: Any) -> Scope:
    """Return the scope that a request names, if the caller is allowed the action in it."""
    is_about_project = arguments.get("owner") == "project" or arguments.get("shared") is True
    sources = [*(vars(body) for body in arguments.values() if isinstance(body, BaseModel)), arguments]

    def find(*names: str) -> str | None:
        return next((source[name] for source in sources for name in names if source.get(name) is not None), None)

    user, session = find("user", "user_id", "userId"), find("session", "session_id", "sessionId")
    return caller.authorize(actions[-1] if is_about_project else actions[0], user, session, find("project"))


def is_body(annotation: Any) -> bool:
    kind = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def respond(request: Request, result: Any, *, replayed: bool = False) -> Response:
    """Return a result as JSON with the status of the route; a replay has the same status, and a header."""
    if isinstance(result, Response):
        return result
    status = request.scope["route"].status_code or 200
    if status == 204:
        return Response(status_code=204, headers=REPLAYED if replayed else None)
    return Json(to_json(result), status_code=status, replayed=replayed)
