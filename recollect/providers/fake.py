"""Fakes for tests, ours and yours: an embedder that can be made to fail, a language model with scripted answers, and a
clock that only moves when it is advanced."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed, ReasonerFailed
from recollect.ports import Message, Reply

Script = str | Exception | Callable[[Sequence[Message]], str]


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


class FakeReasoner:
    """Gives the scripted answers in turn: a text (garbage too), an error to raise, or a function of what it is asked.
    The last one is given again and again; `failing` makes it fail; `asked` and `schemas` are what it was asked."""

    def __init__(self, *answers: Script, name: str = "fake") -> None:
        self.name = name
        self.failing = False
        self.asked: list[Sequence[Message]] = []
        self.schemas: list[Mapping[str, Any] | None] = []
        self._answers = list(answers) or ["{}"]

    async def answer(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Reply:
        self.asked.append(messages)
        self.schemas.append(schema)
        if self.failing:
            raise ReasonerFailed("the fake reasoner was told to fail")
        scripted = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(scripted, Exception):
            raise scripted
        text = scripted if isinstance(scripted, str) else scripted(messages)
        return Reply(text, sum(len(message.text.split()) for message in messages), len(text.split()))

    async def close(self) -> None:
        pass


class FakeClock:
    def __init__(self, now: datetime | None = None) -> None:
        self._now = now or datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, **by: float) -> None:
        """`advance(days=8)`"""
        self._now += timedelta(**by)
