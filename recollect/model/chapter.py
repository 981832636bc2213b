"""Chapters: which runs of turns of a giant scope are worth a closer look."""

from __future__ import annotations

import numpy as np

from recollect.model.bm25 import frequencies, term_scores
from recollect.model.candidates import Candidates
from recollect.model.fuse import Weights, min_max
from recollect.model.ids import ConversationId

TURNS = 64  # of a full chapter


def best_chapters(found: Candidates, weights: Weights, most: int) -> list[tuple[ConversationId, int, int]]:
    """(conversation, first turn, last turn) of the best, by words and meaning. A chapter's `tokens` are its turns."""
    words = term_scores(frequencies(found.folded), found.length)[0].sum(axis=1)
    score = words / max(float(words.max(initial=0.0)), 1e-9) + weights.vector * min_max(found.cosine)
    best = np.argsort(-score, kind="stable")[:most]
    return [
        (found.conversations[found.conversation[i]], int(found.turn[i]), int(found.turn[i] + found.tokens[i]) - 1)
        for i in best
    ]
