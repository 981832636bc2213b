"""Upkeep: what one round of it is told to do, and what it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from recollect.model.decay import Rule


@dataclass(frozen=True, slots=True)
class Limits:
    """What may stay, as of `now`. At most `minor_most` memories less important than `minor` stay with one holder."""

    now: datetime
    user: Rule
    project: Rule
    history: timedelta
    requests: timedelta
    keys: timedelta
    minor: float
    minor_most: int
    batch: int


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What a round did. `rows` counts what went with the expired conversations, per table; `put_off` the scopes where
    something failed: the next round comes to them again."""

    conversations: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    decayed: int = 0
    decayed_away: int = 0
    outlived: int = 0
    pruned: int = 0
    requests: int = 0
    keys: int = 0
    put_off: int = 0
