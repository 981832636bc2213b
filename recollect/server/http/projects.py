"""The memory API of text-to-SQL front ends, under /api/projects/{project}: a user's memories, the project's knowledge
and its glossary. The verbs are the same, the names of the fields are those that these front ends know."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from recollect.errors import InvalidInput
from recollect.server.access.caller import CurrentCaller
from recollect.server.access.idempotency import RECEIPT_REPLAY, memory_replay
from recollect.server.access.route_rules import authorized, idempotent
from recollect.server.http import bodies
from recollect.server.http.bodies import NAME, Body
from recollect.server.http.memories import MEMORY, MEMORY_LIST, find_next
from recollect.server.http.openapi import ERRORS, json_model, json_object
from recollect.values.audit import Receipt
from recollect.values.lesson import Lesson
from recollect.values.memory import Memory, Source, Status
from recollect.values.scope import MemoryId, Scope
from recollect.values.term import Term

router = APIRouter(prefix="/api/projects/{project}", tags=["projects"], responses=ERRORS)
UserId = Annotated[str | None, Query(description="Whose memory; by default the caller's own.")]
MAX_GLOSSARY = 1_000


@router.post("/memory/user", status_code=201, response_model=MEMORY)
@authorized("learn")
@idempotent(memory_replay())
async def add_memory(project: str, body: bodies.UserMemoryBody, caller: CurrentCaller, scope: Scope) -> Memory:
    """Remember something for a user."""
    lesson = Lesson(
        body.value,
        key=body.key,
        kind=body.memory_type or "definition",
        source=body.source,
        owner="user",
        confidence=body.confidence,
    )
    return await caller.engine.learn(scope, lesson)


@router.get("/memory/user", response_model=MEMORY_LIST)
@authorized("memories")
async def list_memories(
    project: str,
    caller: CurrentCaller,
    scope: Scope,
    user_id: UserId = None,
    limit: int = 100,
    after: str | None = None,
) -> dict[str, Any]:
    """List a user's memories, the most important first."""
    found = await caller.engine.memories(scope, limit=limit, after=after)
    return {"memories": found, "next": find_next(found, limit)}


@router.patch("/memory/user/{memory}", status_code=201, response_model=MEMORY)
@authorized("correct")
@idempotent(memory_replay())
async def change_memory(
    project: str, memory: str, body: bodies.UserMemoryPatch, caller: CurrentCaller, scope: Scope
) -> Memory:
    """Give a user's memory a new value."""
    return await caller.engine.correct(scope, memory, body.value, owner="user")


@router.delete("/memory/user/{memory}", response_model=json_model(Receipt))
@authorized("forget")
@idempotent(RECEIPT_REPLAY)
async def drop_memory(
    project: str, memory: str, caller: CurrentCaller, scope: Scope, user_id: UserId = None
) -> Receipt:
    """Forget a user's memory."""
    return await caller.engine.forget(scope, memory=memory, owner="user")


@router.post("/memory/user/{memory}/promote", status_code=201, response_model=MEMORY)
@authorized("promote")
@idempotent(memory_replay("project"))
async def promote_memory(
    project: str, memory: str, caller: CurrentCaller, scope: Scope, user_id: UserId = None
) -> Memory:
    """Make a user's memory the project's; for admins."""
    return await caller.engine.promote(scope, memory)


# Knowledge ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Knowledge:
    """A memory of the project, under both of the names that front ends have for its fields."""

    id: MemoryId
    fact: str
    category: str
    fact_type: str
    value: str
    context: str | None
    source: Source
    status: Status
    usage_count: int
    created_at: datetime | None


def make_knowledge(memory: Memory) -> Knowledge:
    return Knowledge(
        id=memory.id,
        fact=memory.value,
        category=memory.key,
        fact_type=memory.key,
        value=memory.value,
        context=(memory.data or {}).get("context"),
        source=memory.source,
        status=memory.status,
        usage_count=memory.usage_count,
        created_at=memory.created_at,
    )


def read_knowledge(body: bodies.KnowledgeBody) -> Lesson:
    value, key = body.fact or body.value, body.category or body.fact_type
    if not value:
        raise InvalidInput("fact", "give `fact` and `category`, or `fact_type` and `value`")
    data = {"context": body.context} if body.context else None
    # A note: a category may have many facts, where a new definition would end the one before it.
    return Lesson(value, key=key or "knowledge", kind="note", source="manual", owner="project", data=data)


@authorized("learn_project")
@idempotent(memory_replay("project"), render=make_knowledge)
async def add_knowledge(project: str, body: bodies.KnowledgeBody, caller: CurrentCaller, scope: Scope) -> Memory:
    """Teach the whole project a fact."""
    return await caller.engine.learn(scope, read_knowledge(body))


@authorized("memories_project")
async def list_knowledge(
    project: str, caller: CurrentCaller, scope: Scope, limit: int = 100, after: str | None = None
) -> dict[str, Any]:
    """List what the project knows."""
    found = await caller.engine.memories(scope, owner="project", limit=limit, after=after)
    return {"knowledge": [make_knowledge(memory) for memory in found], "next": find_next(found, limit)}


@authorized("change_project")
@idempotent(memory_replay("project"), render=make_knowledge)
async def change_knowledge(
    project: str, memory: str, body: bodies.KnowledgeBody, caller: CurrentCaller, scope: Scope
) -> Memory:
    """Give a fact a new value."""
    return await caller.engine.correct(scope, memory, read_knowledge(body).value, owner="project")


@authorized("change_project")
@idempotent(RECEIPT_REPLAY)
async def drop_knowledge(project: str, memory: str, caller: CurrentCaller, scope: Scope) -> Receipt:
    """Forget a fact."""
    return await caller.engine.forget(scope, memory=memory, owner="project")


KNOWLEDGE = json_model(Knowledge)
KNOWLEDGE_LIST = json_object("KnowledgeList", knowledge=list[Knowledge], next=str | None)
for path, is_shown in (("/knowledge", True), ("/project-knowledge", False)):
    shown: Any = {"include_in_schema": is_shown}
    router.post(path, status_code=201, response_model=KNOWLEDGE, **shown)(add_knowledge)
    router.get(path, response_model=KNOWLEDGE_LIST, **shown)(list_knowledge)
    router.put(path + "/{memory}", status_code=201, response_model=KNOWLEDGE, **shown)(change_knowledge)
    router.delete(path + "/{memory}", response_model=json_model(Receipt), **shown)(drop_knowledge)


# Glossary -------------------------------------------------------------------------------------------------------------


class GlossaryBody(Body):
    term: str = Field(json_schema_extra=NAME, examples=["active customer"])
    definition: str = Field(default="", examples=["logged in within the last 30 days"])
    defining_sql: str | None = Field(default=None, examples=["last_login_at > NOW() - INTERVAL '30 days'"])
    base_table: str | None = Field(default=None, examples=["customers"])
    aliases: list[str] = Field(default_factory=list, examples=[["active client"]])


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    """A term of the ontology: its meaning, the SQL that defines it, the table it is about, and its other names."""

    term: str
    definition: str
    defining_sql: str | None
    base_table: str | None
    aliases: list[str]


def make_entry(term: Term) -> GlossaryEntry:
    return GlossaryEntry(term.name, term.description, term.sql, term.data.get("base_table"), list(term.synonyms))


@router.get("/glossary", response_model=json_object("Glossary", glossary=list[GlossaryEntry]))
@authorized("terms")
async def list_glossary(project: str, caller: CurrentCaller, scope: Scope, search: str | None = None) -> dict[str, Any]:
    """List the project's glossary, all of it or what matches a search."""
    found = await caller.engine.terms.find(scope, search or None, kind="glossary", limit=MAX_GLOSSARY)
    return {"glossary": [make_entry(term) for term in found]}


@router.post("/glossary", status_code=201, response_model=json_model(GlossaryEntry))
@authorized("put_term")
@idempotent()
async def put_glossary(project: str, body: GlossaryBody, caller: CurrentCaller, scope: Scope) -> GlossaryEntry:
    """Define a term for the project, or change its definition."""
    data = {"base_table": body.base_table} if body.base_table else {}
    term = Term(body.term, "glossary", body.definition, tuple(body.aliases), body.defining_sql, data)
    return make_entry(await caller.engine.terms.put(scope, term))


@router.delete("/glossary/{term}", status_code=204)
@authorized("drop_term")
@idempotent()
async def drop_glossary(project: str, term: str, caller: CurrentCaller, scope: Scope) -> dict[str, Any]:
    """Delete a term from the glossary."""
    await caller.engine.terms.drop(scope, term, kind="glossary")
    return {}
