"""Report: usage figures of a project over some days, compared with limits.

The store counts (store/upkeep.py); `evaluate_report` fills in missing days and compares every figure with its rule. A
trigger should not be exceeded: beyond it a change is worth its cost. A goal should be reached. What is not measured
says so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib.resources import files
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
    messages: int = 0  # answered without a search, such as greetings
    reply_ms: int = 0  # of models, for replies
    summary_ms: int = 0  # of models, for summaries
    summaries: int = 0  # written by a model
    corrections: int = 0
    thumbs_down: int = 0
    reproaches: int = 0  # messages saying that something was forgotten
    weeks: float = 1.0  # of the period; a shorter one counts as a week

    @property
    def complaints(self) -> int:
        return self.corrections + self.thumbs_down + self.reproaches

    @property
    def model_ms(self) -> int:
        return self.reply_ms + self.summary_ms

    @property
    def model_calls(self) -> int:
        return self.llm_timed + self.summaries


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
class Rule:
    """A figure of report_rules.toml, which explains the fields."""

    name: str
    limit: float
    unit: Unit
    meaning: str
    part: str = ""
    whole: str = ""
    per: float = 1
    argues_for: str = ""
    note: str = ""
    at_least: bool = False
    judged_by: str = ""


@cache
def load_rules() -> tuple[Sequence[Rule], Sequence[Rule]]:
    """Return the triggers and the goals."""
    listed = tomllib.loads(files("recollect.values").joinpath("report_rules.toml").read_text("utf-8"))
    return [Rule(**rule) for rule in listed["triggers"]], [Rule(**rule) for rule in listed["goals"]]


def measure_rule(rule: Rule, totals: Totals) -> Gauge:
    part = getattr(totals, rule.part) if rule.part else None
    whole = getattr(totals, rule.whole) if rule.whole else rule.per
    value = part / whole if part is not None and whole else None
    cases = getattr(totals, rule.judged_by or rule.whole, 0)
    verdict: Verdict = "not measured" if value is None else judge_value(rule, value, cases)
    return Gauge(rule.name, value, rule.limit, rule.unit, verdict, rule.meaning, rule.argues_for, rule.note)


def judge_value(rule: Rule, value: float, cases: int) -> Verdict:
    if rule.unit != "per week" and cases < FEW_REQUESTS:
        return "too few"
    if rule.at_least:
        return "under" if value < rule.limit else "ok"
    return "over" if value > rule.limit else "ok"


def format_value(value: float | None, unit: Unit) -> str:
    """Return a gauge's figure for people."""
    formats = {"share": "{:.1%}", "ms": "{:,.0f} ms", "s": "{:,.2f} s"}
    return "–" if value is None else formats.get(unit, f"{{:,.1f}} {unit}").format(value)


def describe_totals(totals: Totals) -> dict[str, str]:
    """Return the counts in words, in the order in which people ask for them."""
    t = totals
    return {
        "requests": f"{t.requests:,}, for a context: {t.contexts:,}; users: {t.users:,}; sessions: {t.sessions:,}",
        "messages without a search": f"{t.messages:,}",
        "hits by words": f"3 or more: {format_percent(t.requests - t.few_words, t.requests)}, fewer: "
        f"{format_percent(t.few_words, t.requests)}",
        "hits": f"{t.hits_found:,} found, {t.hits_used:,} used, by {format_percent(t.hit, t.requests)} of requests",
        "fallback": format_percent(t.fallback, t.requests),
        "truncated": f"{format_percent(t.truncated, t.contexts)} of contexts",
        "only summaries": f"{format_percent(t.summaries_only, t.contexts)} of contexts",
        "tokens": f"{format_percent(t.tokens, t.budget)} of the budget, {t.tokens // max(t.contexts, 1):,} per context",
        "retrieval": format_percentiles(t.retrieval_p50, t.retrieval_p95),
        "model": format_percentiles(t.llm_p50, t.llm_p95),
        "model time": f"{t.reply_ms / 1000:,.1f} s for replies, {t.summary_ms / 1000:,.1f} s for summaries",
        "complaints": f"corrections: {t.corrections:,}; thumbs down: {t.thumbs_down:,}; "
        f"messages that say something was forgotten: {t.reproaches:,}",
        "work": f"{t.due:,} waiting, {t.failing:,} failing, {t.parked:,} parked",
    }


def format_percent(part: int, whole: int) -> str:
    return format_value(part / whole if whole else None, "share")


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
    *("week of", "questions", "clarifications", "choices taken", "corrections", "asked again"),
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
    weeks = max((until.date() - since.date()).days + 1, 7) / 7
    totals, named = replace(counted.totals, weeks=weeks), counted.named
    triggers, goals = load_rules()
    known, first = {day.day: day for day in counted.days}, since.date()
    whole = [first + timedelta(days=n) for n in range((until.astimezone(UTC).date() - first).days + 1)]
    # How many requests took less than each step, and no less than the one before.
    steps = [*(f"< {step:,} ms" for step in LATENCY_STEPS), f"{LATENCY_STEPS[-1]:,} ms and more"]
    latencies = named.get("latency", {})
    return Report(
        project=project,
        since=since,
        until=until,
        totals=totals,
        days=[known.get(day, Day(day)) for day in whole],
        paths=named.get("path", {}),
        errors=named.get("error", {}),
        latencies={name: latencies.get(str(n), 0) for n, name in enumerate(steps)},
        learned=named.get("learned", {}),
        rejected=named.get("rejected", {}),
        triggers=[measure_rule(rule, totals) for rule in triggers],
        goals=[measure_rule(rule, totals) for rule in goals],
        notes=list_notes(totals),
        asking=counted.weeks,
        storage=counted.stored,
    )


def hide_user_names(report: Report) -> Report:
    """Return the report for callers who may see counts but no names."""
    rows = [each if each.user is None else replace(each, user=f"user {each.scope.hex[:8]}") for each in report.storage]
    return replace(report, storage=rows)


def list_notes(totals: Totals) -> list[str]:
    notes = {
        "nothing was asked in these days": not totals.requests,
        f"fewer than {FEW_REQUESTS} requests: shares, averages and p95 are not judged": 0
        < totals.requests
        < FEW_REQUESTS,
        "no request timed its model, so p95 is that of retrieval": totals.requests and not totals.llm_timed,
        f"{totals.parked} conversations are parked: see `recollect work status`": totals.parked,
    }
    return [note for note, is_present in notes.items() if is_present]
