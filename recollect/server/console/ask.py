"""The page that asks a database, and what users do with an answer: rate it, correct it, propose it as an example. It
shows a session from the log and runs no query."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from recollect import DataSource, InvalidInput, Memory, NotFound, RecollectError, Scope, Turn
from recollect.apps.ask import charts, teaching
from recollect.apps.ask.answers.wording import make_file_name, write_csv
from recollect.apps.ask.corrections import Change
from recollect.apps.ask.memories.patterns import normalize_question
from recollect.apps.ask.memories.reader import can_see_turn, list_questions
from recollect.apps.ask.question import MAX_ROWS as MAX_CSV_ROWS
from recollect.apps.ask.question import Answer, Ask, Choice, list_offered
from recollect.apps.ask.source_registry import View
from recollect.server.access.caller import check_environment_use
from recollect.server.access.responses import STATUS
from recollect.server.console import ask_view
from recollect.server.console.ask_view import MAX_ROWS, Exchange
from recollect.server.console.handlers import Pages
from recollect.server.console.render import HEADERS, redirect, render_page
from recollect.server.console.visit import Visit, parse_number
from recollect.values.lesson import Owner

pages = Pages()
PAGE_TURNS = 60
RECENT_QUESTIONS = 60  # read from the log
SHOWN_QUESTIONS = 20  # of them, shown beside the conversation
THEMES: tuple[charts.Theme, charts.Theme] = ("light", "dark")
SVG = "image/svg+xml"
NO_SOURCE: Mapping[str, Any] = {"view": None, "problem": "", "exchanges": [], "recent": [], "suggestions": []}


def read_target(visit: Visit) -> tuple[str, str]:
    """Return the database and the session that a request is about."""
    read = visit.query if visit.form is None else visit.field
    return read("source", ""), read("session", "")


async def load_view(visit: Visit, source: str) -> tuple[View | None, str]:
    """Return the database as the caller's role may see it, or what is wrong with it."""
    try:
        known = await visit.analyst.sources.find(visit.scope("data_sources"), source)
    except RecollectError as error:
        return None, f"Could not open {source}: {visit.explain(error)}"
    return known.view(visit.role), ""


# The page -------------------------------------------------------------------------------------------------------------


@pages.get("/ask")
async def render_conversation(
    visit: Visit, *, problem: str = "", status: int = 200, unsaved: Sequence[Exchange] = (), **typed: str
) -> Response:
    """Return the whole page. `unsaved` are exchanges the log does not have; `typed` refills a form that failed."""
    wanted, session = read_target(visit)
    sources = await visit.engine.sources.find(visit.scope("data_sources"))
    turns, lost = await load_turns(visit, session)
    source = choose_source(sources, wanted, turns)
    unknown = f"There is no database {wanted!r} in this project." if wanted and source is None else ""
    found = await load_conversation(visit, source.name, turns) if source else NO_SOURCE
    values = {
        **found,
        "sources": sources,
        "source": source,
        "session": "" if lost else session,
        "problem": problem or unknown or lost or found["problem"],
        "exchanges": [*found["exchanges"], *unsaved],
        "other_messages": sum(turn.role == "user" for turn in turns) - len(found["exchanges"]),
        "typed": typed,
    }
    return render_page(visit, "ask.html", values, status)


async def load_turns(visit: Visit, session: str) -> tuple[list[Turn], str]:
    if not session or not visit.can("history"):
        return [], ""
    try:
        return await visit.engine.history(visit.scope("history", session), limit=PAGE_TURNS), ""
    except NotFound:
        return [], "This session no longer exists. Your next question starts a new one."


def choose_source(sources: Sequence[DataSource], wanted: str, turns: Sequence[Turn]) -> DataSource | None:
    """Return the database that is named, else the one that the session used last, else the first."""
    by_name = {each.name: each for each in sources}
    if wanted:
        return by_name.get(wanted)
    used = [str(turn.data.get("source")) for turn in turns if turn.data and turn.data.get("host") == "sql"]
    return by_name.get(used[-1] if used else "") or next(iter(sources), None)


async def load_conversation(visit: Visit, source: str, turns: Sequence[Turn]) -> Mapping[str, Any]:
    """Return the session's exchanges with a database, recent questions and suggestions."""
    view, problem = await load_view(visit, source)
    if view is None:
        return {**NO_SOURCE, "problem": problem}
    recent: Sequence[Mapping[str, Any]] = []
    if visit.can("history"):
        recent = await list_questions(visit.engine, visit.scope("history"), source, view, RECENT_QUESTIONS)
    latest = {normalize_question(each["question"]): each for each in reversed(recent)}  # of repeated questions
    exchanges = build_exchanges(turns, source, view, {each["ref"]: each["feedback"] for each in recent})
    return {
        "view": view,
        "problem": "",
        "exchanges": exchanges,
        "recent": [each for each in recent if latest[normalize_question(each["question"])] is each][:SHOWN_QUESTIONS],
        "suggestions": ask_view.suggest_questions(view, visit.analyst.today()) if not exchanges else [],
    }


def build_exchanges(turns: Sequence[Turn], source: str, view: View, ratings: Mapping[str, str]) -> list[Exchange]:
    found = list(ask_view.read_exchanges(turns))
    next_questions = [*(question.text for question, _, _ in found[1:]), None]
    return [
        replace(
            exchange,
            rating=ratings.get(question.ref or ""),
            is_visible=can_see_turn(reply, source, view),
            is_clarified=exchange.answer.needs_clarification and next_question in (question.text, *exchange.choices),
        )
        for (question, reply, exchange), next_question in zip(found, next_questions, strict=False)
    ]


# Asking ---------------------------------------------------------------------------------------------------------------


@pages.post("/ask/question")
async def ask_question(visit: Visit, question: str = "", again: str = "") -> Response:
    """Answer a question, or a logged one again: "What about 2023?" in its standalone form, and one that was answered by
    a choice by the same choice."""
    if not again:
        return await respond(visit, visit.field("question").strip())
    session, _, index = again.rpartition("#")
    reply = str(parse_number("again", index, 0) + 1)
    *earlier, turn, answered = await visit.load_turns(session, reply, PAGE_TURNS)
    if choice := find_choice(earlier, (answered.data or {}).get("choice")):
        scope, ask = make_ask(visit, choice.label)
        return await respond(visit, choice.label, partial(visit.analyst.ask, scope, replace(ask, choice=choice)))
    return await respond(visit, str((turn.data or {}).get("standalone") or turn.text))


def find_choice(turns: Sequence[Turn], wanted: object) -> Choice | None:
    """Return the choice with this id that was offered last in some turns."""
    replies = (turn.data for turn in reversed(turns) if turn.data and turn.data.get("host") == "sql")
    return next((choice for data in replies for choice in list_offered(data) if choice.id == wanted), None)


@pages.post("/ask/clarify")
async def clarify(
    visit: Visit, question: str, term: str, answer: str = "", choice: str = "", clarification: str = ""
) -> Response:
    """Answer the question by the choice that was clicked, or learn what a word means and ask the question again."""
    scope, ask = make_ask(visit, question)

    async def answer_question() -> Answer:
        if choice and clarification.rstrip("@"):
            return await visit.analyst.choose(scope, ask, clarification.rstrip("@"), choice)
        if choice:
            return await visit.analyst.clarify(scope, ask, term, choice)
        if not answer.strip():
            raise InvalidInput("answer", "is empty; choose a suggestion or describe the meaning")
        own, can_share = visit.scope("learn", read_target(visit)[1]), visit.caller.can("learn_project")
        return await visit.analyst.clarify(own, ask, term, answer.strip(), may_share=can_share)

    return await respond(visit, question, answer_question)


async def respond(
    visit: Visit, question: str, answer_question: Callable[[], Awaitable[Answer]] | None = None
) -> Response:
    """Return the exchange alone for a script, else a redirect to the page that shows it. The question is asked now, or
    answered by `answer_question`."""
    try:
        scope, ask = make_ask(visit, question)
        answered = await (answer_question() if answer_question else visit.analyst.answer(scope, ask))
        exchange = await draw_chart(ask_view.build_new_exchange(answered))
    except RecollectError as error:
        if visit.wants_fragment:
            raise
        status = STATUS.get(error.code, 500)
        return await render_conversation(visit, problem=visit.explain(error), status=status, question=question)
    answer = exchange.answer
    if visit.wants_fragment:
        return render_page(visit, "ask_new.html", {"exchange": exchange, "source_name": answer.source})
    if exchange.turn is None:
        return await render_conversation(visit, unsaved=(exchange,))
    return redirect(
        "ask", source=answer.source, session=answer.session or "", notice="learned" if answer.learned else ""
    )


def make_ask(visit: Visit, question: str) -> tuple[Scope, Ask]:
    """Return whose question it is, and the question. Callers that cannot act for a user ask without memory, as over
    HTTP."""
    (source, session), remembers = read_target(visit), visit.can("record")
    scope = visit.scope("record", session) if remembers else visit.scope("ask")
    ask = Ask(
        question=question,
        source=source or None,
        role=visit.role,
        remembers=remembers,
        rows=MAX_ROWS,
        markdown=False,
        learns=visit.can("learn"),
    )
    return scope, ask


async def draw_chart(exchange: Exchange) -> Exchange:
    """Return the exchange with images of its chart, where one suits and can be drawn."""
    chart = exchange.chart
    if chart is None or not charts.can_draw():
        return exchange
    # Drawing takes a tenth of a second: a thread keeps the server responsive.
    images = {theme: await asyncio.to_thread(charts.draw_svg, chart, theme) for theme in THEMES}
    encoded = {theme: base64.b64encode(svg.encode()).decode() for theme, svg in images.items()}
    return replace(exchange, images={theme: f"data:{SVG};base64,{image}" for theme, image in encoded.items()})


@pages.post("/ask/source")
async def add_source(visit: Visit, name: str, dsn: str) -> Response:
    """Connect a database. The address may hold a password, so it is never shown again."""
    scope, name = visit.scope("put_data_source"), name.strip()
    try:
        check_environment_use(visit.caller, dsn.strip())
        await visit.analyst.sources.add(scope, name, dsn.strip())
    except RecollectError as error:
        status = STATUS.get(error.code, 500)
        return await render_conversation(visit, problem=visit.explain(error), status=status, name=name)
    return redirect("ask", source=name, notice="source-added")


# Answers of the past --------------------------------------------------------------------------------------------------


async def load_exchange(visit: Visit, session: str, turn: str) -> Exchange:
    """Return a logged exchange, if the caller may see its tables now."""
    for _, reply, exchange in ask_view.read_exchanges(await visit.load_turns(session, turn, 2)):
        view, problem = await load_view(visit, exchange.answer.source)
        if view is None:
            raise NotFound(problem)
        if can_see_turn(reply, exchange.answer.source, view):
            return exchange
    raise NotFound("This message is not a database answer that you can see.")


@pages.get("/ask/chart")
async def send_chart(visit: Visit, session: str = "", turn: str = "", theme: str = "light") -> Response:
    """Return the chart of a logged result as an SVG, for a light or a dark page."""
    chart = (await load_exchange(visit, session, turn)).chart
    if chart is None:
        raise NotFound("This result has no chart.")
    drawn = await asyncio.to_thread(charts.draw_svg, chart, "dark" if theme == "dark" else "light")
    return Response(drawn, media_type=SVG, headers=HEADERS)


@pages.get("/ask/csv")
async def send_csv(visit: Visit, session: str = "", turn: str = "") -> Response:
    """Run the SQL of a logged answer again, as the caller may now, and return all of its rows as a CSV file."""
    exchange = await load_exchange(visit, session, turn)
    answer = exchange.answer
    if not answer.sql:
        raise NotFound("This answer has no rows.")
    sql = answer.full_sql or answer.sql
    _, rows = await visit.analyst.run(visit.scope("ask"), answer.source, visit.role, sql, MAX_CSV_ROWS)
    headers = answer.headers if len(answer.headers) == len(rows.columns) else rows.columns
    name = quote(make_file_name(exchange.title, rows))
    sent = {"Content-Disposition": f"attachment; filename=result.csv; filename*=UTF-8''{name}"}
    return Response(write_csv(rows, headers), media_type="text/csv", headers={**HEADERS, **sent})


# Teaching -------------------------------------------------------------------------------------------------------------


@pages.post("/ask/correct")
async def correct_sql(visit: Visit, question: str, sql: str, corrected: str, source: str = "") -> Response:
    """Learn from the difference between the generated and the corrected SQL."""
    about = (visit.scope("learn"), source, visit.role, question, sql)
    correction, memories = await teaching.correct(visit.analyst, *about, corrected.strip())
    return show_learned(visit, memories, correction.changes)


@pages.post("/ask/rate")
async def rate_answer(visit: Visit, question: str, sql: str, good: str, source: str = "") -> Response:
    about = (visit.scope("learn"), source, visit.role, question, sql)
    return show_learned(visit, [await teaching.rate(visit.analyst, *about, good=good == "yes")])


@pages.post("/ask/example")
async def propose_example(visit: Visit, question: str, sql: str, source: str = "") -> Response:
    """Propose an example for the whole project; callers who may change the project approve it at once."""
    example = await teaching.propose(visit.analyst, visit.scope("learn_project"), source, question.strip(), sql)
    if example.status == "pending" and visit.can("change_project"):
        example = await teaching.approve(visit.analyst, visit.scope("change_project"), example, good=True)
    return show_learned(visit, [example], owner="project")


def show_learned(
    visit: Visit, learned: Sequence[Memory], changes: Sequence[Change] = (), owner: Owner = "user"
) -> Response:
    """Show what was learned. Sending the form again learns nothing new."""
    source, session = read_target(visit)
    values = {"source": source, "session": session, "owner": owner, "learned": learned, "changes": changes}
    return render_page(visit, "ask_learned.html", values)
