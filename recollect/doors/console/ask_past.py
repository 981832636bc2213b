"""Answers of the past in the ask room: read from the log, run again, drawn, and followed to what they assumed. Also
what every page of the room needs: which database and session a visit is about, and what its role sees of it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from recollect.doors.console.ask_shapes import REMEMBERED, ROWS, Exchange, exchanges, is_empty, tokens
from recollect.doors.console.render import HEADERS, back, page
from recollect.doors.console.visit import Visit
from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.hosts.sql.asking import Answer
from recollect.hosts.sql.charts import drawn
from recollect.hosts.sql.library import View
from recollect.hosts.sql.remembering import is_seen
from recollect.model.conversation import Turn

PNG = "image/png"


@dataclass(frozen=True, slots=True)
class Wish:
    """Which database and which session a visit is about, as the address or the form says."""

    source: str
    session: str


def wish(visit: Visit) -> Wish:
    if visit.form is None:
        return Wish(visit.asked("source"), visit.asked("session"))
    return Wish(visit.said("source", ""), visit.said("session", ""))


async def view_of(visit: Visit, source: str) -> tuple[View | None, str]:
    """The database as the visitor's role sees it, or what is wrong with it."""
    try:
        shelf = await visit.analyst.library.find(visit.scope("data_sources"), source)
    except RecollectError as error:
        return None, f"{source} cannot be opened: {plainly(error)}"
    return shelf.view(visit.caller.identity.role), ""


async def turn_at(visit: Visit, session: str, index: str) -> Turn:
    return (await turns_until(visit, session, index, 1))[-1]


async def turns_until(visit: Visit, session: str, index: str, most: int) -> list[Turn]:
    if not session or not index.isdecimal() or len(index) > 9:
        raise InvalidInput("turn", "names no message; open the page again")
    turns = await visit.engine.history(visit.scope("history", session), limit=most, before=int(index) + 1)
    if not turns or turns[-1].index != int(index):
        raise NotFound("this message is not there any more")
    return turns


async def run(visit: Visit) -> Response:
    """A statement of the log, run again as it stands."""
    kept = await exchange_at(visit, visit.said("session"), visit.said("turn"))
    answer, role = kept.answer, visit.caller.identity.role
    scope = visit.scope("ask")
    try:
        _, rows = await visit.analyst.run(scope, answer.source, role, answer.sql, ROWS)
    except RecollectError as error:
        return room_page(visit, "ask_run.html", {"each": kept, "problem": plainly(error)})
    new = replace(kept, answer=replace(answer, rows=rows), count=len(rows.rows), is_kept=False)
    return room_page(visit, "ask_run.html", {"each": await charted(new), "problem": ""})


async def chart(visit: Visit) -> Response:
    """The picture of a result that the log has whole."""
    kept = await exchange_at(visit, visit.asked("session"), visit.asked("turn"))
    if kept.rows is None or not kept.charted:
        raise NotFound("there is nothing to draw")
    png = await asyncio.to_thread(drawn, kept.rows, kept.asked)
    return Response(base64.b64decode(png), media_type=PNG, headers=HEADERS)


async def exchange_at(visit: Visit, session: str, turn: str) -> Exchange:
    """One that was asked and answered in a session, if its tables may be seen now."""
    turns = await turns_until(visit, session, turn, 2)
    for _, said, found in exchanges(turns):
        view, problem = await view_of(visit, found.answer.source)
        if view is None:
            raise NotFound(problem)
        if is_seen(said, found.answer.source, view):
            return found
    raise NotFound("there is no such answer of a database here")


async def because(visit: Visit) -> Response:
    """From an assumption to what it rests on: the memory, or the word."""
    kept = await exchange_at(visit, visit.asked("session"), visit.asked("turn"))
    numbered = {str(n): each for n, each in enumerate(kept.answer.assumptions)}
    if visit.asked("n") not in numbered:
        raise NotFound("there is no such assumption")
    term, source = numbered[visit.asked("n")].term, numbered[visit.asked("n")].source
    found = await visit.engine.resolve(visit.scope("resolve"), term)
    if found.memory is not None and source != "ontology":
        return back("memory/one", id=str(found.memory), owner="project" if found.tier == "project" else "user")
    if source == "ontology":
        return back("terms", q=term)
    return back("memory")


async def charted(made: Exchange) -> Exchange:
    if made.rows is None or not made.charted:
        return made
    # Drawing takes a tenth of a second, in which others want to be served.
    png = await asyncio.to_thread(drawn, made.rows, made.asked)
    return replace(made, chart=f"data:{PNG};base64,{png}" if png else "")


def plainly(error: RecollectError) -> str:
    """Without the name of a field, which is for programs."""
    return str(error).removeprefix(f"{error.field}: ") if isinstance(error, InvalidInput) else str(error)


def may_teach(visit: Visit, answer: Answer) -> bool:
    return bool(answer.sql) and not answer.error and (visit.may("learn") or visit.may("learn_project"))


def room_page(visit: Visit, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    return page(visit, template, {**SHARED, **values}, status)


SHARED: Mapping[str, Any] = {
    "tokens": tokens,
    "is_empty": is_empty,
    "may_teach": may_teach,
    "remembered": REMEMBERED,
    "most_rows": ROWS,
}
