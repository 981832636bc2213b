"""The values of a question about documents. Interfaces make a `Question` and show an `Answered`; librarian.py makes one
from the other."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from recollect.apps.chat.message import ErrorStage
from recollect.engine import as_document_id
from recollect.errors import InvalidInput
from recollect.values.document import MAX_CHUNK_HITS, ChunkHit, DocumentId
from recollect.values.query import MAX_BUDGET, MAX_QUERY_CHARS, check_range
from recollect.values.text import check_text

TOP_K = 8
TOP_MEMORIES = 3
HISTORY_TOKENS = 800
MAX_MEMORIES = 20
MAX_DOCUMENTS = 1_000
PREVIEW_CHARS = 512


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `documents` limits the search. `mmr` from 0 to 1 prefers passages that do not repeat each other; 1
    keeps the plain order. Without history and memories it is a plain search with an answer."""

    query: str
    documents: tuple[DocumentId | str, ...] | None = None
    top_k: int = TOP_K
    top_memories: int = TOP_MEMORIES
    history_tokens: int = HISTORY_TOKENS
    include_history: bool = True
    mmr: float | None = None

    def __post_init__(self) -> None:
        check_text("query", self.query, MAX_QUERY_CHARS)
        check_range("top_k", self.top_k, 1, MAX_CHUNK_HITS)
        check_range("top_memories", self.top_memories, 0, MAX_MEMORIES)
        check_range("history_tokens", self.history_tokens, 0, MAX_BUDGET)
        check_range("mmr", self.mmr, 0, 1, whole=False, optional=True)
        if self.documents is not None:
            if len(self.documents) > MAX_DOCUMENTS:
                raise InvalidInput("documents", f"at most {MAX_DOCUMENTS:,}")
            object.__setattr__(self, "documents", tuple(map(as_document_id, self.documents)))


@dataclass(frozen=True, slots=True)
class Source:
    """A chunk that was found. `start` to `end` is the range that the answer quotes, or the whole chunk; `cited` says
    whether the answer uses it. A refusal cites none but may show the nearest one. Without a title, the document was
    deleted."""

    document: UUID
    chunk: int
    page: int | None
    score: float
    preview: str
    start: int
    end: int
    cited: bool
    begins: int  # of the chunk and its preview
    page_end: int | None = None  # pages of `start` and `end`
    title: str = ""


@dataclass(frozen=True, slots=True)
class Recollection:
    """Something remembered: a memory, a turn of another session, or a summary."""

    id: str
    source: str  # qa_turn, summary, explicit, ...; turn
    text: str
    score: float

    @property
    def preview(self) -> str:
        return self.text[:PREVIEW_CHARS]


@dataclass(frozen=True, slots=True)
class Place:
    """A range of a document's text, in characters."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer before it is recorded. `places` are its citations, by `ChunkHit.source`."""

    text: str
    places: dict[str, Place | None]
    model: str | None = None
    model_ms: int | None = None
    error_stage: ErrorStage | None = None
    error: str | None = None
    memory: str | None = None  # id of the memory, if only a memory answers
    near: tuple[str, Place] | None = None  # the nearest passage of a refusal without a model; not cited

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
    standalone: str  # the question as it was searched
    ref: str | None = None  # the answer in the log
    error_stage: ErrorStage | None = None


def make_source(hit: ChunkHit, reply: Reply) -> Source:
    chunk = hit.chunk
    places = dict([reply.near] if reply.near else ()) | reply.places
    place = places.get(hit.source) or Place(chunk.start, chunk.end)
    page, page_end = chunk.pages(place.start, place.end)
    is_cited, preview = hit.source in reply.places, chunk.text[:PREVIEW_CHARS]
    found = (hit.document.id, chunk.index, page, hit.score, preview)
    return Source(*found, place.start, place.end, is_cited, chunk.start, page_end, hit.document.title)
