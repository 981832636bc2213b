"""A model that answers garbage, takes too long, refuses or is not there: nothing is lost, what waits is told, and when
it comes back the work is done by itself. The model is a real OpenAI-compatible server on loopback; its answers are
scripted."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from recollect import Engine, Scope, connect
from recollect.flows import embed
from recollect.settings import Settings
from recollect.values.work import MOST_TRIES
from recollect.worker import Worker
from tests.openai_server import Answer, Server, serving

ALEX, BLAKE = Scope("alex", "monday"), Scope("blake", "monday")
SAID: list[tuple[Any, str]] = [
    ("user", "My name is Alex. My red folder lies around in Graz."),
    ("assistant", "Noted."),
]


def chat(content: str) -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return 200, json.dumps({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})


def good(body: dict[str, Any]) -> Answer:
    """Claims what the user said about the folder, quoting it; sums up when asked to."""
    asked = " ".join(message["content"] for message in body["messages"])
    if "red folder" not in asked or "summar" in body["messages"][0]["content"].lower()[:200]:
        return chat(json.dumps({"summary": "They spoke of a folder.", "facts": []}))
    turn = re.search(r"(\d+)[^\n]{0,40}My name is", asked)
    claim = {
        "turn": int(turn[1]) if turn else 0,
        "category": "fact",
        "key": "red_folder",
        "value": "lies around in Graz",
        "quote": "My red folder lies around in Graz",
        "confidence": 0.9,
        "importance": 0.6,
        "corrects": False,
        "old": None,
    }
    return chat(json.dumps({"facts": [claim]}))


def slow(body: dict[str, Any]) -> Answer:
    time.sleep(1.0)
    return good(body)


TROUBLES: dict[str, Callable[[dict[str, Any]], Answer]] = {
    "garbage": lambda _: chat("I would rather talk about the weather."),
    "not what was asked": lambda _: chat('{"facts": [{"turn": "one", "category": "gossip"}]}'),
    "not JSON at all": lambda _: (200, "<html>"),
    "too slow": slow,
    "busy": lambda _: (503, "later"),
    "refused": lambda _: (401, "who are you?"),
}


@pytest.fixture
def model() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture
async def memory(
    settings: Settings, model: Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Engine]:
    """An engine whose model has half a second where it is to be too slow, and else as long as it takes."""
    is_slow = "too slow" in request.node.name
    monkeypatch.setattr(embed, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr("recollect.providers.openai_http.WAIT", 0.001)
    chosen = replace(
        settings, embedder="none", model_url=model.url, model="tiny", model_timeout=0.5 if is_slow else 30.0
    )
    async with connect(chosen, worker=False) as engine:
        yield engine


def time_passes(database: str) -> None:
    """Every pause between tries is over; what is parked goes on resting."""
    with psycopg.connect(database) as owner:
        owner.execute("UPDATE recollect.conversation SET lease_until = NULL")


async def known(memory: Engine, scope: Scope) -> dict[str, tuple[str, str]]:
    return {each.key: (each.value, each.learned_by) for each in await memory.memories(scope)}


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_model_in_trouble_loses_nothing_and_its_work_is_done_when_it_is_back(
    memory: Engine, model: Server, database: str, trouble: str
) -> None:
    model.answer = TROUBLES[trouble]
    worker = Worker(memory._deps)
    await memory.record(ALEX, SAID)

    for attempt in range(1, MOST_TRIES + 1):
        assert await worker.once() == 0
        status = await memory.health()
        assert not status.ok
        assert status.work
        assert (status.work.failing, status.work.parked) == ((1, 0) if attempt < MOST_TRIES else (0, 1))
        time_passes(database)

    # Parked, with the error kept, and left alone; what the rules read is known all the same.
    asked = len(model.bodies)
    assert await worker.once() == 0
    assert len(model.bodies) == asked
    assert status.work
    assert status.work.troubles[0].parked == ["reason"]
    assert status.work.troubles[0].error.startswith("reason: ")
    assert await known(memory, ALEX) == {"name": ("Alex", "rules")}
    assert [turn.text for turn in await memory.history(ALEX)] == [text for _, text in SAID]

    # What is said meanwhile is learned by rules, and does not wait for the model.
    await memory.record(ALEX, [("user", "I live in Graz.")])
    await worker.drain()
    assert (await known(memory, ALEX))["location"] == ("Graz", "rules")
    assert (await memory.health()).work.parked == 1  # type: ignore[union-attr]

    # The model is back: the first answer that makes sense wakes what was parked.
    model.answer = good
    await memory.record(BLAKE, [("user", "Good morning! How are you today?")])
    await worker.drain()
    await worker.drain()
    assert (await known(memory, ALEX))["red_folder"] == ("lies around in Graz", "model")
    status = await memory.health()
    assert status.ok
    assert status.work
    assert (status.work.due, status.work.parked, status.work.failing) == (0, 0, 0)


async def test_a_model_that_is_not_there_is_not_asked_once_per_conversation(settings: Settings, database: str) -> None:
    nowhere = replace(settings, embedder="none", model_url="http://127.0.0.1:9/v1", model="tiny", model_timeout=0.2)
    async with connect(nowhere, worker=False) as memory:
        for n in range(30):
            await memory.record(Scope(f"user{n}", "monday"), SAID)
        worker = Worker(memory._deps, at_once=1)
        assert await worker.once() == 0
        with psycopg.connect(database) as owner:
            tried = owner.execute("SELECT count(*) FROM recollect.conversation WHERE attempts > 0").fetchone()
        # One conversation finds out; on a slow machine the pause may end before all others had their turn.
        assert tried is not None
        assert 1 <= tried[0] < 5
        assert (await memory.health()).work.failing == 30  # type: ignore[union-attr]
        assert len(await memory.memories(Scope("user7"))) == 1


async def test_a_model_that_makes_things_up_teaches_nothing(memory: Engine, model: Server) -> None:
    claim = {"turn": 0, "category": "identity", "key": "name", "value": "Napoleon", "quote": "I am Napoleon"}
    made_up = {**claim, "confidence": 1.0, "importance": 1.0, "corrects": True, "old": None}
    model.answer = lambda _: chat(json.dumps({"facts": [made_up]}))
    await memory.record(ALEX, SAID)

    await memory.settle(ALEX)

    assert await known(memory, ALEX) == {"name": ("Alex", "rules")}
    assert (await memory.rejections(ALEX))["not in the text"] == 1


async def test_pages_are_cut_until_the_model_takes_them(memory: Engine, model: Server) -> None:
    def short_sighted(body: dict[str, Any]) -> Answer:
        if body["messages"][-1]["content"].count("⟦turn") > 2:
            return 400, '{"error": {"message": "the request exceeds the available context size"}}'
        is_there = "red folder" in body["messages"][-1]["content"]
        return chat("fact, red_folder, lies around in Graz" if is_there else "none")

    model.answer = short_sighted
    filler: list[tuple[Any, str]] = [("user", "How are you?"), ("assistant", "Well.")]
    await memory.record(ALEX, [*filler * 3, *SAID])

    await Worker(memory._deps).drain()

    status = await memory.health()
    assert status.ok
    assert status.work
    assert (status.work.due, status.work.failing, status.work.parked) == (0, 0, 0)
    assert (await known(memory, ALEX))["fact"] == ("My red folder lies around in Graz", "model")
    prompts = [json.dumps(body["messages"]) for body in model.bodies]
    assert len(prompts) == len(set(prompts))  # nothing refused for its length is sent again unchanged
