"""OpenAPI: error examples, and the finished schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

TAGS = [
    {"name": "verbs", "description": "What an application does with memory."},
    {"name": "chat", "description": "An assistant that remembers."},
    {"name": "memories", "description": "What is known: list, end, approve, share, redact."},
    {"name": "ontology", "description": "What tables, columns and terms mean in a project."},
    {"name": "projects", "description": "The memory API of text-to-SQL front ends."},
    {"name": "data sources", "description": "The databases of a project."},
    {"name": "ask", "description": "Questions to a database, with the fields of /answerQuestion."},
    {"name": "text to SQL", "description": "Questions to one data source, and what teaches it."},
    {"name": "approved queries", "description": "Questions with their SQL, for everybody in the project."},
    {"name": "documents", "description": "Upload and ask: documents, memory and history in one answer."},
    {"name": "operators", "description": "API keys, the report, and background work."},
    {"name": "health", "description": "For monitoring."},
]
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key or a JSON Web Token."},
    "basic": {"type": "http", "scheme": "basic", "description": "A user, with an API key as the password."},
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key."},
}
ACTIONS = "x-actions"  # where the schema names the actions of a route; docs/reference/http.md is generated from it
OPEN = ("/health", "/ready")
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
    400: error_example("A value cannot be used; `field` names it.", "invalid_request", "text: is empty", "text"),
    401: error_example(
        "No valid credentials.", "unauthorized", "send `Authorization: Bearer` with an API key or token"
    ),
    403: error_example(
        "The caller is not allowed to do this.",
        "forbidden",
        "promote takes the role admin; this identity has the role user",
    ),
    404: error_example(
        "Not found in this scope; what belongs to another user counts as not found.", "not_found", "there is no memory"
    ),
    409: error_example(
        "The idempotency key was used for another request.", "conflict", "use a new key for this request"
    ),
    413: error_example("The body is too large.", "too_large", "the body has more than 20,000,000 bytes"),
    415: error_example(
        "The body is not JSON.", "unsupported_media_type", "send JSON as Content-Type: application/json"
    ),
    429: error_example("Too many requests; `Retry-After` says when to try again.", "rate_limited", "wait 0.5 s"),
    503: error_example("The database does not answer; repeat the request.", "unavailable", "PostgreSQL went away"),
}
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
    """Add credentials and the actions of each route; remove FastAPI's validation error, which is never sent."""
    schema["components"]["securitySchemes"] = SCHEMES
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            operation["responses"].pop(NEVER, None)
            if path not in OPEN:
                operation["security"] = [{name: []} for name in SCHEMES]
            if operation["operationId"] in actions:
                operation[ACTIONS] = list(actions[operation["operationId"]])
    for unused in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(unused, None)
    return schema
