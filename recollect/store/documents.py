"""Documents in the store: their rows, their files until they are read, and the work on them. Every write of a worker
begins with `document.hold`, which fails if the lease is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from recollect.errors import Outdated
from recollect.store.database import Database, Row, Statement, Transaction
from recollect.store.memories import write_audit
from recollect.values.audit import AuditEntry
from recollect.values.blocks import DocumentFormat
from recollect.values.document import Document, DocumentFailure, DocumentId, DocumentJob, DocumentStatus
from recollect.values.lesson import Owner
from recollect.values.scope import ScopeId

# In deletion order: the document's own row is last, because the others refer to it.
DOCUMENT_TABLES = ("posting", "chunk_vector", "chunk", "document_part", "document")
DIGEST = 5  # its place in the columns of a document
DocumentPlace = tuple[ScopeId, DocumentId]


@dataclass(frozen=True, slots=True)
class NewDocument:
    id: DocumentId
    title: str
    source: str
    by: str
    size: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Totals:
    """The size of a document after reading."""

    format: DocumentFormat
    pages: int
    chunks: int
    tokens: int
    words: int
    characters: int
    model: int  # whose vectors all chunks have; 0 where some are missing


@dataclass(frozen=True, slots=True)
class Renewal:
    """A job's lease with its new end."""

    job: DocumentJob
    now: datetime
    until: datetime
    progress: float = 0.0

    @property
    def statement(self) -> Statement:
        parameters = {"id": self.job.id, "lease": self.job.lease, "until": self.until, "now": self.now}
        return "document.hold", {**parameters, "progress": self.progress}


class DocumentStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, scope: ScopeId, new: NewDocument, pieces: Iterable[bytes], entry: AuditEntry, now: datetime
    ) -> tuple[Document, bool]:
        """Return the document of these bytes, and whether they are to be read: they are new, or failed before."""
        async with self._database.transaction(scope) as transaction:
            row, is_new = await self._row_of(transaction, new, now)
            if is_new:
                for part, piece in enumerate(pieces):
                    await transaction.rows("document_part.add", id=row[0], part=part, bytes=piece)
                await write_audit(transaction, entry, now)
            return as_document(row), is_new

    async def _row_of(self, transaction: Transaction, new: NewDocument, now: datetime) -> tuple[Row, bool]:
        values = {"id": new.id, "title": new.title, "source": new.source, "by": new.by, "size": new.size}
        if added := await transaction.rows("document.add", **values, digest=new.digest, now=now):
            return added[0], True
        found = await transaction.rows("document.same_bytes", digest=new.digest)
        if not found:
            raise Outdated("the same document was dropped at this moment; repeat the request")
        if as_document(found[0]).status != "failed":
            return found[0], False
        [again] = await transaction.rows(
            "document.start_again", id=found[0][0], title=new.title, source=new.source, now=now
        )
        return again, True

    async def find(self, scope: ScopeId, document: DocumentId, owner: Owner) -> Document | None:
        [rows] = await self._database.run(scope, ("document.find", {"id": document}))
        return as_document(rows[0], owner) if rows else None

    async def list_documents(
        self,
        scope: ScopeId,
        owner: Owner,
        status: Sequence[DocumentStatus] | None,
        limit: int,
        after: DocumentId | None,
        ids: Sequence[DocumentId] | None = None,
    ) -> list[Document]:
        """Return documents, newest first."""
        some = {"status": None if status is None else list(status), "ids": None if ids is None else list(ids)}
        parameters = {**some, "limit": limit, "after": after}
        [rows] = await self._database.run(scope, ("document.list", parameters))
        return [as_document(row, owner) for row in rows]

    async def drop(
        self, scope: ScopeId, document: DocumentId, entry: AuditEntry, now: datetime
    ) -> dict[str, int] | None:
        """Return how many rows were deleted, by table; None if there was no such document."""
        async with self._database.transaction(scope) as transaction:
            if not await transaction.rows("document.lock_one", id=document):
                return None
            rows = {noun: await transaction.count(f"{noun}.delete_document", id=document) for noun in DOCUMENT_TABLES}
            await write_audit(transaction, entry, now)
            return rows

    # Work

    async def find_work(self, model: int | None, most: int) -> list[DocumentPlace]:
        """Return documents of any scope that are unread or lack the model's vectors."""
        rows = await self._database.ask_as_operator("document.work", {"model": model, "most": most})
        return [(row[0], row[1]) for row in rows]

    async def list_work(self, scope: ScopeId, model: int | None) -> list[DocumentId]:
        [rows] = await self._database.run(scope, ("document.work_of_scope", {"model": model}))
        return [row[0] for row in rows]

    async def claim(
        self, scope: ScopeId, document: DocumentId, model: int | None, now: datetime, until: datetime
    ) -> DocumentJob | None:
        """Take the lease; None if another worker has it, or nothing is to be done."""
        parameters = {"id": document, "model": model, "now": now, "until": until}
        [rows] = await self._database.run(scope, ("document.claim", parameters), write=True)
        return DocumentJob(scope, *rows[0]) if rows else None

    async def iter_pieces(self, job: DocumentJob) -> AsyncIterator[bytes]:
        """Yield the file, a piece at a time."""
        part = 0
        while True:
            [rows] = await self._database.run(job.scope, ("document_part.read", {"id": job.id, "part": part}))
            if not rows:
                return
            yield rows[0][0]
            part += 1

    async def renew(self, renewal: Renewal) -> None:
        """Renew the lease. Raises Outdated if it is lost, as the following methods do."""
        await self._database.run(renewal.job.scope, renewal.statement, write=True)

    async def clear(self, renewal: Renewal) -> None:
        """Delete what an earlier try left."""
        await self._database.run(renewal.job.scope, renewal.statement, *_clear_statements(renewal.job), write=True)

    async def finish(self, renewal: Renewal, totals: Totals) -> None:
        """Make the document visible to search, and delete its file."""
        parameters = {
            "id": renewal.job.id,
            **asdict(totals),
            "now": renewal.now,
        }
        done = ("document.finish", parameters), ("document_part.delete_document", {"id": renewal.job.id})
        await self._database.run(renewal.job.scope, renewal.statement, *done, write=True)

    async def finish_vectors(self, renewal: Renewal, model: int) -> None:
        done = ("document.embedded", {"id": renewal.job.id, "model": model})
        await self._database.run(renewal.job.scope, renewal.statement, done, write=True)

    async def fail(self, renewal: Renewal, failure: DocumentFailure) -> None:
        """Mark the document as failed; only its row stays."""
        job = renewal.job
        failed = ("document.fail", {"id": job.id, "failure": failure, "now": renewal.now})
        parts = ("document_part.delete_document", {"id": job.id})
        await self._database.run(job.scope, renewal.statement, *_clear_statements(job), parts, failed, write=True)

    async def put_off(self, job: DocumentJob, until: datetime | None, counts: bool) -> None:
        """Release the lease; `counts` says whether this was a try."""
        parameters = {"id": job.id, "lease": job.lease, "until": until, "counts": counts}
        await self._database.run(job.scope, ("document.put_off", parameters), write=True)


def _clear_statements(job: DocumentJob) -> list[Statement]:
    return [(f"{noun}.delete_document", {"id": job.id}) for noun in ("posting", "chunk_vector", "chunk")]


def as_document(row: Row, owner: Owner = "user") -> Document:
    digest: bytes = row[DIGEST]
    return Document(*row[:DIGEST], digest.hex(), *row[DIGEST + 1 :], owner)  # type: ignore[call-arg]
