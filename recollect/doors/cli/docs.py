"""`recollect docs`: documents added and read while you watch, listed, asked, looked into and dropped; and memories made
of what was asked before."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.doors.cli.options import Json, Project, Session, User, Yes, confirm, scope_of
from recollect.doors.cli.paper import margin, paper, progress, said, say_json, waiting
from recollect.doors.cli.tables import table
from recollect.model.library import Document, Upload
from recollect.model.scope import Scope

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from recollect.engine import Engine
    from recollect.hosts.documents.asking import Answered
    from recollect.hosts.documents.librarian import Librarian
    from recollect.model.lesson import Owner

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="What to add.", show_default=False)]
Id = Annotated[str, typer.Argument(metavar="ID", help="Which document.", show_default=False)]
Text = Annotated[
    str | None,
    typer.Argument(metavar="QUESTION", help="What to ask; without it, a question a line is read.", show_default=False),
]
Shared = Annotated[bool, typer.Option("--shared", help="For all users of the project.")]
Title = Annotated[str, typer.Option("--title", help="What to call it.", show_default="the file's name")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Leave reading to a worker.")]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Only in this document; repeatable.")]
Most = Annotated[int, typer.Option("--top", "-k", help="Most passages to look at.")]
Variety = Annotated[
    float | None, typer.Option("--mmr", help="Variety, from 0 to 1: 0.7 leaves out what says the same twice.")
]
Start = Annotated[int | None, typer.Option("--start", help="Show its text from this character.")]
End = Annotated[int | None, typer.Option("--end", help="To this one.", show_default="1000 more")]
EVERY = 0.1  # seconds between two looks at how far the reading is
PASSAGE = 1_000
ENDS = ("/exit", "/quit", "/bye")
app = typer.Typer(help="Documents, and questions to them.", no_args_is_help=True)


def at_desk(work: Callable[[Engine, Librarian], Awaitable[Any]], *, worker: bool = False) -> Any:
    async def opened() -> Any:
        from recollect.settings import read_settings
        from recollect.wire import connect, reading_documents

        settings = read_settings()
        async with AsyncExitStack() as stack:
            with waiting("opening the memory"):
                engine = await stack.enter_async_context(connect(settings, worker=worker))
            return await work(engine, await stack.enter_async_context(reading_documents(engine, settings)))

    return asyncio.run(opened())


@app.command("add")
def add(
    files: Files,
    title: Title = "",
    shared: Shared = False,
    no_wait: NoWait = False,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Add files, and wait until they are read: PDF, DOCX, PPTX, XLSX, CSV, HTML, Markdown, text."""
    whose, owner = scope_of(user, None, project), "project" if shared else "user"

    async def work(engine: Engine, _: Librarian) -> list[Document]:
        added = [await taken_in(engine, whose, path, title, owner) for path in files]
        return added if no_wait else await read_all(engine, whose, added)

    documents: list[Document] = at_desk(work, worker=not no_wait)
    show_all(documents, json)
    if any(each.status == "failed" for each in documents):
        raise typer.Exit(1)


async def taken_in(engine: Engine, scope: Scope, path: Path, title: str, owner: str) -> Document:
    whose: Owner = "project" if owner == "project" else "user"
    return await engine.add_document(scope, Upload(path.name, path, title), owner=whose)


async def read_all(engine: Engine, scope: Scope, documents: Sequence[Document]) -> list[Document]:
    """A bar for each while it is read."""
    with progress() as bars:
        rows = [bars.add_task(each.source, total=100) for each in documents]
        return [
            await read(engine, scope, each, partial(moved, bars, row))
            for each, row in zip(documents, rows, strict=True)
        ]


def moved(bars: Progress, row: TaskID, done: float) -> None:
    bars.update(row, completed=round(done * 100))


async def read(engine: Engine, scope: Scope, document: Document, move: Callable[[float], None]) -> Document:
    while document.status in ("pending", "processing"):
        move(document.progress)
        await asyncio.sleep(EVERY)
        document = await engine.document(scope, document.id)
    move(1.0)
    return document


@app.command("list")
def list_documents(user: User = None, project: Project = None, json: Json = False) -> None:
    """Your documents and the project's, the newest first."""
    whose = scope_of(user, None, project)
    show_all(at_desk(lambda engine, _: engine.documents(whose, limit=1000)), json)


def show_all(documents: Sequence[Document], json: bool) -> None:
    if json:
        say_json({"documents": [shape(each) for each in documents]})
        return
    made = table("id", "title", "status", "pages", "chunks", "")
    for each in documents:
        about = each.sentence or ("shared" if each.owner == "project" else "")
        made.add_row(str(each.id), said(each.title), each.status, str(each.pages), str(each.chunks), said(about))
    paper().print(made)


def shape(document: Document) -> dict[str, Any]:
    names = ("id", "title", "source", "status", "format", "size", "pages", "chunks", "characters", "owner")
    return {**{name: getattr(document, name) for name in names}, "failure": document.sentence}


@app.command("ask")
def ask(
    question: Text = None,
    only: Only = None,
    top: Most = 8,
    mmr: Variety = None,
    session: Session = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Ask the documents; the answer names the passages it rests on. Without a model it quotes them."""
    whose = scope_of(user, session, project)
    options = {"documents": tuple(only) if only else None, "top_k": top, "mmr": mmr}
    at_desk(lambda _, librarian: converse(librarian, whose, question, options, json))


async def converse(
    librarian: Librarian, scope: Scope, question: str | None, options: Mapping[str, Any], as_json: bool
) -> None:
    """One question, or all that are typed; each follows the one before."""
    from recollect.hosts.documents.asking import Question

    while (text := question or await asyncio.to_thread(typed)) is not None:
        with waiting("reading"):
            answer = await librarian.query(scope, Question(text, **options))
        scope = replace(scope, session=answer.session)
        show_answer(answer, as_json)
        if question is not None:
            return


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


def show_answer(answer: Answered, as_json: bool) -> None:
    if as_json:
        from recollect.doors.shapes import own

        sources, memories = ([own(each) for each in listed] for listed in (answer.sources, answer.memories))
        say_json({**own(answer), "sources": sources, "memories": memories})
        return
    paper().print(said(answer.answer))
    for source in answer.sources:
        if source.cited:
            page = f", page {source.page}" if source.page else ""
            place = f"  recollect docs show {source.document} --start {source.start} --end {source.end}{page}"
            margin().print(said(place, "dim"))


@app.command("show")
def show(
    document: Id, start: Start = None, end: End = None, user: User = None, project: Project = None, json: Json = False
) -> None:
    """A document; with --start, its text at a citation."""
    whose = scope_of(user, None, project)
    if start is None:
        show_all([at_desk(lambda engine, _: engine.document(whose, document))], json)
        return
    last = start + PASSAGE if end is None else end
    found = at_desk(lambda engine, _: engine.passage(whose, document, start, last))
    if json:
        names = ("text", "start", "end", "page", "page_end", "headings")
        say_json({"document": str(found.document.id), **{name: getattr(found, name) for name in names}})
        return
    page = [f"page {found.page}"] if found.page else []
    margin().print(said(" > ".join([found.document.title, *found.headings, *page]), "dim"))
    paper().print(said(found.text))


@app.command("rm")
def remove(document: Id, yes: Yes = False, user: User = None, project: Project = None, json: Json = False) -> None:
    """Erase a document, with everything made of it."""
    whose = scope_of(user, None, project)
    if not yes:
        confirm(f"Erase document {document}")
    receipt = at_desk(lambda _, librarian: librarian.drop(whose, document))
    if json:
        say_json({"document": document, "rows": dict(receipt.rows)})
        return
    typer.echo(f"erased; {sum(receipt.rows.values()):,} rows are gone")


@app.command("backfill")
def backfill(user: User = None, project: Project = None, json: Json = False) -> None:
    """Make memories of the answers that are in the log and that nothing is remembered of yet. Doing it again makes no
    more; what was forgotten is made anew."""
    whose = scope_of(user, None, project)
    made = at_desk(lambda _, librarian: librarian.backfill(whose))
    if json:
        say_json({"memories": made})
        return
    typer.echo(f"{made} new memories of answers")
