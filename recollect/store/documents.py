"""Documents and their chunks in the store. Every write of a worker begins with `document.hold`, which fails if the
lease is lost. What a search reads of every document comes packed, so that no Python object is made for a chunk that is
not chosen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Any

import numpy as np

from recollect.errors import Outdated
from recollect.recall.document_rank import POSTING, Found, Run, Shelf
from recollect.recall.fuse import Floats
from recollect.recall.spelling import beginnings, second_letters
from recollect.store.database import Row, Statement, StorePart, Transaction
from recollect.store.memories import write_audit
from recollect.store.wire_format import VectorArray, Vectors, encode_json, to_row, wrap_vector
from recollect.values.audit import AuditEntry
from recollect.values.document import (
    Chunk,
    Document,
    DocumentFailure,
    DocumentFormat,
    DocumentId,
    DocumentJob,
    DocumentStatus,
)
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


@dataclass(slots=True)
class Totals:
    """The size of a document after reading."""

    format: DocumentFormat | None = None
    pages: int = 0
    chunks: int = 0
    tokens: int = 0
    words: int = 0
    characters: int = 0
    model: int = 0  # whose vectors all chunks have; 0 where some are missing


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


class DocumentStore(StorePart):
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
        if added := await transaction.rows("document.add", **to_row(new), now=now):
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
        rows = await self._database.read(scope, "document.find", id=document)
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
        rows = await self._database.read(scope, "document.list", **some, limit=limit, after=after)
        return [as_document(row, owner) for row in rows]

    async def drop(
        self, scope: ScopeId, document: DocumentId, entry: AuditEntry, now: datetime
    ) -> dict[str, int] | None:
        """Return how many rows were deleted, by table; None if there was no such document."""
        async with self._database.transaction(scope) as transaction:
            if not await transaction.rows("document.lock_one", id=document):
                return None
            rows = await transaction.delete(DOCUMENT_TABLES, "delete_document", id=document)
            await write_audit(transaction, entry, now)
            return rows

    # Work

    async def find_work(self, model: int | None, most: int) -> list[DocumentPlace]:
        """Return documents of any scope that are unread or lack the model's vectors."""
        return await self._database.ask_as_operator("document.work", model=model, most=most)

    async def list_work(self, scope: ScopeId, model: int | None) -> list[DocumentId]:
        return [row[0] for row in await self._database.read(scope, "document.work_of_scope", model=model)]

    async def claim(
        self, scope: ScopeId, document: DocumentId, model: int | None, now: datetime, until: datetime
    ) -> DocumentJob | None:
        """Take the lease; None if another worker has it, or nothing is to be done."""
        rows = await self._database.write(scope, "document.claim", id=document, model=model, now=now, until=until)
        return DocumentJob(scope, *rows[0]) if rows else None

    async def iter_pieces(self, job: DocumentJob) -> AsyncIterator[bytes]:
        """Yield the file, a piece at a time."""
        for part in count():
            rows = await self._database.read(job.scope, "document_part.read", id=job.id, part=part)
            if not rows:
                return
            yield rows[0][0]

    async def renew(self, renewal: Renewal) -> None:
        """Renew the lease. Raises Outdated if it is lost, as the following methods do."""
        await self._database.run(renewal.job.scope, renewal.statement, write=True)

    async def clear(self, renewal: Renewal) -> None:
        """Delete what an earlier try left."""
        await self._database.run(renewal.job.scope, renewal.statement, *_clear_statements(renewal.job), write=True)

    async def finish(self, renewal: Renewal, totals: Totals) -> None:
        """Make the document visible to search, and delete its file."""
        parameters = {**to_row(totals), "id": renewal.job.id, "now": renewal.now}
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
        await self._database.write(
            job.scope, "document.put_off", id=job.id, lease=job.lease, until=until, counts=counts
        )


def _clear_statements(job: DocumentJob) -> list[Statement]:
    return [(f"{noun}.delete_document", {"id": job.id}) for noun in ("posting", "chunk_vector", "chunk")]


def as_document(row: Row, owner: Owner = "user") -> Document:
    digest: bytes = row[DIGEST]
    return Document(*row[:DIGEST], digest.hex(), *row[DIGEST + 1 :], owner)  # type: ignore[call-arg]


DOCUMENT = np.dtype([("id", "V16"), ("number", ">i8"), ("chunks", ">i4"), ("words", ">i8")])
RUN = np.dtype([("document", ">i8"), ("first", ">i4"), ("bytes", ">i4")])
MOST_LEXEMES = 3_000  # that a question with unknown words may walk over
ChunkKey = tuple[DocumentId, int]


@dataclass(frozen=True, slots=True)
class Page:
    """Some consecutive chunks of a document, with their search data. `run` if it is full, or the last."""

    chunks: Sequence[Chunk]
    run: Run | None
    vectors: Vectors | None
    model: int | None


@dataclass(frozen=True, slots=True)
class ChunkArms:
    """What the search arms look for, and where."""

    terms: Sequence[str]
    vector: Vectors | None
    model: int | None
    documents: Sequence[DocumentId] | None
    limit: int

    @property
    def parameters(self) -> dict[str, Any]:
        lists = {"terms": list(self.terms), "documents": None if self.documents is None else list(self.documents)}
        return {**to_row(self), **lists, "vector": wrap_vector(self.vector)}


@dataclass(frozen=True, slots=True)
class ChunkCandidates:
    """The candidates of one scope; packed, because scopes are ranked together."""

    documents: bytes
    postings: Sequence[tuple[str, bytes, bytes]]
    nearest: Sequence[tuple[DocumentId, int, float]]


class ChunkStore(StorePart):
    async def write(self, renewal: Renewal, page: Page) -> None:
        """Write a page. Raises Outdated, and writes nothing, if the lease is lost."""
        job = renewal.job
        rows = encode_json([{**to_row(chunk), "i": chunk.index} for chunk in page.chunks])
        statements: list[Statement] = [("chunk.add", {"id": job.id, "chunks": rows})]
        if page.run is not None:
            found = [bytes(records) for records in page.run.records.values()]
            lexemes = list(page.run.records)
            statements.append(
                ("posting.add", {"id": job.id, "first": page.run.first, "lexemes": lexemes, "found": found})
            )
        if page.vectors is not None:
            statements.append(_vector_statement(job.id, page.chunks, page.vectors, page.model))
        await self._database.run(job.scope, renewal.statement, *statements, write=True)

    async def add_vectors(self, renewal: Renewal, chunks: Sequence[Chunk], vectors: Vectors, model: int) -> None:
        added = _vector_statement(renewal.job.id, chunks, vectors, model)
        await self._database.run(renewal.job.scope, renewal.statement, added, write=True)

    async def list_unembedded(self, scope: ScopeId, document: DocumentId, model: int, limit: int) -> list[Chunk]:
        rows = await self._database.read(scope, "chunk.unembedded", id=document, model=model, limit=limit)
        return [as_chunk(row) for row in rows]

    async def load_between(self, scope: ScopeId, document: DocumentId, start: int, end: int) -> list[Chunk]:
        rows = await self._database.read(scope, "chunk.between", id=document, start=start, end=end)
        return [as_chunk(row) for row in rows]

    async def load_from(self, scope: ScopeId, document: DocumentId, start: int, limit: int) -> list[Chunk]:
        rows = await self._database.read(scope, "chunk.from", **{"id": document, "from": start, "limit": limit})
        return [as_chunk(row) for row in rows]

    # Searching

    async def search(self, scope: ScopeId, arms: ChunkArms) -> ChunkCandidates:
        parameters = arms.parameters
        statements: list[Statement] = [("document.searchable", parameters), ("posting.find", parameters)]
        if arms.vector is not None:
            statements.append(("chunk_vector.nearest", parameters))
        documents, postings, *nearest = await self._database.run(scope, *statements)
        return ChunkCandidates(documents[0][0] or b"", postings, nearest[0] if nearest else [])

    async def find_similar_words(self, scope: ScopeId, words: Sequence[str], least: float) -> dict[str, str]:
        """Return, for each word that no document has, the most similar one that some document has."""
        prefixes = beginnings(words)
        parameters = {
            "words": list(words),
            "prefixes": prefixes,
            "variants": [variant for word in words for variant in second_letters(word)],
            "most": MOST_LEXEMES // max(len(prefixes), 1),
            "least": least,
        }
        return dict(await self._database.read(scope, "posting.similar", **parameters))

    async def add_words(self, scope: ScopeId, arms: ChunkArms, found: ChunkCandidates) -> ChunkCandidates:
        """Return the candidates with the postings of further terms."""
        rows = await self._database.read(scope, "posting.find", **arms.parameters)
        return replace(found, postings=[*found.postings, *rows])

    async def load_cosines(
        self, scope: ScopeId, keys: Sequence[ChunkKey], arms: ChunkArms, whole: bool
    ) -> dict[ChunkKey, tuple[float, Floats | None]]:
        """Return the cosine of some chunks to the question and, if asked for, their vectors."""
        listed = encode_json([{"d": document, "i": index} for document, index in keys])
        rows = await self._database.read(scope, "chunk_vector.of_chunks", **arms.parameters, keys=listed, whole=whole)
        # The output of halfvec_send: a four-byte header, then the values.
        return {
            (document, index): (cosine, sent and np.frombuffer(sent, ">f2", offset=4).astype(np.float32))
            for document, index, cosine, sent in rows
        }

    async def load_chunks(
        self, scope: ScopeId, owner: Owner, keys: Sequence[ChunkKey]
    ) -> dict[ChunkKey, tuple[Document, Chunk]]:
        """Return the chunks at these places with their documents; dropped ones are left out."""
        listed = encode_json([{"n": n, "d": document, "i": index} for n, (document, index) in enumerate(keys)])
        ids = list({document for document, _ in keys})
        named, rows = await self._database.run(
            scope, ("document.named", {"ids": ids}), ("chunk.chosen", {"keys": listed})
        )
        documents = {row[0]: as_document(row, owner) for row in named}
        return {(row[0], row[1]): (documents[row[0]], as_chunk(row[1:])) for row in rows if row[0] in documents}


def build_shelf(found: Sequence[ChunkCandidates]) -> Shelf:
    """Return all documents of the searched scopes, numbered in one sequence."""
    records = np.frombuffer(b"".join(each.documents for each in found), DOCUMENT)
    holder = np.repeat(np.arange(len(found)), [len(each.documents) // DOCUMENT.itemsize for each in found])
    order = np.argsort(records["number"], kind="stable")
    records, holder = records[order], holder[order]
    raw = records["id"].tobytes()
    ids = [raw[at : at + 16] for at in range(0, len(raw), 16)]
    base = np.concatenate([[0], np.cumsum(records["chunks"].astype(np.int64))])
    place = {each: n for n, each in enumerate(ids)}
    return Shelf(ids, records["number"].astype(np.int64), base, float(records["words"].sum()), place, holder)


def unpack_postings(shelf: Shelf, found: Sequence[ChunkCandidates]) -> dict[str, Found]:
    """Return the chunks that have each lexeme, without those of documents that may not be found."""
    parts: dict[str, list[Found]] = {}
    for each in found:
        for lexeme, runs, records in each.postings:
            at = _unpack_posting(shelf, runs, records)
            if len(at.chunk):
                parts.setdefault(lexeme, []).append(at)
    columns = ("chunk", "count", "length")
    return {
        lexeme: Found(*(np.concatenate([getattr(each, name) for each in some]) for name in columns))
        for lexeme, some in parts.items()
    }


def _unpack_posting(shelf: Shelf, runs: bytes, records: bytes) -> Found:
    heads, found = np.frombuffer(runs, RUN), np.frombuffer(records, POSTING)
    places = shelf.places(heads["document"].astype(np.int64))
    start = np.where(places < 0, -1 << 40, shelf.base[places] + heads["first"])
    chunk = np.repeat(start, heads["bytes"] // POSTING.itemsize) + found["at"]
    known = chunk >= 0
    if not known.all():
        chunk, found = chunk[known], found[known]
    return Found(chunk, found["count"].astype(np.float32), found["length"].astype(np.float32))


def _vector_statement(document: DocumentId, chunks: Sequence[Chunk], vectors: Vectors, model: int | None) -> Statement:
    places = [chunk.index for chunk in chunks]
    return "chunk_vector.add", {"id": document, "model": model, "places": places, "vectors": VectorArray(vectors)}


def as_chunk(row: Row) -> Chunk:
    index, text, start, end, page, page_end, headings, lead, tokens, breaks = row
    return Chunk(index, text, start, end, page, page_end, tuple(headings), lead, tokens, tuple(breaks))
