"""Limits: so many requests a second per caller, with room for a burst. In memory, per process."""

from __future__ import annotations

import time
from collections import OrderedDict

from recollect.errors import RateLimited

BURST = 2.0  # seconds' worth
MOST = 10_000  # callers remembered


class Limits:
    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # caller -> (tokens left, when)

    def count(self, caller: str) -> None:
        """Raises RateLimited for one too many."""
        if not self._per_second:
            return
        now, most = time.monotonic(), self._per_second * BURST
        left, then = self._left.pop(caller, (most, now))
        left = min(most, left + (now - then) * self._per_second)
        self._left[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > MOST:
            self._left.popitem(last=False)
        if left < 1:
            seconds = (1 - left) / self._per_second
            raise RateLimited(f"more than {self._per_second:g} requests a second; wait {seconds:.1f} s", seconds)
