"""Approved questions of a data source, with their SQL and parameters. Whoever may teach the project may propose one; it
answers nothing until somebody who may approve it has done so."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from recollect.doors.ask_shapes import ExecutionResult, execution_result
from recollect.doors.http.answer_question import analyst_of
from recollect.doors.http.answers import ReceiptAnswer
from recollect.doors.http.bodies import NAME, VALUE, Body, within
from recollect.doors.http.caller import Called, Key, does
from recollect.doors.http.refusals import REFUSALS
from recollect.doors.http.render import Json
from recollect.doors.http.repeats import Repeat, memory_again, receipt_again
from recollect.doors.shapes import receipt_shape
from recollect.errors import InvalidInput, NotFound
from recollect.hosts.sql import teaching
from recollect.hosts.sql.asking import MAX_ROWS
from recollect.hosts.sql.library import Shelf
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope
from recollect.model.search import check_range
from recollect.sql.patterns import filled, pattern_of

router = APIRouter(
    prefix="/api/projects/{project}/datasources/{source}/queries", tags=["approved queries"], responses=REFUSALS
)
Approval = Literal["pending", "approved", "rejected"]
STATES: dict[Approval, tuple[Status, ...]] = {
    "pending": ("pending",),
    "approved": ("active",),
    "rejected": ("retracted", "superseded"),  # never approved, or no longer
}
NAMES = {status: name for name, statuses in STATES.items() for status in statuses}
MOST = 1_000


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


class ParameterAnswer(BaseModel):
    name: str
    type: str
    default: str | None = None
    example: str | None = None


class QueryAnswer(BaseModel):
    """`is_current`: made for the shape that the database still has; one that is not answers nothing."""

    id: str
    prompt: str
    sql: str
    parameters: list[ParameterAnswer]
    status: str
    usage_count: int
    is_current: bool
    created_at: datetime | None


class QueriesAnswer(BaseModel):
    queries: list[QueryAnswer]


class ValidAnswer(BaseModel):
    valid: bool
    reason: str | None
    tables: list[str]


class RunQueryAnswer(BaseModel):
    sql: str
    tables: list[str]
    execution_result: ExecutionResult


def query_shape(memory: Memory, fingerprint: str) -> dict[str, Any]:
    data = memory.data or {}
    return {
        "id": memory.id,
        "prompt": memory.key,
        "sql": memory.value,
        "parameters": data.get("parameters") or [],
        "status": NAMES[memory.status],
        "usage_count": memory.usage_count,
        "is_current": data.get("fingerprint") == fingerprint,
        "created_at": memory.created_at,
    }


def again(shelf: Shelf) -> Repeat:
    return memory_again("project", lambda memory: query_shape(memory, shelf.kept.fingerprint))


@router.post("", status_code=201, response_model=QueryAnswer, openapi_extra=does("learn_project"))
async def propose_query(
    project: str, source: str, body: QueryProposal, called: Called, request: Request, key: Key = None
) -> Response:
    """Propose a question with its SQL; `{{name}}` in both is a parameter. It must pass the gate."""
    scope, analyst = called.scope("learn_project", None, None, project), analyst_of(request)
    parameters = [each.model_dump() for each in body.parameters]
    shelf = await analyst.library.find(scope, source)

    async def work() -> object:
        proposed = await teaching.propose(analyst, scope, source, body.prompt, body.sql, parameters)
        return query_shape(proposed, shelf.kept.fingerprint)

    return await called.once(scope, key, ["propose", source, body.model_dump()], work, again(shelf))


@router.get("", response_model=QueriesAnswer, openapi_extra=does("memories_project"))
async def list_queries(
    project: str,
    source: str,
    called: Called,
    request: Request,
    status: Annotated[Approval | None, Query(description="Only these.")] = None,
) -> Json:
    """The questions that were proposed or approved for a database."""
    scope, analyst = called.scope("memories_project", None, None, project), analyst_of(request)
    shelf = await analyst.library.find(scope, source)
    wanted = STATES[status] if status else tuple(NAMES)
    found = await called.engine.memories(scope, kinds=("question",), owner="project", status=wanted, limit=MOST)
    mine = [memory for memory in found if (memory.data or {}).get("source") == source]
    return Json({"queries": [query_shape(memory, shelf.kept.fingerprint) for memory in mine]})


async def query_of(called: Called, scope: Scope, source: str, wanted: str) -> Memory:
    found = await called.engine.memories(scope, kinds=("question",), owner="project", status=None, limit=MOST)
    for memory in found:
        if str(memory.id) == wanted and (memory.data or {}).get("source") == source:
            return memory
    raise NotFound(f"there is no query {wanted} of data source {source!r}")


@router.post("/{query}/validate", response_model=ValidAnswer, openapi_extra=does("memories_project"))
async def validate_query(project: str, source: str, query: str, called: Called, request: Request) -> Json:
    """Whether a query would still pass the gate, and what it reads."""
    scope, analyst = called.scope("memories_project", None, None, project), analyst_of(request)
    memory = await query_of(called, scope, source, query)
    pattern = pattern_of(memory.key, memory.value, (memory.data or {}).get("parameters") or ())
    try:
        tables = await teaching.validate(analyst, scope, source, pattern)
    except InvalidInput as error:
        return Json({"valid": False, "reason": str(error), "tables": []})
    return Json({"valid": True, "reason": None, "tables": list(tables)})


@router.post("/{query}/approve", status_code=201, response_model=QueryAnswer, openapi_extra=does("change_project"))
async def approve_query(
    project: str, source: str, query: str, called: Called, request: Request, key: Key = None
) -> Response:
    """From now on it answers its question."""
    return await decide(called, request, project, source, query, key, good=True)


@router.post("/{query}/reject", status_code=201, response_model=QueryAnswer, openapi_extra=does("change_project"))
async def reject_query(
    project: str, source: str, query: str, called: Called, request: Request, key: Key = None
) -> Response:
    """It will answer nothing."""
    return await decide(called, request, project, source, query, key, good=False)


async def decide(
    called: Called, request: Request, project: str, source: str, query: str, key: str | None, *, good: bool
) -> Response:
    scope, analyst = called.scope("change_project", None, None, project), analyst_of(request)

    shelf = await analyst.library.find(scope, source)

    async def work() -> object:
        proposed = await query_of(called, scope, source, query)
        return query_shape(await teaching.approve(analyst, scope, proposed, good=good), shelf.kept.fingerprint)

    return await called.once(scope, key, ["decide", source, query, good], work, again(shelf))


@router.post("/{query}/execute", response_model=RunQueryAnswer, openapi_extra=does("ask"))
async def execute_query(
    project: str, source: str, query: str, body: ExecuteQueryBody, called: Called, request: Request
) -> Json:
    """Run an approved query with values for its parameters."""
    scope, analyst = called.scope("ask", None, None, project), analyst_of(request)
    check_range("limit", body.limit, 1, MAX_ROWS)
    memory = await query_of(called, scope, source, query)
    if memory.status != "active":
        raise InvalidInput("query", f"is {NAMES[memory.status]}; only an approved one is run")
    pattern = pattern_of(memory.key, memory.value, (memory.data or {}).get("parameters") or ())
    made, rows = await analyst.run(scope, source, called.identity.role, filled(pattern, body.parameters), body.limit)
    await called.engine.used(scope, [memory.id])
    return Json({"sql": made.sql, "tables": list(made.tables), "execution_result": execution_result(rows, body.limit)})


@router.delete("/{query}", response_model=ReceiptAnswer, openapi_extra=does("change_project"))
async def drop_query(
    project: str, source: str, query: str, called: Called, request: Request, key: Key = None
) -> Response:
    """Forget a query."""
    scope, analyst = called.scope("change_project", None, None, project), analyst_of(request)

    async def work() -> object:
        await query_of(called, scope, source, query)
        receipt = await called.engine.forget(scope, memory=query, owner="project")
        analyst.reader.changed(scope.project)
        return receipt_shape(receipt)

    return await called.once(scope, key, ["drop query", source, query], work, receipt_again(), status=200)
