"""The store's part for documents: their rows, their files until they are read, and the work on them. Every write of a
worker begins with `document.hold`: with an older lease it is undone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from recollect.errors import Outdated
from recollect.model.audit import Deed
from recollect.model.document import DocumentFormat
from recollect.model.ids import ScopeId
from recollect.model.lesson import Owner
from recollect.model.library import Document, DocumentId, DocumentJob, DocumentStatus, Failed
from recollect.store.database import Database, Row, Statement, Transaction
from recollect.store.memories import audited

# In the order in which they go: the document's own row is last, the others refer to it.
OF_DOCUMENT = ("posting", "chunk_vector", "chunk", "document_part", "document")
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
    """What a document came to."""

    format: DocumentFormat
    pages: int
    chunks: int
    tokens: int
    words: int
    characters: int
    model: int  # whose vectors all chunks have; 0 where some are missing


@dataclass(frozen=True, slots=True)
class Renewal:
    """The lease of a job, further on."""

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
        self, scope: ScopeId, new: NewDocument, pieces: Iterable[bytes], deed: Deed, now: datetime
    ) -> tuple[Document, bool]:
        """The document of these bytes, and whether they are to be read: they are new, or failed before."""
        async with self._database.transaction(scope) as transaction:
            row, is_new = await self._row_of(transaction, new, now)
            if is_new:
                for part, piece in enumerate(pieces):
                    await transaction.rows("document_part.add", id=row[0], part=part, bytes=piece)
                name, parameters = audited([deed], now)
                await transaction.rows(name, **parameters)
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

    async def listed(
        self,
        scope: ScopeId,
        owner: Owner,
        status: Sequence[DocumentStatus] | None,
        limit: int,
        after: DocumentId | None,
        ids: Sequence[DocumentId] | None = None,
    ) -> list[Document]:
        """The newest first."""
        some = {"status": None if status is None else list(status), "ids": None if ids is None else list(ids)}
        parameters = {**some, "limit": limit, "after": after}
        [rows] = await self._database.run(scope, ("document.list", parameters))
        return [as_document(row, owner) for row in rows]

    async def drop(self, scope: ScopeId, document: DocumentId, deed: Deed, now: datetime) -> dict[str, int] | None:
        """How many rows went, by table; None if there was no such document."""
        async with self._database.transaction(scope) as transaction:
            if not await transaction.rows("document.lock_one", id=document):
                return None
            rows = {noun: await transaction.count(f"{noun}.delete_document", id=document) for noun in OF_DOCUMENT}
            name, parameters = audited([deed], now)
            await transaction.rows(name, **parameters)
            return rows

    # Work

    async def work(self, model: int | None, most: int) -> list[DocumentPlace]:
        """Documents of any scope that are to be read or lack the model's vectors."""
        rows = await self._database.ask("document.work", {"model": model, "most": most})
        return [(row[0], row[1]) for row in rows]

    async def forget_adder(self, project: ScopeId, user: str) -> None:
        """The project keeps what a user added to it, and forgets that it was him."""
        await self._database.run(project, ("document.forget_adder", {"user": user}), write=True)

    async def work_of_scope(self, scope: ScopeId, model: int | None) -> list[DocumentId]:
        [rows] = await self._database.run(scope, ("document.work_of_scope", {"model": model}))
        return [row[0] for row in rows]

    async def claim(
        self, scope: ScopeId, document: DocumentId, model: int | None, now: datetime, until: datetime
    ) -> DocumentJob | None:
        """The lease; None when another has it, or nothing is to be done."""
        parameters = {"id": document, "model": model, "now": now, "until": until}
        [rows] = await self._database.run(scope, ("document.claim", parameters), write=True)
        return DocumentJob(scope, *rows[0]) if rows else None

    async def pieces(self, job: DocumentJob) -> AsyncIterator[bytes]:
        """The file, a piece at a time."""
        part = 0
        while True:
            [rows] = await self._database.run(job.scope, ("document_part.read", {"id": job.id, "part": part}))
            if not rows:
                return
            yield rows[0][0]
            part += 1

    async def renew(self, renewal: Renewal) -> None:
        """Raises Outdated if the lease is no longer ours, as all of these do."""
        await self._database.run(renewal.job.scope, renewal.statement, write=True)

    async def clear(self, renewal: Renewal) -> None:
        """What an earlier try left behind goes."""
        await self._database.run(renewal.job.scope, renewal.statement, *_cleared(renewal.job), write=True)

    async def finish(self, renewal: Renewal, totals: Totals) -> None:
        """From here on it is found; its file goes."""
        parameters = {
            "id": renewal.job.id,
            **asdict(totals),
            "now": renewal.now,
        }
        done = ("document.finish", parameters), ("document_part.delete_document", {"id": renewal.job.id})
        await self._database.run(renewal.job.scope, renewal.statement, *done, write=True)

    async def embedded(self, renewal: Renewal, model: int) -> None:
        done = ("document.embedded", {"id": renewal.job.id, "model": model})
        await self._database.run(renewal.job.scope, renewal.statement, done, write=True)

    async def fail(self, renewal: Renewal, failure: Failed) -> None:
        """Nothing of it stays but its row."""
        job = renewal.job
        failed = ("document.fail", {"id": job.id, "failure": failure, "now": renewal.now})
        parts = ("document_part.delete_document", {"id": job.id})
        await self._database.run(job.scope, renewal.statement, *_cleared(job), parts, failed, write=True)

    async def put_off(self, job: DocumentJob, until: datetime | None, counts: bool) -> None:
        """Gives the lease back; `counts` says whether this was a try."""
        parameters = {"id": job.id, "lease": job.lease, "until": until, "counts": counts}
        await self._database.run(job.scope, ("document.put_off", parameters), write=True)


def _cleared(job: DocumentJob) -> list[Statement]:
    return [(f"{noun}.delete_document", {"id": job.id}) for noun in ("posting", "chunk_vector", "chunk")]


def as_document(row: Row, owner: Owner = "user") -> Document:
    digest: bytes = row[DIGEST]
    return Document(*row[:DIGEST], digest.hex(), *row[DIGEST + 1 :], owner)  # type: ignore[call-arg]
