"""The ten verbs as routes under /v1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Query as QueryParam
from starlette.responses import Response, StreamingResponse

from recollect.errors import InvalidInput
from recollect.server.access.caller import Caller, CurrentCaller
from recollect.server.access.idempotency import (
    RECEIPT_REPLAY,
    IdempotencyKey,
    Replay,
    Stored,
    find_memory,
    memory_replay,
    store_id,
)
from recollect.server.access.json_response import Json
from recollect.server.access.route_rules import authorized, idempotent, requires
from recollect.server.http import bodies
from recollect.server.http.openapi import ERRORS, json_model, json_object
from recollect.values.audit import Receipt
from recollect.values.conversation import Recorded, Turn
from recollect.values.explanation import Explanation
from recollect.values.lesson import Lesson
from recollect.values.memory import Memory
from recollect.values.query import Context, Query, Recall
from recollect.values.resolution import Resolution
from recollect.values.scope import Scope
from recollect.values.serialization import recorded_json, to_json

router = APIRouter(prefix="/v1", tags=["verbs"], responses=ERRORS)
UserParam = Annotated[
    str | None, QueryParam(description="Whose memory; by default the caller's own.", examples=["alex"])
]
ProjectParam = Annotated[str | None, QueryParam(description="The project; by default the caller's.", examples=["shop"])]
SessionParam = Annotated[str, QueryParam(description="The session.", examples=["monday"])]
AT_ONCE = 4  # questions of one request that are answered at a time, so that other requests get their turn
MEMORY_OFF = "memory is turned off (MEMORY_ENABLED=0); only definitions in the request count"
LINES = {
    "description": "One JSON object per line; `kind` says what it is.",
    "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
}


@router.post(
    "/record",
    status_code=201,
    response_model=json_object("RecordedSessions", refs=list[str], sessions=list[Recorded]),
)
@authorized("record")
async def record(
    body: bodies.RecordBody, caller: CurrentCaller, scope: Scope, idempotency_key: IdempotencyKey = None
) -> Response:
    """Append messages to a session. They are durable, and visible to the next read, when this answers."""
    turns = [turn.turn() for turn in body.turns]
    recorded = await caller.engine.record(scope, turns, idempotency_key=idempotency_key)
    headers = {"Idempotent-Replayed": "true"} if recorded.replayed else None
    return Json(recorded_json([recorded]), status_code=201, headers=headers)


@router.post("/recall", response_model=json_model(Recall))
@authorized("recall")
async def recall(body: bodies.QueryBody, caller: CurrentCaller, scope: Scope) -> Recall:
    """Return the turns, memories and episodes that are relevant to a question, each with an explanation."""
    found = await caller.engine.recall(scope, body.query())
    caller.metrics.count_recall(found)
    return found


@router.post("/recall/many", response_model=json_object("Recalls", recalls=list[Recall]))
@requires("recall")
async def recall_many(body: bodies.RecallManyBody, caller: CurrentCaller) -> Json:
    """Answer several questions at once, in their order."""
    queries = [
        (
            caller.authorize("recall", q.user or body.user, q.session or body.session, q.project or body.project),
            q.query(),
        )
        for q in body.queries
    ]
    few = asyncio.Semaphore(AT_ONCE)

    async def recall(scope: Scope, query: Query) -> Recall:
        async with few:
            return await caller.engine.recall(scope, query)

    recalls = await asyncio.gather(*(recall(scope, query) for scope, query in queries))
    for each in recalls:
        caller.metrics.count_recall(each)
    return Json({"recalls": to_json(recalls)})


@router.post("/context", response_model=json_model(Context))
@authorized("context")
async def context(body: bodies.QueryBody, caller: CurrentCaller, scope: Scope) -> Context:
    """Return text for a prompt within a token budget: terms, memories, episodes, recalled turns and recent turns."""
    packed = await caller.engine.context(scope, body.query())
    caller.metrics.count_context(packed)
    return packed


@router.post("/resolve", response_model=json_object("Resolutions", resolutions=list[Resolution], notes=list[str]))
@authorized("resolve")
async def resolve(body: bodies.ResolveBody, caller: CurrentCaller, scope: Scope) -> dict[str, Any]:
    """Return what terms mean: in this session, to the user, in the project, in its ontology."""
    resolutions = await caller.engine.resolve_all(scope, body.terms, definitions=body.definitions)
    return {"resolutions": resolutions, "notes": [] if caller.settings.enabled else [MEMORY_OFF]}


def read_lesson(caller: Caller, body: bodies.LessonBody) -> Lesson:
    """Return the lesson; its wording makes it the project's only if the caller may teach the project."""
    lesson = body.lesson()
    return lesson if lesson.owner or caller.can("learn_project") else replace(lesson, owner="user")


def authorize_lesson(*, caller: Caller, body: bodies.LessonBody, **_: Any) -> Scope:
    is_shared = read_lesson(caller, body).owned_by == "project"
    return caller.authorize("learn_project" if is_shared else "learn", body.user, body.session, body.project)


async def restore_lesson(stored: Stored, *, caller: Caller, scope: Scope, body: bodies.LessonBody, **_: Any) -> Memory:
    return await find_memory(caller.engine, scope, read_lesson(caller, body).owned_by, stored["id"])


@router.post("/learn", status_code=201, response_model=json_model(Memory))
@authorized("learn", "learn_project", find_scope=authorize_lesson)
@idempotent(Replay(store_id, restore_lesson))
async def learn(body: bodies.LessonBody, caller: CurrentCaller, scope: Scope) -> Memory:
    """Remember what a person states explicitly."""
    return await caller.engine.learn(scope, read_lesson(caller, body))


@router.post("/correct", status_code=201, response_model=json_model(Memory))
@authorized("correct")
@idempotent(memory_replay())
async def correct(body: bodies.CorrectBody, caller: CurrentCaller, scope: Scope) -> Memory:
    """Give a memory a new value; the old one ends and stays in the history."""
    return await caller.engine.correct(scope, body.memory, body.value, owner="user")


def authorize_erasure(*, caller: Caller, body: bodies.ForgetBody, **_: Any) -> Scope:
    if body.memory is None and body.session is None and not body.everything:
        raise InvalidInput("everything", "must be true to forget all of a user; or name a session or a memory")
    return caller.authorize("forget", body.user, None if body.everything else body.session, body.project)


@router.post("/forget", status_code=201, response_model=json_model(Receipt))
@authorized("forget", find_scope=authorize_erasure)
@idempotent(RECEIPT_REPLAY)
async def forget(body: bodies.ForgetBody, caller: CurrentCaller, scope: Scope) -> Receipt:
    """Erase a memory, a session or a whole user, with everything derived; the receipt counts the rows per table."""
    return await caller.engine.forget(scope, memory=body.memory, owner="user")


@router.get("/history", response_model=json_object("History", turns=list[Turn], next_before=int | None))
@authorized("history")
async def history(
    caller: CurrentCaller,
    scope: Scope,
    session: SessionParam,
    user: UserParam = None,
    project: ProjectParam = None,
    limit: int = 50,
    before: int | None = None,
) -> dict[str, Any]:
    """Return the last turns of a session, oldest first; `next_before` pages backwards."""
    turns = await caller.engine.history(scope, limit=limit, before=before)
    return {"turns": turns, "next_before": find_next_before(turns, limit)}


def find_next_before(turns: list[Turn], limit: int) -> int | None:
    """Return the index to page backwards from; None on the last page."""
    return turns[0].index if len(turns) == limit and turns[0].index else None


@router.get("/explain/{request_id}", response_model=json_model(Explanation))
@authorized("explain")
async def explain(
    request_id: str, caller: CurrentCaller, scope: Scope, user: UserParam = None, project: ProjectParam = None
) -> Explanation:
    """Return what a past recall or context found, and why, with the history of each memory."""
    return await caller.engine.explain(scope, request_id)


@router.get("/export", response_class=StreamingResponse, responses={200: LINES})
@authorized("export")
async def export(
    caller: CurrentCaller, scope: Scope, user: UserParam = None, project: ProjectParam = None
) -> StreamingResponse:
    """Export everything stored about a user, as JSON lines."""
    lines = caller.engine.export(scope)
    first = await anext(lines, None)  # an error here still becomes an error response

    async def stream() -> AsyncIterator[str]:
        if first is not None:
            yield first + "\n"
        async for line in lines:
            yield line + "\n"

    return StreamingResponse(stream(), media_type="application/x-ndjson")
