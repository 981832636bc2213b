"""Vectors of questions in the cache: an embedder that costs something is asked once, and a vector that is not of the
model in use does not count."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from recollect import Engine, Scope, connect
from recollect.providers.fake import FakeEmbedder
from recollect.providers.redis import RedisCache
from recollect.settings import Settings
from tests.redis_server import RedisServer, serving

MONDAY, TUESDAY = Scope("alex", "monday"), Scope("alex", "tuesday")
SMALL_TALK: list[Any] = [("user", "The heron stands by the bridge."), ("assistant", "And the ferry is late again.")]


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with serving() as one:
        yield one


@asynccontextmanager
async def asking(settings: Settings, redis: RedisServer, embedder: FakeEmbedder) -> AsyncIterator[Engine]:
    with_redis = replace(settings, redis_cache=True, redis_url=redis.url, embed_turns="all")
    async with connect(with_redis, embedder=embedder, worker=False) as memory:
        await memory.record(MONDAY, SMALL_TALK)
        await memory.settle(MONDAY)
        yield memory


async def calls(memory: Engine, embedder: FakeEmbedder, scope: Scope, text: str = "where is the heron?") -> int:
    """How often the embedder is asked for a question."""
    before = embedder.calls
    assert (await memory.recall(scope, text)).notes == ()
    assert memory._deps.cache is not None
    cache = memory._deps.cache.cache
    assert isinstance(cache, RedisCache)
    await cache.flush()
    return embedder.calls - before


async def test_a_paid_embedder_is_asked_once_per_user_and_question(settings: Settings, redis: RedisServer) -> None:
    embedder = FakeEmbedder(is_local=False)
    async with asking(settings, redis, embedder) as memory:
        scopes = (MONDAY, TUESDAY, Scope("blake", "monday"), MONDAY)
        assert [await calls(memory, embedder, scope) for scope in scopes] == [1, 0, 1, 0]
        embedder.failing = True
        assert (await memory.recall(MONDAY, "where is the heron?")).path == "hybrid"


async def test_a_local_embedder_is_cheaper_than_a_cache(settings: Settings, redis: RedisServer) -> None:
    embedder = FakeEmbedder(is_local=True)
    async with asking(settings, redis, embedder) as memory:
        assert [await calls(memory, embedder, MONDAY) for _ in range(2)] == [1, 1]


async def test_a_vector_of_another_model_does_not_count(settings: Settings, redis: RedisServer) -> None:
    for embedder in (
        FakeEmbedder("old", is_local=False),
        FakeEmbedder("new", is_local=False),
        FakeEmbedder("new", dimension=8, is_local=False),
    ):
        async with asking(settings, redis, embedder) as memory:
            assert await calls(memory, embedder, MONDAY) == 1


async def test_a_vector_from_before_the_model_changed_under_its_name_does_not_count(
    settings: Settings, redis: RedisServer
) -> None:
    embedder = FakeEmbedder(is_local=False)
    async with asking(settings, redis, embedder) as memory:
        assert await calls(memory, embedder, MONDAY) == 1
        embedder._dimension = 8
        assert await calls(memory, embedder, MONDAY, "and the ferry?") == 1

        assert [await calls(memory, embedder, MONDAY) for _ in range(2)] == [1, 0]
