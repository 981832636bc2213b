"""Chapters: which runs of turns of a giant scope are worth a closer look."""

from __future__ import annotations

from uuid import UUID

import numpy as np

from recollect.model.bm25 import frequencies, term_scores
from recollect.model.candidates import Chapters
from recollect.model.fuse import Weights, min_max
from recollect.model.ids import ConversationId

TURNS = 64  # of a full chapter
Run = tuple[ConversationId, int, int]  # a conversation's turns from the first to the last


def best_chapters(found: Chapters, weights: Weights, most: int) -> list[Run]:
    """The best, by words and meaning."""
    words = term_scores(frequencies(found.folded), found.length)[0].sum(axis=1)
    score = words / max(float(words.max(initial=0.0)), 1e-9) + weights.vector * min_max(found.cosine)
    return [
        (ConversationId(UUID(bytes=found.conversation[i].tobytes())), int(found.first[i]), int(found.last[i]))
        for i in np.argsort(-score, kind="stable")[:most]
    ]
