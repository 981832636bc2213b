"""The store's part for chunks: written a page at a time under a document's lease, and found by words and by meaning.

What a search reads of every document comes packed, so that nothing is made in Python for a chunk that is not chosen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recollect.model.candidates import Floats
from recollect.model.document import Chunk
from recollect.model.ids import ScopeId
from recollect.model.lesson import Owner
from recollect.model.library import Document, DocumentId
from recollect.model.postings import POSTING, Found, Run, Shelf
from recollect.model.spelling import beginnings, second_letters
from recollect.store.database import Database, Row, Statement
from recollect.store.documents import Renewal, as_document
from recollect.store.wire_format import VectorArray, Vectors

DOCUMENT = np.dtype([("id", "V16"), ("number", ">i8"), ("chunks", ">i4"), ("words", ">i8")])
RUN = np.dtype([("document", ">i8"), ("first", ">i4"), ("bytes", ">i4")])
MOST_LEXEMES = 3_000  # that a question with unknown words may walk over
ChunkKey = tuple[DocumentId, int]
Nearest = list[tuple[DocumentId, int, float]]


@dataclass(frozen=True, slots=True)
class Page:
    """Some chunks of a document, one after the other, with what they are found by. `run` if it is full, or the last."""

    chunks: Sequence[Chunk]
    run: Run | None
    vectors: Vectors | None
    model: int | None


@dataclass(frozen=True, slots=True)
class ChunkArms:
    """What the arms look for, and where."""

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
class Shelved:
    """What one scope has for a question; packed, since scopes are weighed together."""

    documents: bytes
    postings: Sequence[tuple[str, bytes, bytes]]
    nearest: Nearest


class ChunkStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, renewal: Renewal, page: Page) -> None:
        """Raises Outdated, and writes nothing, if the lease is no longer ours."""
        job = renewal.job
        statements: list[Statement] = [("chunk.add", {"id": job.id, "chunks": _chunks_json(page.chunks)})]
        if page.run is not None:
            statements.append(_run_added(job.number, page.run))
        if page.vectors is not None:
            statements.append(_vectors_added(job.id, page.chunks, page.vectors, page.model))
        await self._database.run(job.scope, renewal.statement, *statements, write=True)

    async def add_vectors(self, renewal: Renewal, chunks: Sequence[Chunk], vectors: Vectors, model: int) -> None:
        added = _vectors_added(renewal.job.id, chunks, vectors, model)
        await self._database.run(renewal.job.scope, renewal.statement, added, write=True)

    async def unembedded(self, scope: ScopeId, document: DocumentId, model: int, limit: int) -> list[Chunk]:
        parameters = {"id": document, "model": model, "limit": limit}
        [rows] = await self._database.run(scope, ("chunk.unembedded", parameters))
        return [as_chunk(row) for row in rows]

    async def between(self, scope: ScopeId, document: DocumentId, start: int, end: int) -> list[Chunk]:
        parameters = {"id": document, "start": start, "end": end}
        [rows] = await self._database.run(scope, ("chunk.between", parameters))
        return [as_chunk(row) for row in rows]

    async def from_index(self, scope: ScopeId, document: DocumentId, start: int, limit: int) -> list[Chunk]:
        parameters = {"id": document, "from": start, "limit": limit}
        [rows] = await self._database.run(scope, ("chunk.from", parameters))
        return [as_chunk(row) for row in rows]

    # Searching

    async def search(self, scope: ScopeId, arms: ChunkArms) -> Shelved:
        parameters = arms.parameters
        statements: list[Statement] = [("document.searchable", parameters), ("posting.find", parameters)]
        if arms.vector is not None:
            statements.append(("chunk_vector.nearest", parameters))
        documents, postings, *nearest = await self._database.run(scope, *statements)
        near = [(row[0], row[1], row[2]) for row in nearest[0]] if nearest else []
        return Shelved(documents[0][0] or b"", [(row[0], row[1], row[2]) for row in postings], near)

    async def words_like(self, scope: ScopeId, words: Sequence[str], least: float) -> dict[str, str]:
        """For each word that no document has, the most similar one that some document has."""
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

    async def more_words(self, scope: ScopeId, arms: ChunkArms, found: Shelved) -> Shelved:
        """With the postings of further terms."""
        [rows] = await self._database.run(scope, ("posting.find", arms.parameters))
        return replace(found, postings=[*found.postings, *((row[0], row[1], row[2]) for row in rows)])

    async def cosines(
        self, scope: ScopeId, keys: Sequence[ChunkKey], arms: ChunkArms, whole: bool
    ) -> dict[ChunkKey, tuple[float, Floats | None]]:
        """Of some chunks, how near they are to the question and, if asked for, their vectors."""
        listed = json.dumps([{"d": str(document), "i": index} for document, index in keys])
        parameters = {**arms.parameters, "keys": listed, "whole": whole}
        [rows] = await self._database.run(scope, ("chunk_vector.of_chunks", parameters))
        return {(row[0], row[1]): (row[2], _vector(row[3])) for row in rows}

    async def chosen(
        self, scope: ScopeId, owner: Owner, keys: Sequence[ChunkKey]
    ) -> dict[ChunkKey, tuple[Document, Chunk]]:
        """The chunks at these places with their documents; what was dropped meanwhile is left out."""
        listed = [{"n": n, "d": str(document), "i": index} for n, (document, index) in enumerate(keys)]
        ids = list({document for document, _ in keys})
        named, rows = await self._database.run(
            scope, ("document.named", {"ids": ids}), ("chunk.chosen", {"keys": json.dumps(listed)})
        )
        documents = {row[0]: as_document(row, owner) for row in named}
        return {(row[0], row[1]): (documents[row[0]], as_chunk(row[1:])) for row in rows if row[0] in documents}


def shelf_of(found: Sequence[Shelved]) -> Shelf:
    """All documents of the scopes that are searched, in one row."""
    records = np.frombuffer(b"".join(each.documents for each in found), DOCUMENT)
    holder = np.repeat(np.arange(len(found)), [len(each.documents) // DOCUMENT.itemsize for each in found])
    order = np.argsort(records["number"], kind="stable")
    records, holder = records[order], holder[order]
    raw = records["id"].tobytes()
    ids = [raw[at : at + 16] for at in range(0, len(raw), 16)]
    base = np.concatenate([[0], np.cumsum(records["chunks"].astype(np.int64))])
    place = {each: n for n, each in enumerate(ids)}
    return Shelf(ids, records["number"].astype(np.int64), base, float(records["words"].sum()), place, holder)


def postings_on(shelf: Shelf, found: Sequence[Shelved]) -> dict[str, Found]:
    """By lexeme, the chunks that have it; those of documents that may not be found are left out."""
    parts: dict[str, list[Found]] = {}
    for each in found:
        for lexeme, runs, records in each.postings:
            at = _unpacked(shelf, runs, records)
            if len(at.chunk):
                parts.setdefault(lexeme, []).append(at)
    return {lexeme: _together(some) for lexeme, some in parts.items()}


def _unpacked(shelf: Shelf, runs: bytes, records: bytes) -> Found:
    heads, found = np.frombuffer(runs, RUN), np.frombuffer(records, POSTING)
    places = shelf.places(heads["document"].astype(np.int64))
    start = np.where(places < 0, -1 << 40, shelf.base[places] + heads["first"])
    chunk = np.repeat(start, heads["bytes"] // POSTING.itemsize) + found["at"]
    known = chunk >= 0
    if not known.all():
        chunk, found = chunk[known], found[known]
    return Found(chunk, found["count"].astype(np.float32), found["length"].astype(np.float32))


def _together(some: Sequence[Found]) -> Found:
    if len(some) == 1:
        return some[0]
    columns = ([getattr(each, name) for each in some] for name in ("chunk", "count", "length"))
    return Found(*map(np.concatenate, columns))


def _run_added(document: int, run: Run) -> Statement:
    lexemes, found = list(run.records), [bytes(records) for records in run.records.values()]
    return "posting.add", {"number": document, "first": run.first, "lexemes": lexemes, "found": found}


def _vectors_added(document: DocumentId, chunks: Sequence[Chunk], vectors: Vectors, model: int | None) -> Statement:
    places = [chunk.index for chunk in chunks]
    return "chunk_vector.add", {"id": document, "model": model, "places": places, "vectors": VectorArray(vectors)}


def _chunks_json(chunks: Sequence[Chunk]) -> str:
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


def _vector(sent: bytes | None) -> Floats | None:
    """What halfvec_send gives: two numbers about it, and the values."""
    return None if sent is None else np.frombuffer(sent, ">f2", offset=4).astype(np.float32)


def as_chunk(row: Row) -> Chunk:
    index, text, start, end, page, page_end, headings, lead, tokens, breaks = row
    return Chunk(index, text, start, end, page, page_end, tuple(headings), lead, tokens, tuple(breaks))
