"""Refusals: the error answers of a route, as OpenAPI shows them, each with an example."""

from __future__ import annotations

from typing import Any

from recollect.doors.http.answers import ErrorAnswer

Refusals = dict[int | str, dict[str, Any]]
TOLD: dict[int, tuple[str, str, str, str | None]] = {
    400: ("A value cannot be used; `field` names it.", "invalid_request", "text: is empty", "text"),
    401: ("Who are you?", "unauthorized", "say who you are: `Authorization: Bearer` with a key or token", None),
    403: ("You may not.", "forbidden", "promote takes the role admin; this identity has the role user", None),
    404: ("There is no such thing in this scope; another's counts as none.", "not_found", "there is no memory", None),
    409: ("The idempotency key was used for another request.", "conflict", "use a new key for this one", None),
    413: ("The body is too large.", "too_large", "the body has more than 20,000,000 bytes", None),
    415: ("The body is not JSON.", "unsupported_media_type", "send JSON as Content-Type: application/json", None),
    429: ("Too many requests; `Retry-After` says when to come back.", "rate_limited", "wait 0.5 s", None),
    503: ("The database does not answer; repeat the request.", "unavailable", "PostgreSQL went away", None),
}


def refusal(description: str, code: str, message: str, field: str | None) -> dict[str, Any]:
    error = {"code": code, "message": message} | ({"field": field} if field else {})
    return {
        "model": ErrorAnswer,
        "description": description,
        "content": {"application/json": {"example": {"error": error}}},
    }


REFUSALS: Refusals = {status: refusal(*told) for status, told in TOLD.items()}
SHORT_REFUSALS: Refusals = {status: REFUSALS[status] for status in (400, 401, 403, 429, 503)}  # where nothing is sent
