"""Vectors for turns and questions, with the number of the model that made them, and outages of embedders and models.

If the embedder fails, callers continue without vectors and the worker adds them later. While a service is down, it is
retried at intervals, not once per conversation.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed, ReasonerConfused, ReasonerFailed, RecollectError
from recollect.ports import Embedder
from recollect.recall.sketch import embedded_text
from recollect.store.store import Store
from recollect.values.conversation import Turn
from recollect.values.scope import ScopeId
from recollect.values.work import Stage

if TYPE_CHECKING:
    from recollect.flows.cache import TurnCache

Policy = Literal["all", "high_value"]
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TurnVectors:
    """Vectors of some turns. `places` are the positions of the turns that have one; `complete` if none is missing."""

    vectors: Vectors | None
    places: Sequence[int]
    model: int | None
    complete: bool


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedder, the policy of what to embed, and the models in use."""

    embedder: Embedder | None
    policy: Policy
    store: Store
    cache: TurnCache | None = None  # for question vectors of paid embedders
    _models: dict[int, int] = field(default_factory=dict)  # dimension -> model number

    @classmethod
    def choose(cls, wanted: str, embedder: Embedder | None, store: Store, cache: TurnCache | None) -> Embedding:
        """Return what the setting `embed_turns` asks for. Unless it names a policy, every turn is embedded with a local
        embedder, and marked turns with a paid one."""
        is_local = embedder is not None and embedder.is_local
        policy: Policy = "all" if wanted == "all" or (wanted == "auto" and is_local) else "high_value"
        return cls(None if wanted == "none" else embedder, policy, store, cache)

    async def embed_texts(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        """Return the vectors and the model's number. Raises EmbedderFailed."""
        if self.embedder is None:
            raise EmbedderFailed("no embedder is configured (RECOLLECT_EMBEDDER)")
        vectors = await self.embedder.embed(texts)
        dimension = vectors.shape[1]
        if dimension not in self._models:
            self._models[dimension] = await self.store.get_model_id(self.embedder.name, dimension)
        return vectors, self._models[dimension]

    async def get_model(self) -> int | None:
        """Return the number of the model in use; None without an embedder, or if it has never answered."""
        if self.embedder is None:
            return None
        if not self._models:
            try:
                await self.embed_texts(["hello"])
            except EmbedderFailed:
                return None
        return next(reversed(self._models.values()))

    async def embed_for_comparison(self, texts: Sequence[str]) -> Vectors | None:
        """Return vectors of texts that are not stored; None without an embedder, or if it fails."""
        if self.embedder is None:
            return None
        try:
            return await self.embedder.embed(texts)
        except EmbedderFailed:
            return None

    async def embed_question(self, text: str, scope: ScopeId) -> tuple[Vectors | None, int | None, tuple[str, ...]]:
        """Return the question's vector and its model, or a note that says why there is none."""
        if self.embedder is None:
            return None, None, ()
        try:
            return *await self._question(self.embedder, text, scope), ()
        except EmbedderFailed as error:
            return None, None, (f"searched by words only: {error}",)

    async def _question(self, embedder: Embedder, text: str, scope: ScopeId) -> tuple[Vectors, int]:
        cache = None if embedder.is_local else self.cache
        kept = await cache.read_vector(scope, embedder.name, text) if cache else None
        # A vector of another length is from before the model changed under the same name.
        if kept is not None and self._models and len(kept) == next(reversed(self._models)):
            return kept, self._models[len(kept)]
        vectors, model = await self.embed_texts([text])
        if cache:
            cache.write_vector(scope, embedder.name, text, vectors[0])
        return vectors[0], model

    async def embed_turns(self, turns: Sequence[Turn]) -> TurnVectors:
        """Return vectors while recording. Only a local embedder is used here; any other is left to the worker."""
        if self.embedder is None or not self.embedder.is_local:
            return TurnVectors(None, (), None, complete=False)
        wanted = [i for i, turn in enumerate(turns) if self.wants(turn)]
        try:
            vectors, model = await self.embed_texts([embedded_text(turns[i]) for i in wanted] or [""])
        except EmbedderFailed:
            return TurnVectors(None, (), None, complete=False)
        return TurnVectors(vectors if wanted else None, wanted, model, complete=True)

    def wants(self, turn: Turn) -> bool:
        return self.policy == "all" or turn.high_value


FIRST_PAUSE = 1.0  # seconds; doubled with each failure
LONGEST_PAUSE = 60.0


class StillOut(ReasonerFailed):
    """The service failed a moment ago and is not retried yet."""


@dataclass(slots=True)
class Outage:
    """When a failed service may be tried again, and its error."""

    until: float
    pause: float
    error: RecollectError


@dataclass(slots=True)
class Outages:
    """The outages of the services that stages depend on."""

    _out: dict[Stage, Outage] = field(default_factory=dict)
    _known: set[Stage] = field(default_factory=set)
    _recovered: set[Stage] = field(default_factory=set)

    def check(self, stage: Stage) -> None:
        """Raise StillOut while it is too early to try again."""
        out = self._out.get(stage)
        if out and time.monotonic() < out.until:
            raise StillOut(str(out.error))

    def record_failure(self, stage: Stage, error: RecollectError) -> None:
        """Start or extend an outage. An answer that cannot be parsed is no outage: it may concern one conversation
        only."""
        if isinstance(error, EmbedderFailed | ReasonerFailed) and not isinstance(error, StillOut | ReasonerConfused):
            before = self._out.get(stage)
            pause = min(before.pause * 2, LONGEST_PAUSE) if before else FIRST_PAUSE
            self._out[stage] = Outage(time.monotonic() + pause, pause, error)

    def record_success(self, stage: Stage) -> None:
        """End an outage. After it, and after the first success, parked work is worth another try."""
        if self._out.pop(stage, None) or stage not in self._known:
            self._known.add(stage)
            self._recovered.add(stage)

    def take_recovered(self) -> list[Stage]:
        """Return the stages that work again, each once."""
        told = sorted(self._recovered)
        self._recovered.clear()
        return told
