"""Vectors for turns and questions, with the number under which the model's vectors are kept.

A failing embedder costs us vectors, never turns: whoever asked goes on without, the worker catches up later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed
from recollect.model.conversation import Turn
from recollect.model.sketch import embedded_text
from recollect.ports import Embedder
from recollect.store.store import Store

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

    async def question(self, text: str) -> tuple[Vectors | None, int | None, tuple[str, ...]]:
        """The question's vector and its model, or a note that says why there is none."""
        if self.embedder is None or self.policy == "none":
            return None, None, ()
        try:
            vectors, model = await self.vectors([text])
        except EmbedderFailed as error:
            return None, None, (f"searched by words only: {error}",)
        return vectors[0], model, ()

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
