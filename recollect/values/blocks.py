"""What reading a file yields: blocks of text, or the reason for a failure.

A reader (providers/files) turns a file into blocks in reading order; recall/chunking.py turns blocks into chunks. A
reading is a series of `Batch`es and then `Finished`, or a `Failure`, after which everything before is dropped.

The canonical text of a document is the texts of its blocks, without blank ones, joined by `get_separator`: a line end
between two rows of a table or two items of a list, an empty line otherwise. It is not stored as a whole; the character
ranges of chunks refer to it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

DocumentFormat = Literal["pdf", "docx", "pptx", "xlsx", "csv", "html", "markdown", "text"]
BlockKind = Literal["heading", "paragraph", "row", "code", "list"]
FailureReason = Literal[
    "encrypted",
    "scanned",
    "corrupt",
    "empty",
    "too_large",
    "too_large_unpacked",
    "unsupported",
    "macros",
    "too_slow",
    "too_much_memory",
    "not_text",
    "not_installed",
]

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


def iter_canonical_text(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the canonical text in parts, to be joined without a separator."""
    before: Block | None = None
    for block in blocks:
        if is_blank(block.text):
            continue
        if before is not None:
            yield get_separator(before, block)
        yield block.text
        before = block


def is_blank(text: str) -> bool:
    return not text or text.isspace()
