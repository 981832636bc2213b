"""`recollect ask`: ask a database on the terminal; without a question, a conversation with the commands in
`ASK_COMMANDS`. `recollect sources`: the databases of a project."""

from __future__ import annotations

import base64
import json as json_module  # `json` is an option
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from recollect import DataSource, InvalidInput, Scope
from recollect.cli import output
from recollect.cli.options import SESSION_SCOPE, Command, confirm, print_with
from recollect.cli.tables import Column, make_table, show_list

if TYPE_CHECKING:
    from recollect.apps.ask.analyst import Analyst
    from recollect.apps.ask.question import Answer
    from recollect.apps.ask.source_registry import OpenSource, SourceRegistry

DEFAULT_ROWS = 100
CSV_ROWS = 10_000
SHOWN_ROWS = 50
PNG = b"\x89PNG"
CHART_FILES = (".png", ".svg", ".json")
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


@print_with(None, options=SESSION_SCOPE)
async def ask(
    command: Command,
    question: str | None = None,
    source: str | None = None,
    rows: int | None = None,
    no_run: bool = False,
    chart: Path | None = None,
    csv: Path | None = None,
) -> None:
    """Ask a database in natural language, using the vocabulary learned so far. Add a database with `recollect sources
    add`."""
    from recollect.bootstrap import open_analyst

    if chart is not None and chart.suffix.lower() not in CHART_FILES:
        raise InvalidInput("chart", f"{chart.name!r} must end in .png, .svg or .json")
    limit = rows if rows is not None else DEFAULT_ROWS if csv is None else CSV_ROWS
    async with output.open_application(open_analyst) as (_, analyst):
        asking = Conversation(analyst, command.scope, source, limit, not no_run, chart, csv, command.as_json)
        send = partial(answer_question, asking)
        if question is not None:
            await send(question)
        else:
            commands = {name: partial(handle, asking) for name, handle in ASK_COMMANDS.items()}
            await output.converse("? ", send, COMMANDS, **commands)


async def answer_question(conversation: Conversation, question: str) -> None:
    from recollect.apps.ask.answers.wording import write_csv
    from recollect.apps.ask.question import Ask

    ask = Ask(question=question, source=conversation.source, rows=conversation.rows, execute=conversation.execute)
    with output.show_spinner("asking"):
        answer = await conversation.analyst.answer(conversation.scope, ask)
    conversation.last = answer
    if answer.session:
        conversation.scope = replace(conversation.scope, session=answer.session)
    chart, picture = draw_chart(conversation.chart, answer)
    if conversation.csv is not None and answer.rows is not None:
        conversation.csv.write_text(write_csv(answer.rows, answer.headers), encoding="utf-8", newline="")
    if conversation.as_json:
        from recollect.apps.ask.answers.answer_fields import describe_answer

        is_png = picture.startswith(PNG)
        output.print_json(
            describe_answer(answer, graph=base64.b64encode(picture).decode() if is_png else "", chart=chart)
        )
        return
    show_answer(answer)
    if conversation.chart is not None:
        output.print_note(f"chart: {conversation.chart}" if picture else "no chart suits this result")
    if conversation.csv is not None:
        output.print_note(f"CSV: {conversation.csv}" if answer.rows is not None else "there are no rows to write")


def draw_chart(path: Path | None, answer: Answer) -> tuple[dict[str, Any] | None, bytes]:
    """Write a chart in the format of the file's name; return it and the written bytes, if one suits."""
    from recollect.apps.ask.charts import chart_answer, draw_png, draw_svg

    chart = None if path is None else chart_answer(answer)
    if path is None or chart is None:
        return None, b""
    match path.suffix.lower():
        case ".json":
            written = json_module.dumps(chart, ensure_ascii=False, indent=2).encode()
        case ".svg":
            written = draw_svg(chart).encode()
        case _:  # .png: other endings were refused
            written = draw_png(chart)
    path.write_bytes(written)
    return chart, written


def show_answer(answer: Answer) -> None:
    if not answer.sql:
        output.print_text(answer.text)
        if any(each.choices for each in answer.clarifications):
            output.print_note("Answer with a number or in your own words.")
        return
    for lesson in answer.learned:
        output.print_note(f"learned: {lesson.term} {lesson.meaning} (undo: recollect memory forget {lesson.id})")
    output.print_note(answer.sql)
    if answer.explanation and answer.explanation != answer.title:
        output.print_note(answer.explanation)
    for each in answer.assumptions:
        output.print_note(f"assumed: {each.term} = {each.meaning} ({each.source}, {each.confidence:.2f})", "yellow")
    for note in answer.notes:
        output.print_note(note, "yellow")
    show_rows(answer)
    for question in answer.related:
        output.print_note(f"next: {question}")


def show_rows(answer: Answer) -> None:
    from recollect.apps.ask.answers.wording import describe_row_count, format_cell

    result = answer.rows
    if result is None or not result.rows:
        output.print_text(answer.text)
        return
    output.print_text(answer.title)
    rows = (map(format_cell, row) for row in result.rows[:SHOWN_ROWS])
    output.stdout_console().print(make_table(*(answer.headers or result.columns), rows=rows))
    if cut := describe_row_count(result, SHOWN_ROWS):
        output.print_note(cut)


async def show_sql(asking: Conversation, rest: str) -> None:
    output.print_text(asking.last.sql if asking.last else "no question was asked yet")


async def choose_source(asking: Conversation, rest: str) -> None:
    asking.source = rest or None


async def correct_answer(asking: Conversation, sql: str) -> bool:
    from recollect.apps.ask import teaching

    if (done := read_last(asking, "correct")) and not sql:
        return False
    if done:
        correction, memories = await teaching.correct(asking.analyst, asking.scope, *done, sql)
        if correction.equivalent:
            output.print_text("Both queries are equivalent: nothing to learn; the answer counts as correct.")
        for memory in memories:
            output.print_text(f"learned ({memory.kind}): {memory.key}: {memory.value}")
    return True


async def rate_answer(good: bool, asking: Conversation, rest: str) -> None:
    from recollect.apps.ask import teaching

    if done := read_last(asking, "rate"):
        await teaching.rate(asking.analyst, asking.scope, *done, good=good)
        output.print_text(
            "Saved: the same question gets this SQL." if good else "Noted: this SQL will not be used again."
        )


def read_last(asking: Conversation, verb: str) -> tuple[str, str, str, str] | None:
    """Return the database, the role, the question and the SQL of the last answer, if it has SQL."""
    if asking.last is None or not asking.last.sql:
        output.print_note(f"there is no SQL to {verb} yet", "yellow")
        return None
    return asking.last.source, "admin", asking.last.question, asking.last.sql


async def define_word(asking: Conversation, definition: str) -> bool:
    from recollect.apps.ask import teaching

    term, equals, meaning = map(str.strip, definition.partition("="))
    if not equals:
        return False
    question = asking.last.question if asking.last else ""
    learned = await teaching.learn_meaning(asking.analyst, asking.scope, asking.source, term, meaning, question)
    output.print_text(f"learned (for the {learned.scope}): {learned.term}: {learned.meaning}")
    return True


# Each returns False if it did not understand its argument.
ASK_COMMANDS: Mapping[str, Callable[[Conversation, str], Awaitable[bool | None]]] = {
    "sql": show_sql,
    "source": choose_source,
    "correct": correct_answer,
    "good": partial(rate_answer, True),
    "bad": partial(rate_answer, False),
    "mean": define_word,
}


# `recollect sources` -------------------------------------------------------------------------------------------------

sources = typer.Typer(help="The databases of a project.", no_args_is_help=True)


@asynccontextmanager
async def open_sources() -> AsyncIterator[SourceRegistry]:
    from recollect.bootstrap import open_analyst

    async with output.open_application(open_analyst, worker=False) as (_, analyst):
        yield analyst.sources


def describe_source(source: DataSource) -> dict[str, Any]:
    shown = {name: getattr(source, name) for name in ("name", "dialect", "fingerprint", "updated_at")}
    return {**shown, "address": source.masked_dsn}


show_sources = show_list(
    *("name", ("address", "masked_dsn"), "dialect", ("read", "updated_at")),
    empty="There are no databases; add one with `recollect sources add NAME DSN`.",
)


def describe_tables(opened: OpenSource) -> dict[str, Any]:
    tables = {each.name: [column.name for column in each.columns] for each in opened.catalog.tables}
    return describe_source(opened.entry) | {"tables": tables}


def show_tables(console: Console, opened: OpenSource) -> None:
    names = {entity.table: entity.names[:3] for entity in reversed(opened.model.entities)}
    width: Column = ("columns", lambda table: len(table.columns))
    show = show_list(("table", "name"), "rows", width, ("names", lambda table: names.get(table.name)))
    show(console, opened.catalog.tables)


print_tables = print_with(show_tables, convert=describe_tables)


@sources.command("add")
@print_tables
async def add_source(command: Command, name: str, dsn: str) -> OpenSource:
    """Connect a database, read its schema and draft a semantic model. The database is never changed."""
    async with open_sources() as registry:
        with output.show_spinner("reading the database"):
            return await registry.add(command.scope, name, dsn, local=True)


@sources.command("list")
@print_with(show_sources, key="datasources", convert=describe_source)
async def list_sources(command: Command) -> list[DataSource]:
    """List the databases of the project."""
    async with open_sources() as registry:
        return await registry.find_all(command.scope)


@sources.command("show")
@print_tables
async def show_source(command: Command, name: str) -> OpenSource:
    """Show the tables of a database and their names."""
    async with open_sources() as registry:
        return await registry.find(command.scope, name)


@sources.command("refresh")
@print_tables
async def refresh(command: Command, name: str) -> OpenSource:
    """Read the schema of a database again."""
    async with open_sources() as registry:
        opened, has_changed = await registry.refresh(command.scope, name)
    if not command.as_json:
        typer.echo("the schema has changed" if has_changed else "the schema is unchanged")
    return opened


@sources.command("model")
@print_with(None)
async def model(command: Command, name: str, file: Path | None = None) -> None:
    """Print the semantic model as YAML; with a file, replace it."""
    from recollect.apps.ask.semantic.model_file import dump_model, write_model

    async with open_sources() as registry:
        if file is not None:
            await registry.edit(command.scope, name, model=output.read_text(file))
            report_change(command, name, f"has the model of {file}")
            return
        written = (await registry.find(command.scope, name)).model
    output.print_json(dump_model(written)) if command.as_json else typer.echo(write_model(written), nl=False)


@sources.command("access")
@print_with(None)
async def access(command: Command, name: str, file: Path | None = None) -> None:
    """Print the access rules of each role as JSON; with a file, replace them."""
    async with open_sources() as registry:
        if file is None:
            output.print_json(dict((await registry.find(command.scope, name)).entry.access))
            return
        try:
            rules = json_module.loads(output.read_text(file))
        except ValueError:
            raise InvalidInput("access", f"{file} is not JSON") from None
        await registry.edit(command.scope, name, access=rules)
    report_change(command, name, f"has the rules of {file}")


@sources.command("drop")
@print_with(None)
async def drop(command: Command, name: str, yes: bool = False) -> None:
    """Remove a database from the project. The database itself is not changed."""
    confirm(f"Remove the data source {name}", yes)
    async with open_sources() as registry:
        await registry.drop(command.scope, name)
    report_change(command, name, "is removed")


def report_change(command: Command, name: str, change: str) -> None:
    output.print_json({"name": name, "done": change}) if command.as_json else typer.echo(f"{name} {change}")
