"""Routes for operators: API keys, the report, background work, health and metrics. None of them shows a secret, except
the response that creates a key."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from recollect.errors import StoreUnavailable
from recollect.server.access.caller import Caller, CurrentCaller, key_scope
from recollect.server.access.idempotency import Replay, Stored
from recollect.server.access.json_response import Json
from recollect.server.access.route_rules import authorized, idempotent, requires
from recollect.server.http import bodies
from recollect.server.http.openapi import ERRORS, ERRORS_WITHOUT_BODY, json_model, json_object
from recollect.server.http.verbs import ProjectParam
from recollect.values.api_key import ApiKey, NewKey
from recollect.values.report import Report, hide_user_names
from recollect.values.scope import Scope
from recollect.values.serialization import json_types, to_json
from recollect.values.work import WorkStatus

router = APIRouter(prefix="/v1", tags=["operators"], responses=ERRORS)
health_router = APIRouter(tags=["health"])
EveryProject = Annotated[bool, Query(description="Keys of all projects; takes an admin of all projects.")]
Days = Annotated[int, Query(description="How many days, today included.", examples=[7])]
TEXT = {"content": {"text/plain": {"schema": {"type": "string"}}}}
NEW_KEY = json_object(
    "NewKey",
    doc="`secret` is only in this response; a replay under the same idempotency key has null.",
    **{**json_types(NewKey), "secret": str | None},
)
READY = json_object(
    "Ready",
    status=str,
    store=str,
    embedder=str | None,
    model=str | None,
    work=dict[str, Any] | None,
    notes=list[str],
)


def authorize_new_key(*, caller: Caller, body: bodies.KeyBody, **_: Any) -> Scope:
    return key_scope(caller, body.project, body.every_project)[0]


def authorize_keys(*, caller: Caller, project: str | None, every_project: bool, **_: Any) -> Scope:
    return key_scope(caller, project, every_project)[0]


def store_without_secret(new: NewKey) -> Stored:
    return {name: value for name, value in to_json(new).items() if name != "secret"}


async def restore_without_secret(stored: Stored, **_: Any) -> Stored:
    return {**stored, "secret": None}


@router.post("/keys", status_code=201, response_model=NEW_KEY)
@authorized("keys", find_scope=authorize_new_key)
@idempotent(Replay(store_without_secret, restore_without_secret))
async def create_key(body: bodies.KeyBody, caller: CurrentCaller, scope: Scope) -> NewKey:
    """Create an API key; for admins. The secret is only in this response. Once there is a key, every caller needs
    one."""
    grant = body.grant(None if body.every_project else scope.project)
    return await caller.engine.keys.create(grant, by=caller.identity.name)


@router.get("/keys", response_model=json_object("Keys", keys=list[ApiKey]))
@authorized("keys", find_scope=authorize_keys)
async def list_keys(
    caller: CurrentCaller, scope: Scope, project: ProjectParam = None, every_project: EveryProject = False
) -> dict[str, Any]:
    """List the keys of a project, also those that are no longer valid; never a secret."""
    return {"keys": await caller.engine.keys.find(None if every_project else scope.project)}


@router.delete("/keys/{id}", response_model=json_model(ApiKey))
@authorized("keys", find_scope=authorize_keys)
@idempotent()
async def revoke_key(
    id: str,  # noqa: A002 - the name callers know
    caller: CurrentCaller,
    scope: Scope,
    project: ProjectParam = None,
    every_project: EveryProject = False,
) -> ApiKey:
    """Revoke a key: at once in this process, within half a minute in others."""
    wanted = None if every_project else scope.project
    return await caller.engine.keys.revoke(id, project=wanted, by=caller.identity.name)


@router.get("/report", response_model=json_model(Report))
@authorized("report")
async def report(caller: CurrentCaller, scope: Scope, project: ProjectParam = None, days: Days = 7) -> Report:
    """Report how memory performs in a project: counts over all users, never any text, each compared with its limit."""
    made = await caller.engine.report(scope, days=days)
    return made if caller.can("audit") else hide_user_names(made)  # the role data sees no user's name


@router.get("/work", response_model=json_model(WorkStatus))
@requires("work")
async def work(caller: CurrentCaller) -> Json:
    """Show the background work of all projects: what waits, fails or is parked, and why; for admins of all projects."""
    caller.check("work")
    health = await caller.engine.health()
    if health.work is None:
        raise StoreUnavailable(health.store)
    return Json(to_json(health.work))


def authorize_work(*, caller: Caller, **_: Any) -> Scope:
    caller.check("work")
    return caller.authorize("work", None)


@router.post("/work/retry", status_code=201, response_model=json_object("Retried", woken=int))
@authorized("work", find_scope=authorize_work)
@idempotent()
async def retry_work(caller: CurrentCaller, scope: Scope) -> dict[str, int]:
    """Try parked work again; `woken` counts the conversations."""
    return {"woken": await caller.engine.runtime.retry_work()}


@health_router.head("/health", include_in_schema=False)
@health_router.get("/health", response_model=json_object("Alive", status=str, version=str))
async def health() -> Json:
    """Say that the process answers."""
    return Json({"status": "ok", "version": own_version()})


@health_router.head("/ready", include_in_schema=False)
@health_router.get("/ready", response_model=READY, responses={503: {"model": READY}})
async def ready(request: Request) -> Json:
    """Check database, migrations and background work. `degraded`: it answers, but something needs attention."""
    found = await request.app.state.engine.health()
    status = "ok" if found.ok else "degraded" if found.store == "ok" else "unavailable"
    answer = {
        "status": status,
        "store": found.store,
        "embedder": found.embedder,
        "model": found.model,
        "work": None if found.work is None else {**asdict(found.work), "troubles": len(found.work.troubles)},
        "notes": list(found.notes),
    }
    return Json(answer, status_code=503 if status == "unavailable" else 200)


@health_router.get("/metrics", response_class=Response, responses={200: TEXT, **ERRORS_WITHOUT_BODY})
@requires("metrics")
async def metrics(caller: CurrentCaller) -> Response:
    """Return the metrics for Prometheus."""
    caller.check("metrics")
    return caller.metrics.render(await caller.engine.health())


@cache
def own_version() -> str:
    return version("recollect")
