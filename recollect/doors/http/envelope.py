"""Errors on their way out: one envelope, `{"error": {"code", "message", "field"?}}`, and never a traceback."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from recollect.doors.http.render import Json
from recollect.errors import InvalidInput, RateLimited, RecollectError

log = logging.getLogger("recollect.http")

STATUS: Mapping[str, int] = {
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
    "unavailable": 503,
    "schema_mismatch": 503,
    "embedder_failed": 502,
    "reasoner_failed": 502,
    "error": 500,
}
NAMES: Mapping[int, str] = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
}
RETRY_SECONDS = "1"


def envelope(status: int, code: str, message: str, field: str | None = None, **headers: str) -> Json:
    # A message may quote a lone surrogate, which UTF-8 does not have.
    message = message.encode(errors="backslashreplace").decode()
    error = {"code": code, "message": message} | ({"field": field} if field else {})
    return Json({"error": error}, status_code=status, headers={n.replace("_", "-"): v for n, v in headers.items()})


def install(app: FastAPI) -> None:
    app.add_exception_handler(RecollectError, told)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, misread)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, refused)  # type: ignore[arg-type]


async def told(request: Request, error: RecollectError) -> Json:
    status = STATUS.get(error.code, 500)
    headers = {"Retry_After": RETRY_SECONDS} if status == 503 else {}
    if isinstance(error, RateLimited):
        headers = {"Retry_After": str(math.ceil(error.seconds))}
    if status == 401:
        headers = {"WWW_Authenticate": "Bearer"}
    field = error.field if isinstance(error, InvalidInput) else None
    return envelope(status, error.code, str(error), field, **headers)


async def misread(request: Request, error: RequestValidationError) -> Json:
    """The first problem, by the path of its field."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return envelope(400, "invalid_request", f"the body is no JSON: {first['ctx']['error']}, at {first['loc'][-1]}")
    field = path(first["loc"])
    problem = first["msg"].removeprefix("Value error, ")
    return envelope(400, "invalid_request", f"{field}: {problem}", field)


async def refused(request: Request, error: HTTPException) -> Json:
    code = NAMES.get(error.status_code, "error")
    return envelope(error.status_code, code, str(error.detail), **dict(error.headers or {}))


def path(places: Sequence[Any]) -> str:
    """`("body", "turns", 0, "text")` is `turns[0].text`."""
    made = ""
    for place in places[1:] or places:
        made += f"[{place}]" if isinstance(place, int) else f".{place}" if made else str(place)
    return made


def failed(error: Exception, request_id: str) -> Json:
    """What nobody foresaw: logged in full, told in a sentence."""
    log.error("request %s failed", request_id, exc_info=error)
    return envelope(500, "error", f"something went wrong here; the log has it under request {request_id}")
