"""The reasoner that speaks OpenAI's protocol, and what is made of its answers, against a real server on loopback."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from recollect.errors import ReasonerConfused, ReasonerFailed
from recollect.flows.reason import ask_structured, extract_facts, summarize_turns
from recollect.learning.rules import rulebooks
from recollect.learning.summary import Summary
from recollect.ports import Message, Reply
from recollect.providers import openai_http
from recollect.providers.openai import OpenAIReasoner
from recollect.providers.openai_http import parse_retry_after
from recollect.values.conversation import Turn
from tests.openai_server import KEY, Answer, Server

ASKED = [Message("system", "sum up"), Message("user", "hello")]
GOOD = json.dumps({"summary": "They met.", "facts": ["The user is Anna."]})
SCHEMA = {"title": "Thing", "type": "object"}


def chat(text: Any, finish: str = "stop") -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return 200, json.dumps({"choices": [choice], "usage": {"prompt_tokens": 11, "completion_tokens": 3}})


def in_turn(*answers: Answer) -> Callable[[dict[str, Any]], Answer]:
    """One after the other; the last again and again."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


async def using(server: Server, call: Callable[[OpenAIReasoner], Awaitable[Any]], patience: float = 10.0) -> Any:
    reasoner = OpenAIReasoner(server.url, "tiny", KEY, timeout=patience)
    try:
        return await call(reasoner)
    finally:
        await reasoner.close()


async def summary_from(server: Server) -> Any:
    return await using(server, lambda reasoner: ask_structured(reasoner, ASKED, Summary, 200))


async def refusal(
    server: Server, kind: type[ReasonerFailed] = ReasonerFailed, patience: float = 10.0, schema: Any = None
) -> str:
    with pytest.raises(ReasonerFailed) as failed:
        await using(server, lambda reasoner: reasoner.answer(ASKED, schema=schema), patience)
    assert failed.type is kind
    assert KEY not in str(failed.value)
    return str(failed.value)


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def test_messages_go_out_with_the_key_and_the_reply_comes_back_with_its_tokens(server: Server) -> None:
    server.answer = in_turn(chat("Hi."))

    assert await using(server, lambda reasoner: reasoner.answer(ASKED, max_tokens=7)) == Reply("Hi.", 11, 3)
    [body] = server.bodies
    assert body["messages"] == [{"role": "system", "content": "sum up"}, {"role": "user", "content": "hello"}]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("tiny", 7, 0.0)
    assert "response_format" not in body
    assert server.headers == [f"Bearer {KEY}"]


async def test_a_schema_is_sent_as_a_strict_one_that_names_every_property(server: Server) -> None:
    server.answer = in_turn(chat(GOOD))

    await summary_from(server)

    form = server.bodies[0]["response_format"]
    assert (form["type"], form["json_schema"]["name"], form["json_schema"]["strict"]) == (
        "json_schema",
        "Summary",
        True,
    )
    schema = form["json_schema"]["schema"]
    assert schema["required"] == ["summary", "facts", "preferences", "decisions", "todos", "entities"]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here you are:\n\n{GOOD}\nAnything else?",
        f"<think>maybe {{summary}}?</think>{GOOD}",
    ],
)
async def test_an_answer_is_read_through_fences_prose_and_thinking_aloud(server: Server, text: str) -> None:
    server.answer = in_turn(chat(text))

    assert await summary_from(server) == Summary("They met.", facts=("The user is Anna.",))
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("garbage", "told"),
    [
        ("I would rather not.", "malformed"),
        ("", "truncated"),
        ('{"summary": "They met."', "malformed|truncated"),
        ('{"summary": ["They met."]}', r"Expected `str`, got `array` - at `\$.summary`"),
        ('{"facts": []}', "missing required field `summary`"),
        ('{"summary": "x", "facts": [{"a": 1}]}', r"\$.facts\[0\]"),
    ],
)
async def test_an_answer_that_cannot_be_read_is_sent_back_once_with_what_is_wrong(
    server: Server, garbage: str, told: str
) -> None:
    server.answer = in_turn(chat(garbage), chat(GOOD))

    assert (await summary_from(server)).summary == "They met."
    first, second = (body["messages"] for body in server.bodies)
    assert second[: len(first)] == first
    assert second[-2]["role"] == "assistant"
    assert garbage in second[-2]["content"]
    assert re.search(told, second[-1]["content"])


async def test_two_answers_that_cannot_be_read_are_a_confused_reasoner_and_the_error_says_where(server: Server) -> None:
    server.answer = in_turn(chat("nonsense"), chat('{"summary": 5}'))

    with pytest.raises(
        ReasonerConfused, match=r"openai:tiny answered twice what is no Summary: Expected .* `\$\.summary`"
    ):
        await summary_from(server)
    assert len(server.bodies) == 2


async def test_a_structured_answer_that_was_cut_off_is_refused_and_a_plain_one_is_not(server: Server) -> None:
    server.answer = in_turn(chat('{"summary": "The', "length"))

    assert "cut off at 1024 tokens" in await refusal(server, ReasonerConfused, schema=SCHEMA)
    reply = await using(server, lambda reasoner: reasoner.answer(ASKED))
    assert reply.text == '{"summary": "The'


UNKNOWN_FORM = 400, "response_format is not supported"
LLAMA_CPP = 500, "{'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}"


def form(body: dict[str, Any]) -> str:
    """How the answer's form was asked for: its type, with "+" if the schema stands beside it."""
    asked = body.get("response_format", {})
    return str(asked.get("type", "none")) + ("+" if "schema" in asked else "")


@pytest.mark.parametrize(
    ("known", "refused", "tried"),
    [
        ("json_object+", LLAMA_CPP, ["json_schema", "json_object+"]),
        ("json_object", UNKNOWN_FORM, ["json_schema", "json_object+", "json_object"]),
        ("none", (422, "what?"), ["json_schema", "json_object+", "json_object", "none"]),
    ],
)
async def test_a_server_that_knows_no_schemas_is_asked_for_less_and_that_is_remembered(
    server: Server, known: str, refused: Answer, tried: list[str]
) -> None:
    server.answer = lambda body: chat(GOOD) if form(body) == known else refused

    async def twice(reasoner: OpenAIReasoner) -> Any:
        await reasoner.answer(ASKED, schema=SCHEMA)
        return await reasoner.answer(ASKED, schema=SCHEMA)

    assert (await using(server, twice)).text == GOOD
    assert [form(body) for body in server.bodies] == [*tried, known]


async def test_a_request_refused_in_every_form_is_no_reason_to_ask_for_less_next_time(server: Server) -> None:
    async def refused_then_asked(reasoner: OpenAIReasoner) -> Any:
        with pytest.raises(ReasonerFailed, match="HTTP 400: too many tokens"):
            await reasoner.answer(ASKED, schema=SCHEMA)
        server.answer = in_turn(chat(GOOD))
        return await reasoner.answer(ASKED, schema=SCHEMA)

    server.answer = in_turn((400, "too many tokens"))

    await using(server, refused_then_asked)
    assert form(server.bodies[-1]) == "json_schema"


async def test_a_server_that_refuses_max_tokens_or_a_temperature_gets_what_it_wants(server: Server) -> None:
    refusals = {
        "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "temperature": "Unsupported value: 'temperature' does not support 0.",
    }

    def choosy(body: dict[str, Any]) -> Answer:
        return next(((400, said) for name, said in refusals.items() if name in body), chat("Hi."))

    async def twice(reasoner: OpenAIReasoner) -> Any:
        await reasoner.answer(ASKED, max_tokens=7)
        return await reasoner.answer(ASKED, max_tokens=7, schema=SCHEMA)

    server.answer = choosy

    assert (await using(server, twice)).text == "Hi."
    assert len(server.bodies) == 4
    assert (server.bodies[-1]["max_completion_tokens"], form(server.bodies[-1])) == (7, "json_schema")


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504])
async def test_a_server_that_is_busy_is_asked_again(server: Server, status: int) -> None:
    server.answer = in_turn((status, "later", {"Retry-After": "0"}), chat("Hi."))

    assert (await using(server, lambda reasoner: reasoner.answer(ASKED))).text == "Hi."
    assert len(server.bodies) == 2


async def test_the_wait_a_server_asks_for_is_kept(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def waiting(wait: float) -> None:
        waits.append(wait)

    monkeypatch.setattr("recollect.providers.openai_http.asyncio.sleep", waiting)
    server.answer = in_turn((429, "later", {"Retry-After": "3"}), (503, "later"), chat("Hi."))

    await using(server, lambda reasoner: reasoner.answer(ASKED))
    assert waits == [3.0, openai_http.WAIT * 2]


async def test_a_wait_longer_than_the_timeout_is_not_begun(server: Server) -> None:
    server.answer = in_turn((429, "later", {"Retry-After": "3600"}))

    assert "HTTP 429, and asks to wait 3600 s" in await refusal(server)
    assert len(server.bodies) == 1


def test_the_wait_may_be_a_date_and_nonsense_is_no_wait() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)

    assert 90 < parse_retry_after(soon) <= 100
    assert [parse_retry_after(text) for text in ("7", "", "soon", "-3", "Thu, 01 Jan 1970 00:00:00 GMT")] == [
        7,
        0,
        0,
        0,
        0,
    ]


async def test_a_server_that_takes_too_long_is_not_waited_for(server: Server, released: threading.Event) -> None:
    def slow(_: dict[str, Any]) -> Answer:
        released.wait(5)
        return chat("Hi.")

    server.answer = slow

    assert "did not answer within 0.1 s" in await refusal(server, patience=0.1)


async def test_a_server_that_is_not_there_is_said_by_its_address(server: Server) -> None:
    server.url = "http://127.0.0.1:1/v1"

    assert (await refusal(server)).startswith("http://127.0.0.1:1/v1: ConnectError")


@pytest.mark.parametrize("status", [401, 404, 503])
async def test_a_server_that_echoes_the_key_does_not_get_it_into_the_error(server: Server, status: int) -> None:
    server.answer = in_turn((status, f"invalid key {KEY}"))

    assert f"HTTP {status}" in await refusal(server)


@pytest.mark.parametrize(
    "answer",
    [
        *("", "<html>", "[]", "null", "{}", '{"choices": []}', '{"choices": 5}', '{"choices": [null]}'),
        *('{"choices": [{"message": null}]}', '{"choices": [{"message": {"content": null}}]}'),
        *('{"choices": [{"message": {"content": [{"text": "a"}]}}]}', '{"choices": {"a": 1}}'),
    ],
)
async def test_an_answer_without_a_message_is_a_reasoner_that_failed(server: Server, answer: str) -> None:
    server.answer = in_turn((200, answer))

    assert await refusal(server)


@pytest.mark.parametrize("usage", ["null", "[]", '{"prompt_tokens": "many"}', "{}"])
async def test_a_server_that_does_not_count_tokens_is_fine(server: Server, usage: str) -> None:
    server.answer = in_turn((200, f'{{"choices": [{{"message": {{"content": "Hi."}}}}], "usage": {usage}}}'))

    assert await using(server, lambda reasoner: reasoner.answer(ASKED)) == Reply("Hi.", 0, 0)


async def test_facts_and_a_summary_come_through_from_end_to_end(server: Server) -> None:
    turns = [Turn("user", "I'm Anna and I live in Leeds."), Turn("assistant", "Hello Anna.")]
    claim = {"turn": 0, "category": "identity", "key": "Location", "value": "leeds", "quote": "i live in  Leeds"}
    server.answer = in_turn(chat(json.dumps({"facts": [claim]})), chat(GOOD))

    found = await using(server, lambda reasoner: extract_facts(reasoner, turns, [], rulebooks()))
    summary = await using(server, lambda reasoner: summarize_turns(reasoner, turns))

    assert [(fact.key, fact.value, fact.rule) for fact in found[0].facts] == [("location", "Leeds", "model")]
    assert turns[0].text[slice(*found[0].facts[0].span)] == "I live in Leeds"
    assert found[1].facts == []
    assert summary.summary == "They met."
