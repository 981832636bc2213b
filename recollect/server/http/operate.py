"""Routes for operators: API keys, the report, background work, health and metrics. None of them shows a secret, except
the response that creates a key."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from recollect import ApiKey, NewKey, Report, Scope, StoreUnavailable
from recollect.server.access.caller import Call, Caller, CurrentCaller, key_scope
from recollect.server.access.idempotency import Replay
from recollect.server.access.responses import Json, json_object
from recollect.server.http import bodies
from recollect.server.http.routing import ERRORS_WITHOUT_BODY, PROJECT, Routes
from recollect.values.report import hide_user_names
from recollect.values.serialization import json_types, to_json
from recollect.values.work import WorkStatus

routes = Routes("/v1", "operators", PROJECT)
installation = Routes("/v1", "operators")  # of all projects
health = Routes("", "health", responses=None)
EveryProject = Annotated[bool, Query(description="Keys of all projects; takes an admin of all projects.")]
Days = Annotated[int, Query(description="How many days, today included.", examples=[7])]
TEXT = {"content": {"text/plain": {"schema": {"type": "string"}}}}
NEW_KEY = json_object(
    "NewKey",
    doc="`secret` is only in this response; a replay under the same idempotency key has null.",
    **{**json_types(NewKey), "secret": str | None},
)
READY = json_object(
    "Ready", status=str, store=str, embedder=str | None, model=str | None, work=dict[str, Any] | None, notes=list[str]
)


def authorize_keys(
    *, caller: Caller, project: str | None = None, every_project: bool = False, body: Any = None, **_: Any
) -> Scope:
    named = (body.project, body.every_project) if body else (project, every_project)
    return key_scope(caller, *named)[0]


# The secret is not stored with the key, so a replay has none.
KEY_REPLAY = Replay(lambda new: to_json(new.key), lambda stored, call, **_: {**stored, "secret": None})


@routes.write("POST /keys", "keys", model=NEW_KEY, find_scope=authorize_keys, replay=KEY_REPLAY)
async def create_key(call: Call, body: bodies.KeyBody) -> NewKey:
    """Create an API key; for admins. The secret is only in this response. Once there is a key, every caller needs
    one."""
    grant = body.grant(None if body.every_project else call.scope.project)
    return await call.engine.keys.create(grant, by=call.caller.identity.name)


@routes.add("GET /keys", "keys", model=json_object("Keys", keys=list[ApiKey]), find_scope=authorize_keys)
async def list_keys(call: Call, every_project: EveryProject = False) -> dict[str, Any]:
    """List the keys of a project, also those that are no longer valid; never a secret."""
    return {"keys": await call.engine.keys.find(None if every_project else call.scope.project)}


@routes.write("DELETE /keys/{id}", "keys", find_scope=authorize_keys)
async def revoke_key(call: Call, id: str, every_project: EveryProject = False) -> ApiKey:  # noqa: A002
    """Revoke a key: at once in this process, within half a minute in others."""
    wanted = None if every_project else call.scope.project
    return await call.engine.keys.revoke(id, project=wanted, by=call.caller.identity.name)


@routes.add("GET /report", "report")
async def report(call: Call, days: Days = 7) -> Report:
    """Report how memory performs in a project: counts over all users, never any text, each compared with its limit."""
    made = await call.engine.report(call.scope, days=days)
    return made if call.caller.can("audit") else hide_user_names(made)  # the role data sees no user's name


def authorize_work(*, caller: Caller, **_: Any) -> Scope:
    caller.check("work")
    return caller.authorize("work", None)


@installation.add("GET /work", "work", find_scope=authorize_work)
async def work(call: Call) -> WorkStatus:
    """Show the background work of all projects: what waits, fails or is parked, and why; for admins of all projects."""
    health = await call.engine.health()
    if health.work is None:
        raise StoreUnavailable(health.store)
    return health.work


@installation.write("POST /work/retry", "work", model=json_object("Retried", woken=int), find_scope=authorize_work)
async def retry_work(call: Call) -> dict[str, int]:
    """Try parked work again; `woken` counts the conversations."""
    return {"woken": await call.engine.runtime.retry_work()}


@health.router.head("/health", include_in_schema=False)
@health.router.get("/health", name="health", response_model=json_object("Alive", status=str, version=str))
async def show_health() -> Json:
    """Say that the process answers."""
    return Json({"status": "ok", "version": own_version()})


@health.router.head("/ready", include_in_schema=False)
@health.router.get("/ready", response_model=READY, responses={503: {"model": READY}})
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


@health.add("GET /metrics", "metrics", response_class=Response, responses={200: TEXT, **ERRORS_WITHOUT_BODY})
async def metrics(caller: CurrentCaller) -> Response:
    """Return the metrics for Prometheus."""
    caller.check("metrics")
    return caller.metrics.render(await caller.engine.health())


@cache
def own_version() -> str:
    return version("recollect")
