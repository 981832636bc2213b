"""Report: usage figures of a project over some days, compared with limits.

The store counts (store/upkeep.py); `evaluate_report` fills in missing days and compares every figure with its rule. A
trigger should not be exceeded: beyond it a change is worth its cost. A goal should be reached. What is not measured
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from recollect.values.scope import ScopeId

Verdict = Literal["ok", "over", "under", "too few", "not measured"]
Unit = Literal["share", "s", "ms", "per session", "per week", "of 5"]


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over the whole period; percentiles in milliseconds, None if nothing was timed."""

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
    truncated: int = 0  # contexts for which the token budget was too small
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
    """A figure against its limit. `argues_for` is what to do beyond it; `note` how it was measured, or why not."""

    name: str
    value: float | None
    limit: float
    unit: Unit
    verdict: Verdict
    meaning: str
    argues_for: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of some requests, contexts or questions."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True, slots=True)
class Rule:
    """How a gauge is computed. With `at_least` it is to be reached; otherwise not to be exceeded."""

    name: str
    limit: float
    unit: Unit
    meaning: str
    measure: Callable[[Totals], float | Share | None]
    argues_for: str = ""
    note: str = ""
    at_least: bool = False


def return_nothing(_: Totals) -> None:
    """Return None: no part of the system measures this."""


def to_seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


TRIGGERS = (
    Rule(
        "fewer than 3 hits by words",
        0.30,
        "share",
        "words alone find too little",
        lambda t: Share(t.few_words, t.requests),
        "vectors for more turns (RECOLLECT_EMBED_TURNS=all) or a better embedder",
        "of all requests, those to an empty memory too",
    ),
    Rule(
        "fallback",
        0.50,
        "share",
        "words are no longer the main way",
        lambda t: Share(t.fallback, t.requests),
        "a better embedder, and synonyms in the ontology",
        "answered by vectors alone, by spelling, by the latest turns, or not at all",
    ),
    Rule(
        "only summaries in the context",
        0.20,
        "share",
        "summaries stand in for what was said",
        lambda t: Share(t.summaries_only, t.contexts),
        "a longer RECOLLECT_EPISODE_WINDOW, or a model that writes structured episodes",
        "contexts with memories or episodes, and no turn that was found",
    ),
    Rule(
        "truncated",
        0.40,
        "share",
        "the budget of tokens is too small",
        lambda t: Share(t.truncated, t.contexts),
        "a larger budget, or fewer recent turns (MEMORY_MAX_HISTORY_MESSAGES)",
        "contexts that left something out because the budget was used up",
    ),
    Rule(
        "only vectors found it",
        0.10,
        "share",
        "words would have missed it",
        lambda t: Share(t.only_vectors, t.requests),
        "keep vectors, and give them to more than what is marked",
        "stands in for a person's judgement that an embedding was needed",
    ),
    Rule(
        "complaints that it forgot",
        3,
        "per week",
        "users notice",
        return_nothing,
        "look at their requests with `recollect explain`",
        "nothing records complaints",
    ),
    Rule(
        "p95 of a request",
        3,
        "s",
        "users wait",
        lambda t: to_seconds(t.whole_p95),
        "a cache, or splitting the largest scopes",
        "retrieval, and the model where it was timed",
    ),
    Rule(
        "summaries' share of what models cost",
        0.25,
        "share",
        "summaries cost too much",
        return_nothing,
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
        lambda t: Share(t.hit, t.requests),
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
        lambda t: Share(t.follow_ups_helped, t.follow_ups),
        note="stands in for success: a later, different question of a session used a hit and nothing failed",
        at_least=True,
    ),
    Rule("p95 that memory adds", 50, "ms", "memory is not felt", lambda t: t.retrieval_p95, note="time of retrieval"),
    Rule("user satisfaction", 4, "of 5", "users are content", return_nothing, note="nobody is asked", at_least=True),
)


def measure_rule(rule: Rule, totals: Totals) -> Gauge:
    measured = rule.measure(totals)
    value = measured.value if isinstance(measured, Share) else measured
    verdict: Verdict = "ok"
    if value is None:
        verdict = "not measured"
    elif isinstance(measured, Share) and measured.whole < FEW_REQUESTS:
        verdict = "too few"
    elif rule.at_least and value < rule.limit:
        verdict = "under"
    elif not rule.at_least and value > rule.limit:
        verdict = "over"
    return Gauge(rule.name, value, rule.limit, rule.unit, verdict, rule.meaning, rule.argues_for, rule.note)


def format_value(value: float | None, unit: Unit) -> str:
    """Return a gauge's figure for people."""
    formats = {"share": "{:.1%}", "ms": "{:,.0f} ms", "s": "{:,.2f} s"}
    return "–" if value is None else formats.get(unit, f"{{:,.1f}} {unit}").format(value)


def describe_totals(totals: Totals) -> dict[str, str]:
    """Return the counts in words, in the order in which people ask for them."""
    t = totals
    return {
        "requests": f"{t.requests:,}, for a context: {t.contexts:,}; users: {t.users:,}; sessions: {t.sessions:,}",
        "hits by words": f"3 or more: {format_percent(t.requests - t.few_words, t.requests)}, fewer: "
        f"{format_percent(t.few_words, t.requests)}",
        "hits": f"{t.hits_found:,} found, {t.hits_used:,} used, by {format_percent(t.hit, t.requests)} of requests",
        "fallback": format_percent(t.fallback, t.requests),
        "truncated": f"{format_percent(t.truncated, t.contexts)} of contexts",
        "only summaries": f"{format_percent(t.summaries_only, t.contexts)} of contexts",
        "tokens": f"{format_percent(t.tokens, t.budget)} of the budget, {t.tokens // max(t.contexts, 1):,} per context",
        "retrieval": format_percentiles(t.retrieval_p50, t.retrieval_p95),
        "model": format_percentiles(t.llm_p50, t.llm_p95),
        "work": f"{t.due:,} waiting, {t.failing:,} failing, {t.parked:,} parked",
    }


def format_percent(part: int, whole: int) -> str:
    return format_value(Share(part, whole).value, "share")


def format_percentiles(p50: int | None, p95: int | None) -> str:
    return "not measured" if p50 is None else f"p50 {format_value(p50, 'ms')}, p95 {format_value(p95, 'ms')}"


LATENCY_STEPS = (5, 10, 25, 50, 100, 250, 500, 1000, 3000)  # milliseconds
FEW_REQUESTS = 30  # with fewer, a percentage means little
MAX_DAYS = 366
WEEKS = 8  # in which learning shows
MOST_STORED = 20  # users whose storage is listed


@dataclass(frozen=True, slots=True)
class Day:
    """Counts of one day."""

    day: date
    requests: int = 0
    users: int = 0
    hit: int = 0
    few_words: int = 0
    fallback: int = 0
    contexts: int = 0
    truncated: int = 0
    retrieval_p50: int | None = None
    retrieval_p95: int | None = None


@dataclass(frozen=True, slots=True)
class Week:
    """Questions to databases in the week that begins on this Monday.

    Learning shows in two shares: that of `asked_back` in `asked` should fall, that of `repeated_answered` in `repeated`
    should rise. A user's question is repeated if they asked it before, within the weeks of the report.
    """

    week: date
    asked: int = 0  # without replies to clarifications
    asked_back: int = 0  # that needed a clarification
    chosen: int = 0  # clarifications replied to, by a choice or in the user's own words
    corrected: int = 0
    repeated: int = 0
    repeated_answered: int = 0  # without asking


WEEK_COLUMNS = (
    "week of",
    "questions",
    "clarifications",
    "choices taken",
    "corrections",
    "asked again",
    "of these answered at once",
)


def count_week(week: Week) -> tuple[str, ...]:
    """Return the counts of a week as text, with their shares, in the order of WEEK_COLUMNS."""

    def share(part: int, whole: int) -> str:
        return f"{part:,} ({part / whole:.0%})" if whole else f"{part:,}"

    counts = (f"{each:,}" for each in (week.chosen, week.corrected, week.repeated))
    return f"{week.asked:,}", share(week.asked_back, week.asked), *counts, share(week.repeated_answered, week.repeated)


@dataclass(frozen=True, slots=True)
class ScopeStorage:
    """What is stored for a user, or, without a user, for the project. Bytes of texts and files, without indexes."""

    scope: ScopeId
    user: str | None
    turns: int
    memories: int
    documents: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ReportCounts:
    """What the store counted. `named` are counts by kind and name: path, error, latency, learned, rejected."""

    totals: Totals
    days: Sequence[Day]
    named: Mapping[str, Mapping[str, int]]
    weeks: Sequence[Week] = ()
    stored: Sequence[ScopeStorage] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """How memory performed in a project over a period: counts over all users, each compared with its limit."""

    project: str
    since: datetime
    until: datetime
    totals: Totals
    days: Sequence[Day]
    paths: Mapping[str, int]
    errors: Mapping[str, int]
    latencies: Mapping[str, int]
    learned: Mapping[str, int]
    rejected: Mapping[str, int]
    triggers: Sequence[Gauge]
    goals: Sequence[Gauge]
    notes: Sequence[str] = ()
    asking: Sequence[Week] = ()  # the last weeks, whatever the period
    storage: Sequence[ScopeStorage] = ()  # now; the largest first

    @property
    def is_over(self) -> bool:
        """Whether a trigger is exceeded."""
        return any(trigger.verdict == "over" for trigger in self.triggers)


def get_period(now: datetime, days: int) -> tuple[datetime, datetime]:
    """Return whole days in UTC; today's up to now."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days - 1), now


def evaluate_report(project: str, since: datetime, until: datetime, counted: ReportCounts) -> Report:
    totals, named = counted.totals, counted.named
    return Report(
        project=project,
        since=since,
        until=until,
        totals=totals,
        days=fill_missing_days(counted.days, since.date(), until.astimezone(UTC).date()),
        paths=named.get("path", {}),
        errors=named.get("error", {}),
        latencies=count_by_step(named.get("latency", {})),
        learned=named.get("learned", {}),
        rejected=named.get("rejected", {}),
        triggers=[measure_rule(rule, totals) for rule in TRIGGERS],
        goals=[measure_rule(rule, totals) for rule in GOALS],
        notes=list_notes(totals),
        asking=counted.weeks,
        storage=counted.stored,
    )


def hide_user_names(report: Report) -> Report:
    """Return the report for callers who may see counts but no names."""
    rows = [each if each.user is None else replace(each, user=f"user {each.scope.hex[:8]}") for each in report.storage]
    return replace(report, storage=rows)


def fill_missing_days(days: Sequence[Day], first: date, last: date) -> list[Day]:
    """Return all days, including those without requests."""
    known = {day.day: day for day in days}
    whole = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return [known.get(day, Day(day)) for day in whole]


def count_by_step(counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many requests took less than each step, and no less than the one before."""
    names = [*(f"< {step:,} ms" for step in LATENCY_STEPS), f"{LATENCY_STEPS[-1]:,} ms and more"]
    return {name: counts.get(str(n), 0) for n, name in enumerate(names)}


def list_notes(totals: Totals) -> list[str]:
    notes = {
        "nothing was asked in these days": not totals.requests,
        f"fewer than {FEW_REQUESTS} requests: shares of them are not judged": 0 < totals.requests < FEW_REQUESTS,
        "no request timed its model, so p95 is that of retrieval": totals.requests and not totals.llm_timed,
        f"{totals.parked} conversations are parked: see `recollect work status`": totals.parked,
    }
    return [note for note, is_present in notes.items() if is_present]
