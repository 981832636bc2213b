"""Chunks in the store: written a page at a time under a document's lease, and found by words and by meaning.

What a search reads of every document comes packed, so that no Python object is made for a chunk that is not chosen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recollect.recall.candidates import Floats
from recollect.recall.postings import POSTING, Found, Run, Shelf
from recollect.recall.spelling import beginnings, second_letters
from recollect.store.database import Database, Row, Statement
from recollect.store.documents import Renewal, as_document
from recollect.store.wire_format import VectorArray, Vectors
from recollect.values.blocks import Chunk
from recollect.values.document import Document, DocumentId
from recollect.values.lesson import Owner
from recollect.values.scope import ScopeId

DOCUMENT = np.dtype([("id", "V16"), ("number", ">i8"), ("chunks", ">i4"), ("words", ">i8")])
RUN = np.dtype([("document", ">i8"), ("first", ">i4"), ("bytes", ">i4")])
MOST_LEXEMES = 3_000  # that a question with unknown words may walk over
ChunkKey = tuple[DocumentId, int]
Nearest = list[tuple[DocumentId, int, float]]


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
        return {
            "terms": list(self.terms),
            "vector": None if self.vector is None else VectorArray(self.vector[None, :]),
            "model": self.model,
            "documents": None if self.documents is None else list(self.documents),
            "limit": self.limit,
        }


@dataclass(frozen=True, slots=True)
class ChunkCandidates:
    """The candidates of one scope; packed, because scopes are ranked together."""

    documents: bytes
    postings: Sequence[tuple[str, bytes, bytes]]
    nearest: Nearest


class ChunkStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, renewal: Renewal, page: Page) -> None:
        """Write a page. Raises Outdated, and writes nothing, if the lease is lost."""
        job = renewal.job
        statements: list[Statement] = [("chunk.add", {"id": job.id, "chunks": _dump_chunks(page.chunks)})]
        if page.run is not None:
            statements.append(_posting_statement(job.id, page.run))
        if page.vectors is not None:
            statements.append(_vector_statement(job.id, page.chunks, page.vectors, page.model))
        await self._database.run(job.scope, renewal.statement, *statements, write=True)

    async def add_vectors(self, renewal: Renewal, chunks: Sequence[Chunk], vectors: Vectors, model: int) -> None:
        added = _vector_statement(renewal.job.id, chunks, vectors, model)
        await self._database.run(renewal.job.scope, renewal.statement, added, write=True)

    async def list_unembedded(self, scope: ScopeId, document: DocumentId, model: int, limit: int) -> list[Chunk]:
        parameters = {"id": document, "model": model, "limit": limit}
        [rows] = await self._database.run(scope, ("chunk.unembedded", parameters))
        return [as_chunk(row) for row in rows]

    async def load_between(self, scope: ScopeId, document: DocumentId, start: int, end: int) -> list[Chunk]:
        parameters = {"id": document, "start": start, "end": end}
        [rows] = await self._database.run(scope, ("chunk.between", parameters))
        return [as_chunk(row) for row in rows]

    async def load_from(self, scope: ScopeId, document: DocumentId, start: int, limit: int) -> list[Chunk]:
        parameters = {"id": document, "from": start, "limit": limit}
        [rows] = await self._database.run(scope, ("chunk.from", parameters))
        return [as_chunk(row) for row in rows]

    # Searching

    async def search(self, scope: ScopeId, arms: ChunkArms) -> ChunkCandidates:
        parameters = arms.parameters
        statements: list[Statement] = [("document.searchable", parameters), ("posting.find", parameters)]
        if arms.vector is not None:
            statements.append(("chunk_vector.nearest", parameters))
        documents, postings, *nearest = await self._database.run(scope, *statements)
        near = [(row[0], row[1], row[2]) for row in nearest[0]] if nearest else []
        return ChunkCandidates(documents[0][0] or b"", [(row[0], row[1], row[2]) for row in postings], near)

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
        [rows] = await self._database.run(scope, ("posting.similar", parameters))
        return dict(rows)

    async def add_words(self, scope: ScopeId, arms: ChunkArms, found: ChunkCandidates) -> ChunkCandidates:
        """Return the candidates with the postings of further terms."""
        [rows] = await self._database.run(scope, ("posting.find", arms.parameters))
        return replace(found, postings=[*found.postings, *((row[0], row[1], row[2]) for row in rows)])

    async def load_cosines(
        self, scope: ScopeId, keys: Sequence[ChunkKey], arms: ChunkArms, whole: bool
    ) -> dict[ChunkKey, tuple[float, Floats | None]]:
        """Return the cosine of some chunks to the question and, if asked for, their vectors."""
        listed = json.dumps([{"d": str(document), "i": index} for document, index in keys])
        parameters = {**arms.parameters, "keys": listed, "whole": whole}
        [rows] = await self._database.run(scope, ("chunk_vector.of_chunks", parameters))
        return {(row[0], row[1]): (row[2], _decode_vector(row[3])) for row in rows}

    async def load_chunks(
        self, scope: ScopeId, owner: Owner, keys: Sequence[ChunkKey]
    ) -> dict[ChunkKey, tuple[Document, Chunk]]:
        """Return the chunks at these places with their documents; dropped ones are left out."""
        listed = [{"n": n, "d": str(document), "i": index} for n, (document, index) in enumerate(keys)]
        ids = list({document for document, _ in keys})
        named, rows = await self._database.run(
            scope, ("document.named", {"ids": ids}), ("chunk.chosen", {"keys": json.dumps(listed)})
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
    return {lexeme: _concatenate(some) for lexeme, some in parts.items()}


def _unpack_posting(shelf: Shelf, runs: bytes, records: bytes) -> Found:
    heads, found = np.frombuffer(runs, RUN), np.frombuffer(records, POSTING)
    places = shelf.places(heads["document"].astype(np.int64))
    start = np.where(places < 0, -1 << 40, shelf.base[places] + heads["first"])
    chunk = np.repeat(start, heads["bytes"] // POSTING.itemsize) + found["at"]
    known = chunk >= 0
    if not known.all():
        chunk, found = chunk[known], found[known]
    return Found(chunk, found["count"].astype(np.float32), found["length"].astype(np.float32))


def _concatenate(some: Sequence[Found]) -> Found:
    if len(some) == 1:
        return some[0]
    columns = ([getattr(each, name) for each in some] for name in ("chunk", "count", "length"))
    return Found(*map(np.concatenate, columns))


def _posting_statement(document: DocumentId, run: Run) -> Statement:
    lexemes, found = list(run.records), [bytes(records) for records in run.records.values()]
    return "posting.add", {"id": document, "first": run.first, "lexemes": lexemes, "found": found}


def _vector_statement(document: DocumentId, chunks: Sequence[Chunk], vectors: Vectors, model: int | None) -> Statement:
    places = [chunk.index for chunk in chunks]
    return "chunk_vector.add", {"id": document, "model": model, "places": places, "vectors": VectorArray(vectors)}


def _dump_chunks(chunks: Sequence[Chunk]) -> str:
    return json.dumps(
        [
            {
                "i": chunk.index,
                "text": chunk.text,
                "start": chunk.start,
                "end": chunk.end,
                "page": chunk.page,
                "page_end": chunk.page_end,
                "headings": chunk.headings,
                "lead": chunk.lead,
                "tokens": chunk.tokens,
                "breaks": chunk.breaks,
            }
            for chunk in chunks
        ],
        ensure_ascii=False,
    )


def _decode_vector(sent: bytes | None) -> Floats | None:
    """Decode the output of halfvec_send: a four-byte header, then the values."""
    return None if sent is None else np.frombuffer(sent, ">f2", offset=4).astype(np.float32)


def as_chunk(row: Row) -> Chunk:
    index, text, start, end, page, page_end, headings, lead, tokens, breaks = row
    return Chunk(index, text, start, end, page, page_end, tuple(headings), lead, tokens, tuple(breaks))
