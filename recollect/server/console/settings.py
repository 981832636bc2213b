"""The settings page: each setting's value in this process, where it comes from, what it means and what it may be. Only
for admins of all projects. Nothing is changed here: settings are read once, when the process starts.

Secrets are shown only as "set"; credentials in addresses are masked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from typing import Any

from starlette.responses import Response

from recollect.errors import InvalidSetting
from recollect.server.console.render import render_page
from recollect.server.console.visit import Visit
from recollect.settings import CHOICES, REFUSED, Settings, SettingsTrace, trace_settings
from recollect.values.data_source import mask_dsn

# Each group begins at this field and ends before the next one, so a new setting joins the group it is written in.
GROUPS = {
    "home": "Installation",
    "enabled": "Memory and database",
    "retention_days": "Retention",
    "workers": "Background tasks",
    "session_window": "Recall",
    "clarify_below": "Database questions",
    "vector_store": "Compatibility",
    "embedder": "Embedder",
    "mask_sensitive": "Privacy",
    "summaries": "Summaries",
    "redis_cache": "Cache",
    "model_url": "Language model",
    "auth": "Authentication",
    "rate_limit": "HTTP limits",
}
CREDENTIALS = re.compile(r"://[^/@\s]*@")
URL_QUERY = re.compile(r"\?\S*")


@dataclass(frozen=True, slots=True)
class Row:
    """A setting. `origin` is a file with its line, the environment, or the default."""

    variable: str
    field: str
    value: str
    default: str
    origin: str
    meaning: str
    bounds: str
    is_changed: bool


async def show_settings(visit: Visit) -> Response:
    visit.scope("work")
    if not visit.is_global_admin:
        return render_page(visit, "settings.html", {"is_closed": True}, 403)
    in_force = visit.caller.settings
    reading = read_origins(in_force)
    rows = [build_row(each, in_force, reading) for each in fields(Settings)]
    search, only_changed = visit.query("find").strip(), bool(visit.query("changed"))
    words = search.lower().split()
    found = [
        row
        for row in rows
        if all(word in f"{row.variable} {row.field} {row.meaning}".lower() for word in words)
        and (row.is_changed or not only_changed)
    ]
    values = {
        "is_closed": False,
        "search": search,
        "only_changed": only_changed,
        "groups": group_rows(found),
        "found": len(found),
        "count": len(rows),
        "changed": sum(row.is_changed for row in rows),
        "warnings": reading.warnings,
    }
    return render_page(visit, "settings.html", values)


def read_origins(in_force: Settings) -> SettingsTrace:
    """Read the settings again for their origin. A file that became invalid is only a warning."""
    try:
        return trace_settings()
    except InvalidSetting as error:
        warning = f"{error}. This process keeps the settings it started with; the next start will fail."
        return SettingsTrace(in_force, {}, [warning])


def build_row(each: Field[Any], in_force: Settings, reading: SettingsTrace) -> Row:
    meta, value = each.metadata, getattr(in_force, each.name)
    is_changed = value != each.default
    text, default = format_value(value), format_value(each.default)
    if meta["secret"]:
        text = "set" if value and is_changed else "default" if value else "not set"
        default = default if each.default else "not set"
    return Row(
        variable=meta["env"],
        field=each.name,
        value=text,
        default=default,
        origin=describe_origin(each, value, reading),
        meaning=meta["meaning"],
        bounds=describe_bounds(meta),
        is_changed=is_changed,
    )


def describe_origin(each: Field[Any], value: object, reading: SettingsTrace) -> str:
    """Return where a value comes from. What is read now may differ from what the process started with."""
    found = reading.found.get(each.metadata["env"])
    if value != getattr(reading.settings, each.name):
        return "set at startup, or changed in its file since"
    return "default" if found is None else f"from {'the ' if found.file is None else ''}{found.place}"


def format_value(value: object) -> str:
    """Return a value as it is written in the environment, without credentials and tokens in addresses."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    if "://" in text:
        text = URL_QUERY.sub("?…", CREDENTIALS.sub("://***@", mask_dsn(text)))
    return text


def describe_bounds(meta: Any) -> str:
    """Return the values that are allowed; empty where any value is."""
    if meta["env"] in CHOICES:
        return "one of " + ", ".join(CHOICES[meta["env"]])
    if meta["env"] in REFUSED:
        return "only the default"
    if meta["low"] is not None and meta["high"] is not None:
        return f"{meta['low']:,} to {meta['high']:,}"
    return ""


def group_rows(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Return the rows by group, in the order of the settings; empty groups are left out."""
    group = ""
    grouped: dict[str, list[Row]] = {}
    by_field = {row.field: row for row in rows}
    for each in fields(Settings):
        group = GROUPS.get(each.name, group)
        if each.name in by_field:
            grouped.setdefault(group, []).append(by_field[each.name])
    return list(grouped.items())


GET_ROUTES = {"/settings": show_settings}
POST_ROUTES: dict[str, Any] = {}
