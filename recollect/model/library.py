"""Library: documents as they are kept. What a file is uploaded as, what is known of it, the work on it, and a passage
of its text. What reading makes of a file is in model/document.py; how chunks are found, in model/document_search.py."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NewType, cast
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.model.document import SENTENCES, Chunk, DocumentFormat, FailureReason, Limits
from recollect.model.ids import ScopeId
from recollect.model.lesson import Owner
from recollect.model.text import checked_text

DocumentId = NewType("DocumentId", UUID)
DocumentStatus = Literal["pending", "processing", "processed", "failed"]
Failed = FailureReason | Literal["interrupted"]

INTERRUPTED = "Reading the file was broken off again and again. Split it, or save it in a simpler format."
MAX_TITLE = 500
MAX_SOURCE = 255
LARGEST = Limits().file_bytes  # what a reader takes; doors allow less


@dataclass(frozen=True, slots=True)
class Upload:
    """A file on its way in. `parts` are its bytes: all at once, in pieces, or where it lies."""

    source: str  # its name; never used as a path
    parts: bytes | os.PathLike[str] | AsyncIterable[bytes] = field(repr=False)
    title: str = ""  # empty: its name
    most: int = LARGEST  # bytes


@dataclass(frozen=True, slots=True)
class Document:
    id: DocumentId
    title: str
    source: str
    added_by: str
    size: int
    digest: str  # SHA-256 of its bytes, as hexadecimal digits
    status: DocumentStatus
    format: DocumentFormat | None  # known once it is read
    failure: Failed | None
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
        """Why it failed and what to do, for a person."""
        if self.failure is None:
            return None
        return SENTENCES.get(cast("FailureReason", self.failure), INTERRUPTED)


@dataclass(frozen=True, slots=True)
class DocumentJob:
    """A document under lease. It is to be read, or, where it is, to be given vectors."""

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


def checked_upload(upload: Upload) -> Upload:
    checked_text("upload.source", upload.source, MAX_SOURCE)
    checked_text("upload.title", upload.title or upload.source, MAX_TITLE)
    if not isinstance(upload.parts, bytes | os.PathLike | AsyncIterable):
        raise InvalidInput("upload.parts", f"a {type(upload.parts).__name__} is neither bytes nor a path nor pieces")
    return upload


def joined(chunks: Sequence[Chunk], start: int, end: int) -> tuple[str, int, int]:
    """The text of a range out of the chunks that it touches, and the range as far as there is text. Between two chunks
    there are only blanks; which ones is not kept, how many is."""
    parts = list(_pieces(chunks, start, end))
    if not parts:
        return "", start, start
    text = "".join(text for _, text in parts)
    return text, parts[0][0], parts[0][0] + len(text)


def ends_of(chunks: Sequence[Chunk], start: int, end: int) -> tuple[Chunk, Chunk]:
    """The chunks that say best where a range begins and where it ends. Chunks overlap: the one before a passage has its
    first words too, and may have begun pages earlier."""
    first = next((chunk for chunk in reversed(chunks) if chunk.start <= start), chunks[0])
    last = next((chunk for chunk in chunks if chunk.end >= end), chunks[-1])
    return first, last


def _pieces(chunks: Sequence[Chunk], start: int, end: int) -> Iterator[tuple[int, str]]:
    at: int | None = None
    for chunk in chunks:
        low, high = max(chunk.start, start if at is None else at), min(chunk.end, end)
        if high <= low:
            continue
        if at is not None and low > at:
            yield at, "\n" * (low - at)
        yield low, chunk.text[low - chunk.start : high - chunk.start]
        at = high
