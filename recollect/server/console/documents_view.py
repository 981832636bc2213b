"""What the documents page shows: answers split into text and numbered citations, excerpts with the cited passage
marked. Pure functions; documents.py loads the data.

An answer names its passages as `Doc <id>/Chunk <n>`. The page shows numbers instead, each a link to the passage. A
passage that the answer was not given stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from recollect.apps.documents.question import Answered, Source
from recollect.learning.document_turns import CITATION, IN_BRACKETS
from recollect.server.console.render import format_pages, get_ref_index, link
from recollect.values.audit import Receipt
from recollect.values.document import Document, Passage

CONTEXT_CHARS = 1_200  # shown on either side of a citation
EXCERPT_CHARS = 3_000  # shown where nothing is cited
WORD_CHARS = 80  # an excerpt is shortened by at most this much, so that it starts and ends with a whole word
MAX_CITED_CHARS = 20_000  # an address can ask for any range
REFERENCE = re.compile(rf"{IN_BRACKETS.pattern}|{CITATION.pattern}|\[(?P<memory>[^\[\]\s]{{1,300}})\]")
DELETED_TITLE = "Deleted document"
RECEIPT_NAMES = {  # table: singular, plural
    "document": ("document", "documents"),
    "document_part": ("file part", "file parts"),
    "chunk": ("passage", "passages"),
    "chunk_vector": ("vector", "vectors"),
    "posting": ("index entry", "index entries"),
}
EXAMPLE_NAME = "Example - bicycle workshop.md"
EXAMPLE_QUESTIONS = (
    "How much is a tyre change?",
    "How long is the guarantee on repairs?",
    "When is the workshop closed?",
)
EXAMPLE = """# The bicycle workshop

This is an example. Ask about it, open a citation, and delete it when you are done.

## Prices

A tyre change costs 15 euros, the tyre itself not included. A full service costs 79 euros and takes two days.
New brake pads cost 22 euros for each wheel, with fitting.

## Opening hours

The workshop opens at nine on weekdays and at ten on Saturdays. It is closed on Sundays and in the first week of August.

## Guarantee

The guarantee on repairs is two years. It does not cover tubes, chains and other parts that wear out.
Bring the receipt; without it we look the repair up by the number of the frame.
"""


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer cites, with its number in the text. Without an address its document was deleted."""

    number: int
    title: str
    pages: str
    address: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer: text, a citation, or the ref of a memory."""

    text: str = ""
    citation: Citation | None = None
    memory: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer. `memories` is the number of memories that were given beside the passages."""

    question: str
    at: datetime | None
    answered: Answered
    pieces: Sequence[Piece]
    citations: Sequence[Citation]
    memories: int
    is_newest: bool = False

    @property
    def index(self) -> int | None:
        """The answer's index in the session; None where it was not logged."""
        index = get_ref_index(self.answered.ref)
        return int(index) if index else None

    @property
    def is_rephrased(self) -> bool:
        return self.answered.standalone.strip() != self.question.strip()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a document: the text before the cited passage, the passage, and the text after it."""

    before: str
    marked: str
    after: str
    start: int
    end: int


# Answers --------------------------------------------------------------------------------------------------------------


def build_exchange(
    question: str,
    at: datetime | None,
    answered: Answered,
    documents: Mapping[UUID, Document],
    memories: Sequence[str],
    is_newest: bool,
) -> Exchange:
    citations = number_citations(answered, documents)
    pieces = tuple(split_answer(answered.answer, citations, memories))
    return Exchange(question, at, answered, pieces, tuple(citations.values()), len(memories), is_newest)


def number_citations(answered: Answered, documents: Mapping[UUID, Document]) -> dict[str, Citation]:
    """Return the cited passages by their name in the answer, numbered in the order of its text."""
    sources = {f"Doc {each.document}/Chunk {each.chunk}": each for each in answered.sources if each.cited}
    in_text = [make_passage_name(match) for match in CITATION.finditer(answered.answer)]
    order = dict.fromkeys((*(name for name in in_text if name in sources), *sources))
    return {name: make_citation(number, sources[name], documents, answered) for number, name in enumerate(order, 1)}


def make_citation(number: int, source: Source, documents: Mapping[UUID, Document], answered: Answered) -> Citation:
    document = documents.get(source.document)
    if document is None:
        return Citation(number, DELETED_TITLE, "", "")
    pages = format_pages(source.page, source.page_end)
    return Citation(number, document.title, pages, link_passage(source, answered))


def make_passage_name(match: re.Match[str]) -> str:
    return f"Doc {match[1].lower()}/Chunk {int(match[2])}"


def split_answer(text: str, citations: Mapping[str, Citation], memories: Sequence[str]) -> Iterator[Piece]:
    position = 0
    for match in REFERENCE.finditer(text):
        names = [make_passage_name(each) for each in CITATION.finditer(match[0])]
        known = [Piece(memory=match["memory"])] if match["memory"] in memories else []
        known += [Piece(citation=citations[name]) for name in names if name in citations]
        if known:
            yield Piece(text[position : match.start()])
            yield from known
            position = match.end()
    yield Piece(text[position:])


def link_passage(source: Source, answered: Answered) -> str:
    """Return the address of a passage in its document; session and turn lead back to the answer."""
    place = {"id": source.document, "from": source.start, "to": source.end}
    return link("documents/one", **place, session=answered.session, turn=get_ref_index(answered.ref)) + "#cited"


# Excerpts -------------------------------------------------------------------------------------------------------------


def choose_range(start: int, end: int, position: int | None) -> tuple[int, int]:
    """Return the characters to show: from a position on, else around a citation, else from the beginning."""
    if position is not None:
        return position, position + EXCERPT_CHARS
    if end <= start:
        return 0, EXCERPT_CHARS
    return max(start - CONTEXT_CHARS, 0), min(end, start + MAX_CITED_CHARS) + CONTEXT_CHARS


def make_excerpt(passage: Passage, start: int, end: int, *, is_last: bool) -> Excerpt:
    """Return a passage without cut words at its ends, and with the characters from `start` to `end` marked."""
    text, offset = passage.text, passage.start
    first, last = 0, len(text)
    if offset and (space := re.search(r"\s", text[:WORD_CHARS])) and space.end() < len(text):
        first = space.end()
    if not is_last and (word := re.search(r"\s\S*$", text[-WORD_CHARS:])) and len(word[0]) < len(text):
        last -= len(word[0])
    low = min(max(start - offset, first), last)
    high = min(max(end - offset, low), last)
    return Excerpt(text[first:low], text[low:high], text[high:last], offset + first, offset + last)


# Text -----------------------------------------------------------------------------------------------------------------


def describe_receipt(receipt: Receipt) -> str:
    """Return what was deleted: `1 document, 12 passages`."""
    rows = reversed([*receipt.rows.items()])  # the document first, then what was derived from it
    named = ((RECEIPT_NAMES.get(table, (table, table)), count) for table, count in rows if count)
    return ", ".join(f"{count:,} {one if count == 1 else many}" for (one, many), count in named)
