"""Ranking of memories and episodes for a question. They are shown beside ranked turns (rank.py), never instead of
them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.recall.question import Question
from recollect.values.conversation import Episode
from recollect.values.memory import DEFINES, Memory
from recollect.values.query import EpisodeHit, MemoryHit
from recollect.values.scope import Tier

ASKED = 1.0  # score of a memory under the requested key
DEFINED = 0.9  # of a definition of a term in the question
WORDS = 0.8  # of a memory with all words of the question
IMPORTANCE = 0.1
ENDED = 0.3  # subtracted from ended memories; added if the question is about the past
LEAST = 0.25  # below it a memory is not relevant
NEAR = 0.3  # cosine from which an episode is relevant
MAX_KNOWN = 10
MAX_EPISODES = 3


def score_memories(
    memories: Iterable[tuple[Memory, Sequence[str]]],
    tier: Tier,
    question: Question,
    keys: Sequence[str],
    terms: Sequence[str],
) -> list[MemoryHit]:
    """Return the memories, given with the lexemes they share with the question, as hits with scores; best first."""
    used, hits = frozenset(terms), []
    for memory, shared in memories:
        is_asked = memory.key in keys
        defines = memory.kind in DEFINES and not used.isdisjoint(memory.terms)
        score = max(ASKED * is_asked, DEFINED * defines, WORDS * len(shared) / max(len(question.lexemes), 1))
        if score:
            score += IMPORTANCE * memory.importance
        if score and memory.status != "active":
            score += ENDED if question.past else -ENDED
        surface = tuple(question.surface.get(word, word) for word in shared)
        hits.append(MemoryHit(memory, tier, round(score, 4), surface, defines or is_asked))
    return sorted(hits, key=lambda hit: -hit.score)


def select_relevant(hits: Iterable[MemoryHit]) -> list[MemoryHit]:
    """Return the relevant hits, each value once; a user's memory wins over the project's."""
    chosen: dict[tuple[str, str], MemoryHit] = {}
    for hit in hits:
        if hit.score >= LEAST:
            chosen.setdefault((hit.memory.key, hit.memory.value.casefold()), hit)
    return list(chosen.values())[:MAX_KNOWN]


def rank_episodes(
    episodes: Iterable[tuple[Episode, float | None, Sequence[str]]], question: Question, session: str | None
) -> list[EpisodeHit]:
    """Return the relevant episodes, best first. They are given with their cosine and the lexemes they share with the
    question."""
    hits = []
    for episode, cosine, shared in episodes:
        if shared or (cosine or 0.0) >= NEAR:
            score = (cosine or 0.0) + len(shared) / max(len(question.lexemes), 1)
            words = tuple(question.surface.get(word, word) for word in shared)
            tier: Tier = "session" if episode.session == session else "user"
            hits.append(EpisodeHit(episode, tier, round(score, 4), cosine, words))
    return sorted(hits, key=lambda hit: -hit.score)[:MAX_EPISODES]
