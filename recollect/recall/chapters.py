"""Chapters: which runs of turns of a very large scope are searched in detail."""

from __future__ import annotations

from uuid import UUID

import numpy as np

from recollect.recall.bm25 import frequencies, term_scores
from recollect.recall.candidates import Chapters
from recollect.recall.fuse import Weights, min_max
from recollect.values.scope import ConversationId

TURNS = 64  # of a full chapter
Run = tuple[ConversationId, int, int]  # a conversation's turns from the first to the last


def best_chapters(found: Chapters, weights: Weights, most: int) -> list[Run]:
    """Return the best chapters by words and meaning."""
    words = term_scores(frequencies(found.folded), found.length)[0].sum(axis=1)
    score = words / max(float(words.max(initial=0.0)), 1e-9) + weights.vector * min_max(found.cosine)
    return [
        (ConversationId(UUID(bytes=found.conversation[i].tobytes())), int(found.first[i]), int(found.last[i]))
        for i in np.argsort(-score, kind="stable")[:most]
    ]
