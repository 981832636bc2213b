"""The memory API of text-to-SQL front ends: a user's memories, the project's knowledge and its glossary, with the names
of the fields that these front ends know."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from recollect import InvalidInput, Lesson, Memory, Receipt, Term
from recollect.server.access.caller import Call
from recollect.server.access.idempotency import memory_replay
from recollect.server.access.responses import Shape, json_object, list_of
from recollect.server.http import bodies
from recollect.server.http.bodies import OpenBody
from recollect.server.http.routing import Routes, name_parameter
from recollect.server.http.verbs import MEMORY_LIST, find_next, forget_memory

UserId = Annotated[str | None, Query(description="Whose memory; by default the caller's own.")]
routes = Routes("/api/projects/{project}", "projects", name_parameter("user_id", UserId))
MAX_GLOSSARY = 1_000


@routes.write("POST /memory/user", "learn")
async def add_memory(call: Call, body: bodies.UserMemoryBody) -> Memory:
    """Remember something for a user."""
    kind = body.memory_type or "definition"
    lesson = Lesson(body.value, body.key, kind, source=body.source, owner="user", confidence=body.confidence)
    return await call.engine.learn(call.scope, lesson)


@routes.add("GET /memory/user", "memories", model=MEMORY_LIST)
async def list_memories(call: Call, limit: int = 100, after: str | None = None) -> dict[str, Any]:
    """List a user's memories, the most important first."""
    found = await call.engine.memories(call.scope, limit=limit, after=after)
    return {"memories": found, "next": find_next(found, limit)}


@routes.write("PATCH /memory/user/{memory}", "correct")
async def change_memory(call: Call, memory: str, body: bodies.UserMemoryPatch) -> Memory:
    """Give a user's memory a new value."""
    return await call.engine.correct(call.scope, memory, body.value, owner="user")


@routes.write("DELETE /memory/user/{memory}", "forget")
async def drop_memory(call: Call, memory: str) -> Receipt:
    """Forget a user's memory."""
    return await forget_memory(call, memory, "user")


@routes.write("POST /memory/user/{memory}/promote", "promote", replay=memory_replay("project"))
async def promote_memory(call: Call, memory: str) -> Memory:
    """Make a user's memory the project's; for admins."""
    return await call.engine.promote(call.scope, memory)


# Knowledge ------------------------------------------------------------------------------------------------------------

ALIASES = {"/knowledge": "/project-knowledge"}
project_routes = Routes("/api/projects/{project}", "projects", aliases=ALIASES)  # what they name is the project's
KNOWLEDGE = Shape(
    "Knowledge",
    Memory,
    *("id", "value", "source", "status", "usage_count", "created_at"),
    doc="A memory of the project, under both of the names that front ends have for its fields.",
    fact="value",
    category="key",
    fact_type="key",
    context=(str | None, lambda memory: (memory.data or {}).get("context")),
)
KNOWLEDGE_LIST = json_object("KnowledgeList", knowledge=list_of(KNOWLEDGE.model), next=str | None)


def read_knowledge(body: bodies.KnowledgeBody) -> Lesson:
    value, key = body.fact or body.value, body.category or body.fact_type
    if not value:
        raise InvalidInput("fact", "give `fact` and `category`, or `fact_type` and `value`")
    data = {"context": body.context} if body.context else None
    # A note: a category may have many facts, where a new definition would end the one before it.
    return Lesson(value, key=key or "knowledge", kind="note", source="manual", owner="project", data=data)


WRITTEN: Any = {"model": KNOWLEDGE.model, "replay": memory_replay("project"), "render": KNOWLEDGE.describe}


@project_routes.write("POST /knowledge", "learn_project", **WRITTEN)
async def add_knowledge(call: Call, body: bodies.KnowledgeBody) -> Memory:
    """Teach the whole project a fact."""
    return await call.engine.learn(call.scope, read_knowledge(body))


@project_routes.add("GET /knowledge", "memories_project", model=KNOWLEDGE_LIST)
async def list_knowledge(call: Call, limit: int = 100, after: str | None = None) -> dict[str, Any]:
    """List what the project knows."""
    found = await call.engine.memories(call.scope, owner="project", limit=limit, after=after)
    return {"knowledge": KNOWLEDGE.describe_all(found), "next": find_next(found, limit)}


@project_routes.write("PUT /knowledge/{memory}", "change_project", **WRITTEN)
async def change_knowledge(call: Call, memory: str, body: bodies.KnowledgeBody) -> Memory:
    """Give a fact a new value."""
    return await call.engine.correct(call.scope, memory, read_knowledge(body).value, owner="project")


@project_routes.write("DELETE /knowledge/{memory}", "change_project")
async def drop_knowledge(call: Call, memory: str) -> Receipt:
    """Forget a fact."""
    return await forget_memory(call, memory, "project")


# Glossary -------------------------------------------------------------------------------------------------------------


class GlossaryBody(OpenBody):
    term: str
    definition: str = ""
    defining_sql: str | None = None
    base_table: str | None = None
    aliases: list[str] = Field(default_factory=list)


GLOSSARY_ENTRY = Shape(
    "GlossaryEntry",
    Term,
    doc="A term of the ontology: its meaning, the SQL that defines it, the table it is about, and its other names.",
    term="name",
    definition="description",
    defining_sql="sql",
    base_table=(str | None, lambda term: term.data.get("base_table")),
    aliases="synonyms",
)
GLOSSARY = json_object("Glossary", glossary=list_of(GLOSSARY_ENTRY.model))


@project_routes.add("GET /glossary", "terms", model=GLOSSARY)
async def list_glossary(call: Call, search: str | None = None) -> dict[str, Any]:
    """List the project's glossary, all of it or what matches a search."""
    found = await call.engine.terms.find(call.scope, search or None, kind="glossary", limit=MAX_GLOSSARY)
    return {"glossary": GLOSSARY_ENTRY.describe_all(found)}


@project_routes.write("POST /glossary", "put_term", model=GLOSSARY_ENTRY.model)
async def put_glossary(call: Call, body: GlossaryBody) -> dict[str, Any]:
    """Define a term for the project, or change its definition."""
    data = {"base_table": body.base_table} if body.base_table else {}
    term = Term(body.term, "glossary", body.definition, tuple(body.aliases), body.defining_sql, data)
    return GLOSSARY_ENTRY.describe(await call.engine.terms.put(call.scope, term))


@project_routes.write("DELETE /glossary/{term}", "drop_term")
async def drop_glossary(call: Call, term: str) -> None:
    """Delete a term from the glossary."""
    await call.engine.terms.drop(call.scope, term, kind="glossary")
