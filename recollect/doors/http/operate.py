"""What operators do, as routes under /v1: API keys, the report, and the work that follows the log."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from recollect.doors.http import answers, bodies
from recollect.doors.http.caller import Called, Caller, Key, does
from recollect.doors.http.refusals import REFUSALS
from recollect.doors.http.render import Json
from recollect.doors.http.repeats import KEY_AGAIN
from recollect.doors.http.verbs import ProjectParam
from recollect.errors import InvalidInput, StoreUnavailable
from recollect.model.report import Report, unnamed
from recollect.model.scope import Scope

router = APIRouter(prefix="/v1", tags=["operators"], responses=REFUSALS)
Every = Annotated[bool, Query(description="Keys of all projects; takes an admin of all projects.")]
Days = Annotated[int, Query(description="How many days, today included.", examples=[7])]


def keyring(called: Caller, project: str | None, every: bool) -> tuple[Scope, str | None]:
    """The caller's scope, and whose keys are meant: a project's, or (None) those of all."""
    if every and project:
        raise InvalidInput("every_project", "name a project, or say every_project; not both")
    scope = called.scope("keys", None, None, project)
    if every:
        called.check("keys")
    return scope, None if every else scope.project


@router.post("/keys", status_code=201, response_model=answers.NewKeyAnswer, openapi_extra=does("keys"))
async def create_key(body: bodies.KeyBody, called: Called, key: Key = None) -> Response:
    """Make an API key; for admins. The secret is in this answer and nowhere else. The first key closes the door to
    everybody without one."""
    scope, project = keyring(called, body.project, body.every_project)
    grant = body.grant(project)

    async def work() -> dict[str, Any]:
        new = await called.engine.create_key(grant, by=called.identity.name)
        return {**asdict(new.key), "secret": new.secret}

    return await called.once(scope, key, ["create_key", body.model_dump()], work, KEY_AGAIN)


@router.get("/keys", response_model=answers.KeysAnswer, openapi_extra=does("keys"))
async def list_keys(called: Called, project: ProjectParam = None, every_project: Every = False) -> Json:
    """The keys of a project, also those that are no longer good; never a secret."""
    _, wanted = keyring(called, project, every_project)
    return Json({"keys": [asdict(key) for key in await called.engine.list_keys(wanted)]})


@router.delete("/keys/{id}", response_model=answers.KeyAnswer, openapi_extra=does("keys"))
async def revoke_key(
    id: str,  # noqa: A002 - the name callers know
    called: Called,
    project: ProjectParam = None,
    every_project: Every = False,
    key: Key = None,
) -> Response:
    """End a key: at once here, within half a minute in other processes."""
    scope, wanted = keyring(called, project, every_project)

    async def work() -> dict[str, Any]:
        return asdict(await called.engine.revoke_key(id, project=wanted, by=called.identity.name))

    return await called.once(scope, key, ["revoke_key", id, wanted], work, status=200)


@router.get("/report", response_model=Report, openapi_extra=does("report"))
async def report(called: Called, project: ProjectParam = None, days: Days = 7) -> Json:
    """How memory did in a project: counts over all its users, never a text, each judged against its limit."""
    scope = called.scope("report", None, None, project)
    told = await called.engine.report(scope, days=days)
    return Json(asdict(told if called.may("audit") else unnamed(told)))  # the role data sees no user's name


@router.get("/work", response_model=answers.WorkAnswer, openapi_extra=does("work"))
async def work(called: Called) -> Json:
    """The work behind the log of all projects: what waits, fails or is parked, and why; for admins of all projects."""
    called.check("work")
    told = await called.engine.health()
    if told.work is None:
        raise StoreUnavailable(told.store)
    return Json({"ok": told.work.ok, **asdict(told.work)})


@router.post("/work/retry", status_code=201, response_model=answers.WokenAnswer, openapi_extra=does("work"))
async def retry_work(called: Called, key: Key = None) -> Response:
    """Try parked work again; says how many conversations that is."""
    called.check("work")
    scope = called.scope("work", None)

    async def work() -> dict[str, int]:
        return {"woken": await called.engine.retry_work()}

    return await called.once(scope, key, ["retry_work"], work)
