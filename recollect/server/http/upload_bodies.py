"""Requests and responses of upload-ask, with the field names of that interface. The routes are in upload_ask.py."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from recollect.apps.documents.answer_log import Entry
from recollect.apps.documents.question import HISTORY_TOKENS, MAX_MEMORIES, TOP_K, TOP_MEMORIES, Answered, Question
from recollect.errors import InvalidInput
from recollect.server.http.bodies import NAME, Body, Project, chars, within
from recollect.values.blocks import DocumentFormat
from recollect.values.conversation import Conversation
from recollect.values.document import MAX_CHUNK_HITS, Document, DocumentId, DocumentStatus
from recollect.values.query import MAX_BUDGET, MAX_QUERY_CHARS


class DocumentAnswer(BaseModel):
    """`userId` is who added it; `failureReason` says why a document could not be read, and what to do."""

    id: UUID
    userId: str  # noqa: N815
    title: str
    source: str
    status: DocumentStatus
    failureReason: str | None  # noqa: N815
    createdAt: datetime  # noqa: N815
    updatedAt: datetime  # noqa: N815
    shared: bool
    format: DocumentFormat | None
    size: int
    pages: int
    chunks: int
    characters: int
    progress: float


class UploadedAnswer(BaseModel):
    document: DocumentAnswer


class DocumentsAnswer(BaseModel):
    items: list[DocumentAnswer]


class PassageAnswer(BaseModel):
    documentId: UUID  # noqa: N815
    text: str
    start: int
    end: int
    page: int | None
    pageEnd: int | None  # noqa: N815
    headings: list[str]


class SourceAnswer(BaseModel):
    """`start` and `end` are the characters that the answer quotes, or those of the chunk."""

    documentId: UUID  # noqa: N815
    chunkIndex: int  # noqa: N815
    page: int | None
    pageEnd: int | None  # noqa: N815
    score: float
    preview: str
    start: int
    end: int
    cited: bool


class RecollectionAnswer(BaseModel):
    id: str
    source: str
    preview: str
    score: float


class AskedAnswer(BaseModel):
    """`model` is null if the answer is quoted from the documents; `refused`: they contain no answer."""

    sessionId: str  # noqa: N815
    answer: str
    sources: list[SourceAnswer]
    memories: list[RecollectionAnswer]
    usedHistoryTokens: int  # noqa: N815
    latencyMs: int  # noqa: N815
    standaloneQuery: str  # noqa: N815
    model: str | None
    refused: bool
    errorStage: str | None  # noqa: N815  # set if the model failed and documents are quoted instead


class SessionAnswer(BaseModel):
    id: str
    title: str
    createdAt: datetime  # noqa: N815
    updatedAt: datetime  # noqa: N815


class SessionsAnswer(BaseModel):
    sessions: list[SessionAnswer]


class LogAnswer(BaseModel):
    id: str
    sessionId: str  # noqa: N815
    queryText: str  # noqa: N815
    responseText: str  # noqa: N815
    latencyMs: int  # noqa: N815
    sources: list[SourceAnswer]
    createdAt: datetime  # noqa: N815


class LogsAnswer(BaseModel):
    logs: list[LogAnswer]


FIELD_NAMES = {"documents": "documentIds", "top_memories": "topKMems", "history_tokens": "maxHistoryTokens"}


class AskBody(Body):
    query: str = Field(examples=["How much is a tyre change?"], json_schema_extra=chars(MAX_QUERY_CHARS))
    sessionId: str | None = Field(default=None, json_schema_extra=NAME)  # noqa: N815
    documentIds: list[UUID] | None = Field(default=None, description="Search only these documents.")  # noqa: N815
    topK: int | None = Field(default=None, json_schema_extra=within(1, MAX_CHUNK_HITS))  # noqa: N815
    topKDocs: int | None = Field(default=None, description="The same as topK.")  # noqa: N815
    topKMems: int = Field(default=TOP_MEMORIES, json_schema_extra=within(0, MAX_MEMORIES))  # noqa: N815
    maxHistoryTokens: int = Field(default=HISTORY_TOKENS, json_schema_extra=within(0, MAX_BUDGET))  # noqa: N815
    includeHistory: bool = True  # noqa: N815
    mmr: float | None = Field(
        default=None,
        description="Diversity of passages, by maximal marginal relevance: 1 is the plain order, 0.7 a good mix.",
        json_schema_extra=within(0, 1),
    )
    userId: str | None = Field(default=None, description="Who asks; by default the caller.")  # noqa: N815
    project: Project = None

    def question(self) -> Question:
        """Return the question. Raises InvalidInput with the field as the caller named it."""
        top_k = [each for each in (self.topKDocs, self.topK) if each is not None]
        try:
            return Question(
                self.query,
                documents=None if self.documentIds is None else tuple(map(DocumentId, self.documentIds)),
                top_k=top_k[0] if top_k else TOP_K,
                top_memories=self.topKMems,
                history_tokens=self.maxHistoryTokens,
                include_history=self.includeHistory,
                mmr=self.mmr,
            )
        except InvalidInput as error:
            names = FIELD_NAMES | {"top_k": "topK" if self.topKDocs is None else "topKDocs"}
            raise error.renamed(names.get(error.field, error.field)) from None


def describe_document(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "userId": document.added_by,
        "title": document.title,
        "source": document.source,
        "status": document.status,
        "failureReason": document.sentence,
        "createdAt": document.created_at,
        "updatedAt": document.updated_at,
        "shared": document.owner == "project",
        **{name: getattr(document, name) for name in ("format", "size", "pages", "chunks", "characters", "progress")},
    }


def describe_answer(answer: Answered) -> dict[str, Any]:
    return {
        "sessionId": answer.session,
        "answer": answer.answer,
        "sources": describe_sources(answer),
        "memories": [
            {"id": each.id, "source": each.source, "preview": each.preview, "score": each.score}
            for each in answer.memories
        ],
        "usedHistoryTokens": answer.used_history_tokens,
        "latencyMs": answer.latency_ms,
        "standaloneQuery": answer.standalone,
        "model": answer.model,
        "refused": answer.refused,
        "errorStage": answer.error_stage,
    }


def describe_sources(answer: Answered) -> list[dict[str, Any]]:
    return [
        {
            "documentId": each.document,
            "chunkIndex": each.chunk,
            "pageEnd": each.page_end,
            **{name: getattr(each, name) for name in ("page", "score", "preview", "start", "end", "cited")},
        }
        for each in answer.sources
    ]


def describe_session(conversation: Conversation) -> dict[str, Any]:
    return {
        "id": conversation.session,
        "title": conversation.name,
        "createdAt": conversation.created_at,
        "updatedAt": conversation.updated_at,
    }


def describe_entry(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.reply.ref,
        "sessionId": entry.answered.session,
        "queryText": entry.question.text,
        "responseText": entry.reply.text,
        "latencyMs": entry.answered.latency_ms,
        "sources": describe_sources(entry.answered),
        "createdAt": entry.question.at,
    }
