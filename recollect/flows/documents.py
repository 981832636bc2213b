"""Documents: store, list, read, search and drop them. Workers read the files (read_document.py).

A document belongs to a user or to their project, whose users share it; the caller checks who may add to the project. A
search takes one round trip per scope for candidates by words and by meaning, one for missing cosines, and a last one
for the texts; recall/document_rank.py ranks.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast, get_args

import numpy as np

from recollect.errors import InvalidInput, NotFound, TooLarge, UnsupportedFile
from recollect.flows.dependencies import Dependencies
from recollect.flows.teach import get_actor, get_holder
from recollect.recall import document_rank as ranking
from recollect.recall.document_rank import CANDIDATES, Ranked, Shelf, Words
from recollect.recall.fuse import Floats, Ints
from recollect.recall.question import Question, analysed_part, read_question
from recollect.recall.spelling import SIMILAR, with_spellings
from recollect.store.documents import ChunkArms, ChunkCandidates, ChunkKey, NewDocument, build_shelf, unpack_postings
from recollect.store.upkeep import Usage
from recollect.values.audit import AuditEntry, Receipt
from recollect.values.document import (
    Chunk,
    ChunkHit,
    Document,
    DocumentId,
    DocumentQuery,
    DocumentStatus,
    Passage,
    Upload,
    check_upload,
    find_end_chunks,
    join_chunks,
)
from recollect.values.lesson import Owner
from recollect.values.query import check_choice, check_choices, check_range
from recollect.values.scope import Scope, ScopeId, uuid7

PIECE = 1 << 20  # bytes; what is read, hashed and kept at a time
HEAD = 8_192
MAX_LISTED = 1_000
MAX_PASSAGE = 100_000  # characters
MAX_PLACE = 2**31 - 1
PAGE = 200  # chunks read at a time
OWNERS: tuple[Owner, ...] = get_args(Owner)


async def add_document(deps: Dependencies, scope: Scope, upload: Upload, owner: Owner) -> Document:
    """Store an upload and return its document."""
    upload = check_upload(upload)
    name, dot, ending = upload.source.rpartition(".")  # the ending says what the file is
    upload = replace(upload, title=deps.mask(upload.title), source=f"{deps.mask(name)}{dot}{deps.mask(ending)}")
    check_choice("owner", owner, OWNERS)
    holder = get_holder(scope, owner)
    with TemporaryFile() as file:
        size, digest = await spool_upload(upload, file)
        file.seek(0)
        if (failure := deps.files.glance(file.read(HEAD))) is not None:
            raise UnsupportedFile("upload", failure.sentence)
        await deps.quota.check(scope, Usage(document_bytes=size), is_shared=owner == "project")
        new = NewDocument(DocumentId(uuid7()), upload.title or upload.source, upload.source, scope.user, size, digest)
        entry = AuditEntry(get_actor(holder, scope), "added", f"document:{new.id}", {"size": size})
        document, is_new = await deps.store.documents.add(holder.id, new, iter_pieces(file), entry, deps.clock.now())
    if is_new:
        deps.new_documents.add(holder.id, document.id)
    return replace(document, owner=owner)


async def spool_upload(upload: Upload, file: BinaryIO) -> tuple[int, bytes]:
    """Write the upload to a file; return its size and digest."""
    size, digest = 0, hashlib.sha256()
    async for piece in iter_upload(upload):
        size += len(piece)
        if size > upload.most:
            raise TooLarge("upload", f"the file has more than {upload.most:,} bytes; split it and upload the parts")
        digest.update(piece)
        file.write(piece)
    file.flush()
    return size, digest.digest()


async def iter_upload(upload: Upload) -> AsyncIterator[bytes]:
    """Yield the bytes of an upload; of a path only if it is a file, because a pipe or device might never end."""
    if isinstance(upload.parts, bytes):
        yield upload.parts
        return
    if isinstance(upload.parts, AsyncIterable):
        async for piece in upload.parts:
            yield piece
        return
    path = Path(upload.parts)
    if not await asyncio.to_thread(path.is_file):
        raise InvalidInput("parts", f"{str(path)!r} is not a file")
    try:
        with await asyncio.to_thread(open, path, "rb") as file:
            while piece := await asyncio.to_thread(file.read, PIECE):
                yield piece
    except OSError as error:
        raise InvalidInput("parts", f"{str(path)!r} cannot be read: {error.strerror}") from error


def iter_pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece


async def list_documents(
    deps: Dependencies,
    scope: Scope,
    status: Sequence[DocumentStatus] | None,
    owner: Owner | None,
    limit: int,
    after: DocumentId | None,
    ids: Sequence[DocumentId] | None,
) -> list[Document]:
    check_range("limit", limit, 1, MAX_LISTED)
    check_range("ids", len(ids or ()), 0, MAX_LISTED)
    check_choices("status", status, get_args(DocumentStatus), optional=True)
    found: list[Document] = []
    for whose in list_owners(owner):
        found += await deps.store.documents.list_documents(
            get_holder(scope, whose).id, whose, status, limit, after, ids
        )
    return sorted(found, key=lambda document: document.id, reverse=True)[:limit]


async def get_document(deps: Dependencies, scope: Scope, wanted: DocumentId, owner: Owner | None) -> Document:
    for whose in list_owners(owner):
        found = await deps.store.documents.find(get_holder(scope, whose).id, wanted, whose)
        if found is not None:
            return found
    raise NotFound(f"neither user {scope.user!r} nor the project has a document {wanted}")


async def drop_document(deps: Dependencies, scope: Scope, wanted: DocumentId, owner: Owner | None) -> Receipt:
    found = await get_document(deps, scope, wanted, owner)
    holder = get_holder(scope, found.owner)
    entry = AuditEntry(get_actor(holder, scope), "dropped", f"document:{wanted}", {"chunks": found.chunks})
    now = deps.clock.now()
    rows = await deps.store.documents.drop(holder.id, wanted, entry, now)
    if rows is None:
        raise NotFound(f"document {wanted} was dropped meanwhile")
    return Receipt(scope.user, None, now, rows)


async def read_passage(deps: Dependencies, scope: Scope, wanted: DocumentId, start: int, end: int) -> Passage:
    check_range("start", start, 0, MAX_PLACE)
    check_range("end", end, start + 1, min(start + MAX_PASSAGE, MAX_PLACE))
    found = await get_document(deps, scope, wanted, None)
    chunks: list[Chunk] = []
    if found.status == "processed":
        chunks = await deps.store.chunks.load_between(get_holder(scope, found.owner).id, wanted, start, end)
    if not chunks:
        raise NotFound(f"document {wanted} has no text at {start}; it has {found.characters:,} characters")
    text, low, high = join_chunks(chunks, start, end)
    first, last = find_end_chunks(chunks, low, high)
    pages = first.pages(low, high)[0], last.pages(low, high)[1]
    return Passage(found, text, low, high, *pages, first.headings)


async def iter_chunks(deps: Dependencies, holder: ScopeId, wanted: DocumentId) -> AsyncIterator[Chunk]:
    """Yield all chunks of a document, read a page at a time."""
    start = 0
    while page := await deps.store.chunks.load_from(holder, wanted, start, PAGE):
        for chunk in page:
            yield chunk
        start = page[-1].index + 1


def list_owners(owner: Owner | None) -> tuple[Owner, ...]:
    """Return the owners to search: the given one, or both."""
    if owner is None:
        return OWNERS
    check_choice("owner", owner, OWNERS)
    return (owner,)


VARIED = 50  # candidates among which variety is looked for
Near = tuple[float, Floats | None]  # a chunk's cosine and, where asked for, its vector


@dataclass(frozen=True, slots=True)
class DocumentSearch:
    """The candidates of all scopes together."""

    arms: ChunkArms
    holders: Sequence[tuple[ScopeId, Owner]]
    found: Sequence[ChunkCandidates]  # per holder
    shelf: Shelf
    words: Words


async def search_documents(deps: Dependencies, scope: Scope, query: DocumentQuery) -> list[ChunkHit]:
    question = read_question(analysed_part(query.text))
    vector, model, _ = await deps.embedding.embed_question(query.text, scope.id)
    holders = [(get_holder(scope, owner).id, owner) for owner in list_owners(query.owner)]
    only = cast("tuple[DocumentId, ...] | None", query.documents)

    arms = ChunkArms(question.lexemes, vector, model, only, CANDIDATES)
    candidates = await asyncio.gather(*(deps.store.chunks.search(holder, arms) for holder, _ in holders))
    shelf = build_shelf(candidates)
    words = ranking.score_words(shelf, unpack_postings(shelf, candidates), arms.terms)
    looked = DocumentSearch(arms, holders, candidates, shelf, words)
    if misspelt := ranking.find_unheard(question, looked.words):
        question, looked = await search_similar_words(deps, looked, question, misspelt)

    chunk, near = await load_candidates(deps, looked, query.mmr is not None)
    found = ranking.rank_chunks(looked.words, chunk, np.array([near[number][0] for number in chunk.tolist()]))
    rows = choose_rows(found, near, query)

    texts = await load_chunks(deps, looked, found.chunk[rows].tolist())
    keys = {row: looked.shelf.key(int(found.chunk[row])) for row in rows}
    return [build_hit(looked, found, row, question, texts[key]) for row, key in keys.items() if key in texts]


async def search_similar_words(
    deps: Dependencies, looked: DocumentSearch, question: Question, misspelt: Sequence[str]
) -> tuple[Question, DocumentSearch]:
    """Search again with similar words that the documents contain, if there are any."""
    similar: dict[str, str] = {}
    for holder, _ in looked.holders:
        similar |= await deps.store.chunks.find_similar_words(holder, misspelt, SIMILAR)
    similar = ranking.accept_spellings(question, looked.words, similar)
    if not similar:
        return question, looked
    question = with_spellings(question, similar)
    # Results of the first search, by other words and by meaning, stay.
    new = replace(looked.arms, terms=sorted({*similar.values()} - {*looked.arms.terms}), vector=None)
    reading = (
        deps.store.chunks.add_words(holder, new, old)
        for (holder, _), old in zip(looked.holders, looked.found, strict=True)
    )
    found = await asyncio.gather(*reading)
    words = ranking.score_words(looked.shelf, unpack_postings(looked.shelf, found), question.lexemes)
    return question, replace(looked, found=found, words=words)


async def load_candidates(deps: Dependencies, looked: DocumentSearch, whole: bool) -> tuple[Ints, dict[int, Near]]:
    """Return the numbers of the chunks that either arm found, and the cosine of each."""
    near: dict[int, Near] = {}
    for each in looked.found:
        for document, index, cosine in each.nearest:
            if (number := looked.shelf.number(document, index)) is not None:
                near[number] = (cosine, None)
    chunk = np.union1d(ranking.select_by_words(looked.words), np.fromiter(near, np.int64, len(near))).astype(np.int64)
    if looked.arms.vector is not None:
        missing = [number for number in chunk.tolist() if whole or number not in near]
        near |= await load_cosines(deps, looked, missing, whole)
    return chunk, {number: near.get(number, (np.nan, None)) for number in chunk.tolist()}


async def load_cosines(
    deps: Dependencies, looked: DocumentSearch, numbers: Sequence[int], whole: bool
) -> dict[int, Near]:
    near: dict[int, Near] = {}
    for n, keys in looked.shelf.by_holder(numbers).items():
        found = await deps.store.chunks.load_cosines(looked.holders[n][0], keys, looked.arms, whole)
        near |= {number: found[key] for key in found if (number := looked.shelf.number(*key)) is not None}
    return near


def choose_rows(found: Ranked, near: Mapping[int, Near], query: DocumentQuery) -> list[int]:
    """Return the rows of the candidates to return, in order."""
    most = min(query.limit, len(found.chunk))
    vectors = [near[number][1] for number in found.chunk[: max(VARIED, most)].tolist()]
    lengths = [len(vector) for vector in vectors if vector is not None]
    if query.mmr is None or not lengths:
        return list(range(most))
    table = np.stack([np.zeros(lengths[0]) if vector is None else vector for vector in vectors])
    return ranking.vary_chunks(found.score[: len(vectors)], table, query.limit, query.mmr)


async def load_chunks(
    deps: Dependencies, looked: DocumentSearch, numbers: Sequence[int]
) -> dict[ChunkKey, tuple[Document, Chunk]]:
    texts: dict[ChunkKey, tuple[Document, Chunk]] = {}
    for n, keys in looked.shelf.by_holder(numbers).items():
        texts |= await deps.store.chunks.load_chunks(*looked.holders[n], keys)
    return texts


def build_hit(
    looked: DocumentSearch, found: Ranked, row: int, question: Question, text: tuple[Document, Chunk]
) -> ChunkHit:
    opinions, matched = ranking.describe_arms(looked.words, found, row, question.respelt)
    return ChunkHit(
        *text,
        score=round(float(found.score[row]), 4),
        arms=opinions,
        parts={"bm25": round(float(found.words[row]), 4), "vector": round(float(found.meaning[row]), 4)},
        words=tuple(question.surface.get(word, word) for word in matched),
    )
