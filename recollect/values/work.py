"""Background work as workers and health checks see it. Work that is stuck is unhealthy, even while every question is
answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from recollect.values.scope import ConversationId, ScopeId

# In the order in which they run. Only the first needs no other service.
Stage = Literal["learn", "embed", "reason", "episodes"]

MOST_TRIES = 5  # before a stage is parked
FIRST_PAUSE = timedelta(seconds=2)  # after a failure; doubled with each further one
LONGEST_PAUSE = timedelta(minutes=10)
PARKED_PAUSE = timedelta(hours=1)  # until what was parked is tried once more


@dataclass(frozen=True, slots=True)
class Job:
    """A conversation under lease, and the position of each stage."""

    scope: ScopeId
    conversation: ConversationId
    project: str
    user: str
    session: str
    turns: int
    learned: int
    reasoned: int
    episodes: int
    embedded_model: int
    resting: Sequence[str]  # parked stages whose retry is not due
    attempts: int
    is_released: bool = False


@dataclass(frozen=True, slots=True)
class Trouble:
    """A conversation that a stage fails on. If `next_try` is in the past, a worker is about to retry."""

    scope: ScopeId
    conversation: ConversationId
    attempts: int
    parked: Sequence[str]
    failed_at: datetime
    next_try: datetime | None
    error: str


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """`lag` is how long the oldest conversation has waited, in seconds; `documents_lag` the same for unread documents.
    A failed document waits for its uploader."""

    due: int
    leased: int
    failing: int
    parked: int
    lag: float
    troubles: Sequence[Trouble] = ()
    documents_waiting: int = 0
    documents_failed: int = 0
    documents_lag: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.failing and not self.parked


def get_retry_pause(attempts: int) -> timedelta:
    """Return how long to wait after the nth failure."""
    doubled: int = 2 ** min(attempts - 1, 12)
    return min(LONGEST_PAUSE, FIRST_PAUSE * doubled)


LONGEST_LAG = 600.0  # seconds


@dataclass(frozen=True, slots=True)
class Health:
    """`store` is "ok" or why it does not answer; then `work` is unknown. `notes` say what is wrong and what to do;
    `embedder` and `model` are names, None if there is none."""

    ok: bool
    store: str
    work: WorkStatus | None = None
    embedder: str | None = None
    model: str | None = None
    notes: Sequence[str] = ()
    cache: Mapping[str, int] | None = None  # hits, misses and errors of this process; None: there is none


def find_problems(work: WorkStatus) -> list[str]:
    """Return what is wrong with the background work; empty if nothing is."""
    minutes, documents = f"{work.lag / 60:.0f} minutes", f"{work.documents_waiting} documents"
    problems = {
        f"{work.parked} parked: see `recollect work status`, then `recollect work retry`": work.parked,
        f"{work.failing} failing, to be tried again: see `recollect work status`": work.failing,
        f"the oldest work has waited {minutes}: is a worker running (`recollect worker`)?": work.lag > LONGEST_LAG,
        f"{documents} wait, for {work.documents_lag / 60:.0f} minutes: is a worker running?": (
            work.documents_lag > LONGEST_LAG
        ),
    }
    return [problem for problem, is_present in problems.items() if is_present]
