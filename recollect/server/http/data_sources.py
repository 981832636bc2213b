"""The data sources of a project, and their approved questions. An address is always shown without its password. A
proposed question is used only after a caller that may change the project has approved it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from recollect import DataSource, InvalidInput, Memory, NotFound, Receipt
from recollect.apps.ask import teaching
from recollect.apps.ask.answers.answer_fields import ExecutionResult, execution_result
from recollect.apps.ask.memories.patterns import fill_pattern, read_pattern
from recollect.apps.ask.semantic.catalog import Column, Table
from recollect.apps.ask.semantic.model_file import dump_model
from recollect.apps.ask.source_registry import OpenSource
from recollect.server.access.caller import Call, Caller, check_environment_use
from recollect.server.access.idempotency import Replay, Stored, store_id
from recollect.server.access.responses import Shape, json_object, list_of
from recollect.server.http.bodies import Body, OpenBody
from recollect.server.http.routing import Routes
from recollect.values.memory import Status
from recollect.values.scope import MemoryId

routes = Routes("/api/projects/{project}/datasources", "data sources")
SUMMARY: dict[str, Any] = {
    "name": str,
    "address": str | None,
    "dialect": str,
    "fingerprint": str,
    "created_at": datetime,
    "updated_at": datetime,
}
COLUMN = Shape("SourceColumn", Column, "name", type=(str, lambda column: column.type))
TABLE = Shape("SourceTable", Table, "name", "comment", "rows", columns=COLUMN.list_at("columns"))
SOURCE = json_object(
    "DataSource", **SUMMARY, tables=list_of(TABLE.model), model=dict[str, Any], access=dict[str, Any] | None
)
SOURCES = json_object("DataSources", datasources=list_of(json_object("DataSourceSummary", **SUMMARY)))
ACCESS = "What each role may see; a role that is not named sees everything."


class SourceBody(Body):
    name: str
    dsn: str
    access: dict[str, Any] | None = None


class ModelBody(Body):
    model: dict[str, Any] | str


class AccessBody(Body):
    access: dict[str, Any]


def describe_source(source: DataSource, caller: Caller) -> dict[str, Any]:
    """Return the summary of a data source; its address is shown only to those who may change it."""
    shown = {name: getattr(source, name) for name in SUMMARY if name != "address"}
    return shown | {"address": source.masked_dsn if caller.can("put_data_source") else None}


def describe_contents(opened: OpenSource, call: Call) -> dict[str, Any]:
    """Return a data source with its tables and its semantic model, as far as the caller may see them."""
    view = opened.view(call.role)
    tables = TABLE.describe_all(view.catalog.tables)
    access = dict(opened.entry.access) if call.caller.can("put_data_source") else None
    described = describe_source(opened.entry, call.caller)
    return described | {"tables": tables, "model": dump_model(view.model), "access": access}


async def restore_source(stored: Stored, call: Call, **_: Any) -> dict[str, Any]:
    return describe_contents(await call.analyst.sources.find(call.scope, stored["name"]), call)


SOURCE_REPLAY = Replay(lambda described: {"name": described["name"]}, restore_source)


@routes.write("POST /", "put_data_source", model=SOURCE, replay=SOURCE_REPLAY)
async def add_data_source(call: Call, body: SourceBody) -> dict[str, Any]:
    """Add a database: its schema is read, and a semantic model of it is drafted."""
    check_environment_use(call.caller, body.dsn)
    added = await call.analyst.sources.add(call.scope, body.name, body.dsn, access=body.access)
    return describe_contents(added, call)


@routes.add("GET /", "data_sources", model=SOURCES)
async def list_data_sources(call: Call) -> dict[str, Any]:
    """List the databases of the project."""
    found = await call.engine.sources.find(call.scope)
    return {"datasources": [describe_source(each, call.caller) for each in found]}


@routes.add("GET /{source}", "data_sources", model=SOURCE)
async def show_data_source(call: Call, source: str) -> dict[str, Any]:
    """Show a database: its tables and its semantic model, as far as the caller may see them."""
    return describe_contents(await call.analyst.sources.find(call.scope, source), call)


@routes.write("PUT /{source}/model", "put_data_source", model=SOURCE, replay=SOURCE_REPLAY, status=200)
async def put_model(call: Call, source: str, body: ModelBody) -> dict[str, Any]:
    """Replace the semantic model of a database; what it names must exist."""
    return describe_contents(await call.analyst.sources.edit(call.scope, source, model=body.model), call)


@routes.write("PUT /{source}/access", "put_data_source", model=SOURCE, replay=SOURCE_REPLAY, status=200)
async def put_access(call: Call, source: str, body: AccessBody) -> dict[str, Any]:
    """Set what each role may see of a database."""
    return describe_contents(await call.analyst.sources.edit(call.scope, source, access=body.access), call)


@routes.write("POST /{source}/refresh", "put_data_source", model=SOURCE, replay=SOURCE_REPLAY, status=200)
async def refresh_data_source(call: Call, source: str) -> dict[str, Any]:
    """Read the schema of a database again. Approved queries for another schema are no longer used."""
    opened, _ = await call.analyst.sources.refresh(call.scope, source)
    return describe_contents(opened, call)


@routes.write("DELETE /{source}", "put_data_source")
async def drop_data_source(call: Call, source: str) -> None:
    """Remove a database from the project; nothing in the database changes."""
    await call.analyst.sources.drop(call.scope, source)


# Approved queries -----------------------------------------------------------------------------------------------------

query_routes = Routes("/api/projects/{project}/datasources/{source}/queries", "approved queries")
Approval = Literal["pending", "approved", "rejected"]
STATUSES: dict[Approval, tuple[Status, ...]] = {
    "pending": ("pending",),
    "approved": ("active",),
    "rejected": ("retracted", "superseded"),  # never approved, or no longer
}
APPROVALS = {status: name for name, statuses in STATUSES.items() for status in statuses}
MAX_QUERIES = 1_000
VALIDATION = json_object("QueryValidation", valid=bool, reason=str | None, tables=list[str])
EXECUTION = json_object("QueryExecution", sql=str, tables=list[str], execution_result=ExecutionResult)


class ParameterBody(Body):
    name: str
    type: Literal["text", "integer", "number", "date", "year"] = "text"
    default: str | None = None
    example: str | None = None


class QueryProposal(OpenBody):
    prompt: str
    sql: str
    parameters: list[ParameterBody] = Field(default_factory=list)


class ExecuteQueryBody(OpenBody):
    parameters: dict[str, str] = Field(default_factory=dict)
    limit: int = 100


class QueryParameter(BaseModel):
    name: str
    type: str
    default: str | None = None
    example: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovedQuery:
    """`is_current`: made for the schema that the database still has; a query that is not current is not used."""

    id: MemoryId
    prompt: str
    sql: str
    parameters: Sequence[QueryParameter]
    status: Approval
    usage_count: int
    is_current: bool
    created_at: datetime | None


async def describe_queries(call: Call, source: str, memories: Iterable[Memory]) -> list[ApprovedQuery]:
    """Return queries of a data source, compared with the schema that it has now."""
    fingerprint = (await call.analyst.sources.find(call.scope, source)).entry.fingerprint
    return [
        ApprovedQuery(
            id=memory.id,
            prompt=memory.key,
            sql=memory.value,
            parameters=data.get("parameters") or [],
            status=APPROVALS[memory.status],
            usage_count=memory.usage_count,
            is_current=data.get("fingerprint") == fingerprint,
            created_at=memory.created_at,
        )
        for memory in memories
        for data in [memory.data or {}]
    ]


async def restore_query(stored: Stored, call: Call, source: str, **_: Any) -> ApprovedQuery:
    memory = await call.engine.memory(call.scope, stored["id"], owner="project")
    return (await describe_queries(call, source, [memory]))[0]


QUERY_REPLAY = Replay(
    store_id, restore_query, when_done=lambda call, source, query="", **_: restore_query({"id": query}, call, source)
)


@query_routes.write("POST /", "learn_project", replay=QUERY_REPLAY)
async def propose_query(call: Call, source: str, body: QueryProposal) -> ApprovedQuery:
    """Propose a question with its SQL; `{{name}}` in both is a parameter. The SQL must pass the checks."""
    parameters = [each.model_dump() for each in body.parameters]
    proposed = await teaching.propose(call.analyst, call.scope, source, body.prompt, body.sql, parameters)
    return (await describe_queries(call, source, [proposed]))[0]


@query_routes.add("GET /", "memories_project", model=json_object("ApprovedQueries", queries=list[ApprovedQuery]))
async def list_queries(
    call: Call, source: str, status: Annotated[Approval | None, Query(description="Only these.")] = None
) -> dict[str, Any]:
    """List the questions that were proposed or approved for a database."""
    found = await load_queries(call, source, STATUSES[status] if status else tuple(APPROVALS))
    return {"queries": await describe_queries(call, source, found)}


async def load_queries(call: Call, source: str, status: Sequence[Status] | None) -> list[Memory]:
    found = await call.engine.memories(
        call.scope, kinds=("question",), owner="project", status=status, limit=MAX_QUERIES
    )
    return [memory for memory in found if (memory.data or {}).get("source") == source]


async def find_query(call: Call, source: str, wanted: str) -> Memory:
    for memory in await load_queries(call, source, None):
        if str(memory.id) == wanted:
            return memory
    raise NotFound(f"there is no query {wanted} of data source {source!r}")


@query_routes.add("POST /{query}/validate", "memories_project", model=VALIDATION)
async def validate_query(call: Call, source: str, query: str) -> dict[str, Any]:
    """Check whether a query would still be allowed to run, and return the tables it reads."""
    memory = await find_query(call, source, query)
    pattern = read_pattern(memory)
    try:
        tables = await teaching.validate(call.analyst, call.scope, source, pattern)
    except InvalidInput as error:
        return {"valid": False, "reason": str(error), "tables": []}
    return {"valid": True, "reason": None, "tables": list(tables)}


@query_routes.write("POST /{query}/approve", "change_project", replay=QUERY_REPLAY)
async def approve_query(call: Call, source: str, query: str) -> ApprovedQuery:
    """Approve a query: from now on it answers its question."""
    return await decide(call, source, query, good=True)


@query_routes.write("POST /{query}/reject", "change_project", replay=QUERY_REPLAY)
async def reject_query(call: Call, source: str, query: str) -> ApprovedQuery:
    """Reject a query: it is never used."""
    return await decide(call, source, query, good=False)


async def decide(call: Call, source: str, query: str, *, good: bool) -> ApprovedQuery:
    proposed = await find_query(call, source, query)
    decided = await teaching.approve(call.analyst, call.scope, proposed, good=good)
    return (await describe_queries(call, source, [decided]))[0]


@query_routes.add("POST /{query}/execute", "ask", model=EXECUTION)
async def execute_query(call: Call, source: str, query: str, body: ExecuteQueryBody) -> dict[str, Any]:
    """Run an approved query with values for its parameters."""
    body.check_ranges()
    memory = await find_query(call, source, query)
    if memory.status != "active":
        raise InvalidInput("query", f"is {APPROVALS[memory.status]}; only an approved query can be run")
    pattern = read_pattern(memory)
    checked, rows = await call.analyst.run(
        call.scope, source, call.role, fill_pattern(pattern, body.parameters), body.limit
    )
    await call.engine.runtime.count_use(call.scope, [memory.id])
    result = execution_result(rows, body.limit)
    return {"sql": checked.sql, "tables": list(checked.tables), "execution_result": result}


@query_routes.write("DELETE /{query}", "change_project")
async def drop_query(call: Call, source: str, query: str) -> Receipt:
    """Forget a query."""
    await find_query(call, source, query)
    receipt = await call.engine.forget(call.scope, memory=query, owner="project")
    call.analyst.reader.clear_approved(call.scope.project)
    return receipt
