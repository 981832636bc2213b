"""Report: how memory did in a project over some days, by numbers. Counts in, verdicts out.

The store counts (store/report.py), `evaluated` puts the days in order and has every number judged by the rules of
report_rules.py. Doors show it: `recollect report`, as a table, as JSON or as a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from recollect.model.ids import ScopeId
from recollect.model.report_rules import GOALS, TRIGGERS, Gauge, Totals, gauged

LATENCY_STEPS = (5, 10, 25, 50, 100, 250, 500, 1000, 3000)  # milliseconds
FEW_REQUESTS = 30  # fewer than this, and a share says little
MAX_DAYS = 366
WEEKS = 8  # in which learning shows
MOST_STORED = 20  # users whose storage is told


@dataclass(frozen=True, slots=True)
class Day:
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
    """Questions to databases in the week that begins on this Monday: asked, asked back, corrected."""

    week: date
    asked: int = 0
    asked_back: int = 0
    corrected: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What is kept for a user; without one, what the project shares. Bytes of texts and files, without indexes."""

    scope: ScopeId
    user: str | None
    turns: int
    memories: int
    documents: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Counted:
    """What the store counted. `named` are counts by kind and name: path, error, latency, learned, rejected."""

    totals: Totals
    days: Sequence[Day]
    named: Mapping[str, Mapping[str, int]]
    weeks: Sequence[Week] = ()
    stored: Sequence[Stored] = ()


@dataclass(frozen=True, slots=True)
class Report:
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
    storage: Sequence[Stored] = ()  # now; the largest first

    @property
    def is_over(self) -> bool:
        """Whether a trigger argues for an upgrade."""
        return any(trigger.verdict == "over" for trigger in self.triggers)


def period(now: datetime, days: int) -> tuple[datetime, datetime]:
    """Whole days in UTC, today's with what it has so far."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days - 1), now


def evaluated(project: str, since: datetime, until: datetime, counted: Counted) -> Report:
    totals, named = counted.totals, counted.named
    return Report(
        project=project,
        since=since,
        until=until,
        totals=totals,
        days=every_day(counted.days, since.date(), until.astimezone(UTC).date()),
        paths=named.get("path", {}),
        errors=named.get("error", {}),
        latencies=by_step(named.get("latency", {})),
        learned=named.get("learned", {}),
        rejected=named.get("rejected", {}),
        triggers=[gauged(rule, totals) for rule in TRIGGERS],
        goals=[gauged(rule, totals) for rule in GOALS],
        notes=notes(totals),
        asking=counted.weeks,
        storage=counted.stored,
    )


def unnamed(report: Report) -> Report:
    """For those who may see counts and no names."""
    rows = [each if each.user is None else replace(each, user=f"user {each.scope.hex[:8]}") for each in report.storage]
    return replace(report, storage=rows)


def every_day(days: Sequence[Day], first: date, last: date) -> list[Day]:
    """With the days on which nobody asked anything."""
    known = {day.day: day for day in days}
    whole = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return [known.get(day, Day(day)) for day in whole]


def by_step(counts: Mapping[str, int]) -> dict[str, int]:
    """How many requests took less than each step, and no less than the one before."""
    names = [*(f"< {step:,} ms" for step in LATENCY_STEPS), f"{LATENCY_STEPS[-1]:,} ms and more"]
    return {name: counts.get(str(n), 0) for n, name in enumerate(names)}


def notes(totals: Totals) -> list[str]:
    told = []
    if not totals.requests:
        told.append("nothing was asked in these days")
    elif totals.requests < FEW_REQUESTS:
        told.append(f"fewer than {FEW_REQUESTS} requests: a share of them says little")
    if totals.requests and not totals.llm_timed:
        told.append("no request timed its model, so p95 is that of retrieval")
    if totals.parked:
        told.append(f"{totals.parked} conversations are parked: see `recollect work status`")
    return told
