"""The local embedder: in a process of its own without a network, and nothing of a hub client in it."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import numpy as np
import pytest

from recollect.providers.local import LocalEmbedder

ALONE = """
import asyncio, socket, sys

class Forbidden(socket.socket):
    def connect(self, address):
        raise AssertionError(f"connected to {address}")
    connect_ex = connect

socket.socket = Forbidden
from recollect.providers.local import LocalEmbedder
vectors = asyncio.run(LocalEmbedder().embed(["hello"] * 40))
heavy = ("huggingface_hub", "wordllama", "torch")
print(vectors.shape, sorted(name for name in sys.modules if name.split(".")[0] in heavy))
"""


def test_it_works_without_a_network_and_imports_no_hub_client() -> None:
    said = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "(40, 256) []"


@pytest.mark.parametrize("count", [3, 100])
async def test_vectors_have_unit_length_whatever_the_text(count: int) -> None:
    texts = (["hello there", "你好", "🎈", "x" * 50_000, "e\u0301"] * count)[:count]

    vectors = await LocalEmbedder().embed(texts)

    assert vectors.shape == (count, 256)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


async def test_similar_texts_are_closer_than_others() -> None:
    embedder = LocalEmbedder()

    [dog, puppy, tax] = await embedder.embed(["my dog is ill", "the puppy feels sick", "income tax is due in April"])

    assert float(dog @ puppy) > float(dog @ tax) + 0.1


async def test_one_text_gets_the_same_vector_alone_and_among_many() -> None:
    embedder = LocalEmbedder()

    [alone], many = await embedder.embed(["hello there"]), await embedder.embed(["hello there"] * 64)

    assert np.allclose(many, alone, atol=1e-6)


async def test_a_text_without_any_token_is_not_a_crash() -> None:
    vectors = await asyncio.wait_for(LocalEmbedder().embed([""]), 30)

    assert vectors.shape == (1, 256)
    assert np.isfinite(vectors).all()
