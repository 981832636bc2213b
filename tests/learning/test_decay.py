"""What time takes from a memory, by table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from recollect.learning.upkeep import DecayRule, IdleMemory, compute_decay
from recollect.values.scope import MemoryId

START = datetime(2026, 1, 1, tzinfo=UTC)
RULE = DecayRule(timedelta(days=90), 0.1, 0.3, timedelta(days=180))


def memory(confidence: float, decayed: float = 0, decayed_after: int | None = None) -> IdleMemory:
    at = None if decayed_after is None else START + timedelta(days=decayed_after)
    return IdleMemory(MemoryId(UUID(int=1)), "fact", "diet", "active", confidence, decayed, START, at)


@pytest.mark.parametrize(
    ("idle", "days", "decayed", "reckoned", "forgotten"),
    [
        (memory(0.9), 0, 0, None, False),
        (memory(0.9), 89, 0, None, False),
        (memory(0.9), 90, 0.1, 90, False),
        (memory(0.9), 179, 0.1, 90, False),
        (memory(0.9), 365, 0.4, 360, False),
        (memory(0.9, 0.1, 90), 179, 0.1, 90, False),
        (memory(0.9, 0.1, 90), 180, 0.2, 180, False),
        (memory(0.6), 270, 0.3, 270, False),  # 0.3 is left, which is not below 0.3
        (memory(0.6), 360, 0.4, 360, True),
        (memory(0.3), 90, 0.1, 90, False),  # below, but not idle for long enough
        (memory(0.3, 0.1, 90), 180, 0.2, 180, True),
        (memory(0.25), 900, 0.25, 900, True),  # no less than nothing is left
        (memory(0.9), -5, 0, None, False),  # a clock that went back
    ],
)
def test_a_memory_fades_by_a_step_per_idle_period_and_is_forgotten_when_little_is_left(
    idle: IdleMemory, days: int, decayed: float, reckoned: int | None, forgotten: bool
) -> None:
    then = compute_decay(idle, RULE, START + timedelta(days=days))

    assert (then.decayed, then.is_forgotten) == (decayed, forgotten)
    assert then.at == (None if reckoned is None else START + timedelta(days=reckoned))


@pytest.mark.parametrize("every", [1, 7, 89, 100, 400])
def test_how_often_one_looks_makes_no_difference(every: int) -> None:
    seen = memory(0.95)
    for day in range(0, 801, every):
        then = compute_decay(seen, RULE, START + timedelta(days=day))
        seen = replace(seen, decayed=then.decayed, decayed_at=then.at)

    last = START + timedelta(days=day)
    assert compute_decay(seen, RULE, last) == compute_decay(memory(0.95), RULE, last)


def test_without_a_step_nothing_fades() -> None:
    then = compute_decay(memory(0.4), replace(RULE, step=0), START + timedelta(days=4000))

    assert (then.decayed, then.is_forgotten) == (0, False)
