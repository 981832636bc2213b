"""The embedder for every server that speaks OpenAI's protocol: batched, retried, bounded in time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed

if TYPE_CHECKING:
    import httpx2

TRIES = 3
WAIT = 0.2  # seconds before the second try; doubled before the third
WORTH_REPEATING = (408, 409, 425, 429, 500, 502, 503, 504)


class OpenAIEmbedder:
    is_local = False

    def __init__(self, url: str, model: str, key: str = "", *, batch: int = 10, timeout: float = 10.0) -> None:
        self.name = f"openai:{model}"
        self._url = url.rstrip("/")
        self._model = model
        self._key = key
        self._batch = batch
        self._timeout = timeout

    async def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        batches = [texts[i : i + self._batch] for i in range(0, len(texts), self._batch)]
        try:
            async with asyncio.timeout(self._timeout * max(len(batches), 1)):
                vectors = np.concatenate([await self._embed_batch(batch) for batch in batches])
        except TimeoutError:
            raise EmbedderFailed(f"{self._url} did not answer within {self._timeout:g} s per call") from None
        unit: NDArray[Any] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return unit

    async def close(self) -> None:
        if "_client" in self.__dict__:
            await self._client.aclose()

    async def _embed_batch(self, texts: Sequence[str]) -> NDArray[Any]:
        for attempt in range(1, TRIES + 1):
            answer = await self._post({"model": self._model, "input": list(texts), "encoding_format": "float"})
            if isinstance(answer, dict):
                return vectors_in(answer, len(texts))
            if attempt < TRIES:
                await asyncio.sleep(WAIT * 2 ** (attempt - 1))
        raise EmbedderFailed(f"{self._url}: {answer}")

    async def _post(self, body: dict[str, Any]) -> dict[str, Any] | str:
        """The answer, or why it is worth asking again."""
        import httpx2

        try:
            response = await self._client.post(f"{self._url}/embeddings", json=body)
        except httpx2.HTTPError as error:
            return f"{type(error).__name__} {error}".strip()
        if response.status_code in WORTH_REPEATING:
            return f"HTTP {response.status_code}"
        if response.status_code != 200:
            said = response.text.replace(self._key, "***") if self._key else response.text
            raise EmbedderFailed(f"{self._url}: HTTP {response.status_code}: {said[:200]}")
        try:
            return dict(response.json())
        except (ValueError, TypeError):
            raise EmbedderFailed(f"{self._url} answered something that is not JSON") from None

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return httpx2.AsyncClient(timeout=self._timeout, headers=headers)


def vectors_in(answer: dict[str, Any], count: int) -> NDArray[Any]:
    try:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        vectors = np.array([row["embedding"] for row in rows], np.float32)
    except (KeyError, TypeError, ValueError):
        raise EmbedderFailed("the answer has no embeddings in it") from None
    if vectors.ndim != 2 or len(vectors) != count or not vectors.size or not np.isfinite(vectors).all():
        raise EmbedderFailed(f"{count} texts were sent, and the answer does not hold {count} vectors")
    return vectors
