"""The embedder that speaks OpenAI's protocol, against a real server on loopback."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest

from recollect import EmbedderFailed
from recollect.providers.openai import OpenAIEmbedder
from tests.openai_server import KEY, Answer, Server


@pytest.fixture(autouse=True)
def _vectors(server: Server) -> None:
    server.answer = right


def right(body: dict[str, Any]) -> Answer:
    """One vector per text, told apart by its length, in the wrong order."""
    rows = [{"index": i, "embedding": [float(len(text)), 1.0]} for i, text in enumerate(body["input"])]
    return 200, json.dumps({"data": rows[::-1]})


async def embedded(server: Server, texts: list[str], **options: Any) -> Any:
    embedder = OpenAIEmbedder(server.url, "tiny", KEY, **options)
    try:
        return await embedder.embed(texts)
    finally:
        await embedder.close()


async def refusal(server: Server, texts: list[str] | None = None, **options: Any) -> str:
    with pytest.raises(EmbedderFailed) as failed:
        await embedded(server, texts or ["a"], **options)
    assert KEY not in str(failed.value)
    return str(failed.value)


async def test_texts_go_in_batches_and_vectors_come_back_in_order_at_unit_length(server: Server) -> None:
    texts = ["x" * n for n in range(1, 8)]

    vectors = await embedded(server, texts, batch=3)

    assert [len(body["input"]) for body in server.bodies] == [3, 3, 1]
    assert {body["model"] for body in server.bodies} == {"tiny"}
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(vectors[:, 0] / vectors[:, 1], range(1, 8))


async def test_the_key_is_sent(server: Server) -> None:
    await embedded(server, ["a"])

    assert server.headers == [f"Bearer {KEY}"]


@pytest.mark.parametrize("status", [503, 429])
async def test_a_server_that_is_busy_is_asked_again(server: Server, status: int) -> None:
    server.answer = lambda body: right(body) if len(server.bodies) == 3 else (status, "later")

    assert (await embedded(server, ["a"])).shape == (1, 2)
    assert len(server.bodies) == 3


async def test_after_three_tries_it_is_given_up_for_now(server: Server) -> None:
    server.answer = lambda _: (503, "later")

    assert "HTTP 503" in await refusal(server)
    assert len(server.bodies) == 3


async def test_a_request_that_is_refused_is_not_repeated_and_the_server_s_words_are_kept(server: Server) -> None:
    server.answer = lambda _: (400, "model tiny is not loaded")

    assert "HTTP 400: model tiny is not loaded" in await refusal(server)
    assert len(server.bodies) == 1


async def test_a_server_that_echoes_the_key_does_not_get_it_into_the_error(server: Server) -> None:
    server.answer = lambda _: (401, f"invalid key {KEY}")

    assert "HTTP 401" in await refusal(server)


async def test_a_server_that_takes_too_long_is_not_waited_for(server: Server) -> None:
    released = threading.Event()

    def slow(body: dict[str, Any]) -> Answer:
        released.wait(5)
        return right(body)

    server.answer = slow
    try:
        assert "did not answer within 0.1 s" in await refusal(server, timeout=0.1)
    finally:
        released.set()


@pytest.mark.parametrize(
    "answer",
    [
        *("", "<html>", "[]", "null", "3", "{}", '{"data": 5}', '{"data": []}', '{"data": [{"index": 0}]}'),
        '{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1, 2]}]}',
        '{"data": [{"index": 0, "embedding": [1, NaN]}]}',
        '{"data": [{"index": 0, "embedding": []}]}',
        '{"data": [{"index": 0, "embedding": ["a", "b"]}]}',
        '{"data": [{"index": 0, "embedding": "AAAA"}]}',
        '{"data": [{"index": null, "embedding": [1, 2]}, {"index": 1, "embedding": [1, 2]}]}',
    ],
)
async def test_an_answer_that_makes_no_sense_is_an_embedder_that_failed(server: Server, answer: str) -> None:
    server.answer = lambda _: (200, answer)

    assert await refusal(server)


async def test_a_server_that_is_not_there_is_said_by_its_address(server: Server) -> None:
    server.url = "http://127.0.0.1:1/v1"

    assert (await refusal(server)).startswith("http://127.0.0.1:1/v1: ConnectError")
