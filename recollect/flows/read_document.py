"""Read document: from a file to chunks that can be found. Done by the worker, or by `settle`.

The lease keeps two from doing the same at once; its number keeps whoever lost it from writing. Chunks, words and
vectors are written a page at a time, and count only from the moment the document's row says `processed`: a worker that
is killed leaves rows that nobody sees and the next one clears away. No connection is held while the reader or the
embedder works.

A failing embedder costs vectors, never documents: the document is found by words, and gets its vectors later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from recollect.errors import EmbedderFailed, Outdated, RecollectError
from recollect.flows.embed import Vectors
from recollect.flows.parts import Parts
from recollect.model.chunking import Packing
from recollect.model.document import Batch, Block, Chunk, Failure, Finished, is_blank
from recollect.model.ids import ScopeId
from recollect.model.library import DocumentId, DocumentJob, Failed
from recollect.model.postings import Run, embedded_chunk, words_of
from recollect.model.work import pause_after
from recollect.store.chunks import Page
from recollect.store.documents import Renewal, Totals

log = logging.getLogger("recollect.documents")

LEASE = timedelta(minutes=2)
RENEWED = 30.0  # seconds
MOST_TRIES = 3  # that end without a last word; the next one is not begun
CHUNK_TOKENS = 800
OVERLAP_TOKENS = 80
PAGE = 128  # chunks embedded and written in one go; a run of postings is some of these
ALMOST = 0.99


async def document_model(parts: Parts) -> int | None:
    """The model whose vectors chunks should have."""
    return None if parts.embedding.policy == "none" else await parts.embedding.current_model()


async def read_document(parts: Parts, scope: ScopeId, document: DocumentId) -> bool:
    """False if another has the lease, nothing was to be done, or it is to be tried again."""
    model = await document_model(parts)
    now = parts.clock.now()
    job = await parts.store.documents.claim(scope, document, model, now, now + LEASE)
    if job is None:
        return False
    try:
        async with leased(parts, job):
            return await bring_up_to_date(parts, job, model)
    except Outdated:
        log.info("document %s was dropped, or is another's now", document)
        return False
    except asyncio.CancelledError:
        await asyncio.shield(parts.store.documents.put_off(job, None, counts=False))
        raise


async def bring_up_to_date(parts: Parts, job: DocumentJob, model: int | None) -> bool:
    if job.status == "processed":
        return await add_vectors(parts, job, model)
    if job.tries > MOST_TRIES:
        return await fail(parts, job, "interrupted")
    try:
        return await read(parts, job, model)
    except OSError as error:
        log.warning("document %s is tried again later: %s", job.id, error)
        await parts.store.documents.put_off(job, parts.clock.now() + pause_after(job.tries), counts=True)
        return False
    except RecollectError:
        raise
    # Whatever a text does to our own code, the other documents must go on.
    except Exception:
        log.exception("document %s cannot be indexed", job.id)
        return await fail(parts, job, "corrupt")


async def fail(parts: Parts, job: DocumentJob, reason: Failed) -> bool:
    await parts.store.documents.fail(renewal(parts, job), reason)
    return True


async def read(parts: Parts, job: DocumentJob, model: int | None) -> bool:
    """The document ends as processed or failed."""
    if job.lease > 1:
        await parts.store.documents.clear(renewal(parts, job))
    # Without a name on disk: nothing is left behind, however the process ends.
    with TemporaryFile() as file:
        await fetched(parts, job, file)
        indexing = Indexing(parts, job, model)
        async with aclosing(parts.files.read(Path(f"/dev/fd/{file.fileno()}"), job.source)) as items:
            async for item in items:
                match item:
                    case Batch():
                        await indexing.take(item)
                    case Finished():
                        await indexing.finish(item)
                    case Failure():
                        log.info("document %s: %s (%s)", job.id, item.reason, item.detail)
                        return await fail(parts, job, item.reason)
    return True


async def fetched(parts: Parts, job: DocumentJob, file: IO[bytes]) -> None:
    async for piece in parts.store.documents.pieces(job):
        file.write(piece)
    file.flush()


@dataclass(slots=True)
class Indexing:
    """A document on its way into the index, however long: one page of chunks is held."""

    parts: Parts
    job: DocumentJob
    model: int | None  # None: no vectors, or no more of them
    packing: Packing = field(default_factory=lambda: Packing(CHUNK_TOKENS, OVERLAP_TOKENS))
    held: list[Chunk] = field(default_factory=list)
    progress: float = 0.0
    pages: int = 0
    chunks: int = 0
    tokens: int = 0
    words: int = 0
    run: Run = field(default_factory=Run)

    async def take(self, batch: Batch) -> None:
        self.held += await asyncio.to_thread(cut, self.packing, batch.blocks)
        self.progress = min(ALMOST, batch.done / batch.total) if batch.total else 0.0
        while len(self.held) >= PAGE:
            await self.write(self.held[:PAGE])
            del self.held[:PAGE]

    async def finish(self, finished: Finished) -> None:
        self.held += self.packing.finish()
        await self.write(self.held, is_last=True)
        totals = Totals(
            finished.format,
            self.pages,
            self.chunks,
            self.tokens,
            self.words,
            self.packing.at,
            self.model or 0,
        )
        await self.parts.store.documents.finish(renewal(self.parts, self.job, self.progress), totals)

    async def write(self, chunks: Sequence[Chunk], is_last: bool = False) -> None:
        await asyncio.to_thread(analyse, chunks, self.job.title, self.run)
        vectors = await self.vectors(chunks)
        is_full = is_last or self.run.is_full
        page = Page(chunks, self.run if is_full else None, vectors, self.model)
        await self.parts.store.chunks.write(renewal(self.parts, self.job, self.progress), page)
        self.chunks += len(chunks)
        self.tokens += sum(chunk.tokens for chunk in chunks)
        self.pages = max(self.pages, max((chunk.page_end or 0 for chunk in chunks), default=0))
        if is_full:
            self.words += self.run.words
            self.run = Run(first=self.chunks)

    async def vectors(self, chunks: Sequence[Chunk]) -> Vectors | None:
        if self.model is None or not chunks:
            return None
        try:
            vectors, self.model = await self.parts.embedding.vectors([embedded_chunk(chunk) for chunk in chunks])
        except EmbedderFailed as error:
            log.warning("document %s is found by words only for now: %s", self.job.id, error)
            self.model = None
            return None
        return vectors


def cut(packing: Packing, blocks: Sequence[Block]) -> list[Chunk]:
    return [chunk for block in blocks if not is_blank(block.text) for chunk in packing.take(block)]


def analyse(chunks: Sequence[Chunk], title: str, run: Run) -> None:
    for chunk in chunks:
        run.add(words_of(chunk, title))


async def add_vectors(parts: Parts, job: DocumentJob, model: int | None) -> bool:
    """Vectors of the current model for the chunks that have none."""
    if model is None:
        await parts.store.documents.put_off(job, None, counts=False)
        return False
    try:
        while chunks := await parts.store.chunks.unembedded(job.scope, job.id, model, PAGE):
            vectors, model = await parts.embedding.vectors([embedded_chunk(chunk) for chunk in chunks])
            await parts.store.chunks.add_vectors(renewal(parts, job), chunks, vectors, model)
    except EmbedderFailed as error:
        log.warning("document %s waits for its vectors: %s", job.id, error)
        await parts.store.documents.put_off(job, parts.clock.now() + pause_after(job.tries), counts=True)
        return False
    await parts.store.documents.embedded(renewal(parts, job), model)
    return True


def renewal(parts: Parts, job: DocumentJob, progress: float = 0.0) -> Renewal:
    now = parts.clock.now()
    return Renewal(job, now, now + LEASE, progress)


@asynccontextmanager
async def leased(parts: Parts, job: DocumentJob) -> AsyncIterator[None]:
    """Renews the lease while something takes long."""
    renewing = asyncio.create_task(keep(parts, job))
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])


async def keep(parts: Parts, job: DocumentJob) -> None:
    while True:
        await asyncio.sleep(RENEWED)
        try:
            await parts.store.documents.renew(renewal(parts, job))
        except RecollectError as error:
            # The next write finds out for itself.
            log.info("the lease of document %s was not renewed: %s", job.id, error)
