"""Documents: what reading a file yields, what is stored of it, and what a search asks and finds.

A reading (providers/files) is a series of `Batch`es of blocks and then `Finished`, or a `Failure`, after which
everything before is dropped. The canonical text of a document is the texts of its blocks, without blank ones, joined by
`get_separator`. It is not stored as a whole; the character ranges of chunks (recall/chunking.py) refer to it.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NewType, cast
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.values.lesson import Owner
from recollect.values.query import MAX_QUERY_CHARS, Arm, check_range, explain_hit
from recollect.values.scope import ScopeId, parse_id
from recollect.values.text import check_text

DocumentFormat = Literal["pdf", "docx", "pptx", "xlsx", "csv", "html", "markdown", "text"]
BlockKind = Literal["heading", "paragraph", "row", "code", "list"]
FailureReason = Literal[
    "encrypted", "scanned", "corrupt", "empty", "too_large", "too_large_unpacked", "unsupported", "macros", "too_slow",
    "too_much_memory", "not_text", "not_installed",
]  # fmt: skip

FAILURE_MESSAGES: dict[FailureReason, str] = {
    "encrypted": "The file is protected by a password. Remove the protection and upload it again.",
    "scanned": "The pages are pictures without text. Run text recognition (OCR) on the file and upload the result.",
    "corrupt": "The file is damaged or incomplete. Open it in the program it was made with, save it and upload that.",
    "empty": "The file contains no text. Check that it is the one you meant.",
    "too_large": "The file is too large. Split it and upload the parts.",
    "too_large_unpacked": "The file is far larger inside than outside. Save it again without what is not text, or split"
    " it.",
    "unsupported": "Files of this kind are not read. Save it as PDF, DOCX, PPTX, XLSX, CSV, HTML, Markdown or text.",
    "macros": "The file contains macros. Save it without them (.docx, .pptx, .xlsx) and upload that.",
    "too_slow": "Reading the file took too long. Split it, or save it in a simpler format.",
    "too_much_memory": "Reading the file takes too much memory. Split it, or save it in a simpler format.",
    "not_text": "The file is neither text nor a document that can be read. Check that it is the one you meant.",
    "not_installed": "The packages for this kind of file are not installed. Run `pip install 'recollect[documents]'`.",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A structural unit of a document: a heading, a paragraph, a row."""

    text: str
    kind: BlockKind = "paragraph"
    level: int = 0  # 1 to 6 of a heading; 1 of a row that names the columns
    page: int | None = None  # from 1; a slide counts as a page


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document: the unit that is embedded, found and cited."""

    index: int
    text: str  # the canonical text from `start` to `end`
    start: int
    end: int
    page: int | None  # on which it begins
    page_end: int | None
    headings: tuple[str, ...]  # that it begins under, the outermost first
    lead: str  # the row that names the columns, where it begins inside a table; not part of `text`
    tokens: int
    breaks: tuple[int, ...] = ()  # where its further pages begin, in characters from `start`; none: not known

    def pages(self, start: int, end: int) -> tuple[int | None, int | None]:
        """Return the pages on which a part of it begins and ends."""
        if self.page is None or not self.breaks:
            return self.page, self.page_end
        first, last = (bisect_right(self.breaks, at - self.start) for at in (start, end - 1))
        return self.page + first, self.page + last


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may use. Only the time in which the caller waits for blocks counts."""

    file_bytes: int = 100_000_000
    unpacked_bytes: int = 256_000_000  # of all members of an archive together
    unpacked_ratio: int = 200  # to the bytes of the archive, once they are more than RATIO_FREE
    members: int = 10_000
    characters: int = 200_000_000
    memory_bytes: int = 1_000_000_000
    cpu_seconds: int = 120
    seconds: float = 180.0


@dataclass(frozen=True, slots=True)
class Batch:
    """Some blocks and the reader's progress. `total` is 0 if unknown."""

    blocks: list[Block]
    done: int
    total: int
    unit: Literal["pages", "bytes"]


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a reading that succeeded."""

    format: DocumentFormat
    blocks: int
    characters: int


@dataclass(frozen=True, slots=True)
class Failure:
    """The end of a reading that failed; earlier batches are dropped."""

    reason: FailureReason
    detail: str = ""  # for the log, never for the person

    @property
    def sentence(self) -> str:
        return FAILURE_MESSAGES[self.reason]


def get_separator(before: Block, after: Block) -> str:
    """Return what separates two blocks in the canonical text."""
    return "\n" if before.kind == after.kind and after.kind in ("row", "list") else "\n\n"


def is_blank(text: str) -> bool:
    return not text or text.isspace()


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
    check_text("source", upload.source, MAX_SOURCE)
    check_text("title", upload.title or upload.source, MAX_TITLE)
    if not isinstance(upload.parts, bytes | os.PathLike | AsyncIterable):
        raise InvalidInput("parts", f"a {type(upload.parts).__name__} is neither bytes nor a path nor pieces")
    return upload


def join_chunks(chunks: Sequence[Chunk], start: int, end: int) -> tuple[str, int, int]:
    """Return the text of a range from the chunks that it touches, and the range as far as there is text. Between two
    chunks there are only blanks; how many is known, which ones is not."""
    begin = at = max(start, chunks[0].start) if chunks else start
    text = ""
    for chunk in chunks:
        low, high = max(chunk.start, at), min(chunk.end, end)
        if high > low:
            text += "\n" * (low - at) + chunk.text[low - chunk.start : high - chunk.start]
            at = high
    return text, begin, at


def find_end_chunks(chunks: Sequence[Chunk], start: int, end: int) -> tuple[Chunk, Chunk]:
    """Return the chunks that say best where a range begins and ends. Chunks overlap: the one before also contains the
    first words of a passage, and may begin pages earlier."""
    first = next((chunk for chunk in reversed(chunks) if chunk.start <= start), chunks[0])
    last = next((chunk for chunk in chunks if chunk.end >= end), chunks[-1])
    return first, last


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
        check_text("text", self.text, MAX_QUERY_CHARS)
        check_range("limit", self.limit, 1, MAX_CHUNK_HITS)
        check_range("mmr", self.mmr, 0, 1, whole=False, optional=True)
        if self.documents is not None:
            if len(self.documents) > MAX_FILTER:
                raise InvalidInput("documents", f"at most {MAX_FILTER:,}")
            ids = tuple(parse_id("documents", each, "document") for each in self.documents)
            object.__setattr__(self, "documents", ids)


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
