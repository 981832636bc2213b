"""The routes as the application itself tells them, who may take each, and a small request for each. The tests of who
may do what go through these, and docs/reference/http.md is made from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from tempfile import NamedTemporaryFile
from typing import Any, Literal

from recollect.server.app import make_app
from recollect.server.http.routing import ACTIONS
from recollect.settings import read_settings
from recollect.values.identity import ALLOWED, OF_NOBODY, OF_PROJECT, Action

NOBODYS_ID = "01890000-0000-7000-8000-000000000000"
Column = Literal["own", "another", "service", "data", "admin", "every"]
COLUMNS: tuple[Column, ...] = ("own", "another", "service", "data", "admin", "every")
INSTALLATION: frozenset[Action] = frozenset({"work"})  # of all projects or of none
Verdict = bool | None  # None: the question does not arise


@dataclass(frozen=True)
class Route:
    method: str
    path: str
    operation: str
    action: Action | None  # None: open to everybody
    summary: str
    tag: str
    writes: bool
    body: str  # the fields of its body, as the page shows them

    def verdict(self, column: Column) -> Verdict:
        if self.action is None:
            return True
        allowed = ALLOWED[self.action]
        match column:
            case "own":
                return bool(allowed & {"self", "user"})
            case "another":
                return None if self.action in OF_PROJECT | OF_NOBODY else False
            case "every":
                return "admin" in allowed
            case "admin":
                return self.action not in INSTALLATION and "admin" in allowed
            case role:
                return role in allowed


@cache
def schema() -> dict[str, Any]:
    return dict(make_app(read_settings({})).openapi())


def routes() -> Iterator[Route]:
    for path, operations in schema()["paths"].items():
        for method, told in operations.items():
            takes_key = any(each["name"] == "Idempotency-Key" for each in told.get("parameters", ()))
            summary = told["description"].partition(".")[0].replace("\n", " ")
            content: dict[str, Any] = told.get("requestBody", {}).get("content", {})
            body = next((each["schema"] for each in content.values()), None)
            for action in told.get(ACTIONS, [None]):
                yield Route(
                    *(method.upper(), path, told["operationId"], action, summary, told["tags"][0], takes_key),
                    body=shown_fields(body) if body else "",
                )


def shown_fields(told: dict[str, Any]) -> str:
    """`{text, limit?}`: the fields of an object, of those in a list too; one that may be left out with a `?`."""
    told = schema()["components"]["schemas"][told["$ref"].rpartition("/")[2]] if "$ref" in told else told
    required = told.get("required", ())
    fields = []
    for name, about in told["properties"].items():
        inner = f": [{shown_fields(about['items'])}]" if "$ref" in about.get("items", {}) else ""
        fields.append(f"{name}{'' if name in required else '?'}{inner}")
    return f"{{{', '.join(fields)}}}"


@dataclass(frozen=True)
class Ask:
    """A request that needs nothing to be there; what it names by id is not."""

    json: Any = None
    params: dict[str, str] = field(default_factory=dict)
    names_user: str | None = "user"  # the field that says whose
    by_header: bool = False  # whose it is, is said in headers alone
    form: dict[str, Any] | None = None  # the parts of a form, in place of JSON


OF_USER_ID, USER_ID = "user_id", "userId"
FILE = {"file": ("hello.txt", b"hello")}
# An empty file is an empty SQLite database; this one goes when the run ends.
EMPTY = NamedTemporaryFile(suffix=".db")  # noqa: SIM115
ASKS: dict[str, Ask] = {
    "record": Ask({"turns": [{"role": "user", "text": "hello"}]}),
    "recall": Ask({"text": "hello"}),
    "recall_many": Ask({"queries": [{"text": "hello"}]}),
    "context": Ask({"text": "hello"}),
    "resolve": Ask({"terms": ["hello"]}),
    "learn": Ask({"value": "hello"}),
    "learn_project": Ask({"value": "hello", "owner": "project"}, names_user=None),
    "correct": Ask({"memory": NOBODYS_ID, "value": "hello"}),
    "forget": Ask({"session": "nothing said here"}),
    "history": Ask(params={"session": "nothing said here"}),
    "memories_project": Ask(params={"owner": "project"}, names_user=None),
    "audit_project": Ask(params={"owner": "project"}, names_user=None),
    "mark": Ask({"ref": "nothing#0"}),
    **{name: Ask({}) for name in ("close", "promote", "approve", "reject", "redact")},
    "import_ontology": Ask({"source": {"tables": {"orders": {}}}}, names_user=None),
    "put_term": Ask({"name": "orders", "kind": "table"}, names_user=None),
    "add_memory": Ask({"key": "k", "value": "hello"}, names_user=OF_USER_ID),
    "list_memories": Ask(names_user=OF_USER_ID),
    "change_memory": Ask({"value": "hello"}, names_user=OF_USER_ID),
    "drop_memory": Ask(names_user=OF_USER_ID),
    "promote_memory": Ask(names_user=OF_USER_ID),
    "add_knowledge": Ask({"fact": "hello"}, names_user=None),
    "change_knowledge": Ask({"fact": "hello"}, names_user=None),
    "chat": Ask({"message": "hello"}, names_user=OF_USER_ID),
    "rename_chat_session": Ask({"name": "hello"}, names_user=OF_USER_ID),
    **{name: Ask(names_user=OF_USER_ID) for name in ("chat_sessions", "chat_session", "delete_chat_session")},
    "complete_chat": Ask({"messages": [{"role": "user", "content": "hello"}]}, by_header=True),
    "list_models": Ask(by_header=True),
    "create_key": Ask({"role": "service", "name": "another"}, names_user=None),
    "put_glossary": Ask({"term": "active", "definition": "logged in lately"}, names_user=None),
    "add_data_source": Ask({"name": "another", "dsn": f"sqlite:///{EMPTY.name}"}, names_user=None),
    "put_model": Ask({"model": {}}, names_user=None),
    "put_access": Ask({"access": {}}, names_user=None),
    "text_to_sql": Ask({"question": "hello"}, names_user=OF_USER_ID),
    "clarify_question": Ask({"term": "active", "answer": "this year"}, names_user=OF_USER_ID),
    "correct_sql": Ask(
        {"question": "hello", "generated_sql": "SELECT 1", "corrected_sql": "SELECT 2"}, names_user=OF_USER_ID
    ),
    "rate_sql": Ask({"question": "hello", "sql": "SELECT 1", "good": True}, names_user=OF_USER_ID),
    "query_history": Ask(names_user=OF_USER_ID),
    "propose_query": Ask({"prompt": "hello", "sql": "SELECT 1"}, names_user=None),
    "execute_query": Ask({}, names_user=None),
    "execute_vql": Ask({"vql": "SELECT 1"}, names_user=None),
    "similarity_search": Ask(params={"query": "hello"}, names_user=None),
    **{
        name: Ask({"question": "hello"}, names_user=OF_USER_ID)
        for name in (
            *("answer_question", "answer_data_question", "answer_metadata_question", "stream_answer_question"),
            "generate_vql",
        )
    },
    "add_document": Ask(names_user=USER_ID, form=FILE),
    "change_documents": Ask(names_user=None, form={**FILE, "shared": (None, "true")}),
    "drop_shared": Ask(params={"shared": "true"}, names_user=None),
    **{name: Ask({"query": "hello"}, names_user=USER_ID) for name in ("ask_documents", "ask_documents_in_session")},
    **{
        name: Ask(names_user=USER_ID)
        for name in (
            *("list_documents", "show_document", "show_passage", "delete_document"),
            *("document_sessions", "document_logs"),
        )
    },
    **{
        f"{name}_by_address": Ask(params={"question": "hello"}, names_user=OF_USER_ID)
        for name in ("answer_question", "answer_data_question", "answer_metadata_question", "stream_answer_question")
    },
}
UNNAMED = frozenset(
    ("terms", "drop_term", "list_knowledge", "drop_knowledge", "list_keys", "revoke_key", "report", "work")
)


def ask(route: Route) -> Ask:
    if route.action in ASKS and route.operation in ("learn", "memories", "audit", "upload_document"):
        return ASKS[str(route.action)]
    if (route.operation, route.action) == ("delete_document", "change_documents"):
        return ASKS["drop_shared"]
    unnamed = route.operation in UNNAMED or route.action is None or route.action in OF_PROJECT
    return ASKS.get(route.operation, Ask(names_user=None if unnamed else "user"))


def request(
    route: Route, user: str | None = None, project: str | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The arguments of a client's `request`."""
    wanted = ask(route)
    if wanted.by_header:
        told = {"X-Recollect-User": user, "X-Recollect-Project": project}
        named, headers = {}, {**(headers or {}), **{name: value for name, value in told.items() if value}}
    else:
        named = names(route, wanted, user, project)
    path = route.path.replace("{project}", project or "shop")
    for place in ("{name}", "{source}", "{term}"):
        path = path.replace(place, "nothing")
    for place in ("{memory}", "{id}", "{request_id}", "{session_id}", "{query}"):
        path = path.replace(place, NOBODYS_ID)
    sent = {} if wanted.json is None else {"json": {**wanted.json, **named}}
    params = {**wanted.params, **({} if sent else named)}
    if wanted.form is not None:
        sent = {"files": wanted.form}
    return {"method": route.method, "url": path, "params": params, "headers": headers, **sent}


def names(route: Route, wanted: Ask, user: str | None, project: str | None) -> dict[str, str]:
    named = {wanted.names_user: user} if user and wanted.names_user else {}
    return named | ({"project": project} if project and "{project}" not in route.path else {})
