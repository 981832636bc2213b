"""The dry run: what memory would give for a question. It is the real `context`, asked by a person instead of a program:
nothing is said and nothing learned, but the request is noted as any other, and what speaks to it counts as used."""

from __future__ import annotations

from typing import cast

from starlette.responses import Response

from recollect.doors.console.memory_shapes import ARMS, end_of_day, sections_of, whole_number
from recollect.doors.console.render import page
from recollect.doors.console.serving import shown
from recollect.doors.console.visit import Visit
from recollect.errors import InvalidInput
from recollect.model.search import Context, Query, Reach

BUDGET = 2000
SESSIONS = 50
SHOWN = 10  # hits that stand open


async def search_page(visit: Visit) -> Response:
    scope = visit.scope("context")
    sessions = await visit.engine.conversations(scope, limit=SESSIONS)
    asked = {name: visit.asked(name) for name in ("q", "session", "as_of")}
    asked |= {"reach": visit.asked("reach", "auto"), "budget": visit.asked("budget", str(BUDGET))}
    found, problem = None, ""
    if asked["q"].strip():
        try:
            found = await dry_run(visit, asked)
        except InvalidInput as error:  # the page keeps what was typed
            problem = str(error)
    values = {"asked": asked, "sessions": sessions, "found": found, "problem": problem, "arms": ARMS, "most": SHOWN}
    sections = sections_of(found) if found else []
    return page(visit, "memory_search.html", values | {"sections": sections}, 400 if problem else 200)


async def dry_run(visit: Visit, asked: dict[str, str]) -> Context:
    query = Query(
        asked["q"].strip(),
        cast("Reach", asked["reach"]),
        as_of=end_of_day("as_of", asked["as_of"]),
        budget=whole_number("budget", asked["budget"], BUDGET),
    )
    return await visit.engine.context(visit.scope("context", asked["session"]), query)


routes = (shown("/memory/search", search_page),)
