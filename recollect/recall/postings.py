"""Postings: the words of chunks, packed for the store and unpacked for a search.

A run is a sequence of chunks of a document. Each lexeme of a run has a record per chunk that contains it: the chunk's
place in the run, the count, and the chunk's number of lexemes. Flows pack when a document is read; the store unpacks
into columns for document_rank.py.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from recollect.recall.candidates import Floats, Ints
from recollect.recall.lexemes import lexemes
from recollect.recall.sketch import EMBEDDED_CHARS
from recollect.values.blocks import Chunk
from recollect.values.document import DocumentId

RECORD = struct.Struct(">HBH")
POSTING = np.dtype([("at", ">u2"), ("count", "u1"), ("length", ">u2")])
MAX_CHUNKS = 1024  # of a run
MAX_COUNT = 255
MAX_LENGTH = 65_535


@dataclass(frozen=True, slots=True)
class Shelf:
    """The documents that a question looks at. Their chunks are numbered through: a document's begin at its `base`. Ids
    stay bytes until a document is chosen: there may be many thousands."""

    ids: Sequence[bytes]
    numbers: Ints  # of the documents, as postings name them; in order
    base: Ints  # one more than there are documents: the last is the number of chunks
    words: float  # lexemes of all of them
    place: Mapping[bytes, int]  # of a document, by its id
    holder: Ints  # of each document: which of the scopes that are searched has it

    @property
    def chunks(self) -> int:
        return int(self.base[-1])

    def places(self, numbers: Ints) -> Ints:
        """Where the documents of these numbers stand; -1 for those that may not be found."""
        if not len(self.numbers):
            return np.full(len(numbers), -1, np.int64)
        at = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return np.where(self.numbers[at] == numbers, at, -1)

    def key(self, number: int) -> tuple[DocumentId, int]:
        """The document of a chunk, and its index in it."""
        place = int(np.searchsorted(self.base, number, side="right")) - 1
        return DocumentId(UUID(bytes=self.ids[place])), number - int(self.base[place])

    def number(self, document: DocumentId, index: int) -> int | None:
        place = self.place.get(document.bytes)
        return None if place is None else int(self.base[place]) + index

    def by_holder(self, numbers: Iterable[int]) -> dict[int, list[tuple[DocumentId, int]]]:
        keys: dict[int, list[tuple[DocumentId, int]]] = {}
        for document, index in map(self.key, numbers):
            keys.setdefault(int(self.holder[self.place[document.bytes]]), []).append((document, index))
        return keys


@dataclass(frozen=True, slots=True)
class Found:
    """Where one lexeme is: columns of chunk numbers, how often, and the length of each chunk."""

    chunk: Ints
    count: Floats
    length: Floats


@dataclass(slots=True)
class Run:
    """A run that is being filled."""

    first: int = 0
    length: int = 0
    words: int = 0  # lexemes of all chunks so far
    records: dict[str, bytearray] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return self.length >= MAX_CHUNKS

    def add(self, found: Counter[str]) -> None:
        total = found.total()
        length = min(total, MAX_LENGTH)
        for lexeme, count in found.items():
            self.records.setdefault(lexeme, bytearray()).extend(RECORD.pack(self.length, min(count, MAX_COUNT), length))
        self.length += 1
        self.words += total


def words_of(chunk: Chunk, title: str) -> Counter[str]:
    """The lexemes of a chunk. Title, headings and column names are found like words of the text."""
    found = lexemes(chunk.text)
    found.update(set(lexemes("\n".join((title, *chunk.headings, chunk.lead)))))
    return found


def embedded_chunk(chunk: Chunk) -> str:
    """What the embedder sees of a chunk."""
    return "\n".join((*chunk.headings[-1:], chunk.lead, chunk.text)).strip()[:EMBEDDED_CHARS]
