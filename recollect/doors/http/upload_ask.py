"""Upload and ask as routes: documents added, listed, looked into and dropped; questions to them; what was asked. Fields
are named as callers of /api/v1/upload-ask know them. What is answered is the host's (recollect/hosts/documents), which
the application keeps as `app.state.librarian`.

An uploaded form is read only after its caller is known; its file goes to disk as it comes, never whole into memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from recollect.doors.http.answers import ReceiptAnswer
from recollect.doors.http.bodies import chars
from recollect.doors.http.caller import Called, Caller, Key, Uploads, does
from recollect.doors.http.refusals import REFUSALS, refusal
from recollect.doors.http.render import Json
from recollect.doors.http.repeats import Repeat, receipt_again
from recollect.doors.http.upload_shapes import (
    AskBody,
    AskedAnswer,
    DocumentAnswer,
    DocumentsAnswer,
    LogsAnswer,
    PassageAnswer,
    SessionsAnswer,
    UploadedAnswer,
    asked_shape,
    document_shape,
    log_shape,
    session_shape,
)
from recollect.doors.shapes import receipt_shape
from recollect.engine import Engine
from recollect.errors import InvalidInput
from recollect.hosts.documents.librarian import Librarian
from recollect.model.lesson import Owner
from recollect.model.library import Upload
from recollect.model.permissions import Action
from recollect.model.scope import Scope

ROOT = "/api/v1/upload-ask"
UPLOADS = f"{ROOT}/documents"
FORM_BYTES = 1_000_000  # of a form beside its file
MOST_FIELDS = 10
FIELD_BYTES = 10_000
PIECE = 1 << 20
PASSAGE = 1_000  # characters, where no end is given
router = APIRouter(prefix=ROOT, tags=["documents"], responses=REFUSALS)
FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary", "examples": ["(the file)"]},
                        "title": {"type": "string", "description": "By default the file's name.", **chars(500)},
                        "shared": {"type": "boolean", "description": "For all users of the project.", "default": False},
                    },
                }
            }
        },
    }
}
UNREAD = refusal("No form, or a file of a kind that is not read.", "unsupported_media_type", "upload: …", "upload")
UserParam = Annotated[
    str | None, Query(alias="userId", description="Whose; by default the caller's own.", examples=["alex"])
]
ProjectParam = Annotated[str | None, Query(description="The project; by default the caller's.", examples=["shop"])]


@dataclass(frozen=True, slots=True)
class Form:
    file: UploadFile
    title: str
    is_shared: bool

    @property
    def name(self) -> str:
        return self.file.filename or "file"

    async def pieces(self) -> AsyncIterator[bytes]:
        await self.file.seek(0)
        while piece := await self.file.read(PIECE):
            yield piece

    async def digest(self) -> str:
        made = hashlib.sha256()
        async for piece in self.pieces():
            made.update(piece)
        return made.hexdigest()


@router.post(
    "/documents",
    status_code=202,
    response_model=UploadedAnswer,
    responses={415: UNREAD},
    openapi_extra={**does("add_document", "change_documents"), **FORM},
)
async def upload_document(
    called: Uploads, request: Request, user: UserParam = None, project: ProjectParam = None, key: Key = None
) -> Response:
    """Add a document. It is kept when this answers, and read in the background; the same bytes are one document. With
    `shared` all users of the project find it."""
    async with request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=FIELD_BYTES) as given:
        return await added(called, form_of(given), user, project, key)


def form_of(given: FormData) -> Form:
    file, title, shared = given.get("file"), given.get("title", ""), given.get("shared", "false")
    if not isinstance(file, UploadFile):
        raise InvalidInput("file", "send the file as the part `file` of the form, with its name")
    if not isinstance(title, str) or not isinstance(shared, str) or shared.lower() not in ("true", "false", ""):
        raise InvalidInput("shared", "is true or false")
    return Form(file, title.strip(), shared.lower() == "true")


async def added(called: Caller, form: Form, user: str | None, project: str | None, key: str | None) -> Response:
    action: Action = "change_documents" if form.is_shared else "add_document"
    scope = called.scope(action, user, None, project)
    said = None if key is None else ["upload", form.name, form.title, form.is_shared, await form.digest()]

    async def work() -> object:
        upload = Upload(form.name, form.pieces(), form.title, most=called.settings.max_document)
        owner: Owner = "project" if form.is_shared else "user"
        return {"document": document_shape(await called.engine.add_document(scope, upload, owner=owner))}

    async def told(kept: Mapping[str, Any], engine: Engine, scope: Scope) -> Mapping[str, Any]:
        return {"document": document_shape(await engine.document(scope, kept["id"]))}

    repeat = Repeat(lambda answer: {"id": str(answer["document"]["id"])}, told)
    return await called.once(scope, key, said, work, repeat, status=202)


@router.get("/documents", response_model=DocumentsAnswer, openapi_extra=does("documents"))
async def list_documents(
    called: Called,
    user: UserParam = None,
    project: ProjectParam = None,
    status: Annotated[
        str | None, Query(description="Only these, such as `pending,failed`.", examples=["processed"])
    ] = None,
    limit: int = 100,
    after: Annotated[UUID | None, Query(description="The last of a page, to go on from.")] = None,
) -> Json:
    """The user's documents and the project's, the newest first."""
    scope = called.scope("documents", user, None, project)
    # Which there are is the library's business.
    wanted: Any = [each.strip() for each in status.split(",") if each.strip()] if status else None
    found = await called.engine.documents(scope, status=wanted, limit=limit, after=str(after) if after else None)
    return Json({"items": [document_shape(each) for each in found]})


@router.get("/documents/{id}", response_model=DocumentAnswer, openapi_extra=does("documents"))
async def show_document(id: str, called: Called, user: UserParam = None, project: ProjectParam = None) -> Json:  # noqa: A002
    """A document: how far it is, what it has, or why it failed."""
    scope = called.scope("documents", user, None, project)
    return Json(document_shape(await called.engine.document(scope, id)))


@router.get("/documents/{id}/passage", response_model=PassageAnswer, openapi_extra=does("documents"))
async def show_passage(
    id: str,  # noqa: A002
    called: Called,
    start: Annotated[int, Query(examples=[0])] = 0,
    end: Annotated[int | None, Query(examples=[512])] = None,
    user: UserParam = None,
    project: ProjectParam = None,
) -> Json:
    """The text of a document at a citation, from one character to another, with its page and headings."""
    scope = called.scope("documents", user, None, project)
    found = await called.engine.passage(scope, id, start, start + PASSAGE if end is None else end)
    place = {"start": found.start, "end": found.end, "page": found.page, "pageEnd": found.page_end}
    return Json({"documentId": found.document.id, "text": found.text, **place, "headings": list(found.headings)})


@router.delete("/documents/{id}", response_model=ReceiptAnswer, openapi_extra=does("drop_document", "change_documents"))
async def delete_document(
    id: str,  # noqa: A002
    called: Called,
    request: Request,
    shared: Annotated[bool, Query(description="It is the project's.")] = False,
    user: UserParam = None,
    project: ProjectParam = None,
    key: Key = None,
) -> Response:
    """Erase a document with everything made of it. One that is shared takes who may change those."""
    scope = called.scope("change_documents" if shared else "drop_document", user, None, project)

    async def work() -> object:
        found = await called.engine.document(scope, id, owner="project" if shared else None)
        if found.owner == "project":
            called.scope("change_documents", user, None, project)
        return receipt_shape(await librarian_of(request).drop(scope, id, owner=found.owner))

    return await called.once(scope, key, ["drop document", id, shared], work, receipt_again(), status=200)


def librarian_of(request: Request) -> Librarian:
    librarian: Librarian = request.app.state.librarian
    return librarian


@router.post("/query", response_model=AskedAnswer, openapi_extra=does("record"))
async def ask_documents(body: AskBody, called: Called, request: Request, key: Key = None) -> Response:
    """Ask the documents. The answer names what it rests on; both are kept in the log."""
    return await asked(body, called, request, key)


@router.post("/qa/query", response_model=AskedAnswer, openapi_extra=does("record"))
async def ask_documents_in_session(body: AskBody, called: Called, request: Request, key: Key = None) -> Response:
    """Ask the documents; the same as `query`, under its other name."""
    return await asked(body, called, request, key)


async def asked(body: AskBody, called: Caller, request: Request, key: str | None) -> Response:
    """Under an idempotency key it is asked once, and answered again from the log: only its place there is kept."""
    scope, question = called.scope("record", body.userId, body.sessionId, body.project), body.question()
    librarian, refs = librarian_of(request), list[str | None]()

    async def work() -> object:
        answer = await librarian.query(scope, question)
        refs.append(answer.ref)
        return asked_shape(answer)

    async def told(kept: Mapping[str, Any], engine: Engine, scope: Scope) -> Mapping[str, Any]:
        again = librarian.again(scope, kept["ref"]) if kept["ref"] else librarian.query(scope, question)
        return asked_shape(await again)

    repeat = Repeat(lambda _: {"ref": refs[-1]}, told)
    return await called.once(scope, key, ["ask documents", body.model_dump()], work, repeat, status=200)


@router.get("/qa/sessions", response_model=SessionsAnswer, openapi_extra=does("history"))
async def document_sessions(
    called: Called, user: UserParam = None, project: ProjectParam = None, limit: int = 50, offset: int = 0
) -> Json:
    """A user's conversations, the last one first."""
    scope = called.scope("history", user, None, project)
    found = await called.engine.conversations(scope, limit=limit, offset=offset)
    return Json({"sessions": [session_shape(each) for each in found]})


@router.get("/qa/sessions/{session_id:path}/logs", response_model=LogsAnswer, openapi_extra=does("history"))
async def document_logs(
    session_id: str,
    called: Called,
    request: Request,
    user: UserParam = None,
    project: ProjectParam = None,
    limit: Annotated[int, Query(description="Turns of the session that are looked through, from its end.")] = 100,
    before: int | None = None,
) -> Json:
    """What was asked of documents in a session, oldest first, with the answers and what they rest on."""
    scope = called.scope("history", user, session_id, project)
    found = await librarian_of(request).log(scope, limit=limit, before=before)
    return Json({"logs": [log_shape(each) for each in found]})
