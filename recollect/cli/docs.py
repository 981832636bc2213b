"""`recollect docs`: add, list, ask, show and erase documents, and make memories from answers given earlier."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from recollect import Document, Passage, Scope, Upload
from recollect.cli import output
from recollect.cli.options import SESSION_SCOPE, Command, confirm, echo, print_with
from recollect.cli.tables import show_list
from recollect.values.serialization import to_json

if TYPE_CHECKING:
    from recollect.apps.documents.librarian import Librarian
    from recollect.sync import SyncEngine
    from recollect.values.lesson import Owner

POLL_SECONDS = 0.1
PASSAGE_CHARS = 1_000
SHAPE = ("id", "title", "source", "status", "format", "size", "pages", "chunks", "characters", "owner")
app = typer.Typer(help="Documents, and questions to them.", no_args_is_help=True)


@asynccontextmanager
async def open_documents() -> AsyncIterator[Librarian]:
    from recollect.bootstrap import open_librarian

    async with output.open_application(open_librarian, worker=False) as (_, librarian):
        yield librarian


def describe_document(document: Document) -> dict[str, Any]:
    return {**{name: getattr(document, name) for name in SHAPE}, "failure": document.sentence}


show_documents = show_list(
    *("id", "title", "status", "pages", "chunks"),
    ("", lambda each: each.sentence or ("shared" if each.owner == "project" else "")),
    empty="There are no documents; add some with `recollect docs add FILE`.",
)


@app.command("add")
@print_with(
    show_documents,
    key="documents",
    convert=describe_document,
    is_failed=lambda added: any(each.status == "failed" for each in added),
)
def add(
    command: Command, files: list[Path], title: str = "", shared: bool = False, no_wait: bool = False
) -> list[Document]:
    """Add files and wait until they are read: PDF, DOCX, PPTX, XLSX, CSV, HTML, Markdown, text."""
    owner: Owner = "project" if shared else "user"
    with output.open_engine(worker=not no_wait) as engine:
        uploads = [Upload(path.name, path, title) for path in files]
        added = [engine.documents.add(command.scope, upload, owner=owner) for upload in uploads]
        return added if no_wait else wait_until_read(engine, command.scope, added)


def wait_until_read(engine: SyncEngine, scope: Scope, documents: Sequence[Document]) -> list[Document]:
    """Return the documents once a worker has read them, with a progress bar for each."""
    finished = []
    with output.make_progress() as progress:
        bars = [progress.add_task(each.source, total=100) for each in documents]
        for document, bar in zip(documents, bars, strict=True):
            current = document
            while current.status in ("pending", "processing"):
                progress.update(bar, completed=round(current.progress * 100))
                time.sleep(POLL_SECONDS)
                current = engine.documents.get(scope, current.id)
            progress.update(bar, completed=100)
            finished.append(current)
    return finished


@app.command("list")
@print_with(show_documents, key="documents", convert=describe_document)
def list_documents(command: Command) -> list[Document]:
    """List your documents and the project's, newest first."""
    return command.engine.documents.find(command.scope, limit=1000)


@app.command("ask")
@print_with(None, options=SESSION_SCOPE)
async def ask(
    command: Command, question: str | None = None, only: list[str] | None = None, top: int = 8, mmr: float | None = None
) -> None:
    """Ask the documents; the answer cites its passages. Without a model it quotes them."""
    from recollect.apps.documents.question import Question

    scope, documents = command.scope, tuple(only) if only else None
    async with open_documents() as librarian:

        async def send(text: str) -> None:
            nonlocal scope
            with output.show_spinner("reading"):
                answer = await librarian.query(scope, Question(text, documents=documents, top_k=top, mmr=mmr))
            scope = replace(scope, session=answer.session)
            if command.as_json:
                output.print_json(to_json(answer))
                return
            output.print_text(answer.answer)
            for each in (source for source in answer.sources if source.cited):
                page = f", page {each.page}" if each.page else ""
                output.print_note(f"recollect docs show {each.document} --start {each.start} --end {each.end}{page}")

        await (output.converse("? ", send, "/exit") if question is None else send(question))


def show_found(console: Console, found: Document | Passage) -> None:
    if isinstance(found, Document):
        show_documents(console, [found])
        return
    page = [f"page {found.page}"] if found.page else []
    output.print_note(" > ".join([found.document.title, *found.headings, *page]))
    output.print_text(found.text)


def describe_found(found: Document | Passage) -> dict[str, Any]:
    if isinstance(found, Document):
        return {"documents": [describe_document(found)]}
    names = ("text", "start", "end", "page", "page_end", "headings")
    return {"document": str(found.document.id), **{name: getattr(found, name) for name in names}}


@app.command("show")
@print_with(show_found, convert=describe_found)
def show(command: Command, document: str, start: int | None = None, end: int | None = None) -> Document | Passage:
    """Show a document; with --start, its text at a citation."""
    documents = command.engine.documents
    if start is None:
        return documents.get(command.scope, document)
    return documents.passage(command.scope, document, start, start + PASSAGE_CHARS if end is None else end)


@app.command("rm")
@print_with(echo(lambda erased: f"Erased {sum(erased['rows'].values()):,} rows."))
async def remove(command: Command, document: str, yes: bool = False) -> dict[str, Any]:
    """Erase a document and everything derived from it."""
    confirm(f"Erase document {document}", yes)
    async with open_documents() as librarian:
        receipt = await librarian.drop(command.scope, document)
    return {"document": document, "rows": dict(receipt.rows)}


@app.command("backfill")
@print_with(echo(lambda made: f"{made['memories']} new memories of answers"))
async def backfill(command: Command) -> dict[str, int]:
    """Make memories from logged answers that have none yet. Repeating it adds nothing; forgotten ones come back."""
    async with open_documents() as librarian:
        return {"memories": await librarian.backfill(command.scope)}
