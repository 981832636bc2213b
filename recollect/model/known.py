"""Known: which memories and episodes speak to a question, how much, and why. Nothing here is a turn; turns are ranked
by rank.py, and what is known stands beside them, never in their place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from recollect.model.episode import Episode
from recollect.model.memory import DEFINES, Memory
from recollect.model.question import Question

Tier = Literal["session", "user", "project", "ontology"]
ASKED = 1.0  # worth of being under the key that is asked for
DEFINED = 0.9  # of defining a term that the question uses
WORDS = 0.8  # of having all its words
IMPORTANCE = 0.1
ENDED = 0.3  # taken off what is no longer so; added to it when the question is about the past
LEAST = 0.25  # below it a memory does not speak to the question
NEAR = 0.3  # cosine from which an episode does
MOST_KNOWN = 10
MOST_EPISODES = 3


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory that speaks to the question, or that is in every context."""

    memory: Memory
    tier: Tier
    score: float
    words: tuple[str, ...] = ()
    is_asked: bool = False  # the question asks for its key, or uses its term

    @property
    def source(self) -> str:
        return self.memory.ref

    @property
    def text(self) -> str:
        return self.memory.text

    @property
    def why(self) -> str:
        return explain_memory(self.words, self.is_asked, self.memory.is_always_on, self.memory.reason)


@dataclass(frozen=True, slots=True)
class EpisodeHit:
    episode: Episode
    tier: Tier
    score: float
    cosine: float | None
    words: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        return self.episode.ref

    @property
    def text(self) -> str:
        return self.episode.summary

    @property
    def why(self) -> str:
        parts = [f"words {', '.join(self.words)}"] if self.words else []
        return "; ".join(parts + ([f"meaning {self.cosine:.2f}"] if self.cosine is not None else []))


def explain_memory(words: Sequence[str], is_asked: bool, is_always_on: bool, reason: str | None) -> str:
    reasons = [
        *(["the question asks for it"] if is_asked else []),
        *([f"words {', '.join(words)}"] if words else []),
        *(["important: in every context"] if is_always_on else []),
        *([f"ended: {reason}"] if reason else []),
    ]
    return "; ".join(reasons) or "known"


def weighed(
    memories: Iterable[tuple[Memory, Sequence[str]]],
    tier: Tier,
    question: Question,
    keys: Sequence[str],
    terms: Sequence[str],
) -> list[MemoryHit]:
    """Each memory, given with the lexemes it shares, and what it is worth to the question; best first."""
    used = frozenset(terms)
    hits = [_weighed(memory, shared, tier, question, keys, used) for memory, shared in memories]
    return sorted(hits, key=lambda hit: -hit.score)


def _weighed(
    memory: Memory,
    shared: Sequence[str],
    tier: Tier,
    question: Question,
    keys: Sequence[str],
    terms: frozenset[str],
) -> MemoryHit:
    defines = memory.kind in DEFINES and not terms.isdisjoint(memory.terms)
    score = max(
        ASKED if memory.key in keys else 0.0,
        DEFINED if defines else 0.0,
        WORDS * len(shared) / max(len(question.lexemes), 1),
    )
    if score:
        ended = memory.status != "active"
        score += IMPORTANCE * memory.importance + (ENDED if ended and question.past else -ENDED if ended else 0.0)
    surface = tuple(question.surface.get(word, word) for word in shared)
    return MemoryHit(memory, tier, round(score, 4), surface, defines or memory.key in keys)


def speaking(hits: Iterable[MemoryHit], limit: int = MOST_KNOWN) -> list[MemoryHit]:
    """Those that speak to the question, each value once: what the user says of a thing wins over the project."""
    chosen: dict[tuple[str, str], MemoryHit] = {}
    for hit in hits:
        if hit.score >= LEAST:
            chosen.setdefault((hit.memory.key, hit.memory.value.casefold()), hit)
    return list(chosen.values())[:limit]


def chosen_episodes(hits: Iterable[EpisodeHit], limit: int = MOST_EPISODES) -> list[EpisodeHit]:
    near = [hit for hit in hits if hit.words or (hit.cosine or 0.0) >= NEAR]
    return sorted(near, key=lambda hit: -hit.score)[:limit]


def weighed_episode(
    episode: Episode, tier: Tier, cosine: float | None, shared: Sequence[str], question: Question
) -> EpisodeHit:
    score = (cosine or 0.0) + len(shared) / max(len(question.lexemes), 1)
    return EpisodeHit(episode, tier, round(score, 4), cosine, tuple(question.surface.get(w, w) for w in shared))
