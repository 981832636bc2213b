"""Approved questions of a data source, with their SQL and parameters. Callers that may teach the project may propose
one; it is used only after a caller that may change the project has approved it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from recollect.apps.ask import teaching
from recollect.apps.ask.answer_fields import ExecutionResult, execution_result
from recollect.apps.ask.patterns import fill_pattern, read_pattern
from recollect.apps.ask.question import MAX_ROWS
from recollect.errors import InvalidInput, NotFound
from recollect.server.access.caller import Call
from recollect.server.access.idempotency import RECEIPT_REPLAY, Replay, Stored, find_memory, store_id
from recollect.server.http.bodies import NAME, VALUE, Body, within
from recollect.server.http.openapi import json_object
from recollect.server.http.routing import Routes
from recollect.values.audit import Receipt
from recollect.values.memory import Memory, Status
from recollect.values.query import check_range
from recollect.values.scope import MemoryId

routes = Routes("/api/projects/{project}/datasources/{source}/queries", "approved queries")
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
    name: str = Field(json_schema_extra=NAME, examples=["year"])
    type: Literal["text", "integer", "number", "date", "year"] = "text"
    default: str | None = None
    example: str | None = None


class QueryProposal(Body):
    prompt: str = Field(json_schema_extra=NAME, examples=["sales in {{year}}"])
    sql: str = Field(json_schema_extra=VALUE, examples=["SELECT sum(amount) FROM sales WHERE year = {{year}}"])
    parameters: list[ParameterBody] = Field(default_factory=list)


class ExecuteQueryBody(Body):
    parameters: dict[str, str] = Field(default_factory=dict, examples=[{"year": "2023"}])
    limit: int = Field(default=100, json_schema_extra=within(1, MAX_ROWS))


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


def make_query(memory: Memory, fingerprint: str) -> ApprovedQuery:
    data = memory.data or {}
    return ApprovedQuery(
        id=memory.id,
        prompt=memory.key,
        sql=memory.value,
        parameters=data.get("parameters") or [],
        status=APPROVALS[memory.status],
        usage_count=memory.usage_count,
        is_current=data.get("fingerprint") == fingerprint,
        created_at=memory.created_at,
    )


async def load_fingerprint(call: Call, source: str) -> str:
    """Return the fingerprint of the schema that a data source has now."""
    return (await call.analyst.sources.find(call.scope, source)).entry.fingerprint


async def restore_query(stored: Stored, call: Call, source: str, **_: Any) -> ApprovedQuery:
    memory = await find_memory(call.engine, call.scope, "project", stored["id"])
    return make_query(memory, await load_fingerprint(call, source))


QUERY_REPLAY = Replay(store_id, restore_query)


@routes.add("POST /", "learn_project", model=ApprovedQuery, status=201, replay=QUERY_REPLAY)
async def propose_query(call: Call, source: str, body: QueryProposal) -> ApprovedQuery:
    """Propose a question with its SQL; `{{name}}` in both is a parameter. The SQL must pass the checks."""
    fingerprint = await load_fingerprint(call, source)
    parameters = [each.model_dump() for each in body.parameters]
    proposed = await teaching.propose(call.analyst, call.scope, source, body.prompt, body.sql, parameters)
    return make_query(proposed, fingerprint)


@routes.add("GET /", "memories_project", model=json_object("ApprovedQueries", queries=list[ApprovedQuery]))
async def list_queries(
    call: Call, source: str, status: Annotated[Approval | None, Query(description="Only these.")] = None
) -> dict[str, Any]:
    """List the questions that were proposed or approved for a database."""
    fingerprint = await load_fingerprint(call, source)
    found = await load_queries(call, source, STATUSES[status] if status else tuple(APPROVALS))
    return {"queries": [make_query(memory, fingerprint) for memory in found]}


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


@routes.add("POST /{query}/validate", "memories_project", model=VALIDATION)
async def validate_query(call: Call, source: str, query: str) -> dict[str, Any]:
    """Check whether a query would still be allowed to run, and return the tables it reads."""
    memory = await find_query(call, source, query)
    pattern = read_pattern(memory)
    try:
        tables = await teaching.validate(call.analyst, call.scope, source, pattern)
    except InvalidInput as error:
        return {"valid": False, "reason": str(error), "tables": []}
    return {"valid": True, "reason": None, "tables": list(tables)}


@routes.add("POST /{query}/approve", "change_project", model=ApprovedQuery, status=201, replay=QUERY_REPLAY)
async def approve_query(call: Call, source: str, query: str) -> ApprovedQuery:
    """Approve a query: from now on it answers its question."""
    return await decide(call, source, query, good=True)


@routes.add("POST /{query}/reject", "change_project", model=ApprovedQuery, status=201, replay=QUERY_REPLAY)
async def reject_query(call: Call, source: str, query: str) -> ApprovedQuery:
    """Reject a query: it is never used."""
    return await decide(call, source, query, good=False)


async def decide(call: Call, source: str, query: str, *, good: bool) -> ApprovedQuery:
    fingerprint = await load_fingerprint(call, source)
    proposed = await find_query(call, source, query)
    return make_query(await teaching.approve(call.analyst, call.scope, proposed, good=good), fingerprint)


@routes.add("POST /{query}/execute", "ask", model=EXECUTION)
async def execute_query(call: Call, source: str, query: str, body: ExecuteQueryBody) -> dict[str, Any]:
    """Run an approved query with values for its parameters."""
    check_range("limit", body.limit, 1, MAX_ROWS)
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


@routes.add("DELETE /{query}", "change_project", model=Receipt, replay=RECEIPT_REPLAY)
async def drop_query(call: Call, source: str, query: str) -> Receipt:
    """Forget a query."""
    await find_query(call, source, query)
    receipt = await call.engine.forget(call.scope, memory=query, owner="project")
    call.analyst.reader.clear_approved(call.scope.project)
    return receipt
