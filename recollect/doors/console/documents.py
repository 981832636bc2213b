"""The documents room: questions to documents, and the place in a document that an answer rests on. Questions go to the
documents host, as from any other door; earlier ones come from its log. The shelf beside them is documents_shelf.py.

A session's answers are shown from the log alone. What else was found for one, and what was remembered beside it, is
read when somebody opens it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

from starlette.responses import Response

from recollect.doors.console import documents_shelf
from recollect.doors.console.documents_example import EXAMPLE_NAME, EXAMPLE_QUESTIONS
from recollect.doors.console.documents_shapes import (
    LEAF,
    MOST_CITED,
    Exchange,
    exchange,
    from_entry,
    leaf,
    memory_ref,
    on_pages,
    place_of,
    size_of,
    whole_number,
    window,
)
from recollect.doors.console.render import back, html, page
from recollect.doors.console.serving import done, shown
from recollect.doors.console.visit import Visit
from recollect.errors import NotFound
from recollect.hosts.documents.asking import MOST_DOCUMENTS, TOP_K, TOP_MEMORIES, Answered, Question
from recollect.hosts.documents.keeping import Entry, entries
from recollect.model.conversation import Conversation
from recollect.model.document_search import MAX_CHUNK_HITS
from recollect.model.document_turns import asks_documents
from recollect.model.library import Document
from recollect.model.scope import Scope
from recollect.model.search import MAX_QUERY_CHARS

TURNS = 40  # of a session, on a page
TOPICS = 12  # sessions among which those that asked documents are looked for
NOT_HERE = "this document is not here any more"


async def documents_page(visit: Visit) -> Response:
    session = visit.asked("session")
    shelf = await documents_shelf.shelf_of(visit)
    talks = await topics(visit)
    found = await earlier(visit, session) if session else []
    first = (found[0].question.index or 0) if found else 0
    values = {
        "session": session,
        "topics": talks,
        "topic": next((each.name for each in talks if each.session == session), ""),
        "exchanges": await exchanges(visit, found),
        "before": first or None,
        "questions": EXAMPLE_QUESTIONS if has_example(shelf) else (),
    }
    return page(visit, "documents.html", values | shelf | wishes(visit) | {"memory_ref": memory_ref})


def has_example(shelf: dict[str, Any]) -> bool:
    return any(each.document.source == EXAMPLE_NAME for each in shelf["shelved"] if not each.is_unread)


def wishes(visit: Visit) -> dict[str, Any]:
    """How it was asked last, for a page that comes again without a script."""
    return {
        "top": whole_number("top", visit.asked("top"), TOP_K),
        "most_top": MAX_CHUNK_HITS,
        "most_chars": MAX_QUERY_CHARS,
        "history": visit.asked("history") != "off",
        "memory": visit.asked("memory") != "off",
    }


async def topics(visit: Visit) -> list[Conversation]:
    """The last sessions that asked documents."""
    scope = visit.scope("history")
    talks = await visit.engine.conversations(scope, limit=TOPICS)
    asked = await asyncio.gather(*(asks(visit, replace(scope, session=talk.session)) for talk in talks))
    return [talk for talk, is_ours in zip(talks, asked, strict=True) if is_ours]


async def asks(visit: Visit, scope: Scope) -> bool:
    with suppress(NotFound):  # forgotten at this moment
        return asks_documents(await visit.engine.history(scope, limit=1))
    return False


async def earlier(visit: Visit, session: str) -> list[Entry]:
    before = visit.asked("before")
    scope = visit.scope("history", session)
    last = whole_number("before", before, 0) or None
    turns = await visit.engine.history(scope, limit=TURNS, before=last)
    with readable():
        return await entries(visit.engine, scope, turns, previews=False)


@contextmanager
def readable() -> Iterator[None]:
    """An application may have written the host's name on turns of its own."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError):
        raise NotFound("what was kept of this answer cannot be read; another application wrote it") from None


async def exchanges(visit: Visit, found: Sequence[Entry]) -> list[Exchange]:
    documents = await documents_of(visit, [entry.answered for entry in found])
    return [from_entry(entry, documents, entry is found[-1]) for entry in found]


async def documents_of(visit: Visit, answers: Sequence[Answered]) -> dict[UUID, Document]:
    """Those that answers found something in, as far as they are still there."""
    ids = sorted({str(source.document) for answered in answers for source in answered.sources})[:MOST_DOCUMENTS]
    found = await visit.engine.documents(visit.scope("documents"), ids=ids, limit=len(ids)) if ids else []
    return {each.id: each for each in found}


async def ask(visit: Visit) -> Response:
    """A script gets the question with its answer; a browser without one is sent to the page that has them."""
    question = question_in(visit)
    scope = visit.scope("record", visit.said("session", ""))
    answered = await visit.librarian.query(scope, question)
    if not visit.wants_piece:
        return back("documents", session=answered.session, **asked_with(question))
    documents = await documents_of(visit, [answered])
    memories = [each.id for each in answered.memories]
    told = exchange(question.query, None, answered, documents, memories, is_newest=True)
    return html("documents_asked.html", visit=visit, exchanges=[told], memory_ref=memory_ref)


def question_in(visit: Visit) -> Question:
    chosen = tuple(str(each) for each in visit.form.getlist("document")) if visit.form is not None else ()
    return Question(
        visit.said("question", "").strip() or visit.said("example", ""),
        documents=chosen or None,
        top_k=whole_number("top", visit.said("top", ""), TOP_K),
        top_memories=TOP_MEMORIES if visit.ticked("memory") else 0,
        include_history=visit.ticked("history"),
    )


def asked_with(question: Question) -> dict[str, str]:
    return {
        "only": ",".join(map(str, question.documents or ())),
        "history": "" if question.include_history else "off",
        "memory": "" if question.top_memories else "off",
        "top": "" if question.top_k == TOP_K else str(question.top_k),
    }


async def basis(visit: Visit) -> Response:
    """What was found for an answer, what of it counted, and what was remembered beside it."""
    session, turn = visit.asked("session"), whole_number("turn", visit.asked("turn"), 0)
    with readable():
        answered = await visit.librarian.again(visit.scope("history", session), f"{session}#{turn}")
    values = {
        "answered": answered,
        "turn": turn,
        "documents": await documents_of(visit, [answered]),
        "place_of": place_of,
        "on_pages": on_pages,
        "memory_ref": memory_ref,
    }
    return page(visit, "documents_basis.html", values)


async def document_page(visit: Visit) -> Response:
    """A part of a document, with the cited words marked; without a citation, from its beginning."""
    document = await document_named(visit)
    start, end = (whole_number(name, visit.asked(name), 0) for name in ("from", "to"))
    at = whole_number("at", visit.asked("at"), 0) if visit.asked("at") else None
    here = {"id": document.id, "session": visit.asked("session"), "turn": visit.asked("turn")}
    if end > start:
        here |= {"from": start, "to": end}
    values = {
        "document": document,
        "size": size_of(document.size),
        "here": here,
        "may_drop": may_drop(visit, document),
    }
    return page(visit, "document.html", values | await read(visit, document, start, end, at))


def may_drop(visit: Visit, document: Document) -> bool:
    return visit.may("drop_document" if document.owner == "user" else "change_documents")


async def document_named(visit: Visit) -> Document:
    try:
        return await visit.engine.document(visit.scope("documents"), visit.asked("id"))
    except NotFound:
        raise NotFound(NOT_HERE) from None


async def read(visit: Visit, document: Document, start: int, end: int, at: int | None) -> dict[str, Any]:
    """What the viewer shows. Page and headings are those of the cited words where these are in view."""
    if document.status != "processed" or not document.characters:
        return {"leaf": None}
    scope = visit.scope("documents")
    low, high = window(start, end, at)
    passage = await visit.engine.passage(scope, document.id, low, high)
    is_last = high >= document.characters
    shown = leaf(passage, start, end, is_last=is_last)
    about = passage
    if shown.marked:
        about = await visit.engine.passage(scope, document.id, start, min(end, start + MOST_CITED))
    return {
        "leaf": shown,
        "headings": about.headings,
        "pages": on_pages(about.page, about.page_end),
        "previous": max(shown.start - LEAF, 0) if shown.start > 0 else None,
        "next": None if is_last else shown.end,
    }


routes = (
    shown("/documents", documents_page),
    shown("/documents/basis", basis),
    shown("/documents/one", document_page),
    done("/documents/ask", ask),
    *documents_shelf.routes,
)
