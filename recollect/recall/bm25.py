"""BM25: how relevant a unit (a turn, a whole conversation) is to the words of the question. PostgreSQL finds and counts
the words (store/sketch.sql); the arithmetic is here."""

from __future__ import annotations

from functools import cache

import numpy as np

from recollect.recall.candidates import Floats
from recollect.recall.sketch import MAX_POSITIONS

K1 = 1.2
B = 0.75


@cache
def _folds() -> Floats:
    """Return ts_rank of a single lexeme with weight 1, by its frequency: the sum of 1/j² over its positions, divided by
    π²/6."""
    j = np.arange(1, MAX_POSITIONS + 1)
    return (np.cumsum(1 / j**2) / 1.64493406685).astype(np.float32)


def frequencies(folded: Floats) -> Floats:
    """Return the term frequencies behind values of ts_rank."""
    counts = np.searchsorted(_folds(), folded - 4e-6) + 1
    return np.where(folded > 0, counts, 0).astype(np.float32)


def idf(found: Floats, total: int) -> Floats:
    """Return the weight of a word that `found` of `total` units have."""
    return np.log1p((total - found + 0.5) / (found + 0.5))


def term_scores(counts: Floats, length: Floats) -> tuple[Floats, Floats]:
    """Return the score of each term in each unit (columns, rows), and the idf of each term."""
    worth = idf((counts > 0).sum(axis=0), len(counts))
    norm = K1 * (1 - B + B * length / max(float(length.mean()), 1.0)) if len(length) else length
    return worth * counts * (K1 + 1) / (counts + norm[:, None]), worth
