"""How far the long tests go: `make test` takes the short bounds, `make test-long` the long ones.

The long tests are those of Hypothesis and those marked `long`. In a short run Hypothesis makes the same examples each
time, so that a change is not refused for what another has broken; a long run looks for new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

IS_LONG = os.environ.get("RECOLLECT_TEST_LONG", "0") != "0"


def bound(short: int, long: int) -> int:
    """Return how many examples, rounds or requests a test makes in this run."""
    return long if IS_LONG else short


def set_hypothesis_bounds() -> None:
    """Set what Hypothesis does in this run, where a test does not say."""
    settings.register_profile("short", max_examples=50, derandomize=True, database=None, deadline=None)
    settings.register_profile("long", max_examples=1_000, deadline=None)
    settings.load_profile("long" if IS_LONG else "short")
