"""Search in documents: postings, the packed words of chunks, and the ranking of chunks. Pure arithmetic over columns.

A run is a sequence of chunks of a document. Each lexeme of a run has a record per chunk that contains it: the chunk's
place in the run, the count, and the chunk's number of lexemes. Candidates are the best chunks by BM25 and the nearest
by meaning; each is then scored by both, with the weights used for turns (docs/why/documents.md).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from recollect.recall.fuse import K1, B, Floats, Ints, Weights, compute_idf, scale_values
from recollect.recall.lexemes import lexemes
from recollect.recall.question import Question
from recollect.recall.rank import NEAR, collect_arms
from recollect.recall.sketch import EMBEDDED_CHARS
from recollect.recall.spelling import MAX_WORDS, UNHEARD, is_checked, is_misspelling
from recollect.values.document import Chunk, DocumentId
from recollect.values.query import Arm

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
        """Return the positions of the documents with these numbers; -1 for those that may not be found."""
        if not len(self.numbers):
            return np.full(len(numbers), -1, np.int64)
        at = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return np.where(self.numbers[at] == numbers, at, -1)

    def key(self, number: int) -> tuple[DocumentId, int]:
        """Return the document of a chunk, and the index of the chunk in it."""
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


def count_chunk_words(chunk: Chunk, title: str) -> Counter[str]:
    """Return the lexemes of a chunk. Title, headings and column names are found like words of the text."""
    found = lexemes(chunk.text)
    found.update(set(lexemes("\n".join((title, *chunk.headings, chunk.lead)))))
    return found


def get_embedded_text(chunk: Chunk) -> str:
    """Return the text of a chunk for the embedder."""
    return "\n".join((*chunk.headings[-1:], chunk.lead, chunk.text)).strip()[:EMBEDDED_CHARS]


CANDIDATES = 100  # that each arm names; no search gives more


@dataclass(frozen=True, slots=True)
class Words:
    """The result of the word search: BM25 of every chunk, and the weight of each lexeme of the question."""

    score: Floats  # by chunk number
    worth: Mapping[str, float]
    found: Mapping[str, Found]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates, best first, and the parts of their scores."""

    chunk: Ints  # numbers on the shelf
    score: Floats
    words: Floats
    meaning: Floats
    bm25: Floats
    cosine: Floats  # NaN where there is no vector


def score_words(shelf: Shelf, found: Mapping[str, Found], lexemes: Sequence[str]) -> Words:
    """Return the BM25 scores. A lexeme that no chunk has gets the highest weight."""
    score = np.zeros(shelf.chunks, np.float64)
    mean = max(shelf.words / max(shelf.chunks, 1), 1.0)
    worth = {}
    for lexeme in lexemes:
        at = found.get(lexeme)
        worth[lexeme] = float(compute_idf(np.array(0 if at is None else len(at.chunk)), shelf.chunks))
        if at is not None:
            norm = K1 * (1 - B + B * at.length / mean)
            share = worth[lexeme] * at.count * (K1 + 1) / (at.count + norm)
            score += np.bincount(at.chunk, weights=share, minlength=shelf.chunks)
    return Words(score, worth, found)


def select_by_words(words: Words) -> Ints:
    """Return the numbers of the best chunks that have any word."""
    most = min(CANDIDATES, len(words.score))
    best = np.argpartition(-words.score, most - 1)[:most] if most else np.zeros(0, np.int64)
    return best[words.score[best] > 0]


def find_unheard(question: Question, words: Words) -> list[str]:
    """Return the words that no document has, whose spelling is checked."""
    return [word for word in question.lexemes if word not in words.found and is_checked(word)][:MAX_WORDS]


def accept_spellings(question: Question, words: Words, similar: Mapping[str, str]) -> dict[str, str]:
    """Return the spellings to search for: slips of the hand; anything similar only if the words that no document has
    outweigh the others."""
    missing = sum(worth for word, worth in words.worth.items() if word not in words.found)
    if missing >= UNHEARD * sum(words.worth.values()):
        return dict(similar)
    return {word: other for word, other in similar.items() if is_misspelling(word, other)}


def rank_chunks(words: Words, chunk: Ints, cosine: Floats) -> Ranked:
    """Return the candidates that one of the searches supports. Neighbouring chunks do not count: they overlap."""
    bm25 = words.score[chunk] if len(chunk) else np.zeros(0)
    parts = bm25 / max(float(bm25.max(initial=0.0)), 1e-9), Weights().vector * scale_values(cosine)
    score = parts[0] + parts[1]
    evident = np.flatnonzero((bm25 > 0) | (cosine >= NEAR))
    order = evident[np.lexsort((chunk[evident], -score[evident]))]
    return Ranked(chunk[order], score[order], parts[0][order], parts[1][order], bm25[order], cosine[order])


def vary_chunks(score: Floats, vectors: Floats, limit: int, mmr: float) -> list[int]:
    """Return rows by maximal marginal relevance: each next one is good and unlike those before. `vectors` has a row per
    score, zeros where there is none."""
    relevance = score / max(float(score.max(initial=0.0)), 1e-9)
    chosen: list[int] = []
    nearest = np.zeros(len(relevance))
    while len(chosen) < min(limit, len(relevance)):
        gain = mmr * relevance - (1 - mmr) * nearest
        gain[chosen] = -np.inf
        chosen.append(int(np.argmax(gain)))
        nearest = np.maximum(nearest, vectors @ vectors[chosen[-1]])
    return chosen


def describe_arms(words: Words, found: Ranked, row: int, respelt: Sequence[str]) -> tuple[dict[str, Arm], list[str]]:
    """Return the rank and score that each search gave to a candidate, and the question's words in it."""
    chunk = found.chunk[row]
    matched = [each for each in words.worth if each in words.found and (words.found[each].chunk == chunk).any()]
    by_words = build_arm(words.score, found.bm25[row])
    by_meaning = build_arm(np.nan_to_num(found.cosine, nan=-1.0), found.cosine[row])
    return collect_arms(by_words, by_meaning, matched, respelt), matched


def build_arm(scores: Floats, score: float) -> Arm:
    """Return the rank and the score of one candidate in one search."""
    return Arm(1 + int((scores > score).sum()), round(float(score), 4))
