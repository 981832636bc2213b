"""Responses: JSON encoded by msgspec, its models for schemas, streams of lines, and
`{"error": {"code", "message", "field"?}}` for every error.

The dataclass is the JSON: `json_model(Memory)` describes what `to_json` makes of a Memory. Responses are not validated
against their models on the way out; tests/server/http/test_schema.py does that."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache, reduce
from operator import attrgetter, or_
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, create_model
from starlette.exceptions import HTTPException
from starlette.responses import Response

from recollect.apps.ask.question import MAX_ROWS
from recollect.apps.documents.question import MAX_MEMORIES
from recollect.errors import InvalidInput, RateLimited, RecollectError
from recollect.values.conversation import MAX_TURN_CHARS
from recollect.values.data_source import MAX_DSN
from recollect.values.document import MAX_CHUNK_HITS
from recollect.values.lesson import MAX_VALUE_CHARS
from recollect.values.query import MAX_BUDGET, MAX_HITS, MAX_QUERY_CHARS
from recollect.values.scope import MAX_NAME
from recollect.values.serialization import find_type, json_types

T = TypeVar("T")
log = logging.getLogger("recollect.http")

# Of several codes with one status, the first names the status.
STATUS: Mapping[str, int] = {
    "error": 500,
    "invalid_request": 400,
    "invalid_setting": 500,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "query_failed": 400,
    "too_large": 413,
    "unsupported_media_type": 415,
    "rate_limited": 429,
    "quota_exceeded": 403,
    "missing_extra": 501,
    "unavailable": 503,
    "schema_mismatch": 503,
    "embedder_failed": 502,
    "reasoner_failed": 502,
}
NAMES: Mapping[int, str] = {
    **{status: code for code, status in reversed(list(STATUS.items()))},
    405: "method_not_allowed",
}
RETRY_SECONDS = "1"
PROBLEMS = {"missing": "is required", "extra_forbidden": "is not a field of this request"}  # pydantic's own words
REPLAYED = {"Idempotent-Replayed": "true"}


ENCODER = msgspec.json.Encoder(enc_hook=lambda value: dict(value) if isinstance(value, Mapping) else str(value))


class Json(Response):
    """A response in JSON; one that repeats what an earlier request got says so in a header."""

    media_type = "application/json"

    def __init__(
        self, content: Any, status_code: int = 200, headers: Mapping[str, str] | None = None, *, replayed: bool = False
    ) -> None:
        super().__init__(content, status_code, {**(headers or {}), **(REPLAYED if replayed else {})})

    def render(self, content: Any) -> bytes:
        return ENCODER.encode(content)


async def start_stream(pieces: AsyncIterator[T]) -> AsyncIterator[T]:
    """Return the pieces, once the first is there: an error before it still becomes an error response."""
    first = await anext(pieces, None)

    async def stream() -> AsyncIterator[T]:
        if first is not None:
            yield first
        async for piece in pieces:
            yield piece

    return stream()


@cache
def json_model(kind: type) -> type[BaseModel]:
    """Return a model of the JSON object that `to_json` makes of a dataclass; it always has all fields."""
    return json_object(kind.__name__, doc=kind.__doc__, **json_types(kind))


def json_object(name: str, /, doc: str | None = None, **types: Any) -> type[BaseModel]:
    """Return a model of a JSON object with these fields; dataclasses in their types are described by `json_model`."""
    described: dict[str, Any] = {field: (describe_type(hint), ...) for field, hint in types.items()}
    return create_model(name, __doc__=doc, **described)


def list_of(model: type[BaseModel]) -> Any:
    """Return the type of a list of objects that `json_object` described."""
    return list[model]  # type: ignore[valid-type]


def describe_type(hint: Any) -> Any:
    """Return a type with every dataclass in it replaced by its model."""
    if is_dataclass(hint):
        return json_model(hint)  # type: ignore[arg-type]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal:
        return hint
    described = tuple(describe_type(each) for each in inner)
    return reduce(or_, described) if origin in (Union, UnionType) else origin[described]


# Names of limits in bodies.toml and in arguments.toml.
LIMITS = {
    "name": MAX_NAME,
    "value": MAX_VALUE_CHARS,
    "query": MAX_QUERY_CHARS,
    "turn": MAX_TURN_CHARS,
    "dsn": MAX_DSN,
    "hits": MAX_HITS,
    "budget": MAX_BUDGET,
    "rows": MAX_ROWS,
    "chunks": MAX_CHUNK_HITS,
    "memories": MAX_MEMORIES,
}


def describe_limits(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits of a field as JSON Schema has them; the library enforces them."""
    if "characters" in row:
        return {"minLength": 1, "maxLength": LIMITS[row["characters"]]}
    if "between" in row:
        low, high = row["between"]
        return {"minimum": low, "maximum": LIMITS.get(high, high)}
    return dict(zip(("minItems", "maxItems"), row.get("items", ()), strict=False))


class Shape:
    """A value of `kind` as a JSON object under the names of an outside interface.

    `names` are attributes that keep their names. `renamed` are the others: each the path of an attribute, or a type
    with a function of the value.
    """

    def __init__(
        self,
        model_name: str,
        kind: type,
        /,
        *names: str,
        doc: str | None = None,
        **renamed: str | tuple[Any, Callable[[Any], Any]],
    ) -> None:
        sources = {**{name: name for name in names}, **renamed}
        types = {name: find_type(kind, each) if isinstance(each, str) else each[0] for name, each in sources.items()}
        self.model = json_object(model_name, doc=doc, **types)
        self._sources = {name: attrgetter(each) if isinstance(each, str) else each[1] for name, each in sources.items()}

    def list_at(self, path: str) -> tuple[Any, Callable[[Any], Any]]:
        """Return the type and the source of a list of such values at a path of another value."""
        read = attrgetter(path)
        return list_of(self.model), lambda value: self.describe_all(read(value))

    def describe(self, value: Any) -> dict[str, Any]:
        return {field: read(value) for field, read in self._sources.items()}

    def describe_all(self, values: Iterable[Any]) -> list[dict[str, Any]]:
        return [self.describe(each) for each in values]


def error_response(status: int, code: str, message: str, field: str | None = None, **headers: str) -> Json:
    # A message may quote a lone surrogate, which UTF-8 cannot encode.
    message = message.encode(errors="backslashreplace").decode()
    error = {"code": code, "message": message} | ({"field": field} if field else {})
    return Json({"error": error}, status_code=status, headers={n.replace("_", "-"): v for n, v in headers.items()})


def install(app: FastAPI) -> None:
    for kind in (RecollectError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle_error)


async def handle_error(request: Request, error: Exception) -> Json:
    """Return the response to an error that has one."""
    match error:
        case InvalidInput():
            return describe_error(error.as_written({name: name for name in list_fields(request)}))
        case RecollectError():
            return describe_error(error)
        case RequestValidationError():
            return describe_validation_error(error)
        case HTTPException():
            code = NAMES.get(error.status_code, "error")
            return error_response(error.status_code, code, str(error.detail), **dict(error.headers or {}))
    raise error


def list_fields(request: Request) -> frozenset[str]:
    """Return the names of the parameters in the query and of the fields in the body that the request's route has."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return frozenset()
    form = (route.openapi_extra or {}).get("requestBody", {}).get("content", {}).get("multipart/form-data", {})
    models = (each.field_info.annotation for each in route.dependant.body_params)
    fields = (model.model_fields for model in models if isinstance(model, type) and issubclass(model, BaseModel))
    query = (each.alias for each in route.dependant.query_params)
    return frozenset(form.get("schema", {}).get("properties", ())).union(query, *fields)


def describe_error(error: RecollectError) -> Json:
    status = STATUS.get(error.code, 500)
    headers = {"Retry_After": RETRY_SECONDS} if status == 503 else {}
    if isinstance(error, RateLimited):
        headers = {"Retry_After": str(math.ceil(error.seconds))}
    if status == 401:
        headers = {"WWW_Authenticate": "Bearer"}
    field = error.field if isinstance(error, InvalidInput) else None
    return error_response(status, error.code, str(error), field, **headers)


def describe_validation_error(error: RequestValidationError) -> Json:
    """Return the first problem, with the path of its field."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return error_response(
            400, "invalid_request", f"the body is not JSON: {first['ctx']['error']}, at {first['loc'][-1]}"
        )
    # A parameter of the query is repeated, not numbered.
    places = first["loc"][:2] if first["loc"][0] == "query" else first["loc"]
    field = ""
    for place in places[1:] or places:  # ("body", "turns", 0, "text") is turns[0].text
        field += f"[{place}]" if isinstance(place, int) else f".{place}" if field else str(place)
    problem = PROBLEMS.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    return error_response(400, "invalid_request", f"{field}: {problem}", field)


def unexpected_error_response(error: Exception, request_id: str) -> Json:
    """Log an unexpected error with its traceback, and return a response that only names the request."""
    log.error("request %s failed", request_id, exc_info=error)
    return error_response(500, "error", f"internal error; see the server's log for request {request_id}")
