"""The ask room: questions to a database in words, and beside each answer how it came about: the SQL, the rows, what was
assumed. What is said goes to the analyst, as from any other door. Teaching it is in ask_teaching.py.

A page reads the session's questions from the log and runs nothing: of a long result the log has the first rows, and a
button runs the statement again. With a script, an answer comes into the page that is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from secrets import token_hex
from typing import Any

from starlette.responses import Response

from recollect.doors.console import ask_past, ask_teaching
from recollect.doors.console.ask_past import charted, plainly, room_page, turn_at, view_of, wish
from recollect.doors.console.ask_shapes import ROWS, Exchange, examples, exchanges
from recollect.doors.console.render import back
from recollect.doors.console.serving import done, shown
from recollect.doors.console.visit import Visit
from recollect.doors.http.data_sources import check_environment
from recollect.doors.http.envelope import STATUS
from recollect.errors import NotFound, RecollectError
from recollect.hosts.sql.asking import Ask
from recollect.hosts.sql.history import asked_before
from recollect.hosts.sql.library import View
from recollect.hosts.sql.remembering import is_seen
from recollect.model.conversation import Turn
from recollect.model.data_source import DataSource
from recollect.model.lesson import Owner
from recollect.model.memory import Memory
from recollect.sql.patterns import normal

TURNS = 60  # of a session, from its end
LATELY = 60  # questions of the past that are looked through
BEFORE = 20  # of them that stand beside the conversation
NOTHING: Mapping[str, Any] = {"view": None, "problem": "", "said": [], "before": [], "examples": []}


async def ask_page(visit: Visit) -> Response:
    return await room(visit)


async def room(
    visit: Visit, problem: str = "", status: int = 200, fresh: Sequence[Exchange] = (), **typed: str
) -> Response:
    """The whole page. `typed` is what somebody wrote into a form that could not be followed."""
    wanted = wish(visit)
    sources = await visit.engine.data_sources(visit.scope("data_sources"))
    turns, gone = await turns_of(visit, wanted.session)
    source = chosen(sources, wanted.source, turns)
    unknown = f"There is no data source {wanted.source!r} here." if wanted.source and source is None else ""
    found = await looked_at(visit, source.name, turns) if source else NOTHING
    values = {
        **found,
        "sources": sources,
        "source": source,
        "session": "" if gone else wanted.session,
        "problem": problem or unknown or gone or found["problem"],
        "said": [*found["said"], *fresh],
        "others": sum(turn.role == "user" for turn in turns) - len(found["said"]),
        "typed": typed,
    }
    return room_page(visit, "ask.html", values, status)


async def looked_at(visit: Visit, source: str, turns: Sequence[Turn]) -> Mapping[str, Any]:
    """A database, what the session asked of it, and what was asked of it before."""
    view, problem = await view_of(visit, source)
    if view is None:
        return {**NOTHING, "problem": problem}
    lately = await asked_lately(visit, source, view)
    said = shown_of(turns, source, view, {each["ref"]: each["feedback"] for each in lately})
    tries = examples(view, visit.analyst.today()) if not said else []
    return {"view": view, "problem": "", "said": said, "before": each_once(lately)[:BEFORE], "examples": tries}


def chosen(sources: Sequence[DataSource], wanted: str, turns: Sequence[Turn]) -> DataSource | None:
    """The one that is named; else the one that the session asked last; else the first."""
    if wanted:
        return next((each for each in sources if each.name == wanted), None)
    asked = [str((turn.data or {}).get("source")) for turn in turns if (turn.data or {}).get("host") == "sql"]
    last = next((each for each in sources if asked and each.name == asked[-1]), None)
    return last or next(iter(sources), None)


async def turns_of(visit: Visit, session: str) -> tuple[list[Turn], str]:
    if not session or not visit.may("history"):
        return [], ""
    try:
        return await visit.engine.history(visit.scope("history", session), limit=TURNS), ""
    except NotFound:
        return [], "This conversation is gone; the next question begins a new one."


async def asked_lately(visit: Visit, source: str, view: View) -> list[dict[str, Any]]:
    if not visit.may("history"):
        return []
    return await asked_before(visit.engine, visit.scope("history"), source, view, LATELY)


def each_once(asked: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last first; of a question that was asked twice, the last time."""
    once: dict[str, Mapping[str, Any]] = {}
    for each in asked:
        once.setdefault(normal(each["question"]), each)
    return list(once.values())


def shown_of(turns: Sequence[Turn], source: str, view: View, rated: Mapping[str, str]) -> list[Exchange]:
    found = list(exchanges(turns))
    then = [*(asked.text for asked, _, _ in found[1:]), None]
    return [
        replace(
            each,
            opinion=rated.get(asked.ref or ""),
            may_see=is_seen(said, source, view),
            is_settled=each.answer.needs_clarification and next_one == asked.text,
        )
        for (asked, said, each), next_one in zip(found, then, strict=False)
    ]


# Asking ---------------------------------------------------------------------------------------------------------------


async def question(visit: Visit) -> Response:
    """A question. A script gets the exchange alone; a browser without one is sent to the page that has it."""
    text = await again(visit) if visit.said("again", "") else visit.said("question").strip()
    return await answer_page(visit, text)


async def answer_page(visit: Visit, text: str, learned: Memory | None = None, owner: Owner = "user") -> Response:
    try:
        made = replace(await asked(visit, text), learned=learned, learned_for=owner)
    except RecollectError as error:
        if visit.wants_piece:
            raise
        return await room(visit, plainly(error), STATUS.get(error.code, 500), question=text)
    if visit.wants_piece:
        return room_page(visit, "ask_new.html", {"each": made, "source_name": made.answer.source})
    if made.turn is None:
        return await room(visit, fresh=(made,))
    return back("ask", source=made.answer.source, session=made.answer.session or "", told="learned" if learned else "")


async def clarify(visit: Visit) -> Response:
    """What a word means: learned, and the question asked once more."""
    learned, owner = await ask_teaching.clarified(visit)
    return await answer_page(visit, visit.said("question"), learned, owner)


async def asked(visit: Visit, text: str) -> Exchange:
    """Whoever may not speak for a user asks for nobody, without memory, as over HTTP."""
    wanted, remembers = wish(visit), visit.may("record")
    scope = visit.scope("record", wanted.session) if remembers else visit.scope("ask")
    role = visit.caller.identity.role
    wished = Ask(question=text, source=wanted.source or None, role=role, remembers=remembers, rows=ROWS, markdown=False)
    answer = await visit.analyst.answer(scope, wished)
    alone = answer.standalone if answer.way == "edit" and answer.standalone else answer.question
    turn = int(answer.ref.rpartition("#")[2]) if answer.ref else None
    key = token_hex(4) if turn is None else str(turn)
    return await charted(Exchange(answer, alone, key, turn, None, len(answer.rows.rows) if answer.rows else None))


async def again(visit: Visit) -> str:
    """A question of the past, as it stands alone: "what about 2023?" means little without the one before."""
    session, _, index = visit.said("again").rpartition("#")
    turn = await turn_at(visit, session, index)
    return str((turn.data or {}).get("standalone") or turn.text)


# Adding a database ----------------------------------------------------------------------------------------------------


async def add_source(visit: Visit) -> Response:
    """The address may hold a password: it goes from the form to where it is kept, and is not shown again."""
    name, dsn = visit.said("name").strip(), visit.said("dsn").strip()
    scope = visit.scope("put_data_source")
    try:
        check_environment(visit.caller, dsn)
        await visit.analyst.library.add(scope, name, dsn)
    except RecollectError as error:
        return await room(visit, plainly(error), STATUS.get(error.code, 500), name=name)
    return back("ask", source=name, told="source-added")


routes = (
    shown("/ask", ask_page),
    shown("/ask/because", ask_past.because),
    shown("/ask/chart", ask_past.chart),
    shown("/ask/taught", ask_teaching.taught),
    done("/ask/question", question),
    done("/ask/clarify", clarify),
    done("/ask/run", ask_past.run),
    done("/ask/correct", ask_teaching.correct),
    done("/ask/rate", ask_teaching.rate),
    done("/ask/example", ask_teaching.example),
    done("/ask/source", add_source),
)
