"""Upload and ask as routes: documents, questions to them, and past questions, with the fields that callers of
/api/v1/upload-ask know. An uploaded form is read only after its caller is identified, and its file goes to disk."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from recollect import Conversation, Document, InvalidInput, Passage, Receipt, Upload
from recollect.apps.documents import question
from recollect.apps.documents.librarian import Entry
from recollect.apps.documents.question import Answered, Question, Recollection, Source
from recollect.learning.document_turns import HOST
from recollect.server.access.caller import Call, CurrentUploader, read_chunks
from recollect.server.access.idempotency import IdempotencyKey, Replay, Stored, run_once
from recollect.server.access.responses import Shape, json_object, list_of
from recollect.server.http import routing
from recollect.server.http.bodies import OpenBody
from recollect.server.http.routing import OPENAPI, PROJECT, ProjectParam, Routes
from recollect.values.document import DocumentId
from recollect.values.identity import Action
from recollect.values.lesson import Owner

ROOT = "/api/v1/upload-ask"
UPLOADS = f"{ROOT}/documents"
FORM_BYTES = 1_000_000  # of a form, without its file
MAX_FIELDS = 10
FIELD_BYTES = 10_000
PASSAGE_CHARS = 1_000  # if no end is given
OTHER_NAME = "Ask the documents; the same as `query`, under its other name."
FORM: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": OPENAPI["upload_form"]}}}
}
UNSUPPORTED = routing.error_example(
    "Not a form, or a file of an unsupported type.", "unsupported_media_type", "upload: …", "upload"
)
UserParam = Annotated[
    str | None, Query(alias="userId", description="Whose; by default the caller's own.", examples=["alex"])
]
routes = Routes(ROOT, "documents", routing.name_parameter("user", UserParam), PROJECT)


# Requests and responses -----------------------------------------------------------------------------------------------


DOCUMENT = Shape(
    "DocumentAnswer",
    Document,
    *("id", "title", "source", "status", "format", "size", "pages", "chunks", "characters", "progress"),
    doc="`userId` is who added it; `failureReason` says why a document could not be read, and what to do.",
    userId="added_by",
    failureReason="sentence",
    createdAt="created_at",
    updatedAt="updated_at",
    shared=(bool, lambda document: document.owner == "project"),
)
PASSAGE = Shape(
    "PassageAnswer", Passage, "text", "start", "end", "page", "headings", documentId="document.id", pageEnd="page_end"
)
SOURCE = Shape(
    "SourceAnswer",
    Source,
    *("page", "score", "preview", "start", "end", "cited"),
    doc="`start` and `end` are the characters that the answer quotes, or those of the chunk.",
    documentId="document",
    chunkIndex="chunk",
    pageEnd="page_end",
)
RECOLLECTION = Shape("RecollectionAnswer", Recollection, "id", "source", "preview", "score")
ANSWER = Shape(
    "AskedAnswer",
    Answered,
    *("answer", "model", "refused"),
    doc="`model` is null if the answer is quoted from the documents; `refused`: they contain no answer; `errorStage` is"
    " set if the model failed and documents are quoted instead.",
    sessionId="session",
    sources=SOURCE.list_at("sources"),
    memories=RECOLLECTION.list_at("memories"),
    usedHistoryTokens="used_history_tokens",
    latencyMs="latency_ms",
    standaloneQuery="standalone",
    errorStage="error_stage",
)
SESSION = Shape(
    "SessionAnswer", Conversation, id="session", title="name", createdAt="created_at", updatedAt="updated_at"
)
LOG = Shape(
    "LogAnswer",
    Entry,
    id="reply.ref",
    sessionId="answered.session",
    queryText="question.text",
    responseText="reply.text",
    latencyMs="answered.latency_ms",
    sources=SOURCE.list_at("answered.sources"),
    createdAt=(datetime, lambda entry: entry.at),
)
UploadedAnswer = json_object("UploadedAnswer", document=DOCUMENT.model)
DocumentsAnswer = json_object("DocumentsAnswer", items=list_of(DOCUMENT.model))
SessionsAnswer = json_object("SessionsAnswer", sessions=list_of(SESSION.model))
LogsAnswer = json_object("LogsAnswer", logs=list_of(LOG.model))


class DocumentQuestionBody(OpenBody):
    query: str
    sessionId: str | None = None  # noqa: N815
    documentIds: list[UUID] | None = None  # noqa: N815
    topK: int | None = None  # noqa: N815
    topKDocs: int | None = None  # noqa: N815
    topKMems: int = question.TOP_MEMORIES  # noqa: N815
    maxHistoryTokens: int = question.HISTORY_TOKENS  # noqa: N815
    includeHistory: bool = True  # noqa: N815
    mmr: float | None = None
    userId: str | None = None  # noqa: N815
    project: str | None = None

    def question(self) -> Question:
        self.check_ranges()
        top_k = [each for each in (self.topKDocs, self.topK) if each is not None]
        return Question(
            self.query,
            documents=None if self.documentIds is None else tuple(map(DocumentId, self.documentIds)),
            top_k=top_k[0] if top_k else question.TOP_K,
            top_memories=self.topKMems,
            history_tokens=self.maxHistoryTokens,
            include_history=self.includeHistory,
            mmr=self.mmr,
        )


# Documents ------------------------------------------------------------------------------------------------------------


@routes.add(
    "POST /documents",
    *("add_document", "change_documents"),
    model=UploadedAnswer,
    status=202,
    responses={415: UNSUPPORTED},
    openapi_extra=FORM,
)
async def upload_document(
    caller: CurrentUploader,
    request: Request,
    user: UserParam = None,
    project: ProjectParam = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Add a document. It is stored when this answers, and indexed in the background; the same bytes are one document.
    With `shared` all users of the project find it."""
    async with request.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=FIELD_BYTES) as form:
        file, title, owner = read_form(form)
        action: Action = "change_documents" if owner == "project" else "add_document"
        call = Call(caller, caller.authorize(action, user, None, project), request)
        name, digest = file.filename or "file", hashlib.sha256()
        if idempotency_key:
            async for chunk in read_chunks(file):
                digest.update(chunk)
        identity = ["upload", name, title, owner, digest.hexdigest()]

        async def add() -> dict[str, Any]:
            upload = Upload(name, read_chunks(file), title, most=caller.settings.max_document)
            return {"document": DOCUMENT.describe(await call.engine.documents.add(call.scope, upload, owner=owner))}

        result, replayed = await run_once(call, idempotency_key, identity, add, UPLOAD_REPLAY)
        unknown = (name for name in form if name not in OPENAPI["upload_form"]["properties"])
        return routing.name_ignored(routing.respond(request, result, replayed=replayed), unknown)


def read_form(given: FormData) -> tuple[UploadFile, str, Owner]:
    file, title, shared = given.get("file"), given.get("title", ""), given.get("shared", "false")
    if not isinstance(file, UploadFile):
        raise InvalidInput("file", "send the file as the part `file` of the form, with its name")
    if not isinstance(title, str) or not isinstance(shared, str) or shared.lower() not in ("true", "false", ""):
        raise InvalidInput("shared", "must be true or false")
    return file, title.strip(), "project" if shared.lower() == "true" else "user"


async def restore_document(stored: Stored, call: Call) -> dict[str, Any]:
    return {"document": DOCUMENT.describe(await call.engine.documents.get(call.scope, stored["id"]))}


UPLOAD_REPLAY = Replay(lambda answer: {"id": str(answer["document"]["id"])}, restore_document)


@routes.add("GET /documents", "documents", model=DocumentsAnswer)
async def list_documents(
    call: Call,
    status: Annotated[
        str | None, Query(description="Only these, such as `pending,failed`.", examples=["processed"])
    ] = None,
    limit: int = 100,
    after: Annotated[UUID | None, Query(description="The last document of the page before.")] = None,
) -> dict[str, Any]:
    """List the user's documents and the project's, the newest first."""
    # The engine checks the statuses.
    wanted: Any = [each.strip() for each in status.split(",") if each.strip()] if status else None
    last = str(after) if after else None
    found = await call.engine.documents.find(call.scope, status=wanted, limit=limit, after=last)
    return {"items": DOCUMENT.describe_all(found)}


@routes.add("GET /documents/{id}", "documents", model=DOCUMENT.model)
async def show_document(call: Call, id: str) -> dict[str, Any]:  # noqa: A002
    """Show a document: its progress and size, or why it failed."""
    return DOCUMENT.describe(await call.engine.documents.get(call.scope, id))


@routes.add("GET /documents/{id}/passage", "documents", model=PASSAGE.model)
async def show_passage(
    call: Call,
    id: str,  # noqa: A002
    start: Annotated[int, Query(examples=[0])] = 0,
    end: Annotated[int | None, Query(examples=[512])] = None,
) -> dict[str, Any]:
    """Return the text of a document at a citation, from one character to another, with its page and headings."""
    end = start + PASSAGE_CHARS if end is None else end
    return PASSAGE.describe(await call.engine.documents.passage(call.scope, id, start, end))


@routes.write("DELETE /documents/{id}", *("drop_document", "change_documents"))
async def delete_document(
    call: Call,
    id: str,  # noqa: A002
    shared: Annotated[bool, Query(description="It is the project's.")] = False,
    user: UserParam = None,
    project: ProjectParam = None,
) -> Receipt:
    """Erase a document with everything derived from it. A shared one takes a caller who may change those."""
    found = await call.engine.documents.get(call.scope, id, owner="project" if shared else None)
    if found.owner == "project":
        call.caller.authorize("change_documents", user, None, project)
    return await call.librarian.drop(call.scope, id, owner=found.owner)


# Questions ------------------------------------------------------------------------------------------------------------


async def restore_answer(stored: Stored, call: Call, body: DocumentQuestionBody) -> Answered:
    """Repeat the answer from the log; only its place there is stored with the key."""
    if stored["ref"]:
        return await call.librarian.again(call.scope, stored["ref"])
    return await call.librarian.query(call.scope, body.question())


ASKED: Any = {
    "model": ANSWER.model,
    "replay": Replay(lambda answer: {"ref": answer.ref}, restore_answer),
    "render": ANSWER.describe,
}


@routes.add("POST /query", "record", **ASKED)
@routes.add("POST /qa/query", "record", **ASKED, name="ask_documents_in_session", description=OTHER_NAME)
async def ask_documents(call: Call, body: DocumentQuestionBody) -> Answered:
    """Ask the documents. The answer names its sources; question and answer are recorded."""
    return await call.librarian.query(call.scope, body.question())


@routes.add("GET /qa/sessions", "history", model=SessionsAnswer)
async def document_sessions(call: Call, limit: int = 50, offset: int = 0) -> dict[str, Any]:
    """List the conversations in which a user asked documents, the latest first."""
    found = await call.engine.conversations(call.scope, limit=limit, offset=offset, host=HOST)
    return {"sessions": SESSION.describe_all(found)}


@routes.add("GET /qa/sessions/{session_id:path}/logs", "history", model=LogsAnswer)
async def document_logs(
    call: Call,
    limit: Annotated[int, Query(description="Turns of the session to search, from its end.")] = 100,
    before: int | None = None,
) -> dict[str, Any]:
    """List what was asked of documents in a session, oldest first, with the answers and their sources."""
    return {"logs": LOG.describe_all(await call.librarian.log(call.scope, limit=limit, before=before))}
