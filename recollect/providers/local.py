"""The local embedder: static word vectors, no network, thousands of turns a second.

It reads the weights and the tokenizer from the `wordllama` wheel and never imports it, which would load an HTTP
client and more. The vector of a text is the mean of its tokens' vectors, at unit length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed, describe_missing_extra
from recollect.threads import run_in_thread

if TYPE_CHECKING:
    from tokenizers import Tokenizer

INLINE = 32  # more texts than this are embedded in a thread
INLINE_CHARS = 5_000  # more characters, too
PAGE = 1_000  # texts embedded in one call
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class LocalEmbedder:
    name = "wordllama-l2-supercat-256"
    is_local = True

    async def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        if len(texts) <= INLINE and sum(map(len, texts)) <= INLINE_CHARS:
            return self.embed_now(texts)
        pages = [await run_in_thread(self.embed_now, texts[i : i + PAGE]) for i in range(0, len(texts), PAGE)]
        return np.concatenate(pages)

    async def close(self) -> None:
        pass

    def embed_now(self, texts: Sequence[str]) -> NDArray[Any]:
        vectors = np.zeros((len(texts), self._matrix.shape[1]), np.float32)
        for i, tokens in enumerate(self._tokens(texts)):
            if tokens:
                # The sum is enough, because vectors are scaled to unit length below.
                np.add.reduce(self._matrix.take(tokens, axis=0), axis=0, out=vectors[i])
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        unit: NDArray[Any] = vectors / lengths
        return unit

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        # A batch starts a pool of threads, which costs more than it saves for a few texts.
        if len(texts) <= INLINE:
            return [self._tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        return [encoded.ids for encoded in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        return load_matrix(find_model_folder())

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return load_tokenizer(find_model_folder())


# The engines of a process share what they read: loading takes a tenth of a second.
@cache
def load_matrix(folder: Path) -> NDArray[np.float32]:
    from safetensors.numpy import load_file

    [matrix] = load_file(folder / WEIGHTS).values()
    return np.asarray(matrix, np.float32)


@cache
def load_tokenizer(folder: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def find_model_folder() -> Path:
    """Return the folder of the wordllama package. Raises EmbedderFailed unless all packages are installed."""
    origins = [spec.origin for name in ("safetensors", "tokenizers", "wordllama") if (spec := find_spec(name))]
    if len(origins) < 3 or origins[-1] is None:
        raise EmbedderFailed(describe_missing_extra("the local embedder", "local"))
    return Path(origins[-1]).parent
