"""Write the TypeScript client from the server's OpenAPI document, which the application gives without being served.

    python scripts/typescript_client.py     # writes clients/typescript/src/schemas.ts and client.ts

An interface for every schema, and a method for every operation: first what its path names, then the body, then what
goes into the query, then options. A route that answers with server-sent events gets a second method, `...Stream`. What
is sent and read lies in clients/typescript/src/transport.ts, which is written by hand. The same document gives the same
text, so that a test can tell whether the client is up to date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]
SOURCE = Path(__file__).parents[1] / "clients" / "typescript" / "src"
HEAD = "// Written by scripts/typescript_client.py from the server's OpenAPI document. Do not edit.\n"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
JSON, EVENTS, LINES, FORM = "application/json", "text/event-stream", "application/x-ndjson", "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    told: Schema

    @property
    def name(self) -> str:
        return camel(self.told["operationId"])

    @property
    def answers(self) -> Schema:
        """By media type; nothing, where there is no body."""
        [answer] = [each for status, each in self.told["responses"].items() if status.startswith("2")]
        return dict(answer.get("content", {}))

    @property
    def body(self) -> str | None:
        content = self.told.get("requestBody", {}).get("content", {})
        if FORM in content:
            return "FormData"
        return typed(content[JSON]["schema"]) if JSON in content else None

    def named(self, place: str) -> list[Schema]:
        return [each for each in self.told.get("parameters", ()) if each["in"] == place]


def document() -> dict[str, Any]:
    from recollect.doors.http.app import make_app
    from recollect.settings import read_settings

    return make_app(read_settings({})).openapi()


def written(schema: Schema) -> dict[str, str]:
    """The text of each file, by its name."""
    return {"schemas.ts": schemas(schema["components"]["schemas"]), "client.ts": client(schema)}


# Shapes --------------------------------------------------------------------------------------------------------------


def schemas(named: Mapping[str, Schema]) -> str:
    return "\n".join([HEAD, *(declared(type_name(name), named[name]) for name in sorted(named, key=type_name))])


def type_name(name: str) -> str:
    """Two modules may have a shape of one name: then its module stands before it."""
    *modules, last = name.split("__")
    return "".join(map(str.title, modules[-1].split("_"))) + last if modules else last


def declared(name: str, schema: Schema) -> str:
    about = comment(schema.get("description"))
    if "properties" not in schema:
        return f"{about}export type {name} = {typed(schema)};\n"
    return f"{about}export interface {name} {fields(schema)}\n"


def fields(schema: Schema, indent: str = "") -> str:
    needed, inner = schema.get("required", ()), indent + "  "
    lines = []
    for name, told in schema["properties"].items():
        about = comment(told.get("description"), inner)
        lines.append(f"{about}{inner}{quoted(name)}{'' if name in needed else '?'}: {typed(told, inner)};\n")
    if schema.get("additionalProperties"):
        lines.append(f"{inner}[name: string]: unknown;\n")
    return "{\n" + "".join(lines) + indent + "}"


def typed(schema: Schema, indent: str = "") -> str:
    if "$ref" in schema:
        return type_name(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(json.dumps(each, ensure_ascii=False) for each in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(typed(each, indent) for each in schema["anyOf"]))
    match schema.get("type"):
        case "array":
            return f"Array<{typed(schema.get('items', {}), indent)}>"
        case "object":
            return mapped(schema, indent)
        case None:
            return "unknown"
        case plain:
            return PLAIN[plain]


def mapped(schema: Schema, indent: str) -> str:
    if "properties" in schema:
        return fields(schema, indent)
    values = schema.get("additionalProperties")
    return f"Record<string, {typed(values, indent) if isinstance(values, dict) else 'unknown'}>"


def quoted(name: str) -> str:
    return name if IDENTIFIER.fullmatch(name) else json.dumps(name)


def comment(text: str | None, indent: str = "") -> str:
    if not text:
        return ""
    said = " ".join(text.split()).replace("*/", "* /")
    return f"{indent}/** {said} */\n"


# Methods -------------------------------------------------------------------------------------------------------------


def client(schema: Schema) -> str:
    methods = [text for each in operations(schema) for text in methods_of(each)]
    body = "\n".join(methods)
    used = sorted(name for name in map(type_name, schema["components"]["schemas"]) if re.search(rf"\b{name}\b", body))
    imports = "".join(f"  {name},\n" for name in used)
    return (
        f'{HEAD}\nimport {{ Transport }} from "./transport.ts";\n'
        'import type { Options, ServerEvent } from "./transport.ts";\n'
        f'import type {{\n{imports}}} from "./schemas.ts";\n\n'
        f"export class Recollect extends Transport {{\n{body}}}\n"
    )


def operations(schema: Schema) -> Iterator[Operation]:
    for path, methods in schema["paths"].items():
        for method, told in methods.items():
            yield Operation(method.upper(), path, told)


def methods_of(operation: Operation) -> list[str]:
    answers = operation.answers
    if EVENTS in answers:
        whole = method(operation, operation.name, f"Promise<{typed(answers[JSON]['schema'])}>", "json", stream=False)
        return [
            whole,
            method(operation, f"{operation.name}Stream", "AsyncIterable<ServerEvent>", "events", stream=True),
        ]
    if JSON in answers:
        return [method(operation, operation.name, f"Promise<{typed(answers[JSON]['schema'])}>", "json")]
    if LINES in answers:
        return [method(operation, operation.name, "AsyncIterable<unknown>", "lines")]
    if answers:
        return [method(operation, operation.name, "AsyncIterable<string>", "text")]
    return [method(operation, operation.name, "Promise<void>", "json")]


def method(operation: Operation, name: str, gives: str, how: str, stream: bool | None = None) -> str:
    about = comment(operation.told.get("description"), "  ")
    return (
        f"{about}  {name}({', '.join(arguments(operation))}): {gives} {{\n"
        f"    return this.{how}({{ {', '.join(call(operation, stream))} }}, options);\n  }}\n"
    )


def arguments(operation: Operation) -> Iterable[str]:
    yield from (f"{camel(each['name'])}: {typed(each['schema'])}" for each in operation.named("path"))
    if operation.body:
        yield f"body: {operation.body}"
    if query := operation.named("query"):
        optional = not any(each.get("required") for each in query)
        inside = "".join(f"    {query_field(each)};\n" for each in query)
        yield f"query: {{\n{inside}  }}{' = {}' if optional else ''}"
    yield "options?: Options"


def query_field(parameter: Schema) -> str:
    mark, absent = ("", "") if parameter.get("required") else ("?", " | undefined")
    return f"{quoted(parameter['name'])}{mark}: {typed(parameter['schema'])}{absent}"


def call(operation: Operation, stream: bool | None) -> Iterable[str]:
    yield f'method: "{operation.method}"'
    yield f"path: {address(operation.path, operation.named('path'))}"
    if operation.named("query"):
        yield "query"
    if operation.body:
        yield "body" if stream is None else f"body: {{ ...body, stream: {str(stream).lower()} }}"


def address(path: str, parameters: Sequence[Schema]) -> str:
    for name in (each["name"] for each in parameters):
        path = path.replace(f"{{{name}}}", f"${{encodeURIComponent({camel(name)})}}")
    return f"`{path}`" if parameters else f'"{path}"'


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


def main() -> None:
    for name, text in written(document()).items():
        (SOURCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
