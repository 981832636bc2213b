"""Catching up: an embedder that was away, is slow or is new costs vectors for a while, never turns."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import psycopg
import pytest

from recollect import Scope, Turn, connect
from recollect.flows import embed
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings
from recollect.worker import Worker

MONDAY = Scope("alex", "monday")
PAUSE = 3600.0  # seconds for which an embedder that failed is not asked


class Listening(FakeEmbedder):
    """Remembers what it was asked to embed."""

    def __init__(self, name: str = "fake", dimension: int = 16, is_local: bool = False) -> None:
        super().__init__(name, dimension, is_local)
        self.heard: Counter[str] = Counter()

    async def embed(self, texts: Sequence[str]) -> Any:
        self.heard.update(texts)
        await asyncio.sleep(0)
        return await super().embed(texts)


@pytest.fixture
def every_turn(settings: Settings) -> Settings:
    return replace(settings, embed_turns="all")


def vectors(database: str) -> dict[str, int]:
    """How many vectors each model has."""
    with psycopg.connect(database) as owner:
        rows = owner.execute(
            "SELECT m.name, count(*) FROM recollect.embedding e"
            " JOIN recollect.embedding_model m ON m.id = e.model_id GROUP BY 1"
        ).fetchall()
    return {row[0]: row[1] for row in rows}


async def test_without_an_embedder_s_answer_turns_are_kept_and_found_by_words_and_embedded_later(
    settings: Settings, database: str
) -> None:
    embedder = FakeEmbedder()
    async with connect(settings, embedder=embedder, worker=False) as memory:
        embedder.failing = True
        await memory.record(MONDAY, [("user", "the code word is heron"), ("assistant", "noted")])
        await memory.record(MONDAY, [("user", f"line {n}") for n in range(300)])

        recall = await memory.recall(MONDAY, "code word")
        assert (recall.hits[0].source, recall.path, recall.counts["vector"]) == ("monday#0", "fts", 0)
        assert recall.notes == ("searched by words only: the fake embedder was told to fail",)
        assert vectors(database) == {}

        embedder.failing = False
        assert await Worker(memory._deps).once() == 1
        assert await Worker(memory._deps).once() == 0
        recall = await memory.recall(MONDAY, "code word")

    assert vectors(database) == {"fake": 302}
    assert recall.hits[0].arms["vector"].rank >= 1
    assert recall.notes == ()


async def test_an_embedder_that_fails_the_worker_is_left_alone_for_a_while_and_the_reason_kept(
    every_turn: Settings, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "FIRST_PAUSE", PAUSE)
    embedder = FakeEmbedder(is_local=False)
    async with connect(every_turn, embedder=embedder, worker=False) as memory:
        await memory.record(MONDAY, [("user", "hello")])
        worker = Worker(memory._deps)
        await memory._deps.embedding.get_model()
        embedder.failing = True

        assert await worker.once() == 0
        calls = embedder.calls
        assert await worker.once() == 0
        assert embedder.calls == calls
        with psycopg.connect(database) as owner:
            kept = owner.execute(
                "SELECT last_error, attempts, lease_until > now() FROM recollect.conversation"
            ).fetchone()
            assert kept == ("embed: the fake embedder was told to fail", 1, True)
            owner.execute("UPDATE recollect.conversation SET lease_until = now() - interval '1 second'")

        embedder.failing = False
        monkeypatch.setattr(embed, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + PAUSE))
        assert await worker.once() == 1
        with psycopg.connect(database) as owner:
            kept = owner.execute("SELECT last_error, attempts, lease_until FROM recollect.conversation").fetchone()
            assert kept == (None, 0, None)


async def test_a_new_model_embeds_anew_while_recall_goes_on_and_the_old_vectors_stay(
    settings: Settings, database: str
) -> None:
    async with connect(settings, embedder=FakeEmbedder("old"), worker=False) as memory:
        await memory.record(MONDAY, [("user", "the code word is heron"), ("assistant", "noted")])
    async with connect(settings, embedder=FakeEmbedder("new", dimension=8), worker=False) as memory:
        assert (await memory.recall(MONDAY, "code word")).path == "fts"
        await memory.record(MONDAY, [("user", "thank you")])

        assert await Worker(memory._deps).once() == 1
        assert (await memory.recall(MONDAY, "code word")).path == "hybrid"
        assert vectors(database) == {"old": 2, "new": 3}
    async with connect(settings, embedder=FakeEmbedder("old"), worker=False) as memory:
        assert (await memory.recall(MONDAY, "code word")).path == "hybrid"


async def test_several_workers_at_once_embed_each_turn_once(every_turn: Settings, database: str) -> None:
    embedder = Listening()
    async with connect(every_turn, embedder=embedder, worker=False) as memory:
        for n in range(20):
            await memory.record(Scope("alex", f"session {n}"), [("user", f"turn {n}:{i}") for i in range(3)])
        assert not embedder.heard

        workers = [Worker(memory._deps) for _ in range(4)]
        await asyncio.gather(*(worker.once() for worker in workers))

    assert {text: count for text, count in embedder.heard.items() if text != "hello"} == {
        f"turn {n}:{i}": 1 for n in range(20) for i in range(3)
    }
    assert vectors(database) == {"fake": 60}


@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize(("policy", "expected"), [("all", {"fake": 3}), ("high_value", {"fake": 1}), ("none", {})])
async def test_the_policy_says_which_turns_get_vectors(
    settings: Settings, database: str, policy: str, expected: dict[str, int], is_local: bool
) -> None:
    chosen = replace(settings, embed_turns=policy)
    async with connect(chosen, embedder=FakeEmbedder(is_local=is_local), worker=False) as memory:
        await memory.record(MONDAY, [("user", "a"), Turn("user", "b", high_value=True), ("assistant", "c")])
        await Worker(memory._deps).once()

        assert vectors(database) == expected
        assert (await memory.recall(MONDAY, "b")).hits
        assert await Worker(memory._deps).once() == 0


async def test_an_embedder_that_is_not_local_is_not_asked_while_recording(every_turn: Settings) -> None:
    embedder = Listening()
    async with connect(every_turn, embedder=embedder, worker=False) as memory:
        await memory.record(MONDAY, [("user", "hello there")])
        await memory.record(MONDAY, [("user", "hello there")] * 300)

    assert embedder.calls == 0


async def test_a_running_engine_catches_up_by_itself(
    every_turn: Settings, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Worker.__init__, "__defaults__", (0.01, 1))
    async with connect(every_turn, embedder=Listening(), worker=False) as memory:
        await memory.record(MONDAY, [("user", "the code word is heron")])

    async with connect(every_turn, embedder=Listening()) as memory:
        for _ in range(1000):
            if vectors(database):
                break
            await asyncio.sleep(0.02)
        assert (await memory.recall(MONDAY, "code word")).counts["vector"] == 1


async def test_turns_said_while_the_worker_embeds_are_not_missed(every_turn: Settings, database: str) -> None:
    class Interrupted(FakeEmbedder):
        async def embed(self, texts: Sequence[str]) -> Any:
            if texts == ["first"]:
                await memory.record(MONDAY, [("user", "second")])
            return await super().embed(texts)

    async with connect(every_turn, embedder=Interrupted(is_local=False), worker=False) as memory:
        await memory.record(MONDAY, [("user", "first")])
        worker = Worker(memory._deps)
        while await worker.once():
            pass

    assert vectors(database) == {"fake": 2}


async def test_a_conversation_forgotten_while_the_worker_embeds_gets_no_vectors(
    every_turn: Settings, database: str
) -> None:
    class Forgetful(FakeEmbedder):
        async def embed(self, texts: Sequence[str]) -> Any:
            if texts == ["secret"]:
                await memory.forget(MONDAY)
            return await super().embed(texts)

    async with connect(every_turn, embedder=Forgetful(is_local=False), worker=False) as memory:
        await memory.record(MONDAY, [("user", "secret")])
        await Worker(memory._deps).once()

    assert vectors(database) == {}


def test_the_fake_embedder_gives_unit_vectors_that_depend_on_the_words_only() -> None:
    [one, two, other] = asyncio.run(FakeEmbedder().embed(["Hello there!", "hello there", "something else"]))

    assert np.allclose(one, two)
    assert float(one @ other) < 0.9
    assert np.linalg.norm(other) == pytest.approx(1, abs=1e-5)


async def test_where_nothing_may_follow_in_the_background_an_answer_waits_for_what_is_learned(
    settings: Settings,
) -> None:
    async with connect(replace(settings, embedder="none", async_storage=False), worker=False) as memory:
        await memory.record(MONDAY, [("user", "My name is Alex.")], idempotency_key="k")

        assert [each.text for each in await memory.memories(MONDAY)] == ["name: Alex"]
