"""Upkeep: how idle memories decay, the limits of one round of upkeep, and what it did. Pure; store/upkeep.py applies
it.

Decay depends on how long a memory was idle, never on how often upkeep runs: a step counts from where the last one
ended, so upkeep may run late, twice, or after a year.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from recollect.values.memory import MemoryKind
from recollect.values.scope import MemoryId

DIGITS = 6  # 0.6 less three times 0.1 is 0.3, and not below it


@dataclass(frozen=True, slots=True)
class DecayRule:
    """`step` is lost once per `period` of idleness; below `below` and after `patience` a memory is forgotten."""

    period: timedelta
    step: float
    below: float
    patience: timedelta


@dataclass(frozen=True, slots=True)
class IdleMemory:
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
class Decay:
    """The total decay, computed up to `at`, and whether the memory is forgotten."""

    decayed: float
    at: datetime | None
    is_forgotten: bool


def compute_decay(memory: IdleMemory, rule: DecayRule, now: datetime) -> Decay:
    """Return the decay of a memory as of `now`."""
    reckoned = max(memory.since, memory.decayed_at or memory.since)
    periods = max(0, (now - reckoned) // rule.period)
    decayed = round(min(memory.confidence, memory.decayed + periods * rule.step), DIGITS)
    left = round(memory.confidence - decayed, DIGITS)
    return Decay(
        decayed=decayed,
        at=reckoned + periods * rule.period if periods else memory.decayed_at,
        is_forgotten=left < rule.below and now - memory.since >= rule.patience,
    )


@dataclass(frozen=True, slots=True)
class UpkeepLimits:
    """What may stay, as of `now`. At most `minor_most` memories less important than `minor` stay with one holder."""

    now: datetime
    user: DecayRule
    project: DecayRule
    history: timedelta
    requests: timedelta
    keys: timedelta
    minor: float
    minor_most: int
    batch: int


@dataclass(frozen=True, slots=True)
class UpkeepSummary:
    """What a round did. `rows` counts what was deleted with expired conversations, per table; `put_off` the scopes
    where something failed, which the next round retries."""

    conversations: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    decayed: int = 0
    decayed_away: int = 0
    outlived: int = 0
    pruned: int = 0
    requests: int = 0
    keys: int = 0
    put_off: int = 0
