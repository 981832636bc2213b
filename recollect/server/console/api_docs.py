"""The HTTP API reference at /docs: every operation with its fields and an example, from /openapi.json. It works offline
and needs no key, because it shows no data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from recollect.server.console.render import render_html
from recollect.values.identity import ALLOWED, Action

Schema = Mapping[str, Any]
JSON = "application/json"
MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    location: str  # path, query, header, body
    type: str
    required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    description: str
    roles: str
    fields: Sequence[Field]
    curl: str
    responses: Mapping[str, str]


async def show_api_docs(request: Request) -> Response:
    app: FastAPI = request.app
    schema = app.openapi()
    operations: dict[str, list[Operation]] = {tag["name"]: [] for tag in schema["tags"]}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            operations[operation["tags"][0]].append(read_operation(schema, path, method, operation))
    tags = [(tag["name"], tag["description"], operations[tag["name"]]) for tag in schema["tags"]]
    info = schema["info"]
    return render_html("api_docs.html", description=info["description"], version=info["version"], tags=tags)


def read_operation(schema: Schema, path: str, method: str, operation: Schema) -> Operation:
    content = operation.get("requestBody", {}).get("content", {})
    body = resolve_ref(schema, content.get(JSON, {}).get("schema", {}))
    parameters = [
        Field(
            *(each["name"], each["in"], name_type(each["schema"]), each.get("required", False)),
            each.get("description") or each["schema"].get("description", ""),
        )
        for each in operation.get("parameters", ())
    ]
    body_fields = [
        Field(
            *(name, "body", name_type(part), name in body.get("required", ())),
            resolve_ref(schema, part).get("description", ""),
        )
        for name, part in body.get("properties", {}).items()
    ]
    return Operation(
        operation["operationId"],
        method.upper(),
        path,
        operation.get("summary", ""),
        operation.get("description", ""),
        list_roles(operation.get("x-actions", ())),
        [*parameters, *body_fields],
        make_curl(method.upper(), path, make_example(schema, body) if body else None),
        {status: response["description"] for status, response in operation["responses"].items()},
    )


def resolve_ref(schema: Schema, part: Schema) -> Schema:
    if "$ref" not in part:
        return part
    found: Schema = schema["components"]["schemas"][part["$ref"].rpartition("/")[2]]
    return found


def name_type(part: Schema) -> str:
    """Return a type in a word or two: `string`, `list of Turn`, `one of ...`."""
    if "$ref" in part:
        return str(part["$ref"].rpartition("/")[2])
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(name_type(each) for each in part["anyOf"] if each.get("type") != "null"))
    if "enum" in part:
        return "one of " + ", ".join(map(str, part["enum"]))
    if part.get("type") == "array":
        return f"list of {name_type(part.get('items', {}))}"
    return str(part.get("type", "any"))


def make_example(schema: Schema, part: Schema, depth: int = 0) -> Any:
    """Return the example of a schema, or its default, or an object with only its required fields."""
    part = resolve_ref(schema, part)
    if part.get("examples"):
        return part["examples"][0]
    if "properties" in part and depth < MAX_DEPTH:
        wanted = part.get("required") or [*part["properties"]][:1]
        return {name: make_example(schema, part["properties"][name], depth + 1) for name in wanted}
    if part.get("type") == "array":
        return [make_example(schema, part["items"], depth + 1)]
    if part.get("anyOf"):
        return make_example(schema, part["anyOf"][0], depth + 1)
    return part.get("default", "…")


def make_curl(method: str, path: str, body: Any) -> str:
    data = f" -H 'Content-Type: {JSON}' -d '{json.dumps(body, ensure_ascii=False)}'" if body is not None else ""
    option = "" if method == ("GET" if body is None else "POST") else f" -X {method}"
    return f"curl -s{option} http://127.0.0.1:8008{path}{data}"


def list_roles(actions: Sequence[Action]) -> str:
    allowed = {role for action in actions for role in ALLOWED[action]}
    names = {"self": "user (own data)", "user": "user", "service": "service", "data": "data", "admin": "admin"}
    return ", ".join(name for role, name in names.items() if role in allowed)
