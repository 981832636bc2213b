"""`recollect docs`: add, list, ask, show and erase documents, and make memories from answers given earlier."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Json, Project, Session, User, Yes, confirm, make_scope
from recollect.cli.output import (
    FAILED,
    make_progress,
    open_application,
    print_json,
    print_note,
    print_text,
    read_line,
    show_spinner,
    stdout_console,
)
from recollect.cli.tables import make_table
from recollect.values.document import Document, Upload
from recollect.values.scope import Scope
from recollect.values.serialization import to_json

if TYPE_CHECKING:
    from recollect.apps.documents.librarian import Librarian
    from recollect.apps.documents.question import Answered
    from recollect.engine import Engine
    from recollect.values.lesson import Owner

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="The files to add.", show_default=False)]
Id = Annotated[str, typer.Argument(metavar="ID", help="The document.", show_default=False)]
Text = Annotated[
    str | None,
    typer.Argument(
        metavar="QUESTION", help="The question; without it, one question per line is read.", show_default=False
    ),
]
Shared = Annotated[bool, typer.Option("--shared", help="For all users of the project.")]
Title = Annotated[str, typer.Option("--title", help="Title of the document.", show_default="the file's name")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Leave reading to a worker.")]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Only in this document; repeatable.")]
MaxPassages = Annotated[int, typer.Option("--top", "-k", help="Maximum number of passages.")]
Variety = Annotated[
    float | None, typer.Option("--mmr", help="From 0 to 1; lower values prefer passages that differ from each other.")
]
Start = Annotated[int | None, typer.Option("--start", help="Show the text from this character.")]
End = Annotated[int | None, typer.Option("--end", help="Up to this character.", show_default="1000 more")]
POLL_SECONDS = 0.1
PASSAGE_CHARS = 1_000
SHAPE = ("id", "title", "source", "status", "format", "size", "pages", "chunks", "characters", "owner")
app = typer.Typer(help="Documents, and questions to them.", no_args_is_help=True)


def run_with_librarian(work: Callable[[Engine, Librarian], Awaitable[Any]], *, worker: bool = False) -> Any:
    async def run() -> Any:
        from recollect.bootstrap import open_librarian

        async with open_application(open_librarian, worker=worker) as (engine, librarian):
            return await work(engine, librarian)

    return asyncio.run(run())


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
    """Add files and wait until they are read: PDF, DOCX, PPTX, XLSX, CSV, HTML, Markdown, text."""
    scope = make_scope(user, None, project)
    owner: Owner = "project" if shared else "user"

    async def work(engine: Engine, _: Librarian) -> list[Document]:
        added = [await engine.documents.add(scope, Upload(path.name, path, title), owner=owner) for path in files]
        return added if no_wait else await wait_until_read(engine, scope, added)

    documents: list[Document] = run_with_librarian(work, worker=not no_wait)
    show_documents(documents, json)
    if any(each.status == "failed" for each in documents):
        raise typer.Exit(FAILED)


async def wait_until_read(engine: Engine, scope: Scope, documents: Sequence[Document]) -> list[Document]:
    """Return the documents once a worker has read them, with a progress bar for each."""
    finished = []
    with make_progress() as progress:
        bars = [progress.add_task(each.source, total=100) for each in documents]
        for document, bar in zip(documents, bars, strict=True):
            current = document
            while current.status in ("pending", "processing"):
                progress.update(bar, completed=round(current.progress * 100))
                await asyncio.sleep(POLL_SECONDS)
                current = await engine.documents.get(scope, current.id)
            progress.update(bar, completed=100)
            finished.append(current)
    return finished


@app.command("list")
def list_documents(user: User = None, project: Project = None, json: Json = False) -> None:
    """List your documents and the project's, newest first."""
    scope = make_scope(user, None, project)
    show_documents(run_with_librarian(lambda engine, _: engine.documents.find(scope, limit=1000)), json)


def show_documents(documents: Sequence[Document], json: bool) -> None:
    if json:
        shapes = [{**{name: getattr(each, name) for name in SHAPE}, "failure": each.sentence} for each in documents]
        print_json({"documents": shapes})
        return
    table = make_table("id", "title", "status", "pages", "chunks", "")
    for each in documents:
        detail = each.sentence or ("shared" if each.owner == "project" else "")
        table.add_row(str(each.id), each.title, each.status, str(each.pages), str(each.chunks), detail)
    stdout_console().print(table)


@app.command("ask")
def ask(
    question: Text = None,
    only: Only = None,
    top: MaxPassages = 8,
    mmr: Variety = None,
    session: Session = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Ask the documents; the answer cites its passages. Without a model it quotes them."""
    scope = make_scope(user, session, project)
    options = {"documents": tuple(only) if only else None, "top_k": top, "mmr": mmr}
    run_with_librarian(lambda _, librarian: answer_questions(librarian, scope, question, options, json))


async def answer_questions(
    librarian: Librarian, scope: Scope, question: str | None, options: Mapping[str, Any], as_json: bool
) -> None:
    """Answer one question, or each line that is typed; all in one session."""
    from recollect.apps.documents.question import Question

    while (text := question or await asyncio.to_thread(read_line, "? ")) is not None:
        with show_spinner("reading"):
            answer = await librarian.query(scope, Question(text, **options))
        scope = replace(scope, session=answer.session)
        show_answer(answer, as_json)
        if question is not None:
            return


def show_answer(answer: Answered, as_json: bool) -> None:
    if as_json:
        print_json(to_json(answer))
        return
    print_text(answer.answer)
    for source in answer.sources:
        if source.cited:
            page = f", page {source.page}" if source.page else ""
            print_note(f"recollect docs show {source.document} --start {source.start} --end {source.end}{page}")


@app.command("show")
def show(
    document: Id, start: Start = None, end: End = None, user: User = None, project: Project = None, json: Json = False
) -> None:
    """Show a document; with --start, its text at a citation."""
    scope = make_scope(user, None, project)
    if start is None:
        show_documents([run_with_librarian(lambda engine, _: engine.documents.get(scope, document))], json)
        return
    last = start + PASSAGE_CHARS if end is None else end
    passage = run_with_librarian(lambda engine, _: engine.documents.passage(scope, document, start, last))
    if json:
        names = ("text", "start", "end", "page", "page_end", "headings")
        print_json({"document": str(passage.document.id), **{name: getattr(passage, name) for name in names}})
        return
    page = [f"page {passage.page}"] if passage.page else []
    print_note(" > ".join([passage.document.title, *passage.headings, *page]))
    print_text(passage.text)


@app.command("rm")
def remove(document: Id, yes: Yes = False, user: User = None, project: Project = None, json: Json = False) -> None:
    """Erase a document and everything derived from it."""
    scope = make_scope(user, None, project)
    if not yes:
        confirm(f"Erase document {document}")
    receipt = run_with_librarian(lambda _, librarian: librarian.drop(scope, document))
    if json:
        print_json({"document": document, "rows": dict(receipt.rows)})
    else:
        typer.echo(f"Erased {sum(receipt.rows.values()):,} rows.")


@app.command("backfill")
def backfill(user: User = None, project: Project = None, json: Json = False) -> None:
    """Make memories from logged answers that have none yet. Repeating it adds nothing; forgotten ones come back."""
    scope = make_scope(user, None, project)
    count = run_with_librarian(lambda _, librarian: librarian.backfill(scope))
    if json:
        print_json({"memories": count})
    else:
        typer.echo(f"{count} new memories of answers")
