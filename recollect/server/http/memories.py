"""Memories and the ontology as routes under /v1: listing, ending, approving, promoting, redacting; episodes, marks, the
audit log, and terms."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from recollect.server.access.caller import Caller, CurrentCaller
from recollect.server.access.idempotency import RECEIPT_REPLAY, memory_replay
from recollect.server.access.route_rules import authorized, idempotent
from recollect.server.http import bodies
from recollect.server.http.openapi import ERRORS, json_model, json_object
from recollect.server.http.verbs import ProjectParam, UserParam
from recollect.values.audit import Audit, Receipt
from recollect.values.conversation import Episode
from recollect.values.lesson import Owner
from recollect.values.memory import Memory, MemoryKind, Status
from recollect.values.scope import Scope
from recollect.values.term import ImportReport, Term, TermKind

router = APIRouter(prefix="/v1", tags=["memories"], responses=ERRORS)
ontology = APIRouter(prefix="/v1", tags=["ontology"], responses=ERRORS)
MEMORY = json_model(Memory)
MEMORY_LIST = json_object("MemoryList", memories=list[Memory], next=str | None)
CURRENT: tuple[Status, ...] = ("active", "pending")


def authorize_listing(*, caller: Caller, owner: Owner, user: str | None, project: str | None, **_: Any) -> Scope:
    return caller.authorize("memories" if owner == "user" else "memories_project", user, None, project)


@router.get("/memories", response_model=MEMORY_LIST)
@authorized("memories", "memories_project", find_scope=authorize_listing)
async def memories(
    caller: CurrentCaller,
    scope: Scope,
    user: UserParam = None,
    project: ProjectParam = None,
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
    found = await caller.engine.memories(
        scope, kinds=kind, key=key, status=wanted, owner=owner, as_of=as_of, limit=limit, after=after
    )
    return {"memories": found, "next": find_next(found, limit)}


def find_next(page: list[Memory], limit: int) -> str | None:
    """Return what names the next page; None on the last one."""
    return page[-1].ref if len(page) == limit else None


@router.post("/memories/{memory}/close", status_code=201, response_model=MEMORY)
@authorized("close", session=False)
@idempotent(memory_replay())
async def close(memory: str, body: bodies.MemoryBody, caller: CurrentCaller, scope: Scope) -> Memory:
    """End a memory: a todo is done, a decision no longer stands."""
    return await caller.engine.close(scope, memory, owner="user")


@router.post("/memories/{memory}/promote", status_code=201, response_model=MEMORY)
@authorized("promote", session=False)
@idempotent(memory_replay("project"))
async def promote(memory: str, body: bodies.MemoryBody, caller: CurrentCaller, scope: Scope) -> Memory:
    """Make a user's memory the project's; for admins."""
    return await caller.engine.promote(scope, memory)


@router.post("/memories/{memory}/approve", status_code=201, response_model=MEMORY)
@authorized("approve", session=False)
@idempotent(memory_replay())
async def approve(memory: str, body: bodies.MemoryBody, caller: CurrentCaller, scope: Scope) -> Memory:
    """Approve a pending memory: it counts from now on; for admins."""
    return await caller.engine.approve(scope, memory)


@router.post("/memories/{memory}/reject", status_code=201, response_model=MEMORY)
@authorized("reject", session=False)
@idempotent(memory_replay())
async def reject(memory: str, body: bodies.MemoryBody, caller: CurrentCaller, scope: Scope) -> Memory:
    """Reject a pending memory; for admins."""
    return await caller.engine.reject(scope, memory)


@router.post("/memories/{memory}/redact", status_code=201, response_model=json_model(Receipt))
@authorized("redact", session=False)
@idempotent(RECEIPT_REPLAY)
async def redact(memory: str, body: bodies.MemoryBody, caller: CurrentCaller, scope: Scope) -> Receipt:
    """Blank a value everywhere, also in the turns it was said in; the audit log stays."""
    return await caller.engine.redact(scope, memory, owner="user")


@router.get("/episodes", response_model=json_object("Episodes", episodes=list[Episode]))
@authorized("episodes")
async def episodes(
    caller: CurrentCaller,
    scope: Scope,
    user: UserParam = None,
    project: ProjectParam = None,
    session: str | None = None,
    limit: int = 100,
) -> dict[str, Any]:
    """List summaries of older turns, oldest first."""
    return {"episodes": await caller.engine.episodes(scope, limit=limit)}


@router.post("/mark", status_code=204)
@authorized("mark")
@idempotent()
async def mark(body: bodies.MarkBody, caller: CurrentCaller, scope: Scope) -> dict[str, Any]:
    """Mark a turn as of high value: it is always embedded, and ranks higher."""
    await caller.engine.mark(scope, body.ref, high_value=body.high_value)
    return {}


@router.get("/rejections", response_model=json_object("Rejections", rejections=dict[str, int]))
@authorized("rejections")
async def rejections(
    caller: CurrentCaller, scope: Scope, user: UserParam = None, project: ProjectParam = None
) -> dict[str, Any]:
    """Count what was not remembered, by reason."""
    return {"rejections": await caller.engine.rejections(scope)}


def authorize_audit(*, caller: Caller, owner: Owner, user: str | None, project: str | None, **_: Any) -> Scope:
    return caller.authorize("audit" if owner == "user" else "audit_project", user, None, project)


@router.get("/audit", response_model=json_object("AuditLog", audit=list[Audit]))
@authorized("audit", "audit_project", find_scope=authorize_audit)
async def audit(
    caller: CurrentCaller,
    scope: Scope,
    user: UserParam = None,
    project: ProjectParam = None,
    owner: Owner = "user",
) -> dict[str, Any]:
    """Return the audit log: who changed or erased what, and when; never any text."""
    return {"audit": await caller.engine.audit(scope, owner=owner)}


@ontology.post("/ontology", status_code=201, response_model=json_model(ImportReport))
@authorized("import_ontology")
@idempotent()
async def import_ontology(body: bodies.OntologyBody, caller: CurrentCaller, scope: Scope) -> ImportReport:
    """Import tables, columns, values, relationships and a glossary from YAML, JSON or an object."""
    return await caller.engine.terms.load(scope, body.source, replace=body.replace)


@ontology.get("/terms", response_model=json_object("Terms", terms=list[Term]))
@authorized("terms")
async def terms(
    caller: CurrentCaller,
    scope: Scope,
    search: str | None = None,
    kind: TermKind | None = None,
    project: ProjectParam = None,
    limit: int = 100,
) -> dict[str, Any]:
    """List the terms of the ontology, all or those that match a search."""
    return {"terms": await caller.engine.terms.find(scope, search, kind=kind, limit=limit)}


@ontology.put("/terms", status_code=201, response_model=json_model(Term))
@authorized("put_term")
@idempotent()
async def put_term(body: bodies.TermBody, caller: CurrentCaller, scope: Scope) -> Term:
    """Add a term, or change it."""
    return await caller.engine.terms.put(scope, body.term())


@ontology.delete("/terms/{name:path}", status_code=204)
@authorized("drop_term")
@idempotent()
async def drop_term(
    name: str, caller: CurrentCaller, scope: Scope, kind: TermKind | None = None, project: ProjectParam = None
) -> dict[str, Any]:
    """Delete a term, with what belongs to it."""
    await caller.engine.terms.drop(scope, name, kind=kind)
    return {}
