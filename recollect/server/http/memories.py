"""Memories and the ontology as routes under /v1: listing, ending, approving, promoting, redacting; episodes, marks, the
audit log, and terms."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query

from recollect.server.access.caller import Call
from recollect.server.access.idempotency import RECEIPT_REPLAY, STORED, memory_replay
from recollect.server.access.responses import json_object
from recollect.server.http import bodies
from recollect.server.http.routing import PROJECT, USER, Routes
from recollect.values.audit import Audit, Receipt
from recollect.values.conversation import Episode
from recollect.values.lesson import Owner
from recollect.values.memory import Memory, MemoryKind, Status
from recollect.values.term import ImportReport, Term, TermKind

routes = Routes("/v1", "memories", USER, PROJECT)
ontology = Routes("/v1", "ontology", PROJECT)
MEMORY_LIST = json_object("MemoryList", memories=list[Memory], next=str | None)
CURRENT: tuple[Status, ...] = ("active", "pending")


@routes.add("GET /memories", "memories", "memories_project", model=MEMORY_LIST)
async def memories(
    call: Call,
    kind: Annotated[list[MemoryKind] | None, Query()] = None,
    key: str | None = None,
    status: Annotated[list[Status] | None, Query()] = None,
    all: bool = False,  # noqa: A002 - the name callers know
    owner: Owner = "user",
    as_of: datetime | None = None,
    limit: int = 100,
    after: Annotated[str | None, Query(description="`next` of the page before.")] = None,
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


@routes.add("POST /memories/{memory}/close", "close", model=Memory, status=201, session=False, replay=memory_replay())
async def close(call: Call, memory: str, body: bodies.MemoryBody) -> Memory:
    """End a memory: a todo is done, a decision no longer stands."""
    return await call.engine.close(call.scope, memory, owner="user")


@routes.add(
    "POST /memories/{memory}/promote",
    "promote",
    model=Memory,
    status=201,
    session=False,
    replay=memory_replay("project"),
)
async def promote(call: Call, memory: str, body: bodies.MemoryBody) -> Memory:
    """Make a user's memory the project's; for admins."""
    return await call.engine.promote(call.scope, memory)


@routes.add(
    "POST /memories/{memory}/approve", "approve", model=Memory, status=201, session=False, replay=memory_replay()
)
async def approve(call: Call, memory: str, body: bodies.MemoryBody) -> Memory:
    """Approve a pending memory: it counts from now on; for admins."""
    return await call.engine.approve(call.scope, memory)


@routes.add("POST /memories/{memory}/reject", "reject", model=Memory, status=201, session=False, replay=memory_replay())
async def reject(call: Call, memory: str, body: bodies.MemoryBody) -> Memory:
    """Reject a pending memory; for admins."""
    return await call.engine.reject(call.scope, memory)


@routes.add("POST /memories/{memory}/redact", "redact", model=Receipt, status=201, session=False, replay=RECEIPT_REPLAY)
async def redact(call: Call, memory: str, body: bodies.MemoryBody) -> Receipt:
    """Blank a value everywhere, also in the turns it was said in; the audit log stays."""
    return await call.engine.redact(call.scope, memory, owner="user")


@routes.add("GET /episodes", "episodes", model=json_object("Episodes", episodes=list[Episode]))
async def episodes(call: Call, session: str | None = None, limit: int = 100) -> dict[str, Any]:
    """List summaries of older turns, oldest first."""
    return {"episodes": await call.engine.episodes(call.scope, limit=limit)}


@routes.add("POST /mark", "mark", status=204, replay=STORED)
async def mark(call: Call, body: bodies.MarkBody) -> dict[str, Any]:
    """Mark a turn as of high value: it is always embedded, and ranks higher."""
    await call.engine.mark(call.scope, body.ref, high_value=body.high_value)
    return {}


@routes.add("GET /rejections", "rejections", model=json_object("Rejections", rejections=dict[str, int]))
async def rejections(call: Call) -> dict[str, Any]:
    """Count what was not remembered, by reason."""
    return {"rejections": await call.engine.rejections(call.scope)}


@routes.add("GET /audit", "audit", "audit_project", model=json_object("AuditLog", audit=list[Audit]))
async def audit(call: Call, owner: Owner = "user") -> dict[str, Any]:
    """Return the audit log: who changed or erased what, and when; never any text."""
    return {"audit": await call.engine.audit(call.scope, owner=owner)}


@ontology.add("POST /ontology", "import_ontology", model=ImportReport, status=201, replay=STORED)
async def import_ontology(call: Call, body: bodies.OntologyBody) -> ImportReport:
    """Import tables, columns, values, relationships and a glossary from YAML, JSON or an object."""
    return await call.engine.terms.load(call.scope, body.source, replace=body.replace)


@ontology.add("GET /terms", "terms", model=json_object("Terms", terms=list[Term]))
async def terms(
    call: Call, search: str | None = None, kind: TermKind | None = None, limit: int = 100
) -> dict[str, Any]:
    """List the terms of the ontology, all or those that match a search."""
    return {"terms": await call.engine.terms.find(call.scope, search, kind=kind, limit=limit)}


@ontology.add("PUT /terms", "put_term", model=Term, status=201, replay=STORED)
async def put_term(call: Call, body: bodies.TermBody) -> Term:
    """Add a term, or change it."""
    return await call.engine.terms.put(call.scope, body.term())


@ontology.add("DELETE /terms/{name:path}", "drop_term", status=204, replay=STORED)
async def drop_term(call: Call, name: str, kind: TermKind | None = None) -> dict[str, Any]:
    """Delete a term, with what belongs to it."""
    await call.engine.terms.drop(call.scope, name, kind=kind)
    return {}
