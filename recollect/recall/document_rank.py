"""Ranking of document chunks. Pure arithmetic over columns, as fuse.py for turns.

Candidates are the best chunks by BM25 and the nearest by meaning. Each is then scored by both, with the weights used
for turns (docs/why/documents.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.recall.bm25 import K1, B, idf
from recollect.recall.candidates import Floats, Ints
from recollect.recall.fuse import Weights, min_max
from recollect.recall.postings import Found, Shelf
from recollect.recall.question import Question
from recollect.recall.rank import NEAR
from recollect.recall.spelling import MAX_WORDS, UNHEARD, is_checked, is_slip
from recollect.values.query import Arm

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


def by_words(shelf: Shelf, found: Mapping[str, Found], lexemes: Sequence[str]) -> Words:
    """Return the BM25 scores. A lexeme that no chunk has gets the highest weight."""
    score = np.zeros(shelf.chunks, np.float64)
    mean = max(shelf.words / max(shelf.chunks, 1), 1.0)
    worth = {}
    for lexeme in lexemes:
        at = found.get(lexeme)
        worth[lexeme] = float(idf(np.array(0 if at is None else len(at.chunk)), shelf.chunks))
        if at is not None:
            norm = K1 * (1 - B + B * at.length / mean)
            share = worth[lexeme] * at.count * (K1 + 1) / (at.count + norm)
            score += np.bincount(at.chunk, weights=share, minlength=shelf.chunks)
    return Words(score, worth, found)


def best_by_words(words: Words) -> Ints:
    """Return the numbers of the best chunks that have any word."""
    most = min(CANDIDATES, len(words.score))
    best = np.argpartition(-words.score, most - 1)[:most] if most else np.zeros(0, np.int64)
    return best[words.score[best] > 0]


def unheard(question: Question, words: Words) -> list[str]:
    """Return the words that no document has, whose spelling is checked."""
    return [word for word in question.lexemes if word not in words.found and is_checked(word)][:MAX_WORDS]


def accepted_spellings(question: Question, words: Words, similar: Mapping[str, str]) -> dict[str, str]:
    """Return the spellings to search for: slips of the hand; anything similar only if the words that no document has
    outweigh the others."""
    missing = sum(worth for word, worth in words.worth.items() if word not in words.found)
    if missing >= UNHEARD * sum(words.worth.values()):
        return dict(similar)
    return {word: other for word, other in similar.items() if is_slip(word, other)}


def ranked(words: Words, chunk: Ints, cosine: Floats, weights: Weights = Weights()) -> Ranked:  # noqa: B008
    """Return the candidates that one of the searches supports. Neighbouring chunks do not count: they overlap."""
    bm25 = words.score[chunk] if len(chunk) else np.zeros(0)
    parts = bm25 / max(float(bm25.max(initial=0.0)), 1e-9), weights.vector * min_max(cosine)
    score = parts[0] + parts[1]
    evident = np.flatnonzero((bm25 > 0) | (cosine >= NEAR))
    order = evident[np.lexsort((chunk[evident], -score[evident]))]
    return Ranked(chunk[order], score[order], parts[0][order], parts[1][order], bm25[order], cosine[order])


def varied(score: Floats, vectors: Floats, limit: int, mmr: float) -> list[int]:
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


def arms(words: Words, found: Ranked, row: int, respelt: Sequence[str]) -> tuple[dict[str, Arm], list[str]]:
    """Return the rank and score that each search gave to a candidate, and the question's words in it."""
    chunk = found.chunk[row]
    matched = [each for each in words.worth if each in words.found and (words.found[each].chunk == chunk).any()]
    opinions = {}
    if matched:
        opinions["bm25"] = opinion(words.score, found.bm25[row])
    if set(matched) & set(respelt):
        opinions["trigram"] = opinions["bm25"]
    if not np.isnan(found.cosine[row]):
        opinions["vector"] = opinion(np.nan_to_num(found.cosine, nan=-1.0), found.cosine[row])
    return opinions, matched


def opinion(scores: Floats, score: float) -> Arm:
    """Return the rank and the score of one candidate in one search."""
    return Arm(1 + int((scores > score).sum()), round(float(score), 4))
