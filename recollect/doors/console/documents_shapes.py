"""What the documents room shows: answers cut into words and citations, a document's state in words, a passage with the
cited words apart. Pure; documents.py and documents_shelf.py fetch what goes in.

An answer names its passages as `Doc <id>/Chunk <n>`. A person sees numbers instead, each a link to the place; a passage
that the answer was never given stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from recollect.doors.console.render import link
from recollect.errors import InvalidInput
from recollect.hosts.documents.asking import Answered, Source
from recollect.hosts.documents.keeping import Entry
from recollect.model.document_turns import CITATION, IN_BRACKETS
from recollect.model.library import Document, Passage

AROUND = 1_200  # characters shown on either side of a citation
LEAF = 3_000  # characters shown where nothing is cited
RAGGED = 80  # characters at either end within which a word is not cut
MOST_CITED = 20_000  # characters; an address can ask for any range
REFERENCE = re.compile(rf"{IN_BRACKETS.pattern}|{CITATION.pattern}|\[(?P<memory>[^\[\]\s]{{1,300}})\]")
GONE = "a document that is gone"


@dataclass(frozen=True, slots=True)
class Cited:
    """A passage that an answer rests on, under the number that stands in the text. Without an address it is gone."""

    number: int
    title: str
    where: str
    address: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Words of an answer, or a citation, or what is remembered: one of the three."""

    text: str = ""
    cited: Cited | None = None
    memory: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer. `memories` counts what stood beside the documents; `index` is where the answer is in
    the log."""

    question: str
    at: datetime | None
    answered: Answered
    pieces: Sequence[Piece]
    cited: Sequence[Cited]
    memories: int
    is_newest: bool = False

    @property
    def index(self) -> int | None:
        place = (self.answered.ref or "").rpartition("#")[2]
        return int(place) if place else None

    @property
    def is_rephrased(self) -> bool:
        return self.answered.standalone.strip() != self.question.strip()


@dataclass(frozen=True, slots=True)
class Leaf:
    """A part of a document: what stands before the cited words, they, and what follows. `end` is where to go on."""

    before: str
    marked: str
    after: str
    start: int
    end: int


def exchange(
    question: str,
    at: datetime | None,
    answered: Answered,
    documents: Mapping[UUID, Document],
    memories: Sequence[str],
    is_newest: bool,
) -> Exchange:
    cited = numbered(answered, documents)
    pieces = tuple(pieces_of(answered.answer, cited, memories))
    return Exchange(question, at, answered, pieces, tuple(cited.values()), len(memories), is_newest)


def from_entry(entry: Entry, documents: Mapping[UUID, Document], is_newest: bool) -> Exchange:
    memories = [str(each["id"]) for each in (entry.reply.data or {}).get("memories") or ()]
    return exchange(entry.question.text, entry.at, entry.answered, documents, memories, is_newest)


def numbered(answered: Answered, documents: Mapping[UUID, Document]) -> dict[str, Cited]:
    """The passages an answer rests on by the name it has for them; numbered as they come in its text."""
    resting = {citation(each): each for each in answered.sources if each.cited}
    named = [f"Doc {found[1].lower()}/Chunk {int(found[2])}" for found in CITATION.finditer(answered.answer)]
    order = dict.fromkeys((*(name for name in named if name in resting), *resting))
    return {
        name: cited(number, resting[name], documents.get(resting[name].document), answered)
        for number, name in enumerate(order, 1)
    }


def citation(source: Source) -> str:
    return f"Doc {source.document}/Chunk {source.chunk}"


def cited(number: int, source: Source, document: Document | None, answered: Answered) -> Cited:
    if document is None:
        return Cited(number, GONE, "", "")
    return Cited(number, document.title, on_pages(source.page, source.page_end), place_of(source, answered))


def place_of(source: Source, answered: Answered) -> str:
    """Where a passage stands in its document; the viewer knows the way back."""
    turn = (answered.ref or "").rpartition("#")[2]
    place = {"id": source.document, "from": source.start, "to": source.end}
    return link("documents/one", **place, session=answered.session, turn=turn) + "#cited"


def on_pages(page: int | None, page_end: int | None) -> str:
    if page is None:
        return ""
    return f"page {page}" if page_end in (None, page) else f"pages {page} to {page_end}"


def pieces_of(text: str, cited: Mapping[str, Cited], memories: Sequence[str]) -> Iterator[Piece]:
    at = 0
    for found in REFERENCE.finditer(text):
        known = list(references(found, cited, memories))
        if known:
            yield Piece(text[at : found.start()])
            yield from known
            at = found.end()
    yield Piece(text[at:])


def references(found: re.Match[str], cited: Mapping[str, Cited], memories: Sequence[str]) -> Iterator[Piece]:
    if found["memory"] in memories:
        yield Piece(memory=found["memory"])
    for each in CITATION.finditer(found[0]):
        name = f"Doc {each[1].lower()}/Chunk {int(each[2])}"
        if name in cited:
            yield Piece(cited=cited[name])


def memory_ref(name: str) -> str:
    """As pages name it: refs of messages are as they are."""
    return name if "#" in name else f"memory:{name}"


def whole_number(name: str, text: str, default: int) -> int:
    if not text:
        return default
    if not text.isdecimal() or len(text) > 9:
        raise InvalidInput(name, f"{text!r} is not a number")
    return int(text)


def window(start: int, end: int, at: int | None) -> tuple[int, int]:
    """What to show of a document: around a citation, or from a place on."""
    if at is not None:
        return at, at + LEAF
    if end <= start:
        return 0, LEAF
    return max(start - AROUND, 0), min(end, start + MOST_CITED) + AROUND


def leaf(passage: Passage, start: int, end: int, *, is_last: bool) -> Leaf:
    """With no word cut at its ends, and the range from `start` to `end` apart as far as it is in it."""
    text, begins = passage.text, passage.start
    ragged = 0 if begins == 0 else first_gap(text)
    stop = len(text) if is_last else last_gap(text)
    low = min(max(start - begins, ragged), stop)
    high = min(max(end - begins, low), stop)
    return Leaf(text[ragged:low], text[low:high], text[high:stop], begins + ragged, begins + stop)


def first_gap(text: str) -> int:
    found = re.search(r"\s", text[:RAGGED])
    return found.end() if found and found.end() < len(text) else 0


def last_gap(text: str) -> int:
    found = re.search(r"\s\S*$", text[-RAGGED:])
    return len(text) - len(found[0]) if found and len(found[0]) < len(text) else len(text)


def size_of(size: int) -> str:
    if size < 1_000:
        return f"{size} bytes"
    return f"{size / 1_000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB".replace(".0 ", " ")
