"""The local embedder: static word vectors, no network, thousands of turns a second.

It reads the weights and the tokenizer that the `wordllama` wheel carries, and nothing else of it: importing the package
would load an HTTP client and more for nothing. A text's vector is the mean of its tokens' vectors, at unit length.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

INLINE = 32  # more texts than this are embedded in a thread
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class LocalEmbedder:
    name = "wordllama-l2-supercat-256"
    is_local = True

    async def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        if len(texts) <= INLINE:
            return self.embed_now(texts)
        return await asyncio.to_thread(self.embed_now, texts)

    async def close(self) -> None:
        pass

    def embed_now(self, texts: Sequence[str]) -> NDArray[Any]:
        vectors = np.zeros((len(texts), self._matrix.shape[1]), np.float32)
        for i, tokens in enumerate(self._tokens(texts)):
            if tokens:
                # The length is taken out below, so the sum will do.
                np.add.reduce(self._matrix.take(tokens, axis=0), axis=0, out=vectors[i])
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        unit: NDArray[Any] = vectors / lengths
        return unit

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        # Its batches wake a pool of threads, which for a few texts costs more than it saves.
        if len(texts) <= INLINE:
            return [self._tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        return [encoded.ids for encoded in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        from safetensors.numpy import load_file

        [matrix] = load_file(package_folder() / WEIGHTS).values()
        return np.asarray(matrix, np.float32)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(package_folder() / TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def package_folder() -> Path:
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise EmbedderFailed("the local embedder needs the package wordllama: pip install wordllama")
    return Path(spec.origin).parent
