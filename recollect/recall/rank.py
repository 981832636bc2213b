"""From scored candidates to hits: how far to search, what counts as found, and which turns are chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recollect.recall.fuse import Bools, Candidates, Floats, Fused, Ints
from recollect.recall.question import Question
from recollect.recall.sketch import Flag
from recollect.values.conversation import Turn
from recollect.values.query import Arm, Hit, Path, Query, Reached
from recollect.values.scope import ConversationId

FEW = 3  # hits in the session below which `auto` looks further
Overtaken = tuple[tuple[ConversationId, int], tuple[ConversationId, int] | None]
JUST_BEFORE = 1e-6  # ranks; so small that the last of many values does not pass what stands before the first
CHARS_PER_TOKEN = 5
HEADER_TOKENS = 8
NOTHING_FOUND = 8  # of the user's statements, that a context has when none matches the question
NEAR = 0.25  # cosine from which the vector arm alone speaks for a turn


@dataclass(frozen=True, slots=True)
class Choice:
    rows: Ints  # of the candidates, best first
    found: int
    counts: Mapping[str, int]  # of turns that each arm found
    scope_used: Reached
    widened: str | None
    path: Path
    last_turn: int  # index of the newest turn of the asking session; -1 if there is none

    def places(self, found: Candidates) -> list[tuple[ConversationId, int]]:
        owners, turns = found.conversation[self.rows].tolist(), found.turn[self.rows].tolist()
        return [(found.conversations[owner], turn) for owner, turn in zip(owners, turns, strict=True)]


class Weighed(NamedTuple):
    """A chosen row of the candidates as plain values: reading them from numpy one by one is slow."""

    conversation: ConversationId
    score: float
    words: Arm
    meaning: Arm
    parts: Sequence[float]
    counts: Sequence[float]  # of each lexeme of the question


def choose(
    found: Candidates,
    fused: Fused,
    question: Question,
    query: Query,
    session: str | None,
    limit: int,
    budget: int | None = None,
    overtaken: Sequence[Overtaken] = (),
) -> Choice:
    """Return the best turns within reach, no more than may fill the budget. One more than requested is chosen, because
    one may be the question itself."""
    by_words, by_meaning = fused.matched > 0, found.cosine >= NEAR
    in_session = find_in_session(found, session)
    asks = (found.flags & Flag.ASKS) > 0
    evident = by_words | by_meaning | (fused.parts["neighbours"] > 0) & bool((by_words & ~asks).any())
    eligible = evident & ~find_excluded(found, query.exclude)
    reach, widened = choose_reach(query, question, session, int((eligible & by_words & in_session).sum()))
    within = in_session if reach == "session" else np.ones_like(in_session)
    eligible &= within
    rows = np.flatnonzero(eligible & ("turn" in query.kinds))
    ranked = rows[np.argsort(-fused.total[rows], kind="stable")]
    if overtaken and not question.past and query.as_of is None:
        ranked = put_current_first(ranked, found, overtaken)
    if "turn" in query.kinds:
        least = query.fallback if budget is None else max(query.fallback, NOTHING_FOUND)
        ranked = add_fallback(ranked, found, fused, query, within, overtaken, least)
    best = ranked[: limit + 1]
    if budget is not None:
        # As many as may fill the budget, generously: some will not fit.
        cost = np.minimum(found.tokens[best], query.turn_chars / CHARS_PER_TOKEN) + HEADER_TOKENS
        best = best[: int(np.searchsorted(np.cumsum(cost), budget * 1.5)) + FEW]
    return Choice(
        rows=best,
        found=len(rows),
        counts={
            "bm25": int((eligible & by_words).sum()),
            "vector": int((eligible & by_meaning).sum()),
            "trigram": count_respelt(eligible, fused, question),
        },
        scope_used=reach,
        widened=widened,
        path=choose_path(best, by_words, by_meaning, bool(question.respelt)),
        last_turn=int(found.turn[in_session].max(initial=-1)),
    )


def count_respelt(eligible: Bools, fused: Fused, question: Question) -> int:
    """Return how many turns have a word of the question that was misspelt in it."""
    respelt = [word in question.respelt for word in question.lexemes]
    return int((eligible & fused.counts[:, respelt].any(axis=1)).sum())


def add_fallback(
    ranked: Ints,
    found: Candidates,
    fused: Fused,
    query: Query,
    within: Bools,
    overtaken: Sequence[Overtaken],
    least: int,
) -> Ints:
    """Return the ranking, followed by other turns within reach, the user's statements first, then the best: until it
    has as many statements as the query's fallback says, or `least` if it had none."""
    stated = ((found.flags & Flag.USER) > 0) & ((found.flags & Flag.ASKS) == 0)
    known = int(stated[ranked].sum())
    missing = (query.fallback if known else least) - known
    if missing <= 0:
        return ranked
    # Not those whose words the user asked to forget.
    sessions = dict(zip(found.conversations, found.sessions, strict=True))
    forgotten = [f"{sessions.get(turn[0])}#{turn[1]}" for turn, new in overtaken if new is None]
    others = within & ~find_excluded(found, (*query.exclude, *forgotten))
    others[ranked] = False
    rest = np.flatnonzero(others)
    rest = rest[np.lexsort((-fused.total[rest], ~stated[rest]))]
    return np.concatenate([ranked, rest[:missing]])


def put_current_first(ranked: Ints, found: Candidates, overtaken: Sequence[Overtaken]) -> Ints:
    """Return the ranking with turns that state outdated values after those with current ones, and without turns that
    the user asked to forget."""
    place = {conversation: n for n, conversation in enumerate(found.conversations)}
    turns = zip(found.conversation[ranked].tolist(), found.turn[ranked].tolist(), strict=True)
    rank = {turn: n for n, turn in enumerate(turns)}

    def at(turn: tuple[ConversationId, int] | None) -> int | None:
        return None if turn is None else rank.get((place.get(turn[0], -1), turn[1]))

    keys = np.arange(len(ranked), dtype=np.float64)
    gone = [old for turn, new in overtaken if new is None and (old := at(turn)) is not None]
    pairs = [(old, now) for turn, new in overtaken if (old := at(turn)) is not None and (now := at(new)) is not None]
    # In the order they were said, so that the newest of several values climbs past all of them.
    said = found.said_at[ranked]
    for old, now in sorted(pairs, key=lambda pair: (said[pair[0]], found.turn[ranked[pair[0]]])):
        keys[now] = min(keys[now], keys[old] - JUST_BEFORE)
    keys[gone] = np.inf
    order = np.argsort(keys, kind="stable")
    return ranked[order][: int(np.isfinite(keys).sum())]


def choose_reach(
    query: Query, question: Question, session: str | None, session_hits: int
) -> tuple[Reached, str | None]:
    if query.scope != "auto":
        return query.scope, None
    if session is None:
        return "user", None
    if question.before:
        return "user", "the question speaks of an earlier time"
    if session_hits < FEW:
        return "user", f"{session_hits or 'nothing'} found in the session"
    return "session", None


def choose_path(rows: Ints, by_words: Bools, by_meaning: Bools, respelt: bool) -> Path:
    words, meaning = bool(by_words[rows].any()), bool(by_meaning[rows].any())
    if respelt and words:
        return "trgm"
    paths: dict[tuple[bool, bool], Path] = {
        (True, True): "hybrid",
        (True, False): "fts",
        (False, True): "vector",
        (False, False): "window" if len(rows) else "none",
    }
    return paths[words, meaning]


def find_in_session(found: Candidates, session: str | None) -> Bools:
    if session is None or session not in found.sessions:
        return np.zeros(len(found), np.bool_)
    return np.equal(found.conversation, found.sessions.index(session))


def find_excluded(found: Candidates, refs: Sequence[str]) -> Bools:
    out = np.zeros(len(found), np.bool_)
    for ref in refs:
        session, _, index = ref.rpartition("#")
        if index.isdecimal():
            out |= find_in_session(found, session) & (found.turn == int(index))
    return out


def find_statements(found: Candidates, exclude: Sequence[str]) -> Bools:
    """Return which candidates state something: not the excluded ones, and no questions. All, if none is excluded."""
    if not exclude:
        return np.ones(len(found), np.bool_)
    asks: Bools = (found.flags & Flag.ASKS) > 0
    return ~asks & ~find_excluded(found, exclude)


def build_hits(
    turns: Sequence[Turn], found: Candidates, fused: Fused, question: Question, choice: Choice, session: str | None
) -> list[Hit]:
    """Return hits for the chosen rows whose turn still exists."""
    by_ref = {turn.ref: turn for turn in turns}
    rows = choice.rows
    columns = zip(
        [found.conversations[owner] for owner in found.conversation[rows].tolist()],
        round_values(fused.total[rows]),
        build_arms(fused.matched, rows),
        build_arms(found.cosine, rows),
        zip(*(round_values(part[rows]) for part in fused.parts.values()), strict=True),
        fused.counts[rows].tolist(),
        strict=True,
    )
    weighed = (Weighed(*row) for row in columns)
    places = zip(found.conversation[rows].tolist(), found.turn[rows].tolist(), strict=True)
    refs = [f"{found.sessions[owner]}#{turn}" for owner, turn in places]
    return [
        build_hit(by_ref[ref], each, tuple(fused.parts), question, session)
        for ref, each in zip(refs, weighed, strict=True)
        if ref in by_ref
    ]


def round_values(values: Floats) -> list[float]:
    """Round as Python does, which numpy does not quite."""
    return [round(value, 4) for value in values.tolist()] if values.any() else values.tolist()


def build_arms(scores: Floats, rows: Ints) -> list[Arm]:
    """Return the rank and score of each row in one search."""
    better = np.searchsorted(np.sort(-scores), -scores[rows], side="left").tolist()
    return [Arm(rank + 1, score) for rank, score in zip(better, round_values(scores[rows]), strict=True)]


def build_hit(turn: Turn, weighed: Weighed, names: Sequence[str], question: Question, session: str | None) -> Hit:
    matched = [word for word, count in zip(question.lexemes, weighed.counts, strict=True) if count]
    return Hit(
        turn=turn,
        conversation=weighed.conversation,
        tier="session" if turn.session == session else "user",
        score=weighed.score,
        arms=collect_arms(weighed.words, weighed.meaning, matched, question.respelt),
        parts=dict(zip(names, weighed.parts, strict=True)),
        words=tuple(question.surface.get(word, word) for word in matched),
    )


def collect_arms(words: Arm, meaning: Arm, matched: Sequence[str], respelt: Sequence[str]) -> dict[str, Arm]:
    """Return the arms that found a hit, which has the `matched` words of the question."""
    arms = {}
    if matched:
        arms["bm25"] = words
    if set(matched) & set(respelt):
        arms["trigram"] = words
    if not math.isnan(meaning.score):
        arms["vector"] = meaning
    return arms


def is_question_itself(hit: Hit, query: Query, choice: Choice) -> bool:
    """Whether a hit is the question itself: applications record it before they search."""
    newest = hit.turn.index is not None and hit.turn.index >= choice.last_turn - 1
    return hit.tier == "session" and newest and hit.turn.role == "user" and hit.turn.text == query.text
