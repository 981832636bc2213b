"""`recollect ask`: a question to a database on the terminal: the SQL, the rows, what was assumed, a chart as a file.
Without a question it reads a line at a time: questions, follow-ups, and what teaches it:

    /sql          the last statement           /correct SQL      put it right; what that teaches is told
    /good  /bad   what you think of it         /mean WORD = ...  what a word means
    /source NAME  ask another database         /exit
"""

from __future__ import annotations

import asyncio
import base64
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.doors.cli.options import Json, Project, Session, User, scope_of
from recollect.doors.cli.paper import margin, paper, said, say_json, waiting
from recollect.doors.cli.tables import table
from recollect.errors import RecollectError
from recollect.model.scope import Scope

if TYPE_CHECKING:
    from recollect.hosts.sql.analyst import Analyst
    from recollect.hosts.sql.asking import Answer
    from recollect.hosts.sql.running import Rows

Text = Annotated[
    str | None,
    typer.Argument(metavar="QUESTION", help="What to ask; without it, a question a line is read.", show_default=False),
]
Source = Annotated[str | None, typer.Option("--source", help="Which database.", show_default="the one that fits")]
Most = Annotated[int, typer.Option("--rows", "-n", help="Most rows to fetch.")]
NoRun = Annotated[bool, typer.Option("--no-run", help="Only show the SQL.")]
Chart = Annotated[Path | None, typer.Option("--chart", metavar="FILE", help="Draw the result into this PNG file.")]
SHOWN = 50
ENDS = ("/exit", "/quit", "/bye")


@dataclass(slots=True)
class Desk:
    """Who asks, of what, and the last answer."""

    analyst: Analyst
    scope: Scope
    source: str | None
    rows: int = 100
    execute: bool = True
    last: Answer | None = field(default=None)


def ask(
    question: Text = None,
    source: Source = None,
    session: Session = None,
    rows: Most = 100,
    no_run: NoRun = False,
    chart: Chart = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Ask a database in your own words; what was learned about them counts. Add one with `recollect sources add`."""
    whose = scope_of(user, session, project)
    asyncio.run(sit_down(whose, source, question, rows, not no_run, chart, json))


async def sit_down(
    scope: Scope, source: str | None, question: str | None, rows: int, execute: bool, chart: Path | None, as_json: bool
) -> None:
    from recollect.settings import read_settings
    from recollect.wire import analysing, connect

    settings = read_settings()
    async with AsyncExitStack() as stack:
        with waiting("opening the memory"):
            engine = await stack.enter_async_context(connect(settings))
        analyst = await stack.enter_async_context(analysing(engine, settings))
        desk = Desk(analyst, scope, source, rows, execute)
        if question is not None:
            await answered(desk, question, chart, as_json)
        else:
            await converse(desk, chart, as_json)


async def converse(desk: Desk, chart: Path | None, as_json: bool) -> None:
    while (line := await asyncio.to_thread(typed)) is not None:
        try:
            await (told(desk, line) if line.startswith("/") else answered(desk, line, chart, as_json))
        except RecollectError as error:
            margin().print(said(f"  {error}", "red"))


def typed() -> str | None:
    """The next line; None when there are no more."""
    while True:
        if sys.stdin.isatty():
            margin().print("? ", end="", style="bold")
        line = sys.stdin.readline()
        if not line or line.strip().lower() in ENDS:
            return None
        if line.strip():
            return line.strip()


async def answered(desk: Desk, question: str, chart: Path | None, as_json: bool) -> None:
    from recollect.hosts.sql.asking import Ask

    asked = Ask(question=question, source=desk.source, rows=desk.rows, execute=desk.execute)
    with waiting("asking"):
        answer = await desk.analyst.answer(desk.scope, asked)
    desk.last = answer
    if answer.session:
        desk.scope = replace(desk.scope, session=answer.session)
    picture = draw(answer, chart)
    if as_json:
        from recollect.doors.ask_shapes import answer_shape

        say_json(answer_shape(answer, graph=picture))
        return
    show(answer)
    if chart is not None:
        margin().print(said(f"  chart: {chart}" if picture else "  no chart suits this result", "dim"))


def draw(answer: Answer, chart: Path | None) -> str:
    """The chart as PNG in base64, and in its file; empty where none is asked for, or none suits."""
    from recollect.hosts.sql.charts import drawn

    picture = drawn(answer.rows, answer.question) if chart is not None and answer.rows is not None else ""
    if chart is not None and picture:
        chart.write_bytes(base64.b64decode(picture))
    return picture


def show(answer: Answer) -> None:
    if not answer.sql:
        paper().print(said(answer.text))
        return
    margin().print(said(f"  {answer.sql}", "dim"))
    if answer.explanation:
        margin().print(said(f"  {answer.explanation}", "dim"))
    for each in answer.assumptions:
        margin().print(
            said(f"  assumed: {each.term} = {each.meaning} ({each.source}, {each.confidence:.2f})", "yellow")
        )
    for note in answer.notes:
        margin().print(said(f"  {note}", "yellow"))
    if answer.rows is not None and answer.rows.rows:
        show_rows(answer.rows)
    else:
        paper().print(said(answer.text))
    for question in answer.related:
        margin().print(said(f"  next: {question}", "dim"))


def show_rows(rows: Rows) -> None:
    from recollect.hosts.sql.wording import shown

    made = table(*rows.columns)
    for row in rows.rows[:SHOWN]:
        made.add_row(*(said(shown(value)) for value in row))
    paper().print(made)
    if len(rows.rows) > SHOWN or rows.is_truncated:
        margin().print(said(f"  {len(rows.rows):,} rows fetched; {SHOWN} are shown", "dim"))


# What teaches it -----------------------------------------------------------------------------------------------------


async def told(desk: Desk, line: str) -> None:
    command, _, rest = line.partition(" ")
    match command.lower():
        case "/sql":
            paper().print(said(desk.last.sql if desk.last else "nothing was asked yet"))
        case "/source":
            desk.source = rest.strip() or None
        case "/correct" if rest.strip():
            await corrected(desk, rest.strip())
        case "/good" | "/bad":
            await rated(desk, command.lower() == "/good")
        case "/mean" if "=" in rest:
            await meant(desk, *map(str.strip, rest.split("=", 1)))
        case _:
            margin().print(said("  /sql  /correct SQL  /good  /bad  /mean WORD = MEANING  /source NAME  /exit", "dim"))


async def corrected(desk: Desk, sql: str) -> None:
    from recollect.hosts.sql import teaching

    if desk.last is None or not desk.last.sql:
        margin().print(said("  there is no statement to correct yet", "yellow"))
        return
    last = desk.last
    done = await teaching.correct(desk.analyst, desk.scope, last.source, "admin", last.question, last.sql, sql)
    if done.correction.equivalent:
        paper().print(said("The same in other words: nothing to learn, and counted as right."))
    for memory in done.memories:
        paper().print(said(f"learned ({memory.kind}): {memory.key}: {memory.value}"))


async def rated(desk: Desk, good: bool) -> None:
    from recollect.hosts.sql import teaching

    last = desk.last
    if last is None or not last.sql:
        margin().print(said("  there is no statement to judge yet", "yellow"))
        return
    await teaching.rate(desk.analyst, desk.scope, last.source, "admin", last.question, last.sql, good=good)
    paper().print(said("Kept: the same question gets this statement." if good else "Noted: it will not be used again."))


async def meant(desk: Desk, term: str, meaning: str) -> None:
    from recollect.hosts.sql import teaching

    question = desk.last.question if desk.last else ""
    memory = await teaching.clarify(desk.analyst, desk.scope, desk.source, term, meaning, question)
    paper().print(said(f"learned ({memory.kind}): {memory.key}: {memory.value}"))
