"""The chat over HTTP: a message, a stream, a session, and who may speak for whom."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from recollect import Grant, connect_sync
from recollect.providers.openai import OpenAIReasoner
from recollect.server.http.chat import ChatAnswer, ChatSession
from recollect.settings import Settings
from tests.apps.chat.chat_door import chat_app, served
from tests.openai_server import Server, serving


@pytest.fixture
async def http(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of an open door without a language model, where everybody is the local admin."""
    with served(chat_app(settings)) as url:
        async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
            yield client


@pytest.fixture
def model() -> Iterator[Server]:
    with serving() as one:
        yield one


async def say(client: httpx2.AsyncClient, message: str, **more: Any) -> dict[str, Any]:
    answer = await client.post("/chat", json={"user_id": "alex", "message": message, **more})
    assert answer.status_code == 200, answer.text
    ChatAnswer.model_validate(answer.json())
    return dict(answer.json())


def events_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    pairs = (block.split("\n") for block in text.strip().split("\n\n"))
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in pairs]


async def test_a_conversation_goes_on_and_is_remembered_in_the_next(http: httpx2.AsyncClient) -> None:
    first = await say(http, "My name is Alex.")
    again = await say(http, "我叫什么名字？", session_id=first["session_id"])
    other = await say(http, "What's my name?")
    assert again["session_id"] == first["session_id"] != other["session_id"]
    assert "Alex" in again["response"]
    assert other["response"].startswith("name: Alex.")
    assert (other["memory"]["facts"], other["memory"]["learned_by"]) == (1, ["rules"])
    assert (await say(http, "What's my name?", user_id="blake"))["memory"]["sources"] == []


async def test_the_scope_says_how_far_memory_looks(http: httpx2.AsyncClient) -> None:
    await say(http, "The bakery opens at seven.", session_id="monday")
    near = await say(http, "When does the bakery open?", session_id="tuesday", scope="session")
    far = await say(http, "When does the bakery open?", session_id="wednesday", scope="user")
    assert (near["memory"]["scope_used"], near["memory"]["sources"]) == ("session", [])
    assert "monday#0" in far["memory"]["sources"]


async def test_a_session_may_have_any_name(http: httpx2.AsyncClient) -> None:
    name = "2026/11 a?b#c"
    await say(http, "The code word is heron.", session_id=name)
    whose = {"user_id": "alex"}
    address = f"/chat/sessions/{quote(name, safe='')}"
    assert (await http.get(address, params=whose)).json()["session_id"] == name
    assert (await http.patch(address, json={**whose, "name": "Herons"})).json()["name"] == "Herons"
    assert (await http.delete(address, params=whose)).status_code == 200
    assert (await http.get(address, params=whose)).status_code == 404


@pytest.mark.parametrize("how", [{"json": {"stream": True}}, {"headers": {"Accept": "text/event-stream"}}])
async def test_an_answer_can_be_streamed(http: httpx2.AsyncClient, how: dict[str, Any]) -> None:
    body = {"user_id": "alex", "message": "hi!", "session_id": "monday", **how.get("json", {})}
    answer = await http.post("/chat", json=body, headers=how.get("headers"))
    assert answer.headers["content-type"].startswith("text/event-stream")
    [(delta, piece), (done, whole)] = events_in(answer.text)
    assert (delta, done) == ("delta", "done")
    assert piece["text"] == whole["response"]
    ChatAnswer.model_validate(whole)


async def test_a_models_words_are_passed_on_as_they_come(settings: Settings, model: Server) -> None:
    said = ['{"choices": [{"delta": {"content": "A "}}]}', '{"choices": [{"delta": {"content": "heron."}}]}', "[DONE]"]
    model.answer = lambda _: (200, "".join(f"data: {each}\n\n" for each in said))
    with served(chat_app(settings, OpenAIReasoner(model.url, "small"))) as url:
        async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
            answer = await client.post("/chat", json={"user_id": "alex", "message": "What is it?", "stream": True})
            told = events_in(answer.text)
            whole = await say(client, "What is it?")
    assert [data["text"] for name, data in told if name == "delta"] == ["A ", "heron."]
    assert (
        (whole["response"], whole["model"]) == (told[-1][1]["response"], "openai:small") == ("A heron.", "openai:small")
    )


async def test_a_model_that_is_away_is_an_answer_with_a_stage(settings: Settings) -> None:
    with served(chat_app(settings, OpenAIReasoner("http://127.0.0.1:9/v1", "small"))) as url:
        async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
            failed = await say(client, "What is it?", session_id="monday")
            kept = (await client.get("/chat/sessions/monday", params={"user_id": "alex"})).json()["turns"]
    assert failed["error_stage"] == kept[1]["error_stage"] == "llm_reply"
    assert [turn["role"] for turn in kept] == ["user", "assistant"]


async def test_a_session_shows_what_was_recalled_for_each_reply(http: httpx2.AsyncClient) -> None:
    await say(http, "The bakery opens at seven.", session_id="monday")
    await say(http, "When does the bakery open?", session_id="monday")
    answer = await http.get("/chat/sessions/monday", params={"user_id": "alex"})
    ChatSession.model_validate(answer.json())
    *_, question, reply = answer.json()["turns"]
    assert (question["memory"], reply["memory"]["sources"]) == (None, ["monday#0"])
    page = (await http.get("/chat/sessions/monday", params={"user_id": "alex", "limit": 2})).json()
    assert (page["next_before"], len(page["turns"])) == (2, 2)


async def test_a_deleted_session_is_gone_with_what_was_learned_in_it(http: httpx2.AsyncClient) -> None:
    await say(http, "My name is Alex.", session_id="monday")
    receipt = await http.delete("/chat/sessions/monday", params={"user_id": "alex"})
    assert receipt.json()["rows"]["turn"] == 2
    assert (await http.get("/chat/sessions/monday", params={"user_id": "alex"})).status_code == 404
    assert "Alex" not in (await say(http, "What's my name?"))["response"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"message": " "}, "message"),
        ({}, "message"),
        ({"message": "hello", "scope": "planet"}, "scope"),
        ({"message": " ", "stream": True}, "message"),
        ({"message": "hello", "session_id": ""}, "session_id"),
    ],
)
async def test_what_cannot_be_used_is_refused_by_name(http: httpx2.AsyncClient, body: Any, field: str) -> None:
    answer = await http.post("/chat", json={"user_id": "alex", **body})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


async def test_a_repeated_key_is_answered_once(http: httpx2.AsyncClient) -> None:
    body, key = {"user_id": "alex", "message": "The bakery opens at seven."}, {"Idempotency-Key": "k"}
    first, again = [(await http.post("/chat", json=body, headers=key)).json() for _ in range(2)]
    assert (first["ref"], first["replayed"], again["replayed"]) == (again["ref"], False, True)


async def test_nobody_speaks_for_another_or_reads_his_session(settings: Settings) -> None:
    with connect_sync(settings, worker=False) as memory:
        secrets = {
            name: memory.keys.create(Grant(role="user", name=name, project="shop", user=name)).secret
            for name in ("alex", "blake")
        }
    alex, blake = ({"Authorization": f"Bearer {secrets[name]}"} for name in ("alex", "blake"))
    with served(chat_app(settings)) as url:
        async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
            told = {"message": "The code word is heron.", "session_id": "monday"}
            assert (await client.post("/chat", json=told, headers=alex)).status_code == 200
            assert (await client.post("/chat", json=told)).status_code == 401
            foreign = await client.post("/chat", json={**told, "user_id": "alex"}, headers=blake)
            unseen = await client.get("/chat/sessions/monday", headers=blake)
            asked = {"message": "What is the code word?", "session_id": "monday"}
            same_name = await client.post("/chat", json=asked, headers=blake)
    assert (foreign.status_code, unseen.status_code) == (403, 404)
    assert "heron" not in same_name.text


async def test_sessions_are_listed_and_renamed(http: httpx2.AsyncClient) -> None:
    await say(http, "The bakery opens at seven.", session_id="monday")
    await say(http, "The launch is in June.", session_id="tuesday")
    renamed = await http.patch("/chat/sessions/monday", json={"user_id": "alex", "name": "The bakery"})
    assert renamed.json()["name"] == "The bakery"
    listed = (await http.get("/chat/sessions", params={"user_id": "alex"})).json()["sessions"]
    assert [(each["session_id"], each["name"], each["turns"]) for each in listed] == [
        ("tuesday", "The launch is in June.", 2),
        ("monday", "The bakery", 2),
    ]
    assert (await http.get("/chat/sessions", params={"user_id": "blake"})).json() == {"sessions": []}
    unknown = await http.patch("/chat/sessions/friday", json={"user_id": "alex", "name": "Lost"})
    assert unknown.status_code == 404
