"""What is known, as routes under /v1: listing, ending, approving, promoting, redacting; episodes, marks, the trail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from recollect.doors.http import answers, bodies
from recollect.doors.http.caller import Called, Caller, Key, does
from recollect.doors.http.refusals import REFUSALS
from recollect.doors.http.render import Json
from recollect.doors.http.repeats import memory_again, receipt_again
from recollect.doors.http.verbs import ProjectParam, UserParam
from recollect.doors.shapes import episode_shape, memory_shape, receipt_shape, term_shape
from recollect.model.lesson import Owner
from recollect.model.memory import Memory, MemoryKind, Status
from recollect.model.ontology import TermKind
from recollect.model.permissions import Action
from recollect.model.scope import Scope

router = APIRouter(prefix="/v1", tags=["memories"], responses=REFUSALS)
ontology = APIRouter(prefix="/v1", tags=["ontology"], responses=REFUSALS)


@router.get("/memories", response_model=answers.MemoriesAnswer, openapi_extra=does("memories", "memories_project"))
async def memories(
    called: Called,
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
) -> Json:
    """What is known, the important first, page by page; ended memories with `all=true` or their status."""
    scope = called.scope("memories" if owner == "user" else "memories_project", user, None, project)
    current: tuple[Status, ...] = ("active", "pending")
    wanted = None if all else status or current
    found = await called.engine.memories(
        scope, kinds=kind, key=key, status=wanted, owner=owner, as_of=as_of, limit=limit, after=after
    )
    following = found[-1].ref if len(found) == limit else None
    return Json({"memories": [memory_shape(memory) for memory in found], "next": following})


async def changed(
    called: Caller,
    action: Action,
    memory: str,
    body: bodies.MemoryBody,
    key: str | None,
    verb: Callable[[Scope, str], Awaitable[Memory]],
    owner: Owner = "user",
) -> Response:
    scope = called.scope(action, body.user, None, body.project)

    async def work() -> object:
        return memory_shape(await verb(scope, memory))

    return await called.once(scope, key, [action, memory, body.model_dump()], work, memory_again(owner))


@router.post(
    "/memories/{memory}/close", status_code=201, response_model=answers.MemoryAnswer, openapi_extra=does("close")
)
async def close(memory: str, body: bodies.MemoryBody, called: Called, key: Key = None) -> Response:
    """A todo is done, a decision no longer stands."""
    return await changed(called, "close", memory, body, key, partial(called.engine.close, owner="user"))


@router.post(
    "/memories/{memory}/promote", status_code=201, response_model=answers.MemoryAnswer, openapi_extra=does("promote")
)
async def promote(memory: str, body: bodies.MemoryBody, called: Called, key: Key = None) -> Response:
    """Make a user's memory the project's; for admins."""
    return await changed(called, "promote", memory, body, key, called.engine.promote, "project")


@router.post(
    "/memories/{memory}/approve", status_code=201, response_model=answers.MemoryAnswer, openapi_extra=does("approve")
)
async def approve(memory: str, body: bodies.MemoryBody, called: Called, key: Key = None) -> Response:
    """A pending memory counts from now on; for admins."""
    return await changed(called, "approve", memory, body, key, called.engine.approve)


@router.post(
    "/memories/{memory}/reject", status_code=201, response_model=answers.MemoryAnswer, openapi_extra=does("reject")
)
async def reject(memory: str, body: bodies.MemoryBody, called: Called, key: Key = None) -> Response:
    """A pending memory will not count; for admins."""
    return await changed(called, "reject", memory, body, key, called.engine.reject)


@router.post(
    "/memories/{memory}/redact", status_code=201, response_model=answers.ReceiptAnswer, openapi_extra=does("redact")
)
async def redact(memory: str, body: bodies.MemoryBody, called: Called, key: Key = None) -> Response:
    """Blank a value everywhere, the turns it was said in included; the trail stays."""
    scope = called.scope("redact", body.user, None, body.project)

    async def work() -> object:
        return receipt_shape(await called.engine.redact(scope, memory, owner="user"))

    return await called.once(scope, key, ["redact", memory, body.model_dump()], work, receipt_again())


@router.get("/episodes", response_model=answers.EpisodesAnswer, openapi_extra=does("episodes"))
async def episodes(
    called: Called, user: UserParam = None, project: ProjectParam = None, session: str | None = None, limit: int = 100
) -> Json:
    """Runs of turns told in a few lines, oldest first."""
    scope = called.scope("episodes", user, session, project)
    return Json({"episodes": [episode_shape(each) for each in await called.engine.episodes(scope, limit=limit)]})


@router.post("/mark", status_code=204, openapi_extra=does("mark"))
async def mark(body: bodies.MarkBody, called: Called, key: Key = None) -> Response:
    """Mark a turn as of high value: it is always embedded, and ranks as such."""
    scope = called.scope("mark", body.user, body.session, body.project)

    async def work() -> object:
        await called.engine.mark(scope, body.ref, high_value=body.high_value)
        return {}

    return await called.once(scope, key, ["mark", body.model_dump()], work, status=204)


@router.get("/rejections", response_model=answers.RejectionsAnswer, openapi_extra=does("rejections"))
async def rejections(called: Called, user: UserParam = None, project: ProjectParam = None) -> Json:
    """What learning turned away, counted by reason."""
    scope = called.scope("rejections", user, None, project)
    return Json({"rejections": await called.engine.rejections(scope)})


@router.get("/audit", response_model=answers.AuditAnswer, openapi_extra=does("audit", "audit_project"))
async def audit(called: Called, user: UserParam = None, project: ProjectParam = None, owner: Owner = "user") -> Json:
    """Who changed or erased what, when; never what it said."""
    scope = called.scope("audit" if owner == "user" else "audit_project", user, None, project)
    return Json({"audit": [asdict(row) for row in await called.engine.audit(scope, owner=owner)]})


@ontology.post("/ontology", status_code=201, response_model=answers.ImportAnswer, openapi_extra=does("import_ontology"))
async def import_ontology(body: bodies.OntologyBody, called: Called, key: Key = None) -> Response:
    """Take tables, columns, values, relationships and a glossary from YAML, JSON or an object."""
    scope = called.scope("import_ontology", None, None, body.project)

    async def work() -> object:
        return asdict(await called.engine.import_ontology(scope, body.source, replace=body.replace))

    return await called.once(scope, key, ["import_ontology", body.model_dump()], work)


@ontology.get("/terms", response_model=answers.TermsAnswer, openapi_extra=does("terms"))
async def terms(
    called: Called,
    search: str | None = None,
    kind: TermKind | None = None,
    project: ProjectParam = None,
    limit: int = 100,
) -> Json:
    """The ontology's terms, all or those that a search finds."""
    scope = called.scope("terms", None, None, project)
    found = await called.engine.terms(scope, search, kind=kind, limit=limit)
    return Json({"terms": [term_shape(term) for term in found]})


@ontology.put("/terms", status_code=201, response_model=answers.TermAnswer, openapi_extra=does("put_term"))
async def put_term(body: bodies.TermBody, called: Called, key: Key = None) -> Response:
    """Add a term, or change it."""
    scope = called.scope("put_term", None, None, body.project)

    async def work() -> object:
        return term_shape(await called.engine.put_term(scope, body.term()))

    return await called.once(scope, key, ["put_term", body.model_dump()], work)


@ontology.delete("/terms/{name:path}", status_code=204, openapi_extra=does("drop_term"))
async def drop_term(
    name: str, called: Called, kind: TermKind | None = None, project: ProjectParam = None, key: Key = None
) -> Response:
    """Take a term out, with what belongs to it."""
    scope = called.scope("drop_term", None, None, project)

    async def work() -> object:
        await called.engine.drop_term(scope, name, kind=kind)
        return {}

    return await called.once(scope, key, ["drop_term", name, kind], work, status=204)
