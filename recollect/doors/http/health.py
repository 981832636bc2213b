"""Whether the process lives, whether all it needs is there, and its meters. None tells a secret."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.metadata import version

from fastapi import APIRouter, Request
from starlette.responses import Response

from recollect.doors.http import answers
from recollect.doors.http.caller import Called, does
from recollect.doors.http.refusals import SHORT_REFUSALS
from recollect.doors.http.render import Json

router = APIRouter(tags=["health"])
TEXT = {"content": {"text/plain": {"schema": {"type": "string"}}}}


@router.head("/health", include_in_schema=False)
@router.get("/health", response_model=answers.HealthAnswer)
async def health() -> Json:
    """The process answers."""
    return Json({"status": "ok", "version": own_version()})


@router.head("/ready", include_in_schema=False)
@router.get("/ready", response_model=answers.ReadyAnswer, responses={503: {"model": answers.ReadyAnswer}})
async def ready(request: Request) -> Json:
    """Database, migrations and the work behind the log. `degraded`: it answers, but something needs a look."""
    told = await request.app.state.engine.health()
    status = "ok" if told.ok else "degraded" if told.store == "ok" else "unavailable"
    work = None if told.work is None else {**asdict(told.work), "troubles": len(told.work.troubles)}
    answer = {
        "status": status,
        "store": told.store,
        "embedder": told.embedder,
        "model": told.model,
        "work": work,
        "notes": list(told.notes),
    }
    return Json(answer, status_code=503 if status == "unavailable" else 200)


@router.get("/metrics", response_class=Response, responses={200: TEXT, **SHORT_REFUSALS}, openapi_extra=does("metrics"))
async def metrics(called: Called) -> Response:
    """For Prometheus."""
    called.check("metrics")
    return called.meters.shown(await called.engine.health())


@cache
def own_version() -> str:
    return version("recollect")
