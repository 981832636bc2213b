"""Redis as a cache: what it keeps, for how long and how much; and that nothing it does is ever an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from recollect.errors import InvalidSetting
from recollect.providers import redis as provider
from recollect.providers.redis import RedisCache, hash_key, open_cache
from tests.redis_server import RedisServer, back, serving

ALEX, SAM = uuid4(), uuid4()


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with serving() as one:
        yield one


@pytest.fixture
async def cache(redis: RedisServer) -> AsyncIterator[RedisCache]:
    one = await open_cache(redis.url, 100)
    yield one
    await one.close()


async def written(cache: RedisCache, **values: bytes) -> None:
    cache.write(ALEX, values)
    await cache.flush()


async def test_what_was_written_is_read_by_its_owner_and_nobody_else(cache: RedisCache) -> None:
    await written(cache, a=b"\x00one", b=b"two")

    assert await cache.read(ALEX, ["b", "none", "a"]) == [b"two", None, b"\x00one"]
    assert await cache.read(SAM, ["a"]) == [None]


async def test_later_values_do_not_lengthen_the_life_of_the_first(cache: RedisCache, redis: RedisServer) -> None:
    await written(cache, a=b"one")
    redis.client().expire(hash_key(ALEX), 7)

    await written(cache, b=b"two")

    assert 0 < redis.client().ttl(hash_key(ALEX)) <= 7


async def test_every_owner_s_values_end_together(cache: RedisCache, redis: RedisServer) -> None:
    await written(cache, a=b"one")

    assert 0 < redis.client().ttl(hash_key(ALEX)) <= 100


async def test_an_owner_with_too_many_values_starts_anew_and_a_huge_value_is_not_kept(
    cache: RedisCache, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "MAX_VALUES", 3)
    for n in range(4):
        await written(cache, **{f"n{n}": b"value"}, huge=b"x" * (provider.MAX_VALUE_BYTES + 1))

    assert redis.client().hkeys(hash_key(ALEX)) == [b"n3"]


async def test_what_was_dropped_is_gone_and_a_late_write_does_not_bring_it_back(
    cache: RedisCache, redis: RedisServer
) -> None:
    await written(cache, a=b"one")

    await cache.drop(ALEX)
    await written(cache, a=b"one")

    assert await cache.read(ALEX, ["a"]) == [None]
    assert 0 < redis.client().ttl(hash_key(ALEX)) <= provider.QUIET


async def test_after_a_kill_it_is_away_and_then_back_by_itself(cache: RedisCache, redis: RedisServer) -> None:
    redis.kill()
    assert await cache.read(ALEX, ["a"]) == [None]
    assert not cache.is_up

    redis.start()
    await back(cache)
    await written(cache, a=b"one")

    assert await cache.read(ALEX, ["a"]) == [b"one"]


@pytest.mark.parametrize("is_known", [False, True])
async def test_what_should_be_dropped_while_it_is_away_is_dropped_when_it_is_back(
    cache: RedisCache, redis: RedisServer, is_known: bool
) -> None:
    await written(cache, a=b"one")
    redis.client().save()
    redis.kill()
    if is_known:
        assert await cache.read(ALEX, ["a"]) == [None]
    assert cache.is_up is not is_known

    await cache.drop(ALEX)
    redis.start()
    await back(cache)

    assert redis.client().hkeys(hash_key(ALEX)) == [provider.DROPPED.encode()]


async def test_one_that_hangs_is_waited_for_once(
    cache: RedisCache, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "FIRST_PAUSE", 60)
    redis.hang()

    for _ in range(20):
        assert await cache.read(ALEX, ["a"]) == [None]
        await written(cache, a=b"one")
        await cache.drop(SAM)

    assert cache.counts.errors == 1


async def test_one_that_hangs_is_given_up_however_long_its_client_would_wait(redis: RedisServer) -> None:
    cache = await open_cache(f"{redis.url}&socket_timeout=3600", 100)
    redis.hang()

    async with asyncio.timeout(60):  # not how long it takes: that it ends
        assert await cache.read(ALEX, ["a"]) == [None]

    assert not cache.is_up
    await cache.close()


async def test_what_waited_to_be_written_when_it_went_away_is_not_written_later(
    cache: RedisCache, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "BATCH", 1)
    redis.hang()
    for name in ("under way", "waiting", "waiting too"):
        cache.write(ALEX, {name: b"one"})
    await cache.flush()
    assert cache.counts.errors == 1

    redis.go_on()
    await back(cache)
    cache.write(SAM, {"a": b"one"})
    await cache.flush()

    assert await cache.read(SAM, ["a"]) == [b"one"]
    assert await cache.read(ALEX, ["waiting", "waiting too"]) == [None, None]


async def test_one_that_hung_goes_on_without_mixing_up_its_answers(cache: RedisCache, redis: RedisServer) -> None:
    await written(cache, a=b"one", b=b"two")
    redis.hang()
    await asyncio.gather(*(cache.read(ALEX, ["a"]) for _ in range(10)))

    redis.go_on()
    await back(cache)

    assert await asyncio.gather(*(cache.read(ALEX, ["b"]) for _ in range(10))) == [[b"two"]] * 10


async def test_a_refusal_concerns_one_request_and_not_the_next(cache: RedisCache, redis: RedisServer) -> None:
    redis.client().set(hash_key(ALEX), "not a hash")
    cache.write(SAM, {"a": b"one"})
    await written(cache, a=b"one")

    assert await cache.read(ALEX, ["a"]) == [None]
    assert await cache.read(SAM, ["a"]) == [b"one"]
    assert cache.counts.errors == 2


async def test_one_without_memory_to_spare_still_answers(cache: RedisCache, redis: RedisServer) -> None:
    await written(cache, a=b"one")
    redis.client().config_set("maxmemory", "1")

    await written(cache, b=b"two")

    assert await cache.read(ALEX, ["a", "b"]) == [b"one", None]


async def test_more_readers_than_it_has_connections_for_do_without(
    cache: RedisCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "MAX_READERS", 2)
    await written(cache, a=b"one")

    found = await asyncio.gather(*(cache.read(ALEX, ["a"]) for _ in range(12)))

    assert found.count([None]) == 10
    assert cache.counts.errors == 0


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"*x\r\n", b"$-9\r\n", b":1\r\n", b"*1\r\n:1\r\n", b""]
)
async def test_a_peer_that_is_no_redis_is_one_that_is_away(answer: bytes) -> None:
    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            writer.write(answer)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as peer:
        cache = await open_cache(f"redis://127.0.0.1:{peer.sockets[0].getsockname()[1]}/0", 100)
        found = await cache.read(ALEX, ["a", "b"])
        await cache.close()

    assert found == [None, None]


async def test_one_that_is_away_at_the_start_is_used_when_it_comes(redis: RedisServer) -> None:
    redis.kill()
    cache = await open_cache(redis.url, 100)
    assert not cache.is_up

    redis.start()
    await back(cache)
    await written(cache, a=b"one")

    assert await cache.read(ALEX, ["a"]) == [b"one"]
    await cache.close()


@pytest.mark.parametrize("url", ["localhost:6379", "http://localhost", "redis://localhost:port/0"])
async def test_an_address_that_cannot_be_one_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(InvalidSetting, match="MEMORY_REDIS_URL"):
        await open_cache(url, 100)


async def test_closing_it_while_it_is_away_is_no_trouble(cache: RedisCache, redis: RedisServer) -> None:
    redis.kill()
    cache.write(ALEX, {"a": b"one"})
    await cache.read(ALEX, ["a"])

    await cache.close()
