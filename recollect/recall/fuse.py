"""Score fusion: one score per turn from all searches. Pure arithmetic over columns.

BM25 says how relevant a unit (a turn, a conversation) is to the words of the question; PostgreSQL finds and counts
the words (store/sketch.sql). The structure of a conversation matters as much as words and meaning: neighbouring turns,
the topic of the session, the speaker and the kind of turn. Each weight was measured alone and cross-fitted over three
public benchmarks (docs/why/recall.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from recollect.recall.question import Question
from recollect.recall.sketch import MAX_POSITIONS, Flag
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


@dataclass(frozen=True, slots=True)
class Weights:
    """The default configuration."""

    vector: float = 0.9
    before: float = 0.4  # what the turn before says counts for this one
    after: float = 0.5
    answer: float = 0.5  # more so if the turn before asks: this one may answer
    fade_tokens: float = 600.0  # neighbours matter less the more lies between
    session: float = 0.8
    session_tokens: float = 2000.0  # a longer session says less about each of its turns
    first_person: float = 0.8  # "when did I ...": the user said it
    second_person: float = 0.5  # "what did you ...": the assistant did
    speaker: float = 0.5  # the one person the question names said it
    first_speaker: float = 0.3  # of several, the first
    time: float = 0.4  # "when ...", and the turn says when
    instruction: float = 0.5
    preference: float = 0.2
    high_value: float = 0.5
    content: float = 0.2  # more for a turn that says something
    content_lexemes: float = 16.0
    opening: float = 0.4  # for overviews and orders of events: a session's beginning names its topics
    opening_turns: int = 12
    spread: float = 0.1  # for answers of several parts: less for each better turn of the same session,
    spread_most: int = 4  # up to this many
    recency: float = 0.0  # only where asked


@dataclass(frozen=True, slots=True)
class Fused:
    """The score of every candidate and its parts."""

    total: Floats
    parts: Mapping[str, Floats]  # bm25 and vector are the arms; the rest is structure
    idf: Floats  # of each query lexeme
    counts: Floats  # of each query lexeme in each turn
    matched: Floats  # BM25 of the turn alone, unscaled: 0 where no word was found


def fuse(found: Candidates, question: Question, weights: Weights) -> Fused:
    counts = unfold_frequencies(found.folded)
    own, worth = score_terms(counts, found.length)
    matched = own.sum(axis=1)
    scale = max(float(matched.max(initial=0.0)), 1e-9)
    before, after = weigh_links(found, weights)
    # A neighbour's word counts only as far as the turn itself lacks it.
    lacking = np.clip(1 - own / np.maximum(worth * K1, 1e-9), 0, 1)
    vector = weights.vector * scale_values(found.cosine)
    parts = {
        "bm25": matched / scale,
        "vector": vector,
        "neighbours": (receive_from_neighbours(own, before, after) * lacking).sum(axis=1) / scale
        + receive_from_neighbours(vector[:, None], before, after)[:, 0],
        "session": weights.session * score_sessions(found, counts, weights),
        "speaker": score_speakers(found, question, weights),
        "kind": score_kinds(found, question, weights),
        "recency": score_recency(found, weights),
    }
    total = np.sum(list(parts.values()), axis=0) if len(found) else matched
    # An answer with parts in several sessions: a turn loses to better turns of its session.
    is_spread = question.several and not question.when and not question.overview and len(found) > 0
    better = rank_in_session(found, total) if is_spread else np.zeros(len(found), np.float32)
    parts["spread"] = 0 - weights.spread * np.minimum(better, weights.spread_most)
    total = total + parts["spread"]
    return Fused(total, parts, worth, counts, matched)


def scale_values(values: Floats) -> Floats:
    """Scale to 0..1; 0 where there is no value."""
    if not len(values) or np.isnan(values).all():
        return np.zeros(len(values), np.float32)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return np.nan_to_num((values - low) / max(high - low, 1e-9), nan=0.0)


def weigh_links(found: Candidates, weights: Weights) -> tuple[Floats, Floats]:
    """Return how much the turns before and after count for each turn; 0 across conversations or gaps."""
    size = np.minimum(found.tokens, 4000)
    joined = (found.conversation[1:] == found.conversation[:-1]) & (found.turn[1:] == found.turn[:-1] + 1)
    near = np.exp(-(size[1:] + size[:-1]) / 2 / weights.fade_tokens) * joined
    asks = (found.flags & Flag.ASKS) > 0
    before, after = np.zeros(len(found), np.float32), np.zeros(len(found), np.float32)
    before[1:] = weights.before * near * (1 + weights.answer * asks[:-1])
    after[:-1] = weights.after * near
    return before, after


def receive_from_neighbours(values: Floats, before: Floats, after: Floats) -> Floats:
    """Return what each turn receives from its two neighbours; `values` has a row per turn."""
    flowed = np.zeros_like(values)
    flowed[1:] += values[:-1] * before[1:, None]
    flowed[:-1] += values[1:] * after[:-1, None]
    return flowed


def score_sessions(found: Candidates, counts: Floats, weights: Weights) -> Floats:
    """Return BM25 of the whole conversation as one document, per turn; the best is 1."""
    total = len(found.conversations)

    def summed(column: Floats) -> Floats:
        return np.bincount(found.conversation, weights=column, minlength=total).astype(np.float32)

    sums = np.stack([summed(column) for column in counts.T], axis=1) if counts.shape[1] else np.zeros((total, 0))
    scores = score_terms(sums, summed(found.length))[0].sum(axis=1)
    size = summed(np.minimum(found.tokens, 3000))
    damping = np.minimum(1, weights.session_tokens / np.maximum(size, 1))
    relative: Floats = scores / max(float(scores.max(initial=0.0)), 1e-9) * damping
    return relative[found.conversation]


def score_speakers(found: Candidates, question: Question, weights: Weights) -> Floats:
    user = (found.flags & Flag.USER) > 0
    score = np.zeros(len(found), np.float32)
    if question.second_person and not question.overview:
        score += weights.second_person * ~user
    elif question.first_person and not question.overview:
        score += weights.first_person * user
    present = set(found.speaker.tolist())
    if named := [key for key in question.names if key and key in present]:
        score += (weights.speaker if len(named) == 1 else weights.first_speaker) * (found.speaker == named[0])
    return score


def score_kinds(found: Candidates, question: Question, weights: Weights) -> Floats:
    def having(flag: Flag) -> Floats:
        return ((found.flags & flag) > 0).astype(np.float32)

    score = weights.content * np.minimum(1, found.distinct / weights.content_lexemes)
    score += weights.instruction * having(Flag.INSTRUCTION) + weights.preference * having(Flag.PREFERENCE)
    score += weights.high_value * having(Flag.HIGH_VALUE)
    if question.overview or question.order:
        opening = (found.turn < weights.opening_turns) * having(Flag.USER)
        score += weights.opening * opening * np.minimum(1, found.distinct / weights.content_lexemes)
    return score + weights.time * having(Flag.TIME) if question.when else score


def rank_in_session(found: Candidates, score: Floats) -> Floats:
    """Return 0 for the best turn of its session, 1 for the second, and so on."""
    order = np.lexsort((-score, found.conversation))
    at = np.arange(len(order))
    begins = np.r_[True, found.conversation[order][1:] != found.conversation[order][:-1]]
    rank = np.empty(len(order), np.float32)
    rank[order] = at - np.maximum.accumulate(np.where(begins, at, 0))
    return rank


def score_recency(found: Candidates, weights: Weights) -> Floats:
    """Return 0 for the oldest turn up to the full weight for the newest."""
    if not weights.recency:
        return np.zeros(len(found), np.float32)
    age_rank = np.argsort(np.argsort(found.said_at)).astype(np.float32)
    return weights.recency * (age_rank / max(len(found) - 1, 1))


TURNS = 64  # of a full chapter
Run = tuple[ConversationId, int, int]  # a conversation's turns from the first to the last


def select_chapters(found: Chapters, weights: Weights, most: int) -> list[Run]:
    """Return the best chapters by words and meaning."""
    words = score_terms(unfold_frequencies(found.folded), found.length)[0].sum(axis=1)
    score = words / max(float(words.max(initial=0.0)), 1e-9) + weights.vector * scale_values(found.cosine)
    return [
        (ConversationId(UUID(bytes=found.conversation[i].tobytes())), int(found.first[i]), int(found.last[i]))
        for i in np.argsort(-score, kind="stable")[:most]
    ]
