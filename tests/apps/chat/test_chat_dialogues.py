"""Whole dialogues over HTTP, without a model and with a scripted one: a hundred turns, other sessions, two languages.
The scripted model answers with the line of its memories and history that shares most words with the question, so it can
only say what was recalled."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from recollect.providers.openai import OpenAIReasoner
from recollect.settings import Settings
from tests.apps.chat.chat_door import chat_app, served
from tests.openai_server import Answer, serving

WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")
DATABASES = [
    "Let's talk about databases: which one fits our search?",
    "I think PostgreSQL is the best of the databases for us.",
    "pgvector adds vectors to it, so we need no second of those databases.",
    "HNSW indexes make such databases fast.",
    "Let's choose pgvector with HNSW for our databases.",
]
OTHER = [
    "The garden needs rain.",
    "I baked rye bread today.",
    "The train was late again.",
    "My bicycle has a flat tyre.",
]


def words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))


def quoting(body: dict[str, Any]) -> Answer:
    """Return the remembered line or earlier message that shares most words with the question."""
    system, *before, question = [message["content"] for message in body["messages"]]
    [remembered] = re.findall(r"^⟦memory⟧\n(.*)\n⟦end⟧$", system, re.DOTALL | re.MULTILINE)
    lines = [line for text in (remembered, *before) for line in text.splitlines() if line.strip()]
    best = max(lines, key=lambda line: len(words(line) & words(question)) / (8 + len(words(line))))
    return 200, json.dumps({"choices": [{"message": {"role": "assistant", "content": best}}]})


@pytest.fixture(params=["without a model", "with a model"])
async def http(settings: Settings, request: pytest.FixtureRequest) -> AsyncIterator[httpx2.AsyncClient]:
    with serving() as model:
        model.answer = quoting
        reasoner = OpenAIReasoner(model.url, "scripted") if request.param == "with a model" else None
        with served(chat_app(settings, reasoner)) as url:
            async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
                yield client


async def say(client: httpx2.AsyncClient, message: str, session: str) -> dict[str, Any]:
    body = {"user_id": "alex", "message": message, "session_id": session}
    answer = await client.post("/chat", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def recalled(answer: dict[str, Any], session: str) -> list[int]:
    """The turns of a session that an answer rests on."""
    named = (source.rpartition("#") for source in answer["memory"]["sources"])
    return [int(index.partition("-")[0]) for place, _, index in named if place == session]


async def test_after_a_hundred_turns_the_name_is_exact_and_the_topic_is_found(http: httpx2.AsyncClient) -> None:
    await say(http, "My name is Alex.", "long")
    for text in DATABASES[:4]:
        await say(http, text, "long")
    for n in range(45):
        await say(http, f"{OTHER[n % 4]} That was on day {n}.", "long")

    name = await say(http, "What's my name?", "long")
    topic = await say(http, "What did we discuss about databases?", "long")

    assert "Alex" in name["response"]
    assert "databases" in topic["response"]
    found = recalled(topic, "long")
    assert found
    assert min(found) <= 10
    shown = (await http.get("/chat/sessions/long", params={"user_id": "alex", "limit": 200})).json()
    assert len(shown["turns"]) == 104


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("The launch is on 3 June in Lisbon.", "When did I say the launch is, last time?", "3 June"),
        ("Our staging server is called otter.", "What did I tell you before about the staging server?", "otter"),
        ("发布会定在六月三号，在里斯本。", "上次我说发布会定在什么时候？", "六月三号"),
        ("我叫李明，我住在上海。", "之前我说我叫什么名字？", "李明"),
    ],
)
async def test_another_session_is_looked_into_when_the_user_says_so(
    http: httpx2.AsyncClient, told: str, question: str, expected: str
) -> None:
    await say(http, told, "monday")
    answer = await say(http, question, "tuesday")

    assert expected in answer["response"]
    assert answer["memory"]["scope_used"] == "user"
    assert answer["memory"]["widened"]


async def test_what_was_corrected_in_words_is_before_the_next_answer(http: httpx2.AsyncClient) -> None:
    await say(http, "My name is Alex.", "monday")
    corrected = await say(http, "Actually, my name is Alexander.", "monday")

    answer = await say(http, "What's my name?", "tuesday")

    if answer["model"] is None:
        assert answer["response"].startswith("name: Alexander.")
    else:  # it is told both, in their order; which counts, the instructions say
        correcting = int(corrected["ref"].rpartition("#")[2]) - 1
        assert correcting in recalled(answer, "monday")
