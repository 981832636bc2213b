"""A language model's answer in pieces, from a real server on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest

from recollect import ReasonerFailed
from recollect.ports import Message
from recollect.providers.openai import OpenAIReasoner
from tests.openai_server import KEY, Server, serving

ASKED = [Message("system", "Be brief."), Message("user", "What is it?")]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture
async def model(server: Server) -> AsyncIterator[OpenAIReasoner]:
    made = OpenAIReasoner(server.url, "small", KEY, timeout=5)
    yield made
    await made.close()


def event(text: str | None, finished: str | None = None) -> str:
    return f"data: {json.dumps({'choices': [{'delta': {'content': text}, 'finish_reason': finished}]})}\n\n"


async def heard(model: OpenAIReasoner) -> list[str]:
    return [piece async for piece in model.stream(ASKED, max_tokens=9, temperature=0.3)]


@pytest.mark.parametrize(
    ("body", "pieces"),
    [
        (event(None) + event("A ") + event("heron.") + "data: [DONE]\n\n", ["A ", "heron."]),
        (": ping\n\n" + event("A heron.") + event(None, "stop"), ["A heron."]),
        (event("苍鹭") + 'data: {"choices": [], "usage": {}}\n\n' + "data: [DONE]\n\n", ["苍鹭"]),
        ('{"choices": [{"message": {"content": "A heron."}}]}', ["A heron."]),
    ],
    ids=["as OpenAI does", "with comments and without an end mark", "with usage", "a server that cannot stream"],
)
async def test_an_answer_comes_in_pieces(server: Server, model: OpenAIReasoner, body: str, pieces: list[str]) -> None:
    server.answer = lambda _: (200, body)
    assert await heard(model) == pieces
    [sent] = server.bodies
    assert (sent["stream"], sent["max_tokens"], sent["temperature"]) == (True, 9, 0.3)
    assert sent["messages"][-1] == {"role": "user", "content": "What is it?"}


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (401, f"bad key {KEY}", "HTTP 401: bad key \\*\\*\\*"),
        (200, event("A her"), "broke off"),
        (200, event("A her") + 'data: {"error": {"message": "overloaded"}}\n\n', "overloaded"),
        (200, "data: nonsense\n\n", "not JSON"),
        (200, "data: [1]\n\n", "not JSON"),
        (200, "", "broke off"),
    ],
)
async def test_what_is_no_answer_is_a_failure(
    server: Server, model: OpenAIReasoner, status: int, body: str, problem: str
) -> None:
    server.answer = lambda _: (status, body)
    with pytest.raises(ReasonerFailed, match=problem):
        await heard(model)


async def test_a_server_that_is_away_is_a_failure() -> None:
    away = OpenAIReasoner("http://127.0.0.1:9/v1", "small")
    with pytest.raises(ReasonerFailed, match=r"127\.0\.0\.1:9"):
        await heard(away)
    await away.close()


async def test_a_parameter_that_a_model_refuses_is_left_out(server: Server, model: OpenAIReasoner) -> None:
    def picky(body: dict[str, object]) -> tuple[int, str]:
        if "max_tokens" in body:
            return 400, "use max_completion_tokens"
        if "temperature" in body:
            return 400, "temperature is not supported"
        return 200, event("Yes.", "stop")

    server.answer = picky
    assert await heard(model) == await heard(model) == ["Yes."]
    assert len(server.bodies) == 4
