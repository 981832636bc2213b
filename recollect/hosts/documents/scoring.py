"""Scoring: which memories stand beside the chunks. Pure; remembering.py asks here.

A memory's score is its similarity, raised a little by its importance and by being recent. Both raise by little, so that
a memory never wins over one that speaks better to the question; what a chosen chunk says anyway is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from recollect.hosts.documents.asking import Recollection
from recollect.model.text import lexemes

BY_IMPORTANCE = 0.05
BY_RECENCY = 0.1  # of what was said just now; half of it after HALF_LIFE
HALF_LIFE = 30.0  # days
MOST_BOOST = 1.15
SAME = 0.8  # share of words in common from which two texts say the same


def memory_score(similarity: float, importance: float, said_at: datetime | None, now: datetime) -> float:
    boost = (1 + BY_IMPORTANCE * importance) * recency_boost(said_at, now)
    return round(min(max(similarity, 0.0), 1.0) * min(boost, MOST_BOOST), 4)


def recency_boost(said_at: datetime | None, now: datetime) -> float:
    if said_at is None:
        return 1.0
    days = max((now - said_at).total_seconds() / 86_400, 0.0)
    return float(1 + BY_RECENCY * 0.5 ** (days / HALF_LIFE))


def jaccard(one: str, other: str) -> float:
    """The words that two texts share, of all that they have."""
    mine, yours = set(lexemes(one)), set(lexemes(other))
    return len(mine & yours) / (len(mine | yours) or 1)


def beside(found: Iterable[Recollection], chunks: Sequence[str], most: int) -> tuple[Recollection, ...]:
    """The best, each text once, none that a chunk says too."""
    chosen: list[Recollection] = []
    for each in sorted(found, key=lambda each: -each.score):
        if len(chosen) == most:
            break
        if not any(jaccard(each.text, text) > SAME for text in (*chunks, *(other.text for other in chosen))):
            chosen.append(each)
    return tuple(chosen)
