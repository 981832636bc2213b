"""The health page: whether each component works, background tasks that wait or fail, and the numbers of the report.

The permissions are those of `recollect report` and `recollect work status`: counts for everyone who may see the report,
errors and the retry for admins of all projects, user names for admins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup
from starlette.responses import Response

from recollect.apps.reports.charts import draw_gauge
from recollect.apps.reports.page import SIGNS, draw_charts
from recollect.errors import InvalidInput
from recollect.server.console.render import redirect, render_page
from recollect.server.console.visit import Visit
from recollect.values.report import (
    WEEK_COLUMNS,
    Gauge,
    Report,
    count_week,
    describe_totals,
    format_percent,
    format_value,
    hide_user_names,
)
from recollect.values.work import LONGEST_LAG, Health, WorkStatus

PERIODS = (7, 30, 90)
State = Literal["good", "wrong", "quiet"]
STATE_SIGNS: Mapping[State, str] = {"good": "✓", "wrong": "▲", "quiet": "–"}


@dataclass(frozen=True, slots=True)
class Measurement:
    """A number of the report against its limit, formatted for the page."""

    gauge: Gauge
    sign: str
    value: str
    limit: str
    chart: Markup


@dataclass(frozen=True, slots=True)
class Component:
    """A component of the installation. `note` says what it is, or what to do about a problem."""

    name: str
    state: State
    label: str
    note: str

    @property
    def sign(self) -> str:
        return STATE_SIGNS[self.state]


async def show_health(visit: Visit) -> Response:
    """Show the page also while the store is down; only the report is left out then."""
    scope, days = visit.scope("report"), visit.query("days", "7")
    if days not in map(str, PERIODS):
        raise InvalidInput("days", f"must be one of 7, 30 or 90, got {days!r}")
    health = await visit.engine.health()
    report = await visit.engine.report(scope, days=int(days)) if health.store == "ok" else None
    values: dict[str, Any] = {
        "days": int(days),
        "periods": PERIODS,
        "health": health,
        "components": list_components(health),
        "request_days": visit.caller.settings.request_days,
        "report": report,
    }
    return render_page(visit, "health.html", values | (format_report(visit, report) if report else {}))


def format_report(visit: Visit, report: Report) -> dict[str, Any]:
    named = report if visit.caller.can("audit") else hide_user_names(report)
    totals = report.totals
    return {
        "tiles": {
            "requests": f"{totals.requests:,}",
            "users": f"{totals.users:,}",
            "sessions": f"{totals.sessions:,}",
            "answers that used memory": format_percent(totals.hit, totals.requests),
            "retrieval time (p95)": format_value(totals.retrieval_p95, "ms"),
        },
        "triggers": format_gauges(report.triggers),
        "goals": format_gauges(report.goals),
        "charts": {title: mark_safe_chart(chart) for title, chart in draw_charts(report).items()},
        "facts": describe_totals(totals),
        "week_columns": [name.capitalize() for name in WEEK_COLUMNS[1:]],
        "weeks": [(each.week, count_week(each)) for each in report.asking],
        "storage": named.storage,
    }


def format_gauges(gauges: Sequence[Gauge]) -> list[Measurement]:
    return [
        Measurement(
            each,
            SIGNS[each.verdict],
            format_value(each.value, each.unit),
            format_value(each.limit, each.unit),
            mark_safe_chart(draw_gauge(each.value, each.limit, each.verdict in ("over", "under"))),
        )
        for each in gauges
    ]


def mark_safe_chart(chart: str) -> Markup:
    """Return a chart as unescaped HTML. Safe only for charts: apps/reports builds them from numbers and fixed tags and
    escapes every name."""
    return Markup(chart)


def list_components(health: Health) -> list[Component]:
    """Return the state of store, embedder, model and worker.

    Embedder and model are judged by the background tasks that need them; they are not called only to test them.
    """
    is_up = health.store == "ok"
    store = (
        Component("Database", "good", "Connected", "PostgreSQL")
        if is_up
        else Component("Database", "wrong", "Not available", health.store)
    )
    failing = {stage for trouble in (health.work.troubles if health.work else ()) for stage in trouble.parked}
    components = [
        store,
        describe_provider("Embedder", health.embedder, "embed" in failing, "Search uses keywords only."),
        describe_provider(
            "Language model", health.model, "reason" in failing, "Memories are learned by rules; answers quote memory."
        ),
    ]
    return [*components, describe_worker(health.work)] if health.work else components


def describe_provider(name: str, used: str | None, is_failing: bool, without: str) -> Component:
    if used is None:
        return Component(name, "quiet", "Not configured", without)
    if is_failing:
        return Component(name, "wrong", "Tasks that need it fail", used)
    return Component(name, "good", "No errors", used)


def describe_worker(work: WorkStatus) -> Component:
    lag = max(work.lag, work.documents_lag)
    note = f"The oldest task has waited {format_duration(lag)}." if lag else "No tasks waiting."
    if lag > LONGEST_LAG:
        return Component("Worker", "wrong", "Behind", f"{note} Check that a worker runs: `recollect worker`.")
    return Component("Worker", "good", "Up to date", note)


def format_duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


async def retry_failed(visit: Visit) -> Response:
    visit.caller.check("work")
    await visit.engine.runtime.retry_work()
    return redirect("health", notice="retried")


GET_ROUTES = {"/health": show_health}
POST_ROUTES = {"/health/retry": retry_failed}
