"""Upload and ask as routes: add, list, show and delete documents; ask them; list past questions. Fields are named as
callers of /api/v1/upload-ask know them. The librarian (recollect/apps/documents) is `app.state.librarian`.

An uploaded form is read only after its caller is identified; the file goes to disk as it arrives, never whole into
memory.
"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from recollect.apps.documents.librarian import Librarian
from recollect.apps.documents.question import Answered
from recollect.errors import InvalidInput
from recollect.server.access.caller import Caller, CurrentCaller, CurrentUploader
from recollect.server.access.idempotency import RECEIPT_REPLAY, IdempotencyKey, Replay, Stored, run_once
from recollect.server.access.route_rules import authorized, idempotent, requires, respond
from recollect.server.access.upload_form import UploadForm
from recollect.server.http.bodies import chars
from recollect.server.http.openapi import ERRORS, error_example, json_model
from recollect.server.http.upload_bodies import (
    AskBody,
    AskedAnswer,
    DocumentAnswer,
    DocumentsAnswer,
    LogsAnswer,
    PassageAnswer,
    SessionsAnswer,
    UploadedAnswer,
    describe_answer,
    describe_document,
    describe_entry,
    describe_session,
)
from recollect.server.http.verbs import ProjectParam
from recollect.values.audit import Receipt
from recollect.values.document import Upload
from recollect.values.lesson import Owner
from recollect.values.permissions import Action
from recollect.values.scope import Scope

ROOT = "/api/v1/upload-ask"
UPLOADS = f"{ROOT}/documents"
FORM_BYTES = 1_000_000  # of a form, without its file
MAX_FIELDS = 10
FIELD_BYTES = 10_000
PASSAGE_CHARS = 1_000  # if no end is given
OTHER_NAME = "Ask the documents; the same as `query`, under its other name."
router = APIRouter(prefix=ROOT, tags=["documents"], responses=ERRORS)
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
UNSUPPORTED = error_example(
    "Not a form, or a file of an unsupported type.", "unsupported_media_type", "upload: …", "upload"
)
UserParam = Annotated[
    str | None, Query(alias="userId", description="Whose; by default the caller's own.", examples=["alex"])
]


@router.post(
    "/documents", status_code=202, response_model=UploadedAnswer, responses={415: UNSUPPORTED}, openapi_extra=FORM
)
@requires("add_document", "change_documents")
async def upload_document(
    caller: CurrentUploader,
    request: Request,
    user: UserParam = None,
    project: ProjectParam = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Add a document. It is stored when this answers, and indexed in the background; the same bytes are one document.
    With `shared` all users of the project find it."""
    async with request.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=FIELD_BYTES) as given:
        form = read_form(given)
        action: Action = "change_documents" if form.is_shared else "add_document"
        scope = caller.authorize(action, user, None, project)
        identity = ["upload", form.name, form.title, form.is_shared, await form.digest() if idempotency_key else None]

        async def add() -> dict[str, Any]:
            upload = Upload(form.name, form.read_chunks(), form.title, most=caller.settings.max_document)
            owner: Owner = "project" if form.is_shared else "user"
            return {"document": describe_document(await caller.engine.documents.add(scope, upload, owner=owner))}

        result, replayed = await run_once(caller, scope, idempotency_key, identity, add, UPLOAD_REPLAY)
        return respond(request, result, replayed=replayed)


def read_form(given: FormData) -> UploadForm:
    file, title, shared = given.get("file"), given.get("title", ""), given.get("shared", "false")
    if not isinstance(file, UploadFile):
        raise InvalidInput("file", "send the file as the part `file` of the form, with its name")
    if not isinstance(title, str) or not isinstance(shared, str) or shared.lower() not in ("true", "false", ""):
        raise InvalidInput("shared", "must be true or false")
    return UploadForm(file, title.strip(), shared.lower() == "true")


async def restore_document(stored: Stored, *, caller: Caller, scope: Scope) -> dict[str, Any]:
    return {"document": describe_document(await caller.engine.documents.get(scope, stored["id"]))}


UPLOAD_REPLAY = Replay(lambda answer: {"id": str(answer["document"]["id"])}, restore_document)


@router.get("/documents", response_model=DocumentsAnswer)
@authorized("documents")
async def list_documents(
    caller: CurrentCaller,
    scope: Scope,
    user: UserParam = None,
    project: ProjectParam = None,
    status: Annotated[
        str | None, Query(description="Only these, such as `pending,failed`.", examples=["processed"])
    ] = None,
    limit: int = 100,
    after: Annotated[UUID | None, Query(description="The last document of the page before.")] = None,
) -> dict[str, Any]:
    """List the user's documents and the project's, the newest first."""
    # The engine checks the statuses.
    wanted: Any = [each.strip() for each in status.split(",") if each.strip()] if status else None
    found = await caller.engine.documents.find(scope, status=wanted, limit=limit, after=str(after) if after else None)
    return {"items": [describe_document(each) for each in found]}


@router.get("/documents/{id}", response_model=DocumentAnswer)
@authorized("documents")
async def show_document(
    id: str,  # noqa: A002
    caller: CurrentCaller,
    scope: Scope,
    user: UserParam = None,
    project: ProjectParam = None,
) -> dict[str, Any]:
    """Show a document: its progress and size, or why it failed."""
    return describe_document(await caller.engine.documents.get(scope, id))


@router.get("/documents/{id}/passage", response_model=PassageAnswer)
@authorized("documents")
async def show_passage(
    id: str,  # noqa: A002
    caller: CurrentCaller,
    scope: Scope,
    start: Annotated[int, Query(examples=[0])] = 0,
    end: Annotated[int | None, Query(examples=[512])] = None,
    user: UserParam = None,
    project: ProjectParam = None,
) -> dict[str, Any]:
    """Return the text of a document at a citation, from one character to another, with its page and headings."""
    end = start + PASSAGE_CHARS if end is None else end
    found = await caller.engine.documents.passage(scope, id, start, end)
    place = {"start": found.start, "end": found.end, "page": found.page, "pageEnd": found.page_end}
    return {"documentId": found.document.id, "text": found.text, **place, "headings": list(found.headings)}


def authorize_deletion(*, caller: Caller, shared: bool, user: str | None, project: str | None, **_: Any) -> Scope:
    return caller.authorize("change_documents" if shared else "drop_document", user, None, project)


@router.delete("/documents/{id}", response_model=json_model(Receipt))
@authorized("drop_document", "change_documents", find_scope=authorize_deletion)
@idempotent(RECEIPT_REPLAY)
async def delete_document(
    id: str,  # noqa: A002
    caller: CurrentCaller,
    scope: Scope,
    request: Request,
    shared: Annotated[bool, Query(description="It is the project's.")] = False,
    user: UserParam = None,
    project: ProjectParam = None,
) -> Receipt:
    """Erase a document with everything derived from it. A shared one takes a caller who may change those."""
    found = await caller.engine.documents.get(scope, id, owner="project" if shared else None)
    if found.owner == "project":
        caller.authorize("change_documents", user, None, project)
    return await get_librarian(request).drop(scope, id, owner=found.owner)


def get_librarian(request: Request) -> Librarian:
    librarian: Librarian = request.app.state.librarian
    return librarian


async def restore_answer(stored: Stored, *, scope: Scope, body: AskBody, request: Request, **_: Any) -> Answered:
    """Repeat the answer from the log; only its place there is stored with the key."""
    librarian, ref = get_librarian(request), stored["ref"]
    return await (librarian.again(scope, ref) if ref else librarian.query(scope, body.question()))


ANSWER_REPLAY = Replay(lambda answer: {"ref": answer.ref}, restore_answer)


@router.post("/query", response_model=AskedAnswer)
@router.post("/qa/query", response_model=AskedAnswer, name="ask_documents_in_session", description=OTHER_NAME)
@authorized("record")
@idempotent(ANSWER_REPLAY, render=describe_answer)
async def ask_documents(body: AskBody, caller: CurrentCaller, scope: Scope, request: Request) -> Answered:
    """Ask the documents. The answer names its sources; question and answer are recorded."""
    return await get_librarian(request).query(scope, body.question())


@router.get("/qa/sessions", response_model=SessionsAnswer)
@authorized("history")
async def document_sessions(
    caller: CurrentCaller,
    scope: Scope,
    user: UserParam = None,
    project: ProjectParam = None,
    limit: int = 50,
    offset: int = 0,
) -> dict[str, Any]:
    """List a user's conversations, the latest first."""
    found = await caller.engine.conversations(scope, limit=limit, offset=offset)
    return {"sessions": [describe_session(each) for each in found]}


@router.get("/qa/sessions/{session_id:path}/logs", response_model=LogsAnswer)
@authorized("history")
async def document_logs(
    session_id: str,
    caller: CurrentCaller,
    scope: Scope,
    request: Request,
    user: UserParam = None,
    project: ProjectParam = None,
    limit: Annotated[int, Query(description="Turns of the session to search, from its end.")] = 100,
    before: int | None = None,
) -> dict[str, Any]:
    """List what was asked of documents in a session, oldest first, with the answers and their sources."""
    found = await get_librarian(request).log(scope, limit=limit, before=before)
    return {"logs": [describe_entry(each) for each in found]}
