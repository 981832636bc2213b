"""The routes of HTTP as a page at /docs: every operation with its fields and a line to try, from the same description
that programs read at /openapi.json. It needs nothing from elsewhere, and no key: it tells what there is, not what is in
it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from recollect.doors.console.render import html
from recollect.model.permissions import ALLOWED, Action

Schema = Mapping[str, Any]
JSON = "application/json"
DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    where: str  # path, query, header, body
    kind: str
    required: bool
    about: str


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    about: str
    who: str
    fields: Sequence[Field]
    curl: str
    answers: Mapping[str, str]


async def described(request: Request) -> Response:
    app: FastAPI = request.app
    schema = app.openapi()
    tags = [(tag["name"], tag["description"], [*of_tag(schema, tag["name"])]) for tag in schema["tags"]]
    return html("described.html", about=schema["info"]["description"], version=schema["info"]["version"], tags=tags)


def of_tag(schema: Schema, tag: str) -> Iterator[Operation]:
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            if tag in operation.get("tags", ()):
                yield read(schema, path, method, operation)


def read(schema: Schema, path: str, method: str, told: Schema) -> Operation:
    body = resolved(schema, body_of(told))
    return Operation(
        told["operationId"],
        method.upper(),
        path,
        told.get("summary", ""),
        told.get("description", ""),
        who_may(told.get("x-actions", ())),
        [*map(parameter, told.get("parameters", ())), *fields_of(schema, body)],
        curl(method.upper(), path, example(schema, body) if body else None),
        {status: answer["description"] for status, answer in told["responses"].items()},
    )


def body_of(told: Schema) -> Schema:
    content: Schema = told.get("requestBody", {}).get("content", {})
    found: Schema = content.get(JSON, {}).get("schema", {})
    return found


def resolved(schema: Schema, part: Schema) -> Schema:
    if "$ref" not in part:
        return part
    found: Schema = schema["components"]["schemas"][part["$ref"].rpartition("/")[2]]
    return found


def parameter(told: Schema) -> Field:
    about = told.get("description") or told["schema"].get("description", "")
    return Field(told["name"], told["in"], kind(told["schema"]), told.get("required", False), about)


def fields_of(schema: Schema, body: Schema) -> Iterator[Field]:
    required = body.get("required", ())
    for name, part in body.get("properties", {}).items():
        yield Field(name, "body", kind(part), name in required, resolved(schema, part).get("description", ""))


def kind(part: Schema) -> str:
    """In a word or two: `text`, `list of Turn`, `one of ...`."""
    if "$ref" in part:
        return str(part["$ref"].rpartition("/")[2])
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(kind(each) for each in part["anyOf"] if each.get("type") != "null"))
    if "enum" in part:
        return "one of " + ", ".join(map(str, part["enum"]))
    if part.get("type") == "array":
        return f"list of {kind(part.get('items', {}))}"
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    said = str(part.get("type", "any"))
    return names.get(said, said)


def example(schema: Schema, part: Schema, depth: int = 0) -> Any:
    """A value of that shape: its example, its default, or the least that has its required fields."""
    part = resolved(schema, part)
    if part.get("examples"):
        return part["examples"][0]
    if "properties" in part and depth < DEEPEST:
        wanted = part.get("required") or [*part["properties"]][:1]
        return {name: example(schema, part["properties"][name], depth + 1) for name in wanted}
    if part.get("type") == "array":
        return [example(schema, part["items"], depth + 1)]
    if part.get("anyOf"):
        return example(schema, part["anyOf"][0], depth + 1)
    return part.get("default", "…")


def curl(method: str, path: str, body: Any) -> str:
    sent = f" -H 'Content-Type: {JSON}' -d '{json.dumps(body, ensure_ascii=False)}'" if body is not None else ""
    verb = "" if method == ("GET" if body is None else "POST") else f" -X {method}"
    return f"curl -s{verb} http://127.0.0.1:8008{path}{sent}"


def who_may(actions: Sequence[Action]) -> str:
    allowed = {who for action in actions for who in ALLOWED[action]}
    order = {
        "self": "a user, for himself",
        "user": "a user",
        "service": "a service",
        "data": "data",
        "admin": "an admin",
    }
    return ", ".join(words for who, words in order.items() if who in allowed)
