"""Documents as stored: an upload, a document's state, the work on it, a passage, and search queries and hits. Blocks
and chunks are in blocks.py."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NewType, cast
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.values.blocks import FAILURE_MESSAGES, Chunk, DocumentFormat, FailureReason, Limits
from recollect.values.lesson import Owner
from recollect.values.query import MAX_QUERY_CHARS, Arm, check_range, explain_hit
from recollect.values.scope import ScopeId
from recollect.values.text import check_text

DocumentId = NewType("DocumentId", UUID)
DocumentStatus = Literal["pending", "processing", "processed", "failed"]
DocumentFailure = FailureReason | Literal["interrupted"]

INTERRUPTED = "Reading the file was broken off again and again. Split it, or save it in a simpler format."
MAX_TITLE = 500
MAX_SOURCE = 255
MAX_FILE_BYTES = Limits().file_bytes  # the reader's limit; servers may allow less


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to store. `parts` are its bytes, an asynchronous iterable of them, or a path."""

    source: str  # its name; never used as a path
    parts: bytes | os.PathLike[str] | AsyncIterable[bytes] = field(repr=False)
    title: str = ""  # empty: its name
    most: int = MAX_FILE_BYTES  # bytes


@dataclass(frozen=True, slots=True)
class Document:
    """An uploaded file and how far it has been read."""

    id: DocumentId
    title: str
    source: str
    added_by: str
    size: int
    digest: str  # SHA-256 of its bytes, as hexadecimal digits
    status: DocumentStatus
    format: DocumentFormat | None  # known once it is read
    failure: DocumentFailure | None
    pages: int
    chunks: int
    tokens: int
    characters: int
    progress: float  # 0 to 1
    created_at: datetime
    updated_at: datetime
    owner: Owner = "user"

    @property
    def sentence(self) -> str | None:
        """Why reading failed and what to do, for a person."""
        if self.failure is None:
            return None
        return FAILURE_MESSAGES.get(cast("FailureReason", self.failure), INTERRUPTED)


@dataclass(frozen=True, slots=True)
class DocumentJob:
    """A document under lease, to be read or, once read, to be given vectors."""

    scope: ScopeId
    id: DocumentId
    number: int
    title: str
    source: str
    size: int
    status: DocumentStatus
    lease: int
    tries: int


@dataclass(frozen=True, slots=True)
class Passage:
    """The text of a document from `start` to `end`, in characters."""

    document: Document
    text: str
    start: int
    end: int
    page: int | None
    page_end: int | None
    headings: tuple[str, ...]


def check_upload(upload: Upload) -> Upload:
    check_text("upload.source", upload.source, MAX_SOURCE)
    check_text("upload.title", upload.title or upload.source, MAX_TITLE)
    if not isinstance(upload.parts, bytes | os.PathLike | AsyncIterable):
        raise InvalidInput("upload.parts", f"a {type(upload.parts).__name__} is neither bytes nor a path nor pieces")
    return upload


def join_chunks(chunks: Sequence[Chunk], start: int, end: int) -> tuple[str, int, int]:
    """Return the text of a range from the chunks that it touches, and the range as far as there is text. Between two
    chunks there are only blanks; how many is known, which ones is not."""
    parts = list(_iter_pieces(chunks, start, end))
    if not parts:
        return "", start, start
    text = "".join(text for _, text in parts)
    return text, parts[0][0], parts[0][0] + len(text)


def find_end_chunks(chunks: Sequence[Chunk], start: int, end: int) -> tuple[Chunk, Chunk]:
    """Return the chunks that say best where a range begins and ends. Chunks overlap: the one before also contains the
    first words of a passage, and may begin pages earlier."""
    first = next((chunk for chunk in reversed(chunks) if chunk.start <= start), chunks[0])
    last = next((chunk for chunk in chunks if chunk.end >= end), chunks[-1])
    return first, last


def _iter_pieces(chunks: Sequence[Chunk], start: int, end: int) -> Iterator[tuple[int, str]]:
    at: int | None = None
    for chunk in chunks:
        low, high = max(chunk.start, start if at is None else at), min(chunk.end, end)
        if high <= low:
            continue
        if at is not None and low > at:
            yield at, "\n" * (low - at)
        yield low, chunk.text[low - chunk.start : high - chunk.start]
        at = high


MAX_CHUNK_HITS = 100
MAX_FILTER = 1_000


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """What to search for in the user's and the project's documents. `mmr` from 0 to 1 trades relevance for variety: 1
    is the plain order, 0.7 a good mixture."""

    text: str
    documents: tuple[DocumentId | UUID | str, ...] | None = None  # only in these
    owner: Owner | None = None  # only the user's, or only the project's
    limit: int = 8
    mmr: float | None = None

    def __post_init__(self) -> None:
        check_text("query.text", self.text, MAX_QUERY_CHARS)
        check_range("query.limit", self.limit, 1, MAX_CHUNK_HITS)
        if self.mmr is not None:
            check_range("query.mmr", self.mmr, 0, 1, whole=False)
        if self.documents is not None:
            object.__setattr__(self, "documents", tuple(map(_parse_document_id, self.documents[: MAX_FILTER + 1])))
            if len(self.documents) > MAX_FILTER:
                raise InvalidInput("query.documents", f"at most {MAX_FILTER:,}")


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A chunk that was found, how, and its score. `parts` add up to `score`."""

    document: Document
    chunk: Chunk
    score: float
    arms: Mapping[str, Arm]
    parts: Mapping[str, float]
    words: tuple[str, ...]  # of the query, that it has

    @property
    def source(self) -> str:
        """As answers cite it."""
        return f"Doc {self.document.id}/Chunk {self.chunk.index}"

    @property
    def text(self) -> str:
        return self.chunk.text

    @property
    def owner(self) -> Owner:
        return self.document.owner

    @property
    def why(self) -> str:
        """A one-line explanation."""
        return explain_hit(self.words, self.arms, self.parts)


def _parse_document_id(value: object) -> DocumentId:
    try:
        return DocumentId(value if isinstance(value, UUID) else UUID(value))  # type: ignore[arg-type]
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput("query.documents", f"{value!r} is not a document id") from None
