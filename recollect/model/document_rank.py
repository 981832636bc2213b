"""Document rank: which chunks speak to a question. Pure arithmetic over columns, like fuse.py for turns.

Two arms name candidates, the best by BM25 over all chunks and the nearest by meaning; each candidate is then weighed by
both, with the weights that turns have (docs/why/document-search.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.model.bm25 import K1, B, idf
from recollect.model.candidates import Floats, Ints
from recollect.model.fuse import Weights, min_max
from recollect.model.postings import Found, Shelf
from recollect.model.question import Question
from recollect.model.rank import NEAR
from recollect.model.search import Arm
from recollect.model.spelling import MOST_WORDS, SHORTEST, UNHEARD

CANDIDATES = 100  # that each arm names; no search gives more


@dataclass(frozen=True, slots=True)
class Words:
    """The words arm's opinion: BM25 of every chunk, and what each lexeme of the question is worth."""

    score: Floats  # by chunk number
    worth: Mapping[str, float]
    found: Mapping[str, Found]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates, best first, and what their scores are made of."""

    chunk: Ints  # numbers on the shelf
    score: Floats
    words: Floats
    meaning: Floats
    bm25: Floats
    cosine: Floats  # NaN where there is no vector


def by_words(shelf: Shelf, found: Mapping[str, Found], lexemes: Sequence[str]) -> Words:
    """A lexeme that no chunk has is worth the most."""
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
    """Numbers of the best chunks that have any word."""
    most = min(CANDIDATES, len(words.score))
    best = np.argpartition(-words.score, most - 1)[:most] if most else np.zeros(0, np.int64)
    return best[words.score[best] > 0]


def unheard(question: Question, words: Words) -> list[str]:
    """The words worth a second look at their spelling, when what no document has outweighs what some have."""
    missing = [word for word in question.lexemes if word not in words.found]
    total = sum(words.worth.values())
    if sum(words.worth[word] for word in missing) < UNHEARD * total:
        return []
    return [word for word in missing if len(word) >= SHORTEST and word.isascii() and word.isalpha()][:MOST_WORDS]


def ranked(words: Words, chunk: Ints, cosine: Floats, weights: Weights = Weights()) -> Ranked:  # noqa: B008
    """The candidates that some arm speaks for. A chunk stands for itself: what its neighbours say is largely in it."""
    bm25 = words.score[chunk] if len(chunk) else np.zeros(0)
    parts = bm25 / max(float(bm25.max(initial=0.0)), 1e-9), weights.vector * min_max(cosine)
    score = parts[0] + parts[1]
    evident = np.flatnonzero((bm25 > 0) | (cosine >= NEAR))
    order = evident[np.lexsort((chunk[evident], -score[evident]))]
    return Ranked(chunk[order], score[order], parts[0][order], parts[1][order], bm25[order], cosine[order])


def varied(score: Floats, vectors: Floats, limit: int, mmr: float) -> list[int]:
    """Maximal marginal relevance: each next one is good and unlike those before it. `vectors` has a row per score,
    zeros where there is none."""
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
    """What each arm thought of one of the candidates, and the question's words in it."""
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
    """One more than how many an arm liked better, and its score."""
    return Arm(1 + int((scores > score).sum()), round(float(score), 4))
