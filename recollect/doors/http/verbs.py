"""The ten verbs as routes under /v1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from recollect.doors.http import answers, bodies
from recollect.doors.http.caller import Called, Caller, Key, does
from recollect.doors.http.refusals import REFUSALS
from recollect.doors.http.render import Json, answered
from recollect.doors.http.repeats import memory_again, receipt_again
from recollect.doors.shapes import (
    context_shape,
    explanation_shape,
    memory_shape,
    recall_shape,
    receipt_shape,
    recorded_shape,
    resolution_shape,
    turn_shape,
)
from recollect.errors import InvalidInput
from recollect.model.lesson import Lesson
from recollect.model.permissions import Action

router = APIRouter(prefix="/v1", tags=["verbs"], responses=REFUSALS)
UserParam = Annotated[str | None, Query(description="Whose memory; by default the caller's own.", examples=["alex"])]
ProjectParam = Annotated[str | None, Query(description="The project; by default the caller's.", examples=["shop"])]
SessionParam = Annotated[str, Query(description="The session.", examples=["monday"])]
SWITCHED_OFF = "memory is switched off (MEMORY_ENABLED); only definitions in the request count"
LINES = {
    "description": "One JSON object a line; `kind` says what it is.",
    "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
}


@router.post("/record", status_code=201, response_model=answers.RecordedAnswer, openapi_extra=does("record"))
async def record(body: bodies.RecordBody, called: Called, key: Key = None) -> Response:
    """Append what was said. Durable, and visible to the next read, when the answer is there."""
    scope = called.scope("record", body.user, body.session, body.project)
    recorded = await called.engine.record(scope, [turn.turn() for turn in body.turns], idempotency_key=key)
    return answered(recorded_shape([recorded]), replayed=recorded.replayed)


@router.post("/recall", response_model=answers.RecallAnswer, openapi_extra=does("recall"))
async def recall(body: bodies.QueryBody, called: Called) -> Json:
    """The turns that speak to a question, and what is known about it, each with why."""
    scope = called.scope("recall", body.user, body.session, body.project)
    found = await called.engine.recall(scope, body.query())
    called.meters.recall(found)
    return Json(recall_shape(found))


@router.post("/recall/many", response_model=answers.RecallsAnswer, openapi_extra=does("recall"))
async def recall_many(body: bodies.RecallManyBody, called: Called) -> Json:
    """Several questions at once, answered in their order."""
    asked = [
        (called.scope("recall", q.user or body.user, q.session or body.session, q.project or body.project), q.query())
        for q in body.queries
    ]
    found = await asyncio.gather(*(called.engine.recall(scope, query) for scope, query in asked))
    for each in found:
        called.meters.recall(each)
    return Json({"recalls": [recall_shape(each) for each in found]})


@router.post("/context", response_model=answers.ContextAnswer, openapi_extra=does("context"))
async def context(body: bodies.QueryBody, called: Called) -> Json:
    """Text for a prompt: terms, what is known, episodes, recalled turns and what was just said, within a budget."""
    scope = called.scope("context", body.user, body.session, body.project)
    packed = await called.engine.context(scope, body.query())
    called.meters.context(packed)
    return Json(context_shape(packed))


@router.post("/resolve", response_model=answers.ResolutionsAnswer, openapi_extra=does("resolve"))
async def resolve(body: bodies.ResolveBody, called: Called) -> Json:
    """What terms mean: in this session, to the user, in the project, in its ontology."""
    scope = called.scope("resolve", body.user, body.session, body.project)
    found = await called.engine.resolve_all(scope, body.terms, definitions=body.definitions)
    notes = [] if called.settings.enabled else [SWITCHED_OFF]
    return Json({"resolutions": [resolution_shape(each) for each in found], "notes": notes})


@router.post(
    "/learn", status_code=201, response_model=answers.MemoryAnswer, openapi_extra=does("learn", "learn_project")
)
async def learn(body: bodies.LessonBody, called: Called, key: Key = None) -> Response:
    """Remember what a person says outright."""
    lesson = owned(called, body.lesson())
    action: Action = "learn_project" if lesson.owned_by == "project" else "learn"
    scope = called.scope(action, body.user, body.session, body.project)

    async def work() -> object:
        return memory_shape(await called.engine.learn(scope, lesson))

    return await called.once(scope, key, ["learn", body.model_dump()], work, memory_again(lesson.owned_by))


def owned(called: Caller, lesson: Lesson) -> Lesson:
    """Wording alone does not make it the project's, where the caller may not teach the project."""
    return lesson if lesson.owner or called.may("learn_project") else replace(lesson, owner="user")


@router.post("/correct", status_code=201, response_model=answers.MemoryAnswer, openapi_extra=does("correct"))
async def correct(body: bodies.CorrectBody, called: Called, key: Key = None) -> Response:
    """Give a memory another value; the old one ends and stays in the history."""
    scope = called.scope("correct", body.user, body.session, body.project)

    async def work() -> object:
        return memory_shape(await called.engine.correct(scope, body.memory, body.value, owner="user"))

    return await called.once(scope, key, ["correct", body.model_dump()], work, memory_again())


@router.post("/forget", status_code=201, response_model=answers.ReceiptAnswer, openapi_extra=does("forget"))
async def forget(body: bodies.ForgetBody, called: Called, key: Key = None) -> Response:
    """Erase a memory, a session or a whole user, with everything derived; a receipt counts the rows per table."""
    if body.memory is None and body.session is None and not body.everything:
        raise InvalidInput("everything", "must be true to forget all of a user; or name a session or a memory")
    scope = called.scope("forget", body.user, None if body.everything else body.session, body.project)

    async def work() -> object:
        return receipt_shape(await called.engine.forget(scope, memory=body.memory, owner="user"))

    return await called.once(scope, key, ["forget", body.model_dump()], work, receipt_again())


@router.get("/history", response_model=answers.HistoryAnswer, openapi_extra=does("history"))
async def history(
    called: Called,
    session: SessionParam,
    user: UserParam = None,
    project: ProjectParam = None,
    limit: int = 50,
    before: int | None = None,
) -> Json:
    """The last turns of a session, oldest first; `next_before` pages backwards."""
    scope = called.scope("history", user, session, project)
    turns = await called.engine.history(scope, limit=limit, before=before)
    next_before = turns[0].index if len(turns) == limit and turns[0].index else None
    return Json({"turns": [turn_shape(turn) for turn in turns], "next_before": next_before})


@router.get("/explain/{request_id}", response_model=answers.ExplanationAnswer, openapi_extra=does("explain"))
async def explain(request_id: str, called: Called, user: UserParam = None, project: ProjectParam = None) -> Json:
    """What a past recall or context found, and why; what was believed when, and why it changed."""
    scope = called.scope("explain", user, None, project)
    return Json(explanation_shape(await called.engine.explain(scope, request_id)))


@router.get("/export", response_class=StreamingResponse, responses={200: LINES}, openapi_extra=does("export"))
async def export(called: Called, user: UserParam = None, project: ProjectParam = None) -> StreamingResponse:
    """Everything kept about a user, as JSON lines."""
    scope = called.scope("export", user, None, project)
    lines = called.engine.export(scope)
    first = await anext(lines, None)

    async def streamed() -> AsyncIterator[str]:
        if first is not None:
            yield first + "\n"
        async for line in lines:
            yield line + "\n"

    return StreamingResponse(streamed(), media_type="application/x-ndjson")
