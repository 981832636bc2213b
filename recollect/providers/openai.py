"""The embedder for every server that speaks OpenAI's protocol: batched, retried, bounded in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed
from recollect.providers.openai_http import OpenAIServer


class OpenAIEmbedder:
    is_local = False

    def __init__(self, url: str, model: str, key: str = "", *, batch: int = 10, timeout: float = 10.0) -> None:
        self.name = f"openai:{model}"
        self._server = OpenAIServer(url, key, timeout, EmbedderFailed)
        self._model = model
        self._batch = batch

    async def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        batches = [texts[i : i + self._batch] for i in range(0, len(texts), self._batch)]
        vectors = np.concatenate([await self._embed_batch(batch) for batch in batches])
        unit: NDArray[Any] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return unit

    async def close(self) -> None:
        await self._server.close()

    async def _embed_batch(self, texts: Sequence[str]) -> NDArray[Any]:
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        return vectors_in(self._server.read(await self._server.post("/embeddings", body)), len(texts))


def vectors_in(answer: dict[str, Any], count: int) -> NDArray[Any]:
    try:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        vectors = np.array([row["embedding"] for row in rows], np.float32)
    except (KeyError, TypeError, ValueError):
        raise EmbedderFailed("the answer has no embeddings in it") from None
    if vectors.ndim != 2 or len(vectors) != count or not vectors.size or not np.isfinite(vectors).all():
        raise EmbedderFailed(f"{count} texts were sent, and the answer does not hold {count} vectors")
    return vectors
