"""BM25: how relevant a unit (a turn, a whole conversation) is to the words of the question, over `Candidates`: the
turns of a scope as columns. PostgreSQL finds and counts the words (store/sketch.sql); the arithmetic is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.recall.sketch import MAX_POSITIONS
from recollect.values.scope import ConversationId

# numpy's types do not follow how its operators widen float32; the names say what is meant.
Floats: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[Any]
Seconds: TypeAlias = NDArray[Any]
Bools: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Row i is turn `turn[i]` of conversation `conversations[conversation[i]]`. The rows of a conversation are in
    order."""

    conversations: list[ConversationId]
    sessions: list[str]
    conversation: Ints
    turn: Ints
    tokens: Floats
    length: Floats  # in lexemes
    flags: Ints  # bits of `sketch.Flag`
    speaker: Ints  # by `sketch.speaker_key`
    distinct: Floats  # different lexemes
    said_at: Seconds
    cosine: Floats  # NaN where there is no vector
    folded: Floats  # a column per query lexeme; bm25 unfolds frequencies from it
    redactions: Mapping[ConversationId, int] = field(default_factory=dict)  # of conversations that had some

    def __len__(self) -> int:
        return len(self.turn)


@dataclass(frozen=True, slots=True)
class Chapters:
    """The chapters of a very large scope, as columns."""

    conversation: NDArray[Any]  # 16 bytes each
    first: Ints
    last: Ints
    length: Floats
    cosine: Floats
    folded: Floats


K1 = 1.2
B = 0.75
# ts_rank of a single lexeme with weight 1, by its frequency: the sum of 1/j² over its positions, divided by π²/6.
FOLDS = (np.cumsum(1 / np.arange(1, MAX_POSITIONS + 1) ** 2) / 1.64493406685).astype(np.float32)


def unfold_frequencies(folded: Floats) -> Floats:
    """Return the term frequencies behind values of ts_rank."""
    counts = np.searchsorted(FOLDS, folded - 4e-6) + 1
    return np.where(folded > 0, counts, 0).astype(np.float32)


def compute_idf(found: Floats, total: int) -> Floats:
    """Return the weight of a word that `found` of `total` units have."""
    return np.log1p((total - found + 0.5) / (found + 0.5))


def score_terms(counts: Floats, length: Floats) -> tuple[Floats, Floats]:
    """Return the score of each term in each unit (columns, rows), and the idf of each term."""
    worth = compute_idf((counts > 0).sum(axis=0), len(counts))
    norm = K1 * (1 - B + B * length / max(float(length.mean()), 1.0)) if len(length) else length
    return worth * counts * (K1 + 1) / (counts + norm[:, None]), worth
