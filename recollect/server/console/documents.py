"""The documents page: upload files, ask questions about them, and open the passage that an answer cites.

A session is shown from the log alone. The passages and memories found for an answer are loaded when they are opened.
The values that templates need are in documents_view.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

from starlette.datastructures import UploadFile
from starlette.responses import Response

from recollect.apps.documents.answer_log import Entry, load_entries
from recollect.apps.documents.question import MAX_DOCUMENTS, TOP_K, TOP_MEMORIES, Answered, Question
from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.learning.document_turns import asks_documents
from recollect.server.access.caller import read_chunks
from recollect.server.access.responses import STATUS
from recollect.server.console.documents_view import (
    EXAMPLE,
    EXAMPLE_NAME,
    EXAMPLE_QUESTIONS,
    EXCERPT_CHARS,
    MAX_CITED_CHARS,
    build_exchange,
    choose_range,
    describe_receipt,
    make_excerpt,
)
from recollect.server.console.render import format_pages, redirect, render_html, render_page
from recollect.server.console.visit import Visit, parse_number
from recollect.values.conversation import Conversation
from recollect.values.document import MAX_CHUNK_HITS, Document, Upload
from recollect.values.identity import Action
from recollect.values.lesson import Owner
from recollect.values.query import MAX_QUERY_CHARS
from recollect.values.scope import Scope

PAGE_TURNS = 40
RECENT_SESSIONS = 12  # searched for those that asked documents
PAGE_DOCUMENTS = 50
MAX_FILES = 50  # in one form
OWNERS: Mapping[bool, tuple[Owner, Action]] = {  # of an upload, by whether it is shared
    False: ("user", "add_document"),
    True: ("project", "change_documents"),
}
UPLOAD_PATH = "/console/documents/add"  # its body may be as large as a document


# The page -------------------------------------------------------------------------------------------------------------


async def show_documents(visit: Visit) -> Response:
    session = visit.query("session")
    listed = await load_list(visit)
    sessions = await load_sessions(visit)
    logged = await load_page_entries(visit, session) if session else []
    documents = await load_cited_documents(visit, [entry.answered for entry in logged])
    values = {
        "session": session,
        "sessions": sessions,
        "exchanges": [
            build_exchange(
                *(entry.question.text, entry.at, entry.answered, documents),
                [str(each["id"]) for each in (entry.reply.data or {}).get("memories") or ()],
                is_newest=entry is logged[-1],
            )
            for entry in logged
        ],
        "before": logged[0].question.index if logged else None,
        "questions": EXAMPLE_QUESTIONS,
        # how the last question was asked, for browsers without scripts
        "top": parse_number("top", visit.query("top"), TOP_K),
        "max_top": MAX_CHUNK_HITS,
        "max_chars": MAX_QUERY_CHARS,
        "history": visit.query("history") != "off",
        "memory": visit.query("memory") != "off",
    }
    return render_page(visit, "documents.html", values | listed)


async def load_sessions(visit: Visit) -> list[Conversation]:
    """Return those of the latest sessions whose last question was about documents."""
    scope = visit.scope("history")

    async def is_about_documents(conversation: Conversation) -> bool:
        with suppress(NotFound):  # deleted in the meantime
            return asks_documents(await visit.engine.history(replace(scope, session=conversation.session), limit=1))
        return False

    recent = await visit.engine.conversations(scope, limit=RECENT_SESSIONS)
    checks = await asyncio.gather(*map(is_about_documents, recent))
    return [conversation for conversation, is_ours in zip(recent, checks, strict=True) if is_ours]


async def load_page_entries(visit: Visit, session: str) -> list[Entry]:
    scope = visit.scope("history", session)
    before = parse_number("before", visit.query("before"), 0) or None
    turns = await visit.engine.history(scope, limit=PAGE_TURNS, before=before)
    with report_unreadable():
        return await load_entries(visit.engine, scope, turns, previews=False)


@contextmanager
def report_unreadable() -> Iterator[None]:
    """Raise NotFound for turns that another application wrote in a form we cannot read."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError):
        raise NotFound("This answer cannot be shown: another application wrote it in an unknown format.") from None


async def load_cited_documents(visit: Visit, answers: Sequence[Answered]) -> dict[UUID, Document]:
    """Return the documents that the answers found passages in, as far as they still exist."""
    ids = sorted({str(source.document) for answered in answers for source in answered.sources})[:MAX_DOCUMENTS]
    found = await visit.engine.documents.find(visit.scope("documents"), ids=ids, limit=len(ids)) if ids else []
    return {each.id: each for each in found}


# Asking ---------------------------------------------------------------------------------------------------------------


async def ask(visit: Visit) -> Response:
    """Answer a question: with the exchange alone for a script, else with a redirect to the page that shows it."""
    question = read_question(visit)
    answered = await visit.librarian.query(visit.scope("record", visit.field("session", "")), question)
    if not visit.wants_fragment:
        return redirect(
            "documents",
            session=answered.session,
            only=",".join(map(str, question.documents or ())),
            history="" if question.include_history else "off",
            memory="" if question.top_memories else "off",
            top="" if question.top_k == TOP_K else str(question.top_k),
        )
    documents = await load_cited_documents(visit, [answered])
    memories = [each.id for each in answered.memories]
    exchange = build_exchange(question.query, None, answered, documents, memories, is_newest=True)
    return render_html("documents_exchanges.html", visit=visit, exchanges=[exchange])


def read_question(visit: Visit) -> Question:
    return Question(
        visit.field("question", "").strip() or visit.field("example", ""),
        documents=tuple(map(str, visit.field_list("document"))) or None,
        top_k=parse_number("top", visit.field("top", ""), TOP_K),
        top_memories=TOP_MEMORIES if visit.is_checked("memory") else 0,
        include_history=visit.is_checked("history"),
    )


async def show_sources(visit: Visit) -> Response:
    """Show the passages and memories found for an answer, and which of them it used."""
    session, turn = visit.query("session"), parse_number("turn", visit.query("turn"), 0)
    with report_unreadable():
        answered = await visit.librarian.again(visit.scope("history", session), f"{session}#{turn}")
    values = {
        "answered": answered,
        "turn": turn,
        "documents": await load_cited_documents(visit, [answered]),
    }
    return render_page(visit, "documents_sources.html", values)


# One document ---------------------------------------------------------------------------------------------------------


async def show_document(visit: Visit) -> Response:
    """Show a part of a document with the cited passage marked; without a citation, from its beginning."""
    try:
        document = await visit.engine.documents.get(visit.scope("documents"), visit.query("id"))
    except NotFound:
        raise NotFound("This document no longer exists.") from None
    start, end = (parse_number(name, visit.query(name), 0) for name in ("from", "to"))
    position = parse_number("at", visit.query("at"), 0) if visit.query("at") else None
    here = {"id": document.id, "session": visit.query("session"), "turn": visit.query("turn")}
    if end > start:
        here |= {"from": start, "to": end}
    values = {
        "document": document,
        "here": here,
    }
    return render_page(visit, "document.html", values | await load_excerpt(visit, document, start, end, position))


async def load_excerpt(visit: Visit, document: Document, start: int, end: int, position: int | None) -> dict[str, Any]:
    """Return what the viewer shows. Pages and headings are those of the cited passage where it is in view."""
    if document.status != "processed" or not document.characters:
        return {"excerpt": None}
    scope = visit.scope("documents")
    low, high = choose_range(start, end, position)
    passage = await visit.engine.documents.passage(scope, document.id, low, high)
    is_last = high >= document.characters
    excerpt = make_excerpt(passage, start, end, is_last=is_last)
    located = passage
    if excerpt.marked:
        located = await visit.engine.documents.passage(scope, document.id, start, min(end, start + MAX_CITED_CHARS))
    return {
        "excerpt": excerpt,
        "headings": located.headings,
        "pages": format_pages(located.page, located.page_end),
        "previous": max(excerpt.start - EXCERPT_CHARS, 0) if excerpt.start > 0 else None,
        "next": None if is_last else excerpt.end,
    }


# The list of documents, uploads and deletion --------------------------------------------------------------------------


async def load_list(visit: Visit) -> dict[str, Any]:
    """Return the values that the list of documents needs."""
    after = visit.query("after")
    found = await visit.engine.documents.find(visit.scope("documents"), limit=PAGE_DOCUMENTS + 1, after=after or None)
    listed, waiting = found[:PAGE_DOCUMENTS], ("pending", "processing")
    return {
        "documents": listed,
        "only": visit.query("only").split(","),
        "more": str(found[PAGE_DOCUMENTS - 1].id) if len(found) > PAGE_DOCUMENTS else "",
        "after": after,
        "is_processing": any(each.status in waiting for each in listed),
        "has_example": any(each.source == EXAMPLE_NAME and each.status not in waiting for each in listed),
        "max_bytes": visit.caller.settings.max_document,
        "receipt": None,
    }


async def show_list(visit: Visit) -> Response:
    return render_page(visit, "documents_list_page.html", await load_list(visit))


async def upload(visit: Visit) -> Response:
    """Add the files of a form. One that is refused does not stop the others."""
    owner, action = OWNERS[visit.is_checked("shared")]
    scope = visit.scope(action)
    files = [each for each in visit.field_list("file") if isinstance(each, UploadFile) and each.filename]
    results = [(file.filename, await add_file(visit, scope, file, owner)) for file in files]
    if not results:
        raise InvalidInput("file", "is missing; choose a file first")
    problem = next((each for _, each in results if each), None)
    if problem:
        return render_page(visit, "documents_uploaded.html", {"results": results}, STATUS.get(problem.code, 500))
    return await show_list(visit) if visit.wants_fragment else redirect("documents", notice="added")


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


async def add_example(visit: Visit) -> Response:
    await visit.engine.documents.add(visit.scope("add_document"), Upload(EXAMPLE_NAME, EXAMPLE.encode()))
    return redirect("documents", notice="added")


async def delete_document(visit: Visit) -> Response:
    """Delete a document, and show the receipt: the number of rows deleted."""
    document = await visit.engine.documents.get(visit.scope("documents"), visit.field("id"))
    scope = visit.scope("drop_document" if document.owner == "user" else "change_documents")
    receipt = await visit.librarian.drop(scope, visit.field("id"), owner=document.owner)
    values = {"document": document, "receipt": receipt, "deleted": describe_receipt(receipt)}
    if not visit.wants_fragment:
        return render_page(visit, "documents_deleted.html", values)
    return render_page(visit, "documents_list_page.html", await load_list(visit) | values)


GET_ROUTES = {
    "/documents": show_documents,
    "/documents/sources": show_sources,
    "/documents/one": show_document,
    "/documents/list": show_list,
}
POST_ROUTES = {
    "/documents/ask": ask,
    "/documents/add": upload,
    "/documents/example": add_example,
    "/documents/drop": delete_document,
}
