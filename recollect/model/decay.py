"""Decay: what time takes from a memory that nobody uses, and when it is gone. Arithmetic; store/upkeep.py applies it.

What is taken off depends on how long a memory lay idle, never on how often somebody looked: a step counts from where
the last one ended, so upkeep may run late, twice, or after a year, and comes to the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from recollect.model.ids import MemoryId
from recollect.model.memory import MemoryKind

DIGITS = 6  # 0.6 less three times 0.1 is 0.3, and not below it


@dataclass(frozen=True, slots=True)
class Rule:
    """`step` is lost once per `period` of idleness; below `below` and after `patience` a memory is forgotten."""

    period: timedelta
    step: float
    below: float
    patience: timedelta


@dataclass(frozen=True, slots=True)
class Idle:
    """An active memory as decay sees it; `since` is when it was last used or changed."""

    id: MemoryId
    kind: MemoryKind
    key: str
    status: str
    confidence: float
    decayed: float
    since: datetime
    decayed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Fate:
    """`decayed` in all, reckoned up to `at`; or it is forgotten."""

    decayed: float
    at: datetime | None
    is_forgotten: bool


def fate(memory: Idle, rule: Rule, now: datetime) -> Fate:
    reckoned = max(memory.since, memory.decayed_at or memory.since)
    periods = max(0, (now - reckoned) // rule.period)
    decayed = round(min(memory.confidence, memory.decayed + periods * rule.step), DIGITS)
    left = round(memory.confidence - decayed, DIGITS)
    return Fate(
        decayed=decayed,
        at=reckoned + periods * rule.period if periods else memory.decayed_at,
        is_forgotten=left < rule.below and now - memory.since >= rule.patience,
    )
