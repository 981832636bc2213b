"""Work: what is behind the log, as the worker sees it and as health tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from recollect.model.ids import ConversationId, ScopeId

# In the order in which they run. Only the first needs nobody's help.
Stage = Literal["learn", "embed", "reason", "episodes"]

MOST_TRIES = 5  # before a stage is parked
FIRST_PAUSE = timedelta(seconds=2)  # after a failure; doubled with each further one
LONGEST_PAUSE = timedelta(minutes=10)
PARKED_PAUSE = timedelta(hours=1)  # until what was parked is tried once more


@dataclass(frozen=True, slots=True)
class Job:
    """A conversation under lease, and how far each stage has come with it."""

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
    resting: Sequence[str]  # stages that are parked, and whose time has not come
    attempts: int
    is_released: bool = False


@dataclass(frozen=True, slots=True)
class Trouble:
    """A conversation that some stage fails on. `next_try` may be in the past: then a worker is about to."""

    scope: ScopeId
    conversation: ConversationId
    attempts: int
    parked: Sequence[str]
    failed_at: datetime
    next_try: datetime | None
    error: str


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """`lag` is how long the oldest waiting conversation has waited, in seconds; `documents_lag` the same of documents
    that nobody reads. A document that failed was looked at, and waits for who uploaded it."""

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


def pause_after(attempts: int) -> timedelta:
    """How long to leave a conversation alone after its nth failure."""
    doubled: int = 2 ** min(attempts - 1, 12)
    return min(LONGEST_PAUSE, FIRST_PAUSE * doubled)
