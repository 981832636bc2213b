"""Fakes for tests, ours and yours: an embedder that fails when told to, and a clock that stands still."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed


class FakeEmbedder:
    """The same words get the same vector; `failing` makes it fail, `is_local` decides when turns are embedded."""

    def __init__(self, name: str = "fake", dimension: int = 16, is_local: bool = True) -> None:
        self.name = name
        self.is_local = is_local
        self.failing = False
        self.calls = 0
        self._dimension = dimension

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        if self.failing:
            raise EmbedderFailed("the fake embedder was told to fail")
        return np.stack([self._vector(text) for text in texts])

    async def close(self) -> None:
        pass

    def _vector(self, text: str) -> NDArray[np.float32]:
        words = text.lower().split() or [""]
        seeds = [zlib.crc32(word.strip(".,?!").encode()) for word in words]
        vector = np.sum([np.random.default_rng(seed).normal(size=self._dimension) for seed in seeds], axis=0)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


class FakeClock:
    def __init__(self, now: datetime | None = None) -> None:
        self._now = now or datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, **by: float) -> None:
        """`advance(days=8)`"""
        self._now += timedelta(**by)
