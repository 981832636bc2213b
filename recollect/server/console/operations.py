"""The pages for operators: health with the report, and settings. Counts are for everyone who may see the report, user
names for admins, errors and settings for admins of all projects. Secrets are shown only as "set"."""

from __future__ import annotations

import asyncio
import re
from dataclasses import Field, fields
from typing import Any

from starlette.responses import Response

from recollect.apps.reports import FORMATS, draw_charts, draw_gauge
from recollect.errors import InvalidInput, InvalidSetting
from recollect.server.console.handlers import Pages, Values
from recollect.server.console.render import redirect, render_page
from recollect.server.console.visit import Visit
from recollect.settings import Settings, SettingsTrace, format_setting, trace_settings
from recollect.values.data_source import mask_dsn
from recollect.values.report import hide_user_names
from recollect.values.work import LONGEST_LAG

pages = Pages()
PERIODS = (7, 30, 90)


@pages.get("/health", "health.html")
async def show_health(visit: Visit, days: str = "7") -> Values:
    """Show the page also while the store is down; only the report is left out then."""
    scope = visit.scope("report")
    if days not in map(str, PERIODS):
        raise InvalidInput("days", f"must be one of 7, 30 or 90, got {days!r}")
    health = await visit.engine.health()
    report = await visit.engine.report(scope, days=int(days)) if health.store == "ok" else None
    named = report if report is None or visit.caller.can("audit") else hide_user_names(report)
    return {
        "days": int(days),
        "periods": PERIODS,
        "health": health,
        # Embedder and model are judged by the background tasks that need them; they are not called only to test them.
        "failing": {stage for trouble in (health.work.troubles if health.work else ()) for stage in trouble.parked},
        "longest_lag": LONGEST_LAG,
        "request_days": visit.caller.settings.request_days,
        "report": named,
        # Drawing takes some tenths of a second. apps/reports escapes every name in its charts.
        "charts": await asyncio.to_thread(draw_charts, report) if report else {},
        "draw_gauge": draw_gauge,
        **FORMATS,
    }


@pages.post("/health/retry")
async def retry_failed(visit: Visit) -> Response:
    visit.caller.check("work")
    await visit.engine.runtime.retry_work()
    return redirect("health", notice="retried")


# Settings -------------------------------------------------------------------------------------------------------------


CREDENTIALS = re.compile(r"://[^/@\s]*@")
URL_QUERY = re.compile(r"\?\S*")


@pages.get("/settings", "settings.html")
async def show_settings(visit: Visit) -> Response | Values:
    visit.scope("work")
    if not visit.is_global_admin:
        return render_page(visit, "settings.html", {"is_closed": True}, 403)
    in_force = visit.caller.settings
    reading = read_origins(in_force)
    rows = [describe_setting(each, in_force, reading) for each in fields(Settings)]
    return {"is_closed": False, "rows": rows, "warnings": reading.warnings}


def read_origins(in_force: Settings) -> SettingsTrace:
    """Read the settings again for their origin. A file that became invalid is only a warning."""
    try:
        return trace_settings()
    except InvalidSetting as error:
        warning = f"{error}. This process keeps the settings it started with; the next start will fail."
        return SettingsTrace(in_force, {}, [warning])


def describe_setting(each: Field[Any], in_force: Settings, reading: SettingsTrace) -> dict[str, Any]:
    """Return what the page shows of a setting. What is read now may differ from what the process started with."""
    meta, value, found = each.metadata, getattr(in_force, each.name), reading.found.get(each.metadata["env"])
    text, default = mask_setting(value), mask_setting(each.default)
    if meta["secret"]:
        text = "set" if value and value != each.default else "default" if value else "not set"
        default = default if each.default else "not set"
    origin = "default" if found is None else f"from {'the ' if found.file is None else ''}{found.place}"
    if value != getattr(reading.settings, each.name):
        origin = "set at startup, or changed in its file since"
    return {"value": text, "default": default, "origin": origin, "meta": meta, "is_changed": value != each.default}


def mask_setting(value: object) -> str:
    """Return a value as text, without credentials and tokens in addresses."""
    text = format_setting(value)
    return URL_QUERY.sub("?…", CREDENTIALS.sub("://***@", mask_dsn(text))) if "://" in text else text
