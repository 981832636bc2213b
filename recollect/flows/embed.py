"""Vectors for turns and questions, with the number under which the model's vectors are kept.

A failing embedder costs us vectors, never turns: whoever asked goes on without, the worker catches up later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed
from recollect.model.conversation import Turn
from recollect.model.ids import ScopeId
from recollect.model.sketch import embedded_text
from recollect.ports import Embedder
from recollect.store.store import Store

if TYPE_CHECKING:
    from recollect.flows.cache import TurnCache

Policy = Literal["all", "high_value", "none"]
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TurnVectors:
    """`places` are the positions of the turns that got a vector; `complete` if none is owed."""

    vectors: Vectors | None
    places: Sequence[int]
    model: int | None
    complete: bool


@dataclass(frozen=True, slots=True)
class Embedding:
    embedder: Embedder | None
    policy: Policy
    store: Store
    cache: TurnCache | None = None  # for vectors of questions that cost something
    _models: dict[int, int] = field(default_factory=dict)  # dimension -> model number

    async def vectors(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        """Raises EmbedderFailed."""
        if self.embedder is None:
            raise EmbedderFailed("no embedder is configured (RECOLLECT_EMBEDDER)")
        vectors = await self.embedder.embed(texts)
        dimension = vectors.shape[1]
        if dimension not in self._models:
            self._models[dimension] = await self.store.model_id(self.embedder.name, dimension)
        return vectors, self._models[dimension]

    async def current_model(self) -> int | None:
        """The number of the model in use; None without an embedder, or while it has never answered."""
        if self.embedder is None:
            return None
        if not self._models:
            try:
                await self.vectors(["hello"])
            except EmbedderFailed:
                return None
        return next(reversed(self._models.values()))

    async def question(self, text: str, scope: ScopeId) -> tuple[Vectors | None, int | None, tuple[str, ...]]:
        """The question's vector and its model, or a note that says why there is none."""
        if self.embedder is None or self.policy == "none":
            return None, None, ()
        try:
            return *await self._question(self.embedder, text, scope), ()
        except EmbedderFailed as error:
            return None, None, (f"searched by words only: {error}",)

    async def _question(self, embedder: Embedder, text: str, scope: ScopeId) -> tuple[Vectors, int]:
        cache = None if embedder.is_local else self.cache
        kept = await cache.vector(scope, embedder.name, text) if cache else None
        # Of another length it was made before the model was changed under the same name.
        if kept is not None and self._models and len(kept) == next(reversed(self._models)):
            return kept, self._models[len(kept)]
        vectors, model = await self.vectors([text])
        if cache:
            cache.keep_vector(scope, embedder.name, text, vectors[0])
        return vectors[0], model

    async def turns(self, turns: Sequence[Turn]) -> TurnVectors:
        """Vectors at the time of recording: only a local embedder is asked, any other is the worker's business."""
        wanted = [i for i, turn in enumerate(turns) if self.wants(turn)]
        if self.embedder is None or not self.embedder.is_local:
            return TurnVectors(None, (), None, complete=False)
        try:
            vectors, model = await self.vectors([embedded_text(turns[i]) for i in wanted] or [""])
        except EmbedderFailed:
            return TurnVectors(None, (), None, complete=False)
        return TurnVectors(vectors if wanted else None, wanted, model, complete=True)

    def wants(self, turn: Turn) -> bool:
        return self.policy == "all" or (self.policy == "high_value" and turn.high_value)
