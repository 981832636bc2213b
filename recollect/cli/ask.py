"""`recollect ask`: ask a database on the terminal and see the SQL, the rows and the assumptions; a chart and all rows
can be written into files. Without a question it reads one line at a time: questions, follow-ups, and commands:

    /sql          print the last SQL             /correct SQL      correct it; what is learned is printed
    /good  /bad   rate the last answer           /mean WORD = ...  define a word
    /source NAME  ask another database           /exit
"""

from __future__ import annotations

import asyncio
import base64
import json as json_module  # `json` is an option
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Json, Project, Session, User, make_scope
from recollect.cli.output import (
    open_application,
    print_json,
    print_note,
    print_text,
    read_line,
    show_spinner,
    stdout_console,
)
from recollect.cli.tables import make_table
from recollect.errors import RecollectError
from recollect.values.scope import Scope

if TYPE_CHECKING:
    from recollect.apps.ask.analyst import Analyst
    from recollect.apps.ask.question import Answer
    from recollect.apps.ask.sources.running import Rows

DEFAULT_ROWS = 100
CSV_ROWS = 10_000
SHOWN_ROWS = 50
PNG = b"\x89PNG"
Question = Annotated[
    str | None,
    typer.Argument(
        metavar="QUESTION", help="The question; without it, one question per line is read.", show_default=False
    ),
]
Source = Annotated[str | None, typer.Option("--source", help="The database.", show_default="the one that matches")]
MaxRows = Annotated[
    int | None,
    typer.Option("--rows", "-n", help="Maximum number of rows.", show_default=f"{DEFAULT_ROWS}; with --csv {CSV_ROWS}"),
]
NoRun = Annotated[bool, typer.Option("--no-run", help="Only show the SQL.")]
Chart = Annotated[
    Path | None,
    typer.Option("--chart", metavar="FILE", help="Draw the result: a .png, .svg or .json (Vega-Lite) file."),
]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the rows into this CSV file.")]
COMMANDS = "/sql  /correct SQL  /good  /bad  /mean WORD = MEANING  /source NAME  /exit"


@dataclass(slots=True)
class Conversation:
    """Who asks which database, how answers are shown, and the last answer."""

    analyst: Analyst
    scope: Scope
    source: str | None
    rows: int
    execute: bool
    chart: Path | None
    csv: Path | None
    as_json: bool
    last: Answer | None = None


def ask(
    question: Question = None,
    source: Source = None,
    session: Session = None,
    rows: MaxRows = None,
    no_run: NoRun = False,
    chart: Chart = None,
    csv: Csv = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Ask a database in natural language, using the vocabulary learned so far. Add a database with `recollect sources
    add`."""
    scope = make_scope(user, session, project)
    limit = rows if rows is not None else DEFAULT_ROWS if csv is None else CSV_ROWS

    async def run() -> None:
        from recollect.bootstrap import open_analyst

        async with open_application(open_analyst) as (_, analyst):
            conversation = Conversation(analyst, scope, source, limit, not no_run, chart, csv, json)
            if question is not None:
                await answer_question(conversation, question)
                return
            while (line := await asyncio.to_thread(read_line, "? ")) is not None:
                try:
                    await (run_ask_command if line.startswith("/") else answer_question)(conversation, line)
                except RecollectError as error:
                    print_note(str(error), "red")

    asyncio.run(run())


async def answer_question(conversation: Conversation, question: str) -> None:
    from recollect.apps.ask.question import Ask
    from recollect.apps.ask.wording import write_csv

    ask = Ask(question=question, source=conversation.source, rows=conversation.rows, execute=conversation.execute)
    with show_spinner("asking"):
        answer = await conversation.analyst.answer(conversation.scope, ask)
    conversation.last = answer
    if answer.session:
        conversation.scope = replace(conversation.scope, session=answer.session)
    chart, picture = draw_chart(conversation.chart, answer)
    if conversation.csv is not None and answer.rows is not None:
        conversation.csv.write_text(write_csv(answer.rows, answer.headers), encoding="utf-8", newline="")
    if conversation.as_json:
        from recollect.apps.ask.answer_fields import describe_answer

        is_png = picture.startswith(PNG)
        print_json(describe_answer(answer, graph=base64.b64encode(picture).decode() if is_png else "", chart=chart))
        return
    show_answer(answer)
    if conversation.chart is not None:
        print_note(f"chart: {conversation.chart}" if picture else "no chart suits this result")
    if conversation.csv is not None:
        print_note(f"CSV: {conversation.csv}" if answer.rows is not None else "there are no rows to write")


def draw_chart(path: Path | None, answer: Answer) -> tuple[dict[str, Any] | None, bytes]:
    """Write a chart in the format of the file's name, PNG by default; return it and the written bytes, if one suits."""
    from recollect.apps.ask.charts import chart_answer, draw_png, draw_svg

    chart = None if path is None else chart_answer(answer)
    if path is None or chart is None:
        return None, b""
    match path.suffix.lower():
        case ".json":
            written = json_module.dumps(chart, ensure_ascii=False, indent=2).encode()
        case ".svg":
            written = draw_svg(chart).encode()
        case _:
            written = draw_png(chart)
    path.write_bytes(written)
    return chart, written


def show_answer(answer: Answer) -> None:
    if not answer.sql:
        print_text(answer.text)
        if any(each.choices for each in answer.clarifications):
            print_note("Answer with a number or in your own words.")
        return
    show_details(answer)
    if answer.rows is not None and answer.rows.rows:
        show_rows(answer.rows, answer.headers, answer.title)
    else:
        print_text(answer.text)
    for question in answer.related:
        print_note(f"next: {question}")


def show_details(answer: Answer) -> None:
    """Print what was learned, the SQL and what it rests on."""
    for lesson in answer.learned:
        print_note(f"learned: {lesson.term} {lesson.meaning} (undo: recollect memory forget {lesson.id})")
    print_note(answer.sql)
    if answer.explanation and answer.explanation != answer.title:
        print_note(answer.explanation)
    for each in answer.assumptions:
        print_note(f"assumed: {each.term} = {each.meaning} ({each.source}, {each.confidence:.2f})", "yellow")
    for note in answer.notes:
        print_note(note, "yellow")


def show_rows(result: Rows, headers: Sequence[str], title: str) -> None:
    from recollect.apps.ask.wording import describe_row_count, format_cell

    print_text(title)
    table = make_table(*(headers or result.columns))
    for row in result.rows[:SHOWN_ROWS]:
        table.add_row(*(format_cell(value) for value in row))
    stdout_console().print(table)
    if cut := describe_row_count(result, SHOWN_ROWS):
        print_note(cut)


async def run_ask_command(conversation: Conversation, line: str) -> None:
    command, _, rest = line.partition(" ")
    match command.lower():
        case "/sql":
            print_text(conversation.last.sql if conversation.last else "no question was asked yet")
        case "/source":
            conversation.source = rest.strip() or None
        case "/correct" if rest.strip():
            await correct_sql(conversation, rest.strip())
        case "/good" | "/bad":
            await rate_answer(conversation, command.lower() == "/good")
        case "/mean" if "=" in rest:
            await define_word(conversation, *map(str.strip, rest.split("=", 1)))
        case _:
            print_note(COMMANDS)


async def correct_sql(conversation: Conversation, sql: str) -> None:
    from recollect.apps.ask import teaching

    last = conversation.last
    if last is None or not last.sql:
        print_note("there is no SQL to correct yet", "yellow")
        return
    analyst, scope = conversation.analyst, conversation.scope
    taught = await teaching.correct(analyst, scope, last.source, "admin", last.question, last.sql, sql)
    if taught.correction.equivalent:
        print_text("Both queries are equivalent: nothing to learn; the answer counts as correct.")
    for memory in taught.memories:
        print_text(f"learned ({memory.kind}): {memory.key}: {memory.value}")


async def rate_answer(conversation: Conversation, good: bool) -> None:
    from recollect.apps.ask import teaching

    last = conversation.last
    if last is None or not last.sql:
        print_note("there is no SQL to rate yet", "yellow")
        return
    analyst, scope = conversation.analyst, conversation.scope
    await teaching.rate(analyst, scope, last.source, "admin", last.question, last.sql, good=good)
    print_text("Saved: the same question gets this SQL." if good else "Noted: this SQL will not be used again.")


async def define_word(conversation: Conversation, term: str, meaning: str) -> None:
    from recollect.apps.ask import teaching

    question = conversation.last.question if conversation.last else ""
    analyst, scope, source = conversation.analyst, conversation.scope, conversation.source
    learned = await teaching.learn_meaning(analyst, scope, source, term, meaning, question)
    print_text(f"learned (for the {learned.scope}): {learned.term}: {learned.meaning}")
