"""The schema, as programs read it: FastAPI's, with who may come in, and without answers that we never give."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

TAGS = [
    {"name": "verbs", "description": "What an application does with memory."},
    {"name": "chat", "description": "An assistant that remembers."},
    {"name": "memories", "description": "What is known: look, end, approve, share, redact."},
    {"name": "ontology", "description": "What tables, columns and words mean in a project."},
    {"name": "projects", "description": "The memory API that text-to-SQL front ends know."},
    {"name": "data sources", "description": "The databases that a project asks."},
    {"name": "ask", "description": "Questions to a database, as callers of /answerQuestion know them."},
    {"name": "text to SQL", "description": "Questions to one data source, and what teaches it."},
    {"name": "approved queries", "description": "Questions with their SQL, for everybody in the project."},
    {"name": "documents", "description": "Upload and ask: documents, memory and what was said, in one answer."},
    {"name": "operators", "description": "Keys, the report, and the work behind the log."},
    {"name": "health", "description": "For those who watch the process."},
]
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key or a JSON Web Token."},
    "basic": {"type": "http", "scheme": "basic", "description": "A user, with an API key as the password."},
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key."},
}
OPEN = ("/health", "/ready")
NEVER = "422"  # FastAPI's own refusal; ours is 400, in the envelope


def operation_id(route: APIRoute) -> str:
    return route.name


def install(app: FastAPI) -> None:
    plain = app.openapi

    def told() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = completed(plain())
        return app.openapi_schema

    app.openapi = told  # type: ignore[method-assign]


def completed(schema: dict[str, Any]) -> dict[str, Any]:
    schema["components"]["securitySchemes"] = SCHEMES
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            operation["responses"].pop(NEVER, None)
            if path not in OPEN:
                operation["security"] = [{name: []} for name in SCHEMES]
    for unused in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(unused, None)
    return schema
