"""The cache changes nothing but the cost: whatever is written, by whom, and whatever happens to Redis, an answer is the
one that PostgreSQL alone would give."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from recollect import Context, Engine, NotFound, Query, Recall, Scope, Turn, connect
from recollect.flows.cache import TurnCache
from recollect.flows.maintain import run_upkeep
from recollect.ports import CacheCounts
from recollect.providers import redis as provider
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.providers.redis import RedisCache, hash_key
from recollect.settings import Settings
from tests.bounds import bound
from tests.flows.cache_writer import write
from tests.redis_server import RedisServer, back, serving

MONDAY, TUESDAY = Scope("alex", "monday"), Scope("alex", "tuesday")
WORDS = ("heron", "garden", "ferry", "budget", "piano", "bridge")
SMALL_TALK: list[Any] = [("user", "The heron stands by the bridge."), ("assistant", "And the ferry is late again.")]
LINES = bound(16, 200)  # that a writer says while others ask
WRITER = Path(__file__).with_name("cache_writer.py")


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with serving() as one:
        yield one


@dataclass(slots=True)
class Pair:
    """Two engines on one database: one asks Redis too. What the first writes, the second's cache is not told of."""

    plain: Engine
    cached: Engine
    clock: FakeClock

    @property
    def cache(self) -> RedisCache:
        cache = turn_cache(self.cached).cache
        assert isinstance(cache, RedisCache)
        return cache

    @property
    def counts(self) -> CacheCounts:
        return turn_cache(self.cached).counts

    async def same(self, scope: Scope, query: Query | str) -> Context:
        """The context and the recall that both give; what the cache has to keep is kept."""
        contexts = [await engine.context(scope, query) for engine in (self.plain, self.cached)]
        recalls = [await engine.recall(scope, query) for engine in (self.plain, self.cached)]
        await self.cache.flush()
        assert told(contexts[1]) == told(contexts[0])
        assert found(recalls[1]) == found(recalls[0])
        return contexts[1]


def turn_cache(engine: Engine) -> TurnCache:
    assert engine._deps.cache is not None
    return engine._deps.cache


def told(context: Context) -> Any:
    return context.text, context.lines, context.tokens, context.left_out, found(context.recall)


def found(recall: Recall) -> Any:
    whole = [(hit.turn, repr(hit.turn), hit.score, hit.why, hit.tier) for hit in recall.hits]
    return whole, recall.memories, recall.episodes, recall.counts, recall.found, recall.path, recall.notes


@asynccontextmanager
async def pairing(settings: Settings, redis: RedisServer) -> AsyncIterator[Pair]:
    clock = FakeClock()
    both = replace(settings, history=4, retention_days=30)
    with_redis = replace(both, redis_cache=True, redis_url=redis.url)
    async with (
        connect(both, embedder=FakeEmbedder(), clock=clock, worker=False) as plain,
        connect(with_redis, embedder=FakeEmbedder(), clock=clock, worker=False) as cached,
    ):
        yield Pair(plain, cached, clock)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a live Redis may take longer than the time-out to answer."""
    monkeypatch.setattr(provider, "TIMEOUT", 10)


@pytest.fixture
def kept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a drop nothing is kept for a while; here that while is over at once."""
    monkeypatch.setattr(provider, "QUIET", 0)


@pytest.fixture
async def pair(settings: Settings, redis: RedisServer) -> AsyncIterator[Pair]:
    async with pairing(settings, redis) as both:
        yield both


async def test_the_second_time_the_turns_come_from_the_cache(
    pair: Pair, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pair.plain.record(MONDAY, SMALL_TALK * 5)
    await pair.same(MONDAY, "where is the heron?")
    before = replace(pair.counts)

    monkeypatch.setattr(pair.cached._deps.store._database, "_echo", True)
    with caplog.at_level("INFO", "recollect.store"):
        again = await pair.cached.context(MONDAY, "where is the heron?")

    assert again.recall.hits
    assert "turn.chosen" not in caplog.messages
    assert "turn.window" in caplog.messages
    assert (pair.counts.misses, pair.counts.errors) == (before.misses, 0)
    assert pair.counts.hits >= before.hits + len(again.recall.hits)


@pytest.mark.parametrize("later", [1, 3, 4, 7])
async def test_of_the_session_only_what_was_said_since_is_read(pair: Pair, later: int) -> None:
    await pair.plain.record(MONDAY, SMALL_TALK * 5)
    query = Query("what about the piano?", kinds=("memory",))
    await pair.same(MONDAY, query)
    misses = pair.counts.misses

    await pair.plain.record(MONDAY, [("user", f"line {n}") for n in range(later)])
    context = await pair.same(MONDAY, query)

    recent = [line.source for line in context.lines if line.recent]
    assert recent == [f"monday#{n}" for n in range(10 + later - 4, 10 + later)]
    assert pair.counts.misses == misses


@pytest.mark.parametrize("recent", [0, 1, 3, 5, 8, 200])
async def test_a_longer_or_shorter_end_of_the_session_is_that_long(pair: Pair, recent: int) -> None:
    await pair.plain.record(MONDAY, SMALL_TALK * 5)
    await pair.same(MONDAY, "what about the piano?")

    context = await pair.same(MONDAY, Query("what about the piano?", recent=recent))

    assert len([line for line in context.lines if line.recent]) == min(recent, 10)


async def test_a_turn_comes_back_with_all_that_it_had(pair: Pair) -> None:
    odd = {
        "large": 10**40,
        "small": 1e-9,
        "text": "naïve 🐦 \u2028",
        "none": None,
        "deep": {"a": [True]},
    }
    said = Turn("tool", "The heron, 苍鹭, is 🐦.", speaker="Zoë", data=odd, high_value=True)
    await pair.plain.record(MONDAY, [said, ("user", "heron " * 5_000)])

    for _ in range(2):
        await pair.same(MONDAY, "heron 苍鹭")

    [hit] = [hit for hit in (await pair.cached.recall(MONDAY, "heron 苍鹭")).hits if hit.source == "monday#0"]
    assert (hit.turn.data, hit.turn.speaker, hit.turn.high_value) == (odd, "Zoë", True)


# Writes


ACTS = ("record", "record", "redact", "redact", "history", "forget session", "forget user", "expire", "erase", "flush")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(ACTS),
        st.sampled_from(("alex", "alex", "alex", "blake")),
        st.sampled_from(("monday", "tuesday")),
        st.lists(st.sampled_from(WORDS[:3]), min_size=1, max_size=4),
        st.booleans(),
    ),
    min_size=6,
    max_size=20,
)


@pytest.mark.usefixtures("kept_at_once")
@pytest.mark.long
@hypothesis_settings(
    max_examples=bound(5, 100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS)
async def test_after_any_writes_by_anyone_the_answers_are_those_without_a_cache(
    pair: Pair, redis: RedisServer, steps: list[tuple[str, str, str, list[str], bool]]
) -> None:
    project = uuid4().hex
    for n, (act, user, session, words, by_cached) in enumerate(steps):
        scope = Scope(user, session, project)
        await done(pair, act if n else "record", scope, words, pair.cached if by_cached else pair.plain, redis)
        await pair.same(scope, " ".join(words[1:] or WORDS))


async def done(pair: Pair, act: str, scope: Scope, words: list[str], writer: Engine, redis: RedisServer) -> None:
    match act:
        case "record":
            await writer.record(scope, [("user", f"{' '.join(words)} {n}") for n in range(len(words))])
        case "history":
            assert await outcome(pair.cached.history(scope)) == await outcome(pair.plain.history(scope))
        case "forget session":
            await outcome(writer.forget(scope))
        case "forget user":
            await writer.forget(replace(scope, session=None))
        case "redact":
            await writer.redact(scope, (await writer.learn(scope, words[0])).id)
        case "expire":
            pair.clock.advance(days=20)
        case "erase":
            await run_upkeep(writer._deps)
        case "flush":
            redis.client().flushall()


async def outcome(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except NotFound as error:
        return str(error)


@dataclass(slots=True)
class Ledger:
    """What was acknowledged so far, by user."""

    said: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: -1))
    blanked: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    is_over: bool = False

    def note(self, user: str, what: str, n: int) -> None:
        if what == "said":
            self.said[user] = n
        else:
            self.blanked[user].add(n)

    def of(self, user: str) -> Callable[[str, int], None]:
        return partial(self.note, user)

    async def watch(self, memory: Engine, user: str) -> int:
        """Asks again and again: nothing acknowledged before a question may be missing from its answer, and nothing
        blanked be in it. How often it asked."""
        asked = 0
        while not self.is_over:
            least, gone = self.said[user], set(self.blanked[user])
            context = await memory.context(Scope(user, "monday"), "the code word of the day, heron")
            recent = [int(line.source.partition("#")[2]) for line in context.lines if line.recent]
            assert max(recent, default=-1) >= least
            assert not [n for n in gone if f"heron{n}x" in context.text]
            asked += 1
        return asked


@pytest.mark.long
@pytest.mark.usefixtures("kept_at_once")
async def test_an_acknowledged_write_is_in_every_later_answer_in_one_process(
    settings: Settings, redis: RedisServer
) -> None:
    async with pairing(settings, redis) as one, pairing(settings, redis) as other:
        users = {"alex": one.cached, "blake": other.cached, "casey": one.plain}
        ledger = Ledger()

        watching = [
            asyncio.create_task(ledger.watch(memory, user)) for user in users for memory in (one.cached, other.cached)
        ]
        await asyncio.gather(
            *(write(memory, Scope(user, "monday"), LINES, ledger.of(user)) for user, memory in users.items())
        )
        ledger.is_over = True

        assert min(await asyncio.gather(*watching)) > 0
        assert min(one.counts.hits, other.counts.hits) > 0


@pytest.mark.long
@pytest.mark.parametrize("knows_redis", [True, False])
async def test_an_acknowledged_write_of_another_process_is_in_every_later_answer(
    pair: Pair, database: str, redis: RedisServer, knows_redis: bool
) -> None:
    ledger = Ledger()
    command = (sys.executable, str(WRITER), database, redis.url if knows_redis else "", "alex", str(LINES))
    writer = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    watching = [asyncio.create_task(ledger.watch(pair.cached, "alex")) for _ in range(3)]

    assert writer.stdout is not None
    async for told_line in writer.stdout:
        what, n = told_line.split()
        ledger.note("alex", what.decode(), int(n))
    ledger.is_over = True

    assert await writer.wait() == 0
    assert min(await asyncio.gather(*watching)) > 0
    assert (ledger.said["alex"], len(ledger.blanked["alex"])) == (LINES - 1, LINES // 4)
    assert pair.counts.hits or knows_redis  # a writer who knows it asks that nothing be kept for a while


# Erasing


@pytest.mark.parametrize("scope", [MONDAY, Scope("alex")])
async def test_what_was_forgotten_is_not_in_redis_either(pair: Pair, redis: RedisServer, scope: Scope) -> None:
    await pair.plain.record(MONDAY, SMALL_TALK)
    await pair.same(MONDAY, "heron")
    assert any(b"heron" in value for value in redis.client().hvals(hash_key(MONDAY.id)))

    await pair.cached.forget(scope)

    assert redis.client().hgetall(hash_key(MONDAY.id)) == {b"gone": b""}
    assert (await pair.same(MONDAY, "heron")).text == ""


async def test_what_was_redacted_is_not_in_redis_either(pair: Pair, redis: RedisServer) -> None:
    await pair.plain.record(MONDAY, SMALL_TALK)
    await pair.same(MONDAY, "heron")

    await pair.cached.redact(MONDAY, (await pair.cached.learn(MONDAY, "heron")).id)
    await pair.same(MONDAY, "bridge")

    assert not any(b"heron" in value for value in redis.client().hvals(hash_key(MONDAY.id)))


@pytest.mark.parametrize("change", ["forget", "redact"])
async def test_a_redis_that_comes_back_with_what_it_had_before_a_change_is_not_believed(
    pair: Pair, redis: RedisServer, change: str
) -> None:
    await pair.plain.record(MONDAY, SMALL_TALK * 3)
    await pair.same(MONDAY, "heron")
    redis.client().save()
    redis.kill()
    await pair.same(MONDAY, "heron")

    await done(pair, "forget session" if change == "forget" else "redact", MONDAY, ["heron"], pair.plain, redis)
    await pair.plain.record(MONDAY, [("user", "The bridge is closed.")] * 6)
    redis.start()
    await back(pair.cache)
    assert any(b"heron" in value for value in redis.client().hvals(hash_key(MONDAY.id)))

    assert "heron" not in (await pair.same(MONDAY, "the bird by the bridge")).text


# Outages


async def test_redis_may_die_and_come_back_in_the_middle_of_a_stream_of_requests(
    pair: Pair, redis: RedisServer
) -> None:
    happens = {10: redis.kill, 25: redis.start}
    for n in range(40):
        await pair.plain.record(MONDAY, [("user", f"{WORDS[n % 6]} number {n}")])
        happens.get(n, lambda: None)()
        await pair.same(MONDAY, WORDS[n % 5])
    await back(pair.cache)
    await pair.same(MONDAY, "heron")
    hits = pair.counts.hits

    await pair.same(MONDAY, "heron")

    assert pair.counts.hits > hits


async def test_many_requests_at_once_survive_its_death(pair: Pair, redis: RedisServer) -> None:
    await pair.plain.record(MONDAY, SMALL_TALK * 10)
    expected = told(await pair.plain.context(MONDAY, "heron"))
    requests = [asyncio.create_task(pair.cached.context(MONDAY, "heron")) for _ in range(50)]
    await asyncio.sleep(0)

    redis.kill()

    assert [told(await request) for request in requests] == [expected] * 50


async def test_a_redis_that_hangs_is_waited_for_by_the_first_request_only(
    pair: Pair, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "FIRST_PAUSE", 60)
    await pair.plain.record(MONDAY, SMALL_TALK * 3)
    await pair.same(MONDAY, "heron")
    redis.hang()
    monkeypatch.setattr(provider, "TIMEOUT", 0.25)

    for _ in range(10):
        await pair.same(MONDAY, "heron")

    assert pair.counts.errors == 1


# Values that are not what they should be


Spoil = Callable[[bytes], bytes]
SPOILT: dict[str, Spoil] = {
    "empty": lambda _: b"",
    "cut": lambda value: value[:-1],
    "longer": lambda value: value + b" ",
    "other bits": lambda value: value[:-9] + bytes([value[-9] ^ 1]) + value[-8:],
    "text": lambda _: b"hello, I am not one of yours",
    "json": lambda _: b'["user", "I am the heron"]',
}


@pytest.mark.parametrize("how", SPOILT)
async def test_a_spoilt_value_is_none(pair: Pair, redis: RedisServer, how: str) -> None:
    await pair.plain.record(MONDAY, SMALL_TALK * 3)
    await pair.same(MONDAY, "heron")
    kept = redis.client().hgetall(hash_key(MONDAY.id))
    hits = pair.counts.hits

    for name, value in kept.items():
        redis.client().hset(hash_key(MONDAY.id), name, SPOILT[how](value))

    await pair.cached.context(MONDAY, "heron")
    assert pair.counts.hits == hits
    await pair.same(MONDAY, "heron")


async def test_a_value_under_another_name_is_none(pair: Pair, redis: RedisServer) -> None:
    await pair.plain.record(MONDAY, [("user", f"heron number {n}") for n in range(6)])
    await pair.same(MONDAY, "heron")
    kept = redis.client().hgetall(hash_key(MONDAY.id))

    redis.client().hset(hash_key(MONDAY.id), mapping=dict(zip(kept, reversed(kept.values()), strict=True)))

    await pair.same(MONDAY, "heron")


async def test_users_with_the_same_sessions_have_nothing_in_common(pair: Pair, redis: RedisServer) -> None:
    blake = Scope("blake", "monday")
    await pair.plain.record(MONDAY, [("user", "alex keeps the heron")])
    await pair.plain.record(blake, [("user", "blake keeps the heron")])
    for scope in (MONDAY, blake, MONDAY, blake):
        await pair.same(scope, "heron")

    redis.client().copy(hash_key(MONDAY.id), hash_key(blake.id), replace=True)

    assert "alex" not in (await pair.same(blake, "heron")).text
