"""The shelf of the documents room: files come in, are seen being read, and go. What a form sends is kept only when it
is one of ours (serving.py checks that first), as the HTTP door keeps it; who may share with the project is asked there
too. A script sends one file at a time and takes the shelf as its answer; a browser without one sends them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import Response

from recollect.doors.console.documents_example import EXAMPLE, EXAMPLE_NAME
from recollect.doors.console.documents_shapes import size_of
from recollect.doors.console.render import back, page
from recollect.doors.console.serving import done, shown
from recollect.doors.console.visit import Visit
from recollect.doors.http.envelope import STATUS
from recollect.doors.http.upload_ask import Form
from recollect.errors import InvalidInput, RecollectError
from recollect.model.library import Document, Upload
from recollect.model.receipt import Receipt

UPLOADS = "/console/documents/add"  # what comes there may be as large as a document
SHELF = 50  # documents on a page
MOST_FILES = 50  # of one form
UNREAD = ("pending", "processing")
# What a receipt counts, for one and for many.
COUNTED = {
    "document": ("document", "documents"),
    "document_part": ("part of the file", "parts of the file"),
    "chunk": ("passage", "passages"),
    "chunk_vector": ("vector", "vectors"),
    "posting": ("entry of the index", "entries of the index"),
}


@dataclass(frozen=True, slots=True)
class Sent:
    """A file of a form, and why it was not taken; None if it was."""

    name: str
    problem: RecollectError | None = None

    @property
    def words(self) -> str:
        return str(self.problem or "").removeprefix("upload: ")


@dataclass(frozen=True, slots=True)
class Shelved:
    """A document as the list shows it."""

    document: Document
    is_chosen: bool
    may_drop: bool

    @property
    def size(self) -> str:
        return size_of(self.document.size)

    @property
    def is_unread(self) -> bool:
        return self.document.status in UNREAD


async def shelf_of(visit: Visit) -> dict[str, Any]:
    """What the list needs, for whoever shows it."""
    after, only = visit.asked("after"), visit.asked("only").split(",")
    found = await visit.engine.documents(visit.scope("documents"), limit=SHELF + 1, after=after or None)
    may = {"user": visit.may("drop_document"), "project": visit.may("change_documents")}
    shelved = [Shelved(each, str(each.id) in only, may[each.owner]) for each in found[:SHELF]]
    return {
        "shelved": shelved,
        "more": str(found[SHELF - 1].id) if len(found) > SHELF else "",
        "after": after,
        "is_reading": any(each.is_unread for each in shelved),
        "most": visit.caller.settings.max_document,
        "most_words": size_of(visit.caller.settings.max_document),
        "receipt": None,
    }


async def shelf(visit: Visit) -> Response:
    return page(visit, "documents_shelf.html", await shelf_of(visit))


async def add(visit: Visit) -> Response:
    is_shared = visit.ticked("shared")
    visit.scope("change_documents" if is_shared else "add_document")
    sent = [await taken(visit, file, is_shared) for file in files_in(visit)]
    refused = next((each.problem for each in sent if each.problem), None)
    if refused is not None:
        return page(visit, "documents_sent.html", {"sent": sent}, STATUS.get(refused.code, 500))
    return await shelf(visit) if visit.wants_piece else back("documents", told="added")


def files_in(visit: Visit) -> Sequence[UploadFile]:
    given = visit.form.getlist("file") if visit.form is not None else []
    files = [each for each in given if isinstance(each, UploadFile) and each.filename]
    if not files:
        raise InvalidInput("file", "choose a file first")
    return files


async def taken(visit: Visit, file: UploadFile, is_shared: bool) -> Sent:
    """One that is refused does not keep the others out."""
    form = Form(file, "", is_shared)
    upload = Upload(form.name, form.pieces(), most=visit.caller.settings.max_document)
    scope = visit.scope("change_documents" if is_shared else "add_document")
    try:
        await visit.engine.add_document(scope, upload, owner="project" if is_shared else "user")
    except RecollectError as problem:
        return Sent(form.name, problem)
    finally:
        await file.close()
    return Sent(form.name)


async def add_example(visit: Visit) -> Response:
    """Something to ask, for who has nothing at hand."""
    upload = Upload(EXAMPLE_NAME, EXAMPLE.encode())
    await visit.engine.add_document(visit.scope("add_document"), upload)
    return back("documents", told="added")


async def drop(visit: Visit) -> Response:
    """With a receipt: what was erased, counted."""
    wanted, scope = visit.said("id"), visit.scope("documents")
    found = await visit.engine.document(scope, wanted)
    scope = visit.scope("drop_document" if found.owner == "user" else "change_documents")
    receipt = await visit.librarian.drop(scope, wanted, owner=found.owner)
    return await dropped(visit, found, receipt)


async def dropped(visit: Visit, document: Document, receipt: Receipt) -> Response:
    told = {"document": document, "receipt": receipt, "erased": erased(receipt)}
    if not visit.wants_piece:
        return page(visit, "documents_dropped.html", told)
    return page(visit, "documents_shelf.html", await shelf_of(visit) | told)


def erased(receipt: Receipt) -> str:
    """In words: `1 document, 12 passages`."""
    rows = reversed([*receipt.rows.items()])  # what a person knows comes first
    counted = ((COUNTED.get(name, (name, name)), count) for name, count in rows if count)
    return ", ".join(f"{count:,} {one if count == 1 else many}" for (one, many), count in counted)


routes = (
    shown("/documents/shelf", shelf),
    done(UPLOADS.removeprefix("/console"), add, MOST_FILES),
    done("/documents/example", add_example),
    done("/documents/drop", drop),
)
