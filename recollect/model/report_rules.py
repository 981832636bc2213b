"""Rules of a report: numbers with limits, and what it means to be beyond them.

A trigger is not to be passed; beyond it an upgrade is worth its price. A goal is to be reached. What nobody measures
says so: an invented number would be worse than none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "over", "under", "not measured"]
Unit = Literal["share", "s", "ms", "per session", "per week", "of 5"]


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over the whole period; percentiles in milliseconds, None where nothing was timed."""

    requests: int = 0
    users: int = 0
    sessions: int = 0
    contexts: int = 0
    few_words: int = 0  # requests with fewer than three hits by words
    fallback: int = 0  # that neither words nor words with vectors answered
    only_vectors: int = 0
    hit: int = 0  # that used at least one hit
    hits_found: int = 0
    hits_used: int = 0
    truncated: int = 0  # contexts that had to leave something out
    summaries_only: int = 0  # contexts with memories or episodes, and no turn that was found
    tokens: int = 0
    budget: int = 0
    retrieval_p50: int | None = None
    retrieval_p95: int | None = None
    llm_timed: int = 0
    llm_p50: int | None = None
    llm_p95: int | None = None
    whole_p95: int | None = None  # retrieval and model together
    follow_ups: int = 0
    follow_ups_helped: int = 0
    conversations: int = 0
    questions: int = 0
    due: int = 0
    failing: int = 0
    parked: int = 0


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number against its limit. `argues_for` is what to do beyond it; `note` how it was measured, or why not."""

    name: str
    value: float | None
    limit: float
    unit: Unit
    verdict: Verdict
    meaning: str
    argues_for: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """How a gauge is made. With `at_least`, it is to be reached; otherwise not to be passed."""

    name: str
    limit: float
    unit: Unit
    meaning: str
    measure: Callable[[Totals], float | None]
    argues_for: str = ""
    note: str = ""
    at_least: bool = False


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def nobody(_: Totals) -> None:
    """For what no part of the system measures."""


def seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


TRIGGERS = (
    Rule(
        "fewer than 3 hits by words",
        0.30,
        "share",
        "words alone find too little",
        lambda t: share(t.few_words, t.requests),
        "vectors for more turns (RECOLLECT_EMBED_TURNS=all) or a better embedder",
        "of all requests, those to an empty memory too",
    ),
    Rule(
        "fallback",
        0.50,
        "share",
        "words are no longer the main way",
        lambda t: share(t.fallback, t.requests),
        "a better embedder, and synonyms in the ontology",
        "answered by vectors alone, by spelling, by the latest turns, or not at all",
    ),
    Rule(
        "only summaries in the context",
        0.20,
        "share",
        "summaries stand in for what was said",
        lambda t: share(t.summaries_only, t.contexts),
        "a longer RECOLLECT_EPISODE_WINDOW, or a model that writes structured episodes",
        "contexts with memories or episodes, and no turn that was found",
    ),
    Rule(
        "truncated",
        0.40,
        "share",
        "the budget of tokens is too small",
        lambda t: share(t.truncated, t.contexts),
        "a larger budget, or fewer recent turns (MEMORY_MAX_HISTORY_MESSAGES)",
        "contexts that left something out or cut it short",
    ),
    Rule(
        "only vectors found it",
        0.10,
        "share",
        "words would have missed it",
        lambda t: share(t.only_vectors, t.requests),
        "keep vectors, and give them to more than what is marked",
        "stands in for a person's judgement that an embedding was needed",
    ),
    Rule(
        "complaints that it forgot",
        3,
        "per week",
        "users notice",
        nobody,
        "look at their requests with `recollect explain`",
        "nothing records complaints",
    ),
    Rule(
        "p95 of a request",
        3,
        "s",
        "users wait",
        lambda t: seconds(t.whole_p95),
        "a cache, or splitting the largest scopes",
        "retrieval, and the model where it was timed",
    ),
    Rule(
        "summaries' share of what models cost",
        0.25,
        "share",
        "summaries cost too much",
        nobody,
        "a higher MEMORY_SUMMARIZATION_THRESHOLD, or a smaller MEMORY_SUMMARIZATION_MODEL",
        "what a model's answers cost is not recorded",
    ),
)

GOALS = (
    Rule(
        "requests that used memory",
        0.70,
        "share",
        "memory hit rate",
        lambda t: share(t.hit, t.requests),
        note="at least one turn, memory or episode that was found was used",
        at_least=True,
    ),
    Rule(
        "questions per session",
        4,
        "per session",
        "people stay and ask on",
        lambda t: t.questions / t.conversations if t.conversations else None,
        note="messages of users in the sessions that were active, from their beginning",
        at_least=True,
    ),
    Rule(
        "follow-ups that memory helped",
        0.80,
        "share",
        "follow-up questions succeed",
        lambda t: share(t.follow_ups_helped, t.follow_ups),
        note="stands in for success: a later, different question of a session used a hit and nothing failed",
        at_least=True,
    ),
    Rule("p95 that memory adds", 50, "ms", "memory is not felt", lambda t: t.retrieval_p95, note="time of retrieval"),
    Rule("user satisfaction", 4, "of 5", "users are content", nobody, note="nobody is asked", at_least=True),
)


def gauged(rule: Rule, totals: Totals) -> Gauge:
    value = rule.measure(totals)
    found = verdict(value, rule.limit, rule.at_least)
    return Gauge(rule.name, value, rule.limit, rule.unit, found, rule.meaning, rule.argues_for, rule.note)


def verdict(value: float | None, limit: float, at_least: bool = False) -> Verdict:
    if value is None:
        return "not measured"
    if at_least:
        return "ok" if value >= limit else "under"
    return "over" if value > limit else "ok"


def shown(value: float | None, unit: Unit) -> str:
    """A gauge's number as people read it."""
    if value is None:
        return "–"
    match unit:
        case "share":
            return f"{value:.1%}"
        case "ms":
            return f"{value:,.0f} ms"
        case "s":
            return f"{value:,.2f} s"
        case _:
            return f"{value:,.1f} {unit}"


def facts(totals: Totals) -> dict[str, str]:
    """What was counted, in words, in the order in which people ask for it."""
    t = totals
    return {
        "requests": f"{t.requests:,}, for a context: {t.contexts:,}; users: {t.users:,}; sessions: {t.sessions:,}",
        "hits by words": f"3 or more: {percent(t.requests - t.few_words, t.requests)}, fewer: "
        f"{percent(t.few_words, t.requests)}",
        "hits": f"{t.hits_found:,} found, {t.hits_used:,} used, by {percent(t.hit, t.requests)} of requests",
        "fallback": percent(t.fallback, t.requests),
        "truncated": f"{percent(t.truncated, t.contexts)} of contexts",
        "only summaries": f"{percent(t.summaries_only, t.contexts)} of contexts",
        "tokens": f"{percent(t.tokens, t.budget)} of the budget, {t.tokens // max(t.contexts, 1):,} per context",
        "retrieval": milliseconds(t.retrieval_p50, t.retrieval_p95),
        "model": milliseconds(t.llm_p50, t.llm_p95),
        "work": f"{t.due:,} waiting, {t.failing:,} failing, {t.parked:,} parked",
    }


def percent(part: int, whole: int) -> str:
    return shown(share(part, whole), "share")


def milliseconds(p50: int | None, p95: int | None) -> str:
    return "not measured" if p50 is None else f"p50 {shown(p50, 'ms')}, p95 {shown(p95, 'ms')}"
