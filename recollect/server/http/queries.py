"""Approved questions of a data source, with their SQL and parameters. Whoever may teach the project may propose one; it
is used only after somebody who may change the project has approved it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from recollect.apps.ask import teaching
from recollect.apps.ask.answer_fields import ExecutionResult, execution_result
from recollect.apps.ask.patterns import filled, pattern_of
from recollect.apps.ask.question import MAX_ROWS
from recollect.errors import InvalidInput, NotFound
from recollect.server.access.caller import Caller, CurrentCaller
from recollect.server.access.idempotency import RECEIPT_REPLAY, Replay, Stored, find_memory, store_id
from recollect.server.access.route_rules import authorized, idempotent
from recollect.server.http.answer_question import get_analyst
from recollect.server.http.bodies import NAME, VALUE, Body, within
from recollect.server.http.openapi import ERRORS, json_model, json_object
from recollect.values.audit import Receipt
from recollect.values.memory import Memory, Status
from recollect.values.query import check_range
from recollect.values.scope import MemoryId, Scope

router = APIRouter(
    prefix="/api/projects/{project}/datasources/{source}/queries", tags=["approved queries"], responses=ERRORS
)
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


async def restore_query(
    stored: Stored, *, caller: Caller, scope: Scope, source: str, request: Request, **_: Any
) -> ApprovedQuery:
    shelf = await get_analyst(request).library.find(scope, source)
    return make_query(await find_memory(caller.engine, scope, "project", stored["id"]), shelf.kept.fingerprint)


QUERY_REPLAY = Replay(store_id, restore_query)


@router.post("", status_code=201, response_model=json_model(ApprovedQuery))
@authorized("learn_project")
@idempotent(QUERY_REPLAY)
async def propose_query(
    project: str, source: str, body: QueryProposal, caller: CurrentCaller, scope: Scope, request: Request
) -> ApprovedQuery:
    """Propose a question with its SQL; `{{name}}` in both is a parameter. The SQL must pass the checks."""
    analyst = get_analyst(request)
    parameters = [each.model_dump() for each in body.parameters]
    shelf = await analyst.library.find(scope, source)
    proposed = await teaching.propose(analyst, scope, source, body.prompt, body.sql, parameters)
    return make_query(proposed, shelf.kept.fingerprint)


@router.get("", response_model=json_object("ApprovedQueries", queries=list[ApprovedQuery]))
@authorized("memories_project")
async def list_queries(
    project: str,
    source: str,
    caller: CurrentCaller,
    scope: Scope,
    request: Request,
    status: Annotated[Approval | None, Query(description="Only these.")] = None,
) -> dict[str, Any]:
    """List the questions that were proposed or approved for a database."""
    shelf = await get_analyst(request).library.find(scope, source)
    wanted = STATUSES[status] if status else tuple(APPROVALS)
    found = await caller.engine.memories(scope, kinds=("question",), owner="project", status=wanted, limit=MAX_QUERIES)
    mine = [memory for memory in found if (memory.data or {}).get("source") == source]
    return {"queries": [make_query(memory, shelf.kept.fingerprint) for memory in mine]}


async def find_query(caller: Caller, scope: Scope, source: str, wanted: str) -> Memory:
    found = await caller.engine.memories(scope, kinds=("question",), owner="project", status=None, limit=MAX_QUERIES)
    for memory in found:
        if str(memory.id) == wanted and (memory.data or {}).get("source") == source:
            return memory
    raise NotFound(f"there is no query {wanted} of data source {source!r}")


@router.post("/{query}/validate", response_model=VALIDATION)
@authorized("memories_project")
async def validate_query(
    project: str, source: str, query: str, caller: CurrentCaller, scope: Scope, request: Request
) -> dict[str, Any]:
    """Check whether a query would still be allowed to run, and return the tables it reads."""
    memory = await find_query(caller, scope, source, query)
    pattern = pattern_of(memory.key, memory.value, (memory.data or {}).get("parameters") or ())
    try:
        tables = await teaching.validate(get_analyst(request), scope, source, pattern)
    except InvalidInput as error:
        return {"valid": False, "reason": str(error), "tables": []}
    return {"valid": True, "reason": None, "tables": list(tables)}


@router.post("/{query}/approve", status_code=201, response_model=json_model(ApprovedQuery))
@authorized("change_project")
@idempotent(QUERY_REPLAY)
async def approve_query(
    project: str, source: str, query: str, caller: CurrentCaller, scope: Scope, request: Request
) -> ApprovedQuery:
    """Approve a query: from now on it answers its question."""
    return await decide(caller, scope, source, query, request, good=True)


@router.post("/{query}/reject", status_code=201, response_model=json_model(ApprovedQuery))
@authorized("change_project")
@idempotent(QUERY_REPLAY)
async def reject_query(
    project: str, source: str, query: str, caller: CurrentCaller, scope: Scope, request: Request
) -> ApprovedQuery:
    """Reject a query: it is never used."""
    return await decide(caller, scope, source, query, request, good=False)


async def decide(
    caller: Caller, scope: Scope, source: str, query: str, request: Request, *, good: bool
) -> ApprovedQuery:
    analyst = get_analyst(request)
    shelf = await analyst.library.find(scope, source)
    proposed = await find_query(caller, scope, source, query)
    return make_query(await teaching.approve(analyst, scope, proposed, good=good), shelf.kept.fingerprint)


@router.post("/{query}/execute", response_model=EXECUTION)
@authorized("ask")
async def execute_query(
    project: str,
    source: str,
    query: str,
    body: ExecuteQueryBody,
    caller: CurrentCaller,
    scope: Scope,
    request: Request,
) -> dict[str, Any]:
    """Run an approved query with values for its parameters."""
    check_range("limit", body.limit, 1, MAX_ROWS)
    memory = await find_query(caller, scope, source, query)
    if memory.status != "active":
        raise InvalidInput("query", f"is {APPROVALS[memory.status]}; only an approved query can be run")
    pattern = pattern_of(memory.key, memory.value, (memory.data or {}).get("parameters") or ())
    sql = filled(pattern, body.parameters)
    checked, rows = await get_analyst(request).run(scope, source, caller.identity.role, sql, body.limit)
    await caller.engine.runtime.count_use(scope, [memory.id])
    result = execution_result(rows, body.limit)
    return {"sql": checked.sql, "tables": list(checked.tables), "execution_result": result}


@router.delete("/{query}", response_model=json_model(Receipt))
@authorized("change_project")
@idempotent(RECEIPT_REPLAY)
async def drop_query(
    project: str, source: str, query: str, caller: CurrentCaller, scope: Scope, request: Request
) -> Receipt:
    """Forget a query."""
    await find_query(caller, scope, source, query)
    receipt = await caller.engine.forget(scope, memory=query, owner="project")
    get_analyst(request).reader.changed(scope.project)
    return receipt
