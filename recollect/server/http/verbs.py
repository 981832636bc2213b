"""Routes under /v1: the ten verbs; memories (listing, ending, approving, promoting, redacting), episodes, marks and the
audit log; the terms of the ontology."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query as QueryParam
from starlette.responses import Response, StreamingResponse

from recollect.errors import InvalidInput
from recollect.server.access.caller import Call, Caller, CurrentCaller
from recollect.server.access.idempotency import IdempotencyKey, Replay, Stored, memory_replay, store_id
from recollect.server.access.responses import Json, json_object, start_stream
from recollect.server.http import bodies
from recollect.server.http.routing import OPENAPI, PROJECT, USER, Routes
from recollect.values.audit import Audit, Explanation, Receipt
from recollect.values.conversation import Episode, Recorded, Turn
from recollect.values.lesson import Lesson, Owner
from recollect.values.memory import Memory, MemoryKind, Status, check_current
from recollect.values.query import Context, Query, Recall
from recollect.values.resolution import Resolution
from recollect.values.scope import Scope
from recollect.values.serialization import recorded_json, to_json
from recollect.values.term import ImportReport, Term, TermKind

routes = Routes("/v1", "verbs", USER, PROJECT)
memory_routes = Routes("/v1", "memories", USER, PROJECT)
ontology = Routes("/v1", "ontology", PROJECT)
SessionParam = Annotated[str, QueryParam(description="The session.", examples=["monday"])]
AT_ONCE = 4  # questions of one request that are answered at a time, so that other requests get their turn
MEMORY_OFF = "memory is turned off (MEMORY_ENABLED=0); only definitions in the request count"
RECORDED = json_object("RecordedSessions", refs=list[str], sessions=list[Recorded])
RESOLUTIONS = json_object("Resolutions", resolutions=list[Resolution], notes=list[str])


@routes.add("POST /record", "record", model=RECORDED, status=201)
async def record(call: Call, body: bodies.RecordBody, idempotency_key: IdempotencyKey = None) -> Response:
    """Append messages to a session. They are durable, and visible to the next read, when this answers."""
    turns = [turn.turn() for turn in body.turns]
    recorded = await call.engine.record(call.scope, turns, idempotency_key=idempotency_key)
    return Json(recorded_json([recorded]), status_code=201, replayed=recorded.replayed)


@routes.add("POST /recall", "recall")
async def recall(call: Call, body: bodies.QueryBody) -> Recall:
    """Return the turns, memories and episodes that are relevant to a question, each with an explanation."""
    found = await call.engine.recall(call.scope, body.query())
    call.caller.metrics.count_recall(found)
    return found


@routes.add("POST /recall/many", "recall", model=json_object("Recalls", recalls=list[Recall]))
async def recall_many(body: bodies.RecallManyBody, caller: CurrentCaller) -> Json:
    """Answer several questions at once, in their order."""
    scopes = [
        caller.authorize("recall", each.user or body.user, each.session or body.session, each.project or body.project)
        for each in body.queries
    ]
    few = asyncio.Semaphore(AT_ONCE)

    async def recall(scope: Scope, query: Query) -> Recall:
        async with few:
            return await caller.engine.recall(scope, query)

    queries = [each.query() for each in body.queries]
    recalls = await asyncio.gather(*map(recall, scopes, queries))
    for each in recalls:
        caller.metrics.count_recall(each)
    return Json({"recalls": to_json(recalls)})


@routes.add("POST /context", "context")
async def context(call: Call, body: bodies.QueryBody) -> Context:
    """Return text for a prompt within a token budget: terms, memories, episodes, recalled turns and recent turns."""
    packed = await call.engine.context(call.scope, body.query())
    call.caller.metrics.count_context(packed)
    return packed


@routes.add("POST /resolve", "resolve", model=RESOLUTIONS)
async def resolve(call: Call, body: bodies.ResolveBody) -> dict[str, Any]:
    """Return what terms mean: in this session, to the user, in the project, in its ontology."""
    resolutions = await call.engine.resolve_all(call.scope, body.terms, definitions=body.definitions)
    return {"resolutions": resolutions, "notes": [] if call.caller.settings.enabled else [MEMORY_OFF]}


def read_lesson(caller: Caller, body: bodies.LessonBody) -> Lesson:
    """Return the lesson; its wording makes it the project's only if the caller may teach the project."""
    lesson = body.lesson()
    return lesson if lesson.owner or caller.can("learn_project") else replace(lesson, owner="user")


def authorize_lesson(*, caller: Caller, body: bodies.LessonBody, **_: Any) -> Scope:
    is_shared = read_lesson(caller, body).owned_by == "project"
    return caller.authorize("learn_project" if is_shared else "learn", body.user, body.session, body.project)


async def restore_lesson(stored: Stored, call: Call, body: bodies.LessonBody) -> Memory:
    return await call.engine.memory(call.scope, stored["id"], owner=read_lesson(call.caller, body).owned_by)


@routes.write(
    "POST /learn", *("learn", "learn_project"), find_scope=authorize_lesson, replay=Replay(store_id, restore_lesson)
)
async def learn(call: Call, body: bodies.LessonBody) -> Memory:
    """Remember what a person states explicitly."""
    return await call.engine.learn(call.scope, read_lesson(call.caller, body))


@routes.write("POST /correct", "correct")
async def correct(call: Call, body: bodies.CorrectBody) -> Memory:
    """Give a memory a new value; the old one ends and stays in the history."""
    return await call.engine.correct(call.scope, body.memory, body.value, owner="user")


def authorize_erasure(*, caller: Caller, body: bodies.ForgetBody, **_: Any) -> Scope:
    if body.memory is None and body.session is None and not body.everything:
        raise InvalidInput("everything", "must be true to forget all of a user; or name a session or a memory")
    return caller.authorize("forget", body.user, None if body.everything else body.session, body.project)


@routes.write("POST /forget", "forget", find_scope=authorize_erasure)
async def forget(call: Call, body: bodies.ForgetBody) -> Receipt:
    """Erase a memory, a session or a whole user, with everything derived; the receipt counts the rows per table."""
    if body.memory is None:
        return await call.engine.forget(call.scope)
    return await forget_memory(call, body.memory, "user")


async def forget_memory(call: Call, memory: str, owner: Owner) -> Receipt:
    """Erase one memory, unless it was replaced by a newer value."""
    known = check_current(await call.engine.memory(call.scope, memory, owner=owner))
    return await call.engine.forget(call.scope, memory=known.id, owner=owner)


@routes.add("GET /history", "history", model=json_object("History", turns=list[Turn], next_before=int | None))
async def history(call: Call, session: SessionParam, limit: int = 50, before: int | None = None) -> dict[str, Any]:
    """Return the last turns of a session, oldest first; `next_before` pages backwards."""
    turns = await call.engine.history(call.scope, limit=limit, before=before)
    return {"turns": turns, "next_before": find_next_before(turns, limit)}


def find_next_before(turns: list[Turn], limit: int) -> int | None:
    """Return the index to page backwards from; None on the last page."""
    return turns[0].index if len(turns) == limit and turns[0].index else None


@routes.add("GET /explain/{request_id}", "explain")
async def explain(call: Call, request_id: str) -> Explanation:
    """Return what a past recall or context found, and why, with the history of each memory."""
    return await call.engine.explain(call.scope, request_id)


@routes.add("GET /export", "export", response_class=StreamingResponse, responses={200: OPENAPI["responses"]["lines"]})
async def export(call: Call) -> StreamingResponse:
    """Export everything stored about a user, as JSON lines."""
    lines = await start_stream(call.engine.export(call.scope))
    return StreamingResponse((f"{line}\n" async for line in lines), media_type="application/x-ndjson")


# Memories -------------------------------------------------------------------------------------------------------------

MEMORY_LIST = json_object("MemoryList", memories=list[Memory], next=str | None)
CURRENT: tuple[Status, ...] = ("active", "pending")


@memory_routes.add("GET /memories", "memories", "memories_project", model=MEMORY_LIST)
async def memories(
    call: Call,
    kind: Annotated[list[MemoryKind] | None, QueryParam()] = None,
    key: str | None = None,
    status: Annotated[list[Status] | None, QueryParam()] = None,
    all: bool = False,  # noqa: A002 - the name callers know
    owner: Owner = "user",
    as_of: datetime | None = None,
    limit: int = 100,
    after: Annotated[str | None, QueryParam(description="`next` of the page before.")] = None,
) -> dict[str, Any]:
    """List memories, the most important first, page by page; ended ones with `all=true` or their status."""
    wanted = None if all else status or CURRENT
    found = await call.engine.memories(
        call.scope, kinds=kind, key=key, status=wanted, owner=owner, as_of=as_of, limit=limit, after=after
    )
    return {"memories": found, "next": find_next(found, limit)}


def find_next(page: list[Memory], limit: int) -> str | None:
    """Return what names the next page; None on the last one."""
    return page[-1].ref if len(page) == limit else None


@memory_routes.write("POST /memories/{memory}/close", "close")
async def close(call: Call, memory: str, body: bodies.MemoryBody) -> Memory:
    """End a memory: a todo is done, a decision no longer stands."""
    return await call.engine.close(call.scope, memory, owner="user")


@memory_routes.write("POST /memories/{memory}/promote", "promote", replay=memory_replay("project"))
async def promote(call: Call, memory: str, body: bodies.MemoryBody) -> Memory:
    """Make a user's memory the project's; for admins."""
    return await call.engine.promote(call.scope, memory)


@memory_routes.write("POST /memories/{memory}/approve", "approve")
async def approve(call: Call, memory: str, body: bodies.MemoryBody) -> Memory:
    """Approve a pending memory: it counts from now on; for admins."""
    return await call.engine.approve(call.scope, memory)


@memory_routes.write("POST /memories/{memory}/reject", "reject")
async def reject(call: Call, memory: str, body: bodies.MemoryBody) -> Memory:
    """Reject a pending memory; for admins."""
    return await call.engine.reject(call.scope, memory)


@memory_routes.write("POST /memories/{memory}/redact", "redact")
async def redact(call: Call, memory: str, body: bodies.MemoryBody) -> Receipt:
    """Blank a value everywhere, also in the turns it was said in; the audit log stays."""
    return await call.engine.redact(call.scope, memory, owner="user")


@memory_routes.add("GET /episodes", "episodes", model=json_object("Episodes", episodes=list[Episode]))
async def episodes(call: Call, session: str | None = None, limit: int = 100) -> dict[str, Any]:
    """List summaries of older turns, oldest first."""
    return {"episodes": await call.engine.episodes(call.scope, limit=limit)}


@memory_routes.write("POST /mark", "mark")
async def mark(call: Call, body: bodies.MarkBody) -> None:
    """Mark a turn as of high value: it is always embedded, and ranks higher."""
    await call.engine.mark(call.scope, body.ref, high_value=body.high_value)


@memory_routes.add("GET /rejections", "rejections", model=json_object("Rejections", rejections=dict[str, int]))
async def rejections(call: Call) -> dict[str, Any]:
    """Count what was not remembered, by reason."""
    return {"rejections": await call.engine.rejections(call.scope)}


@memory_routes.add("GET /audit", "audit", "audit_project", model=json_object("AuditLog", audit=list[Audit]))
async def audit(call: Call, owner: Owner = "user") -> dict[str, Any]:
    """Return the audit log: who changed or erased what, and when; never any text."""
    return {"audit": await call.engine.audit(call.scope, owner=owner)}


# The ontology ---------------------------------------------------------------------------------------------------------


@ontology.write("POST /ontology", "import_ontology")
async def import_ontology(call: Call, body: bodies.OntologyBody) -> ImportReport:
    """Import tables, columns, values, relationships and a glossary from YAML, JSON or an object."""
    return await call.engine.terms.load(call.scope, body.source, replace=body.replace)


@ontology.add("GET /terms", "terms", model=json_object("Terms", terms=list[Term]))
async def terms(
    call: Call, search: str | None = None, kind: TermKind | None = None, limit: int = 100
) -> dict[str, Any]:
    """List the terms of the ontology, all or those that match a search."""
    return {"terms": await call.engine.terms.find(call.scope, search, kind=kind, limit=limit)}


@ontology.write("PUT /terms", "put_term")
async def put_term(call: Call, body: bodies.TermBody) -> Term:
    """Add a term, or change it."""
    return await call.engine.terms.put(call.scope, body.term())


@ontology.write("DELETE /terms/{name:path}", "drop_term")
async def drop_term(call: Call, name: str, kind: TermKind | None = None) -> None:
    """Delete a term, with what belongs to it."""
    await call.engine.terms.drop(call.scope, name, kind=kind)
