"""The health room: whether memory works, what waits or fails, and how it did over some days. The numbers are those of
`recollect report` and `recollect work status`, under the same permissions: counts for whoever may see the report,
errors and the retry for an admin of all projects, and users' names for admins."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from recollect.doors.console import health_shapes as shapes
from recollect.doors.console.render import back, page
from recollect.doors.console.serving import done, shown
from recollect.doors.console.visit import Visit
from recollect.model.report import Report, unnamed
from recollect.model.report_rules import facts


async def health_page(visit: Visit) -> Response:
    """The report is asked for only where the store answers: a page on health has to say so, and not to break."""
    scope, days = visit.scope("report"), shapes.days_of(visit.asked("days", "7"))
    state = await visit.engine.health()
    told = await visit.engine.report(scope, days=days) if state.store == "ok" else None
    about: dict[str, Any] = {
        "days": days,
        "periods": shapes.PERIODS,
        "state": state,
        "parts_of_it": shapes.parts_of(state),
        "kept_days": visit.caller.settings.request_days,
        "report": told,
    }
    return page(visit, "health.html", about | ({} if told is None else numbers(visit, told)))


def numbers(visit: Visit, told: Report) -> dict[str, Any]:
    named = told if visit.caller.may("audit") else unnamed(told)
    return {
        "tiles": shapes.tiles(told),
        "triggers": shapes.judged(told.triggers),
        "goals": shapes.judged(told.goals),
        "charts": shapes.charts(told),
        "facts": facts(told.totals),
        "storage": [(shapes.owner_of(row), row, shapes.size(row.bytes)) for row in named.storage],
        "own": visit.place.user,
    }


async def retry(visit: Visit) -> Response:
    visit.caller.check("work")
    await visit.engine.retry_work()
    return back("health", told="retried")


routes = (shown("/health", health_page), done("/health/retry", retry))
