"""The memory API that text-to-SQL front ends know: a user's memories and a project's knowledge, under
/api/projects/{project}. The same verbs, with other names for the fields."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from recollect.doors.http import answers, bodies
from recollect.doors.http.caller import Called, Key, does
from recollect.doors.http.refusals import REFUSALS
from recollect.doors.http.render import Json
from recollect.doors.http.repeats import memory_again, receipt_again
from recollect.doors.shapes import memory_shape, receipt_shape
from recollect.errors import InvalidInput
from recollect.model.lesson import Lesson
from recollect.model.memory import Memory

router = APIRouter(prefix="/api/projects/{project}", tags=["projects"], responses=REFUSALS)
UserId = Annotated[str | None, Query(description="Whose memory; by default the caller's own.")]
KNOWLEDGE = ("/knowledge", "/project-knowledge")


@router.post("/memory/user", status_code=201, response_model=answers.MemoryAnswer, openapi_extra=does("learn"))
async def add_memory(project: str, body: bodies.UserMemoryBody, called: Called, key: Key = None) -> Response:
    """Remember something for a user."""
    scope = called.scope("learn", body.user_id, None, project)
    lesson = Lesson(
        body.value,
        key=body.key,
        kind=body.memory_type or "definition",
        source=body.source,
        owner="user",
        confidence=body.confidence,
    )

    async def work() -> object:
        return memory_shape(await called.engine.learn(scope, lesson))

    return await called.once(scope, key, ["memory/user", body.model_dump()], work, memory_again())


@router.get("/memory/user", response_model=answers.MemoriesAnswer, openapi_extra=does("memories"))
async def list_memories(
    project: str, called: Called, user_id: UserId = None, limit: int = 100, after: str | None = None
) -> Json:
    """A user's memories, the important first."""
    scope = called.scope("memories", user_id, None, project)
    found = await called.engine.memories(scope, limit=limit, after=after)
    following = found[-1].ref if len(found) == limit else None
    return Json({"memories": [memory_shape(memory) for memory in found], "next": following})


@router.patch(
    "/memory/user/{memory}", status_code=201, response_model=answers.MemoryAnswer, openapi_extra=does("correct")
)
async def change_memory(
    project: str, memory: str, body: bodies.UserMemoryPatch, called: Called, key: Key = None
) -> Response:
    """Give a user's memory another value."""
    scope = called.scope("correct", body.user_id, None, project)

    async def work() -> object:
        return memory_shape(await called.engine.correct(scope, memory, body.value, owner="user"))

    return await called.once(scope, key, ["memory/user", memory, body.model_dump()], work, memory_again())


@router.delete("/memory/user/{memory}", response_model=answers.ReceiptAnswer, openapi_extra=does("forget"))
async def drop_memory(project: str, memory: str, called: Called, user_id: UserId = None, key: Key = None) -> Response:
    """Forget a user's memory."""
    scope = called.scope("forget", user_id, None, project)

    async def work() -> object:
        return receipt_shape(await called.engine.forget(scope, memory=memory, owner="user"))

    return await called.once(scope, key, ["drop memory", memory], work, receipt_again(), status=200)


@router.post(
    "/memory/user/{memory}/promote", status_code=201, response_model=answers.MemoryAnswer, openapi_extra=does("promote")
)
async def promote_memory(
    project: str, memory: str, called: Called, user_id: UserId = None, key: Key = None
) -> Response:
    """Make a user's memory the project's; for admins."""
    scope = called.scope("promote", user_id, None, project)

    async def work() -> object:
        return memory_shape(await called.engine.promote(scope, memory))

    return await called.once(scope, key, ["promote", memory], work, memory_again("project"))


def knowledge_shape(memory: Memory) -> dict[str, Any]:
    context = (memory.data or {}).get("context")
    return {
        "id": memory.id,
        "fact": memory.value,
        "category": memory.key,
        "fact_type": memory.key,
        "value": memory.value,
        "context": context,
        "source": memory.source,
        "status": memory.status,
        "usage_count": memory.usage_count,
        "created_at": memory.created_at,
    }


KNOWN_AGAIN = memory_again("project", knowledge_shape)


def known_fact(body: bodies.KnowledgeBody) -> Lesson:
    value, key = body.fact or body.value, body.category or body.fact_type
    if not value:
        raise InvalidInput("fact", "give `fact` and `category`, or `fact_type` and `value`")
    data = {"context": body.context} if body.context else None
    return Lesson(value, key=key or "knowledge", kind="definition", source="manual", owner="project", data=data)


async def add_knowledge(project: str, body: bodies.KnowledgeBody, called: Called, key: Key = None) -> Response:
    """Tell the whole project something."""
    scope = called.scope("learn_project", None, None, project)
    lesson = known_fact(body)

    async def work() -> object:
        return knowledge_shape(await called.engine.learn(scope, lesson))

    return await called.once(scope, key, ["knowledge", body.model_dump()], work, KNOWN_AGAIN)


async def list_knowledge(project: str, called: Called, limit: int = 100, after: str | None = None) -> Json:
    """What the project knows."""
    scope = called.scope("memories_project", None, None, project)
    found = await called.engine.memories(scope, owner="project", limit=limit, after=after)
    following = found[-1].ref if len(found) == limit else None
    return Json({"knowledge": [knowledge_shape(memory) for memory in found], "next": following})


async def change_knowledge(
    project: str, memory: str, body: bodies.KnowledgeBody, called: Called, key: Key = None
) -> Response:
    """Give a piece of knowledge another value."""
    scope = called.scope("change_project", None, None, project)
    lesson = known_fact(body)

    async def work() -> object:
        return knowledge_shape(await called.engine.correct(scope, memory, lesson.value, owner="project"))

    return await called.once(scope, key, ["knowledge", memory, body.model_dump()], work, KNOWN_AGAIN)


async def drop_knowledge(project: str, memory: str, called: Called, key: Key = None) -> Response:
    """Forget a piece of knowledge."""
    scope = called.scope("change_project", None, None, project)

    async def work() -> object:
        return receipt_shape(await called.engine.forget(scope, memory=memory, owner="project"))

    return await called.once(scope, key, ["drop knowledge", memory], work, receipt_again(), status=200)


for path in KNOWLEDGE:
    routes = APIRouter(include_in_schema=path == KNOWLEDGE[0])
    routes.post(path, status_code=201, response_model=answers.KnowledgeAnswer, openapi_extra=does("learn_project"))(
        add_knowledge
    )
    routes.get(path, response_model=answers.KnowledgeListAnswer, openapi_extra=does("memories_project"))(list_knowledge)
    routes.put(
        path + "/{memory}",
        status_code=201,
        response_model=answers.KnowledgeAnswer,
        openapi_extra=does("change_project"),
    )(change_knowledge)
    routes.delete(path + "/{memory}", response_model=answers.ReceiptAnswer, openapi_extra=does("change_project"))(
        drop_knowledge
    )
    router.include_router(routes)
