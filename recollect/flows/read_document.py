"""Read documents: index an uploaded file as chunks, words and vectors. Run by the worker, or by `settle`.

The number of the lease prevents a worker that lost it from writing. What is written becomes visible when the document's
row says `processed`; the next worker removes what a killed one left. No connection is held while the reader or the
embedder works.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile

from recollect.errors import EmbedderFailed, Outdated, RecollectError
from recollect.flows.dependencies import Dependencies
from recollect.flows.embed import Vectors
from recollect.recall.chunking import Packing
from recollect.recall.document_rank import Run, count_chunk_words, get_embedded_text
from recollect.store.documents import Page, Renewal, Totals
from recollect.values.document import Batch, Chunk, DocumentFailure, DocumentId, DocumentJob, Failure, Finished
from recollect.values.scope import ScopeId
from recollect.values.work import get_retry_pause

log = logging.getLogger("recollect.documents")

LEASE = timedelta(minutes=2)
RENEWED = 30.0  # seconds
MOST_TRIES = 3  # interrupted tries, after which the document fails
CHUNK_TOKENS = 800
OVERLAP_TOKENS = 80
PAGE = 128  # chunks embedded and written in one go; a run of postings is some of these
ALMOST = 0.99


async def read_document(deps: Dependencies, scope: ScopeId, document: DocumentId) -> bool:
    """Process a document. Return False if another worker has the lease, there is nothing to do, or it is to be
    retried."""
    model = await deps.embedding.get_model()
    now = deps.clock.now()
    job = await deps.store.documents.claim(scope, document, model, now, now + LEASE)
    if job is None:
        return False
    try:
        async with hold_lease(deps, job):
            return await process_document(deps, job, model)
    except Outdated:
        log.info("document %s was dropped, or another worker has it", document)
        return False
    except asyncio.CancelledError:
        await asyncio.shield(deps.store.documents.put_off(job, None, counts=False))
        raise


async def process_document(deps: Dependencies, job: DocumentJob, model: int | None) -> bool:
    """Index the file, or add missing vectors."""
    if job.status == "processed":
        return await add_vectors(deps, job, model)
    if job.tries > MOST_TRIES:
        return await fail_document(deps, job, "interrupted")
    try:
        return await index_file(deps, job, model)
    except OSError as error:
        log.warning("document %s is tried again later: %s", job.id, error)
        await deps.store.documents.put_off(job, deps.clock.now() + get_retry_pause(job.tries), counts=True)
        return False
    except RecollectError:
        raise
    # A text that breaks our own code must not stop the other documents.
    except Exception:
        log.exception("document %s cannot be indexed", job.id)
        return await fail_document(deps, job, "corrupt")


async def fail_document(deps: Dependencies, job: DocumentJob, reason: DocumentFailure) -> bool:
    await deps.store.documents.fail(build_renewal(deps, job), reason)
    return True


async def index_file(deps: Dependencies, job: DocumentJob, model: int | None) -> bool:
    """Index the file; the document ends as processed or failed."""
    if job.lease > 1:
        await deps.store.documents.clear(build_renewal(deps, job))
    # The file has no name on disk, so nothing is left behind however the process ends.
    with TemporaryFile() as file:
        async for piece in deps.store.documents.iter_pieces(job):
            file.write(piece)
        file.flush()
        indexing = Indexing(deps, job, model)
        async with aclosing(deps.files.read(Path(f"/dev/fd/{file.fileno()}"), job.source)) as items:
            async for item in items:
                match item:
                    case Batch():
                        await indexing.take(item)
                    case Finished():
                        await indexing.finish(item)
                    case Failure():
                        log.info("document %s: %s (%s)", job.id, item.reason, item.detail)
                        return await fail_document(deps, job, item.reason)
    return True


@dataclass(slots=True)
class Indexing:
    """The indexing of one document, of any length: at most one page of chunks is held in memory."""

    deps: Dependencies
    job: DocumentJob
    model: int | None  # None: no vectors
    packing: Packing = field(default_factory=lambda: Packing(CHUNK_TOKENS, OVERLAP_TOKENS))
    held: list[Chunk] = field(default_factory=list)
    progress: float = 0.0
    totals: Totals = field(default_factory=Totals)  # of what was written
    run: Run = field(default_factory=Run)

    async def take(self, batch: Batch) -> None:
        mask = self.deps.mask  # before chunks, words and vectors are made of the blocks
        blocks = [replace(block, text=mask(block.text)) for block in batch.blocks]
        self.held += await asyncio.to_thread(lambda: [chunk for block in blocks for chunk in self.packing.take(block)])
        self.progress = min(ALMOST, batch.done / batch.total) if batch.total else 0.0
        while len(self.held) >= PAGE:
            await self.write(self.held[:PAGE])
            del self.held[:PAGE]

    async def finish(self, finished: Finished) -> None:
        self.held += self.packing.finish()
        await self.write(self.held, is_last=True)
        totals = replace(self.totals, format=finished.format, characters=self.packing.at, model=self.model or 0)
        await self.deps.store.documents.finish(build_renewal(self.deps, self.job, self.progress), totals)

    async def write(self, chunks: Sequence[Chunk], is_last: bool = False) -> None:
        await asyncio.to_thread(add_words, chunks, self.job.title, self.run)
        vectors = await self.vectors(chunks)
        is_full = is_last or self.run.is_full
        page = Page(chunks, self.run if is_full else None, vectors, self.model)
        await self.deps.store.chunks.write(build_renewal(self.deps, self.job, self.progress), page)
        self.totals.chunks += len(chunks)
        self.totals.tokens += sum(chunk.tokens for chunk in chunks)
        self.totals.pages = max([self.totals.pages, *(chunk.page_end or 0 for chunk in chunks)])
        if is_full:
            self.totals.words += self.run.words
            self.run = Run(first=self.totals.chunks)

    async def vectors(self, chunks: Sequence[Chunk]) -> Vectors | None:
        if self.model is None or not chunks:
            return None
        try:
            vectors, self.model = await self.deps.embedding.embed_texts([get_embedded_text(chunk) for chunk in chunks])
        except EmbedderFailed as error:
            log.warning("document %s is found by words only for now: %s", self.job.id, error)
            self.model = None
            return None
        return vectors


def add_words(chunks: Sequence[Chunk], title: str, run: Run) -> None:
    for chunk in chunks:
        run.add(count_chunk_words(chunk, title))


async def add_vectors(deps: Dependencies, job: DocumentJob, model: int | None) -> bool:
    """Store vectors of the current model for the chunks that have none."""
    if model is None:
        await deps.store.documents.put_off(job, None, counts=False)
        return False
    try:
        while chunks := await deps.store.chunks.list_unembedded(job.scope, job.id, model, PAGE):
            vectors, model = await deps.embedding.embed_texts([get_embedded_text(chunk) for chunk in chunks])
            await deps.store.chunks.add_vectors(build_renewal(deps, job), chunks, vectors, model)
    except EmbedderFailed as error:
        log.warning("document %s waits for its vectors: %s", job.id, error)
        await deps.store.documents.put_off(job, deps.clock.now() + get_retry_pause(job.tries), counts=True)
        return False
    await deps.store.documents.finish_vectors(build_renewal(deps, job), model)
    return True


def build_renewal(deps: Dependencies, job: DocumentJob, progress: float = 0.0) -> Renewal:
    now = deps.clock.now()
    return Renewal(job, now, now + LEASE, progress)


@asynccontextmanager
async def hold_lease(deps: Dependencies, job: DocumentJob) -> AsyncIterator[None]:
    """Renew the lease while the work inside runs."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(RENEWED)
            try:
                await deps.store.documents.renew(build_renewal(deps, job))
            except RecollectError as error:
                # The next write raises if the lease is lost.
                log.info("the lease of document %s was not renewed: %s", job.id, error)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])
