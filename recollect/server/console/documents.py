"""The documents page: upload files, ask questions about them, and open the passage that an answer cites.

A session is shown from the log alone. An answer names its passages as `Doc <id>/Chunk <n>`: the page shows numbers
instead, each a link; a passage that the answer was not given stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from starlette.datastructures import UploadFile
from starlette.responses import Response

from recollect import Document, InvalidInput, NotFound, RecollectError, Scope, Upload
from recollect.apps.documents.librarian import Entry, load_entries
from recollect.apps.documents.question import TOP_K, TOP_MEMORIES, Answered, Question, Source
from recollect.learning.document_turns import CITATION, HOST, IN_BRACKETS
from recollect.server.access.caller import read_chunks
from recollect.server.access.responses import STATUS
from recollect.server.console.handlers import Pages, Values
from recollect.server.console.render import FOLDER, format_pages, get_ref_index, redirect, render_html, render_page
from recollect.server.console.visit import Visit
from recollect.values.document import MAX_CHUNK_HITS
from recollect.values.lesson import Owner
from recollect.values.query import MAX_QUERY_CHARS

pages = Pages()
CONTEXT_CHARS = 1_200  # shown on either side of a citation
EXCERPT_CHARS = 3_000  # shown where nothing is cited
WORD_CHARS = 80  # an excerpt is shortened by at most this much, so that it starts and ends with a whole word
MAX_CITED_CHARS = 20_000  # an address can ask for any range
REFERENCE = re.compile(rf"{IN_BRACKETS.pattern}|{CITATION.pattern}|\[(?P<memory>[^\[\]\s]{{1,300}})\]")
EXAMPLE_NAME = "Example - bicycle workshop.md"
PAGE_TURNS = 40
RECENT_SESSIONS = 12
PAGE_DOCUMENTS = 50
WAITING = ("pending", "processing")
MAX_FILES = 50  # in one form
UPLOAD_PATH = "/console/documents/add"  # its body may be as large as a document


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer cites, with its number in the text."""

    number: int
    source: Source


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer. `pieces` are its texts, each with the citations and the refs of memories that follow
    it; `memories` are the ids of those that were given beside the passages."""

    question: str
    at: datetime | None
    answered: Answered
    citations: Sequence[Citation]
    pieces: Sequence[tuple[str, Sequence[Citation | str]]]
    memories: Sequence[str]

    @property
    def index(self) -> int | None:
        """The answer's index in the session; None where it was not logged."""
        index = get_ref_index(self.answered.ref)
        return int(index) if index else None


def build_exchange(question: str, at: datetime | None, answered: Answered, memories: Sequence[str]) -> Exchange:
    citations = number_citations(answered)
    text, pieces, position = answered.answer, list[tuple[str, Sequence[Citation | str]]](), 0
    for match in REFERENCE.finditer(text):
        names = map(make_passage_name, CITATION.finditer(match[0]))
        memory = [match["memory"]] if match["memory"] in memories else []
        if refs := [*memory, *(citations[name] for name in names if name in citations)]:
            pieces.append((text[position : match.start()], refs))
            position = match.end()
    pieces.append((text[position:], ()))
    return Exchange(question, at, answered, tuple(citations.values()), pieces, memories)


def number_citations(answered: Answered) -> dict[str, Citation]:
    """Return the cited passages by their name in the answer, numbered in the order of its text."""
    sources = {f"Doc {each.document}/Chunk {each.chunk}": each for each in answered.sources if each.cited}
    in_text = [make_passage_name(match) for match in CITATION.finditer(answered.answer)]
    order = dict.fromkeys((*(name for name in in_text if name in sources), *sources))
    return {name: Citation(number, sources[name]) for number, name in enumerate(order, 1)}


def make_passage_name(match: re.Match[str]) -> str:
    return f"Doc {match[1].lower()}/Chunk {int(match[2])}"


# The page -------------------------------------------------------------------------------------------------------------


@pages.get("/documents", "documents.html")
async def show_documents(
    visit: Visit,
    session: str = "",
    before: int = 0,
    after: str = "",
    only: str = "",
    top: int = TOP_K,
    history: str = "",
    memory: str = "",
) -> Values:
    """Show a session, and the list of documents. The last four arguments say how its last question was asked, for
    browsers without scripts."""
    listed, scope = await load_list(visit, after, only), visit.scope("history", session)
    sessions = await visit.engine.conversations(visit.scope("history"), limit=RECENT_SESSIONS, host=HOST)
    logged: list[Entry] = []
    if session:
        turns = await visit.engine.history(scope, limit=PAGE_TURNS, before=before or None)
        with report_unreadable():
            logged = await load_entries(visit.engine, scope, turns, previews=False)
    return listed | {
        "session": session,
        "sessions": sessions,
        "exchanges": [
            build_exchange(
                *(entry.question.text, entry.at, entry.answered),
                [str(each["id"]) for each in (entry.reply.data or {}).get("memories") or ()],
            )
            for entry in logged
        ],
        "before": logged[0].question.index if logged else None,
        "top": top,
        "max_top": MAX_CHUNK_HITS,
        "max_chars": MAX_QUERY_CHARS,
        "history": history != "off",
        "memory": memory != "off",
    }


@contextmanager
def report_unreadable() -> Iterator[None]:
    """Raise NotFound for turns that another application wrote in a form we cannot read."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError):
        raise NotFound("This answer cannot be shown: another application wrote it in an unknown format.") from None


# Asking ---------------------------------------------------------------------------------------------------------------


@pages.post("/documents/ask")
async def ask(
    visit: Visit,
    memory: bool,
    history: bool,
    question: str = "",
    example: str = "",
    session: str = "",
    top: int = TOP_K,
) -> Response:
    """Answer a question: with the exchange alone for a script, else with a redirect to the page that shows it."""
    asked = Question(
        question.strip() or example,
        documents=tuple(map(str, visit.field_list("document"))) or None,
        top_k=top,
        top_memories=TOP_MEMORIES if memory else 0,
        include_history=history,
    )
    answered = await visit.librarian.query(visit.scope("record", session), asked)
    if not visit.wants_fragment:
        return redirect(
            "documents",
            session=answered.session,
            only=",".join(map(str, asked.documents or ())),
            history="" if history else "off",
            memory="" if memory else "off",
            top="" if top == TOP_K else str(top),
        )
    exchange = build_exchange(asked.query, None, answered, [each.id for each in answered.memories])
    return render_html("documents_exchanges.html", visit=visit, exchanges=[exchange])


@pages.get("/documents/sources", "documents_sources.html")
async def show_sources(visit: Visit, session: str = "", turn: int = 0) -> Values:
    """Show the passages and memories found for an answer, and which of them it used."""
    with report_unreadable():
        answered = await visit.librarian.again(visit.scope("history", session), f"{session}#{turn}")
    return {"answered": answered, "turn": turn}


# One document ---------------------------------------------------------------------------------------------------------


@pages.get("/documents/one", "document.html")
async def show_document(
    visit: Visit,
    id: str = "",  # noqa: A002 - as in the address
    from_: int = 0,
    to: int = 0,
    at: int | None = None,
    session: str = "",
    turn: str = "",
) -> Values:
    """Show a part of a document with the cited passage marked; without a citation, from its beginning."""
    try:
        document = await visit.engine.documents.get(visit.scope("documents"), id)
    except NotFound:
        raise NotFound("This document no longer exists.") from None
    cited = {"from": from_, "to": to} if to > from_ else {}
    here = {"id": document.id, "session": session, "turn": turn, **cited}
    return {"document": document, "here": here} | await load_excerpt(visit, document, from_, to, at)


async def load_excerpt(visit: Visit, document: Document, start: int, end: int, position: int | None) -> Values:
    """Return the part to show: from a position on, else around a citation, else from the beginning. Pages and headings
    are those of the cited passage where it is in view."""
    if document.status != "processed" or not document.characters:
        return {"is_readable": False}
    low, high = 0, EXCERPT_CHARS
    if position is not None:
        low, high = position, position + EXCERPT_CHARS
    elif end > start:
        low, high = max(start - CONTEXT_CHARS, 0), min(end, start + MAX_CITED_CHARS) + CONTEXT_CHARS
    scope, load = visit.scope("documents"), visit.engine.documents.passage
    located = passage = await load(scope, document.id, low, high)
    is_last = high >= document.characters
    first, last = trim_words(passage.text, has_start=not passage.start, has_end=is_last)
    cited = slice(*(min(max(at - passage.start, first), last) for at in (start, max(start, end))))
    if passage.text[cited]:
        located = await load(scope, document.id, start, min(end, start + MAX_CITED_CHARS))
    low, high = passage.start + first, passage.start + last
    return {
        "is_readable": True,
        "text": passage.text[first : cited.start],
        "cited": passage.text[cited],
        "after": passage.text[cited.stop : last],
        "headings": located.headings,
        "pages": format_pages(located.page, located.page_end),
        "previous": max(low - EXCERPT_CHARS, 0) if low > 0 else None,
        "next": None if is_last else high,
    }


def trim_words(text: str, *, has_start: bool, has_end: bool) -> tuple[int, int]:
    """Return the range of a text without the words that are cut at its ends."""
    first, last = 0, len(text)
    if not has_start and (space := re.search(r"\s", text[:WORD_CHARS])) and space.end() < len(text):
        first = space.end()
    if not has_end and (word := re.search(r"\s\S*$", text[-WORD_CHARS:])) and len(word[0]) < len(text):
        last -= len(word[0])
    return first, last


# The list of documents, uploads and deletion --------------------------------------------------------------------------


async def load_list(visit: Visit, after: str = "", only: str = "") -> Values:
    """Return the values that the list of documents needs."""
    found = await visit.engine.documents.find(visit.scope("documents"), limit=PAGE_DOCUMENTS + 1, after=after or None)
    listed = found[:PAGE_DOCUMENTS]
    return {
        "documents": listed,
        "only": only.split(","),
        "more": str(found[PAGE_DOCUMENTS - 1].id) if len(found) > PAGE_DOCUMENTS else "",
        "after": after,
        "is_processing": any(each.status in WAITING for each in listed),
        "has_example": any(each.source == EXAMPLE_NAME and each.status not in WAITING for each in listed),
        "max_bytes": visit.caller.settings.max_document,
        "receipt": None,
    }


@pages.get("/documents/list", "documents_list_page.html")
async def show_list(visit: Visit, after: str = "", only: str = "") -> Values:
    return await load_list(visit, after, only)


@pages.post(UPLOAD_PATH.removeprefix("/console"), files=MAX_FILES)
async def upload(visit: Visit, shared: bool) -> Response:
    """Add the files of a form. One that is refused does not stop the others."""
    owner: Owner = "project" if shared else "user"
    scope = visit.scope("change_documents" if shared else "add_document")
    results = [(file.filename, await add_file(visit, scope, file, owner)) for file in visit.files("file")]
    if not results:
        raise InvalidInput("file", "is missing; choose a file first")
    problem = next((each for _, each in results if each), None)
    if problem:
        return render_page(visit, "documents_uploaded.html", {"results": results}, STATUS.get(problem.code, 500))
    if not visit.wants_fragment:
        return redirect("documents", notice="added")
    return render_page(visit, "documents_list_page.html", await load_list(visit))


async def add_file(visit: Visit, scope: Scope, file: UploadFile, owner: Owner) -> RecollectError | None:
    """Add a file, and return why it was refused."""
    content = Upload(file.filename or "file", read_chunks(file), most=visit.caller.settings.max_document)
    try:
        await visit.engine.documents.add(scope, content, owner=owner)
    except RecollectError as problem:
        return problem
    finally:
        await file.close()
    return None


@pages.post("/documents/example")
async def add_example(visit: Visit) -> Response:
    example = Upload(EXAMPLE_NAME, FOLDER / "pages" / "example_document.md")
    await visit.engine.documents.add(visit.scope("add_document"), example)
    return redirect("documents", notice="added")


@pages.post("/documents/drop", "documents_list_page.html")
async def delete_document(visit: Visit, id: str) -> Values:  # noqa: A002 - the field's name
    """Delete a document, and show the receipt: the number of rows deleted."""
    document = await visit.engine.documents.get(visit.scope("documents"), id)
    scope = visit.scope("drop_document" if document.owner == "user" else "change_documents")
    receipt = await visit.librarian.drop(scope, id, owner=document.owner)
    return await load_list(visit) | {"document": document, "receipt": receipt}
