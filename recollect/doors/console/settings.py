"""The settings room: what is in force in this process, and from where; what each setting means, and what it may be. As
`recollect settings` prints it, for an admin of all projects. Nothing is changed here: settings are read once, when the
process starts."""

from __future__ import annotations

from starlette.responses import Response

from recollect.doors.console import settings_shapes as shapes
from recollect.doors.console.render import page
from recollect.doors.console.serving import shown
from recollect.doors.console.visit import Visit
from recollect.errors import InvalidSetting
from recollect.settings import Reading, Settings, trace_settings


async def settings_page(visit: Visit) -> Response:
    visit.scope("work")
    if not visit.may_see_all():
        return page(visit, "settings.html", {"is_closed": True}, 403)
    in_force = visit.caller.settings
    reading = read_now(in_force)
    every = shapes.rows(in_force, reading)
    words, only_changed = visit.asked("find").strip(), bool(visit.asked("changed"))
    found = shapes.chosen(every, words, only_changed)
    about = {
        "is_closed": False,
        "find": words,
        "only_changed": only_changed,
        "groups": shapes.grouped(found),
        "found": len(found),
        "count": len(every),
        "changed": sum(row.is_changed for row in every),
        "warnings": reading.warnings,
    }
    return page(visit, "settings.html", about)


def read_now(in_force: Settings) -> Reading:
    """Where they come from is read again. A file that was spoiled since the start is told, and changes nothing."""
    try:
        return trace_settings()
    except InvalidSetting as error:
        return Reading(in_force, {}, [f"{error}. This process goes on with what it read; the next start will fail"])


routes = (shown("/settings", settings_page),)
