"""Asking: what goes into a question to documents, and what comes out. Doors make a `Question` and show an `Answered`;
librarian.py makes the one of the other."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from recollect.engine import as_document_id
from recollect.errors import InvalidInput
from recollect.model.chat import ErrorStage
from recollect.model.document_search import MAX_CHUNK_HITS, ChunkHit
from recollect.model.library import DocumentId
from recollect.model.search import MAX_BUDGET, MAX_QUERY_CHARS, check_range
from recollect.model.text import checked_text

TOP_K = 8
TOP_MEMORIES = 3
HISTORY_TOKENS = 800
MOST_MEMORIES = 20
MOST_DOCUMENTS = 1_000
PREVIEW_CHARS = 512


@dataclass(frozen=True, slots=True)
class Question:
    """`documents`: only in these. `mmr` from 0 to 1 prefers passages that do not say the same twice; 1 is the plain
    order. Without history and memories it is a plain search with an answer."""

    query: str
    documents: tuple[DocumentId | str, ...] | None = None
    top_k: int = TOP_K
    top_memories: int = TOP_MEMORIES
    history_tokens: int = HISTORY_TOKENS
    include_history: bool = True
    mmr: float | None = None

    def __post_init__(self) -> None:
        checked_text("query", self.query, MAX_QUERY_CHARS)
        check_range("top_k", self.top_k, 1, MAX_CHUNK_HITS)
        check_range("top_memories", self.top_memories, 0, MOST_MEMORIES)
        check_range("history_tokens", self.history_tokens, 0, MAX_BUDGET)
        if self.mmr is not None:
            check_range("mmr", self.mmr, 0, 1, whole=False)
        if self.documents is not None:
            if len(self.documents) > MOST_DOCUMENTS:
                raise InvalidInput("documents", f"at most {MOST_DOCUMENTS:,}")
            object.__setattr__(self, "documents", tuple(map(as_document_id, self.documents)))


@dataclass(frozen=True, slots=True)
class Source:
    """A chunk that was found. `start` to `end` is the place that the answer quotes, or all of the chunk; `cited` says
    whether the answer rests on it. A refusal rests on none; it may still show the place that came nearest."""

    document: UUID
    chunk: int
    page: int | None
    score: float
    preview: str
    start: int
    end: int
    cited: bool
    begins: int  # where the chunk does, and the preview
    page_end: int | None = None  # the pages are those of the place


@dataclass(frozen=True, slots=True)
class Recollection:
    """Something remembered beside the documents: a memory, what was said in another session, a summary of one."""

    id: str
    source: str  # qa_turn, summary, explicit, ...; turn
    text: str
    score: float

    @property
    def preview(self) -> str:
        return self.text[:PREVIEW_CHARS]


@dataclass(frozen=True, slots=True)
class Place:
    """What an answer quotes: a range of a document's text, in characters."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, before it is kept. `places` are what it rests on, by the citation (`ChunkHit.source`)."""

    text: str
    places: dict[str, Place | None]
    model: str | None = None
    model_ms: int | None = None
    error_stage: ErrorStage | None = None
    error: str | None = None
    memory: str | None = None  # the id of what is remembered, where only that says something
    near: tuple[str, Place] | None = None  # of a refusal without a model: what came nearest, and is not cited

    @property
    def refused(self) -> bool:
        return not self.places and self.memory is None


@dataclass(frozen=True, slots=True)
class Answered:
    session: str
    answer: str
    sources: tuple[Source, ...]
    memories: tuple[Recollection, ...]
    used_history_tokens: int
    latency_ms: int
    model: str | None  # None: quoted from the documents
    refused: bool  # no answer was found in the sources
    standalone: str  # the question as it was looked for
    ref: str | None = None  # the answer in the log
    error_stage: ErrorStage | None = None


def source_of(hit: ChunkHit, reply: Reply) -> Source:
    chunk = hit.chunk
    places = dict([reply.near] if reply.near else ()) | reply.places
    place = places.get(hit.source) or Place(chunk.start, chunk.end)
    page, page_end = chunk.pages(place.start, place.end)
    return Source(
        hit.document.id,
        chunk.index,
        page,
        hit.score,
        chunk.text[:PREVIEW_CHARS],
        place.start,
        place.end,
        hit.source in reply.places,
        chunk.start,
        page_end,
    )
