"""RecollectSession keeps the promises of the Agents SDK's sessions, and those of Recollect: what is said is recalled
and learned from, users are apart, the log stays. The SDK's own SQLiteSession is the reference."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    Session,
    SessionSettings,
    SQLiteSession,
    function_tool,
)
from openai import AsyncOpenAI

from recollect import Engine, InvalidInput, Query, Scope, SyncEngine
from recollect.integrations.openai_agents import RecollectSession
from tests.openai_server import KEY, Answer, Server, serving

ALEX = Scope("alex", "monday")
QUIET = RunConfig(tracing_disabled=True)
ITEMS: list[Any] = [
    {"role": "user", "content": "My name is Alex. Is it raining in Leeds?"},
    {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Leeds"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "Drizzle\0 \ud800 since noon"},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Yes, drizzle.", "annotations": [], "logprobs": []}],
    },
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA=="}]},
    {"role": "developer", "content": "Be brief."},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "Twelve degrees"}]},
]


@pytest.fixture(scope="module")
def model() -> Iterator[Server]:
    with serving() as server:
        yield server


@function_tool
def weather(city: str) -> str:
    """What the sky does there."""
    return f"Drizzle in {city}"


async def test_items_come_back_as_they_were_given(memory: Engine) -> None:
    session: Session = RecollectSession("monday", memory, user="alex")
    reference = SQLiteSession("monday")
    assert isinstance(session, Session)
    assert await session.get_items() == []
    for given in (ITEMS[:2], [], ITEMS[2:]):
        await session.add_items(given)
        await reference.add_items(given)
    for limit in (None, 0, 1, 3, 8, 100):
        assert await session.get_items(limit) == await reference.get_items(limit), limit
    for _ in range(3):
        assert await session.pop_item() == await reference.pop_item()
    await session.add_items(ITEMS[:1])
    await reference.add_items(ITEMS[:1])
    assert await session.pop_item() == await reference.pop_item()
    assert await session.get_items(2) == await reference.get_items(2)
    settled = RecollectSession("monday", memory, user="alex", session_settings=SessionSettings(limit=2))
    assert await settled.get_items() == await reference.get_items(2)
    while (last := await reference.pop_item()) is not None:
        assert await session.pop_item() == last
    assert (await session.pop_item(), await session.get_items()) == (None, [])


async def test_what_is_said_is_recalled_and_learned_from_and_a_popped_item_stays_in_the_log(memory: Engine) -> None:
    session = RecollectSession("monday", memory, user="alex")
    await session.add_items(ITEMS)
    await session.pop_item()
    await memory.settle(ALEX)
    turns = await memory.history(ALEX)
    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", "My name is Alex. Is it raining in Leeds?"),
        ("tool", "(reasoning)"),
        ("tool", 'weather {"city": "Leeds"}'),
        ("tool", "Drizzle ? since noon"),
        ("assistant", "Yes, drizzle."),
        ("user", "(no text)"),
        ("system", "Be brief."),
        ("tool", "Twelve degrees"),
        ("system", "(monday#7 was removed)"),
    ]
    assert [known.text for known in await memory.memories(ALEX, key="name")] == ["name: Alex"]
    recalled = await memory.recall(Scope("alex", "tuesday"), Query("drizzle", scope="user"))
    assert "Yes, drizzle." in [hit.text for hit in recalled.hits]

    await session.clear_session()
    await session.clear_session()
    assert await session.get_items() == []
    assert await memory.memories(ALEX, status=None) == []
    await session.add_items(ITEMS[:1])
    assert await session.pop_item() == ITEMS[0]
    assert await session.get_items() == []


async def test_long_sessions_are_read_whole_and_popped_once_by_each(memory: Engine) -> None:
    given = [{"role": "user", "content": f"Number {number}"} for number in range(1250)]
    one, other = (RecollectSession("monday", memory, user="alex") for _ in range(2))
    await one.add_items(given)
    popped = await asyncio.gather(*(session.pop_item() for session in (one, other, one, other)))
    assert sorted(item["content"] for item in popped if item) == [item["content"] for item in given[-4:]]
    assert await one.get_items() == given[:-4]
    assert await other.get_items(3) == given[-7:-4]


async def test_turns_of_others_are_messages_and_what_was_redacted_stays_so(memory: Engine) -> None:
    session = RecollectSession("monday", memory, user="alex")
    await memory.record(ALEX, [("user", "I live in Leeds."), ("tool", "a tool of another")])
    await session.add_items([{"role": "assistant", "content": "Leeds, noted.", "id": "msg_1"}])
    await memory.settle(ALEX)
    [home] = await memory.memories(ALEX, key="location")
    await memory.redact(ALEX, home.id)
    assert await session.get_items() == [
        {"role": "user", "content": "I live in [redacted]."},
        {"role": "assistant", "content": "[redacted], noted."},
    ]


async def test_what_is_no_item_is_refused(memory: Engine) -> None:
    session = RecollectSession("monday", memory, user="alex")
    for item, problem in (("Hello", "is not an item"), ({"role": "user", "content": object()}, "written as JSON")):
        with pytest.raises(InvalidInput, match=problem):
            await session.add_items([item])
    with pytest.raises(InvalidInput, match="at most 1,000,000"):
        await session.add_items([{"role": "user", "content": [{"type": "input_image", "image_url": "A" * 1_000_000}]}])
    assert await session.get_items() == []


def test_two_runs_of_a_session_see_each_other_and_two_users_do_not(plain: SyncEngine, model: Server) -> None:
    def run(user: str, question: str) -> list[str]:
        """What the model was sent in the last request of a run, after the instructions."""
        chat = OpenAIChatCompletionsModel("scripted", AsyncOpenAI(base_url=model.url, api_key=KEY))
        agent = Agent(name="Weatherman", instructions="Help.", model=chat, tools=[weather])
        session = RecollectSession("monday", plain, user=user)
        asyncio.run(Runner.run(agent, question, session=session, run_config=QUIET))
        return [message["role"] for message in model.bodies[-1]["messages"][1:]]

    model.answer = calls_the_tool_first
    whole = ["user", "assistant", "tool"]
    assert run("alex", "Is it raining in Leeds?") == whole
    assert run("alex", "And tomorrow?") == [*whole, "assistant", "user"]
    assert [m["content"] for m in model.bodies[-1]["messages"] if m["role"] == "tool"] == ["Drizzle in Leeds"]
    assert run("bo", "Hello?") == whole
    assert "Leeds?" not in json.dumps(model.bodies[-1])
    said = [turn.text for turn in plain.history(ALEX) if turn.role in ("user", "assistant")]
    assert said == ["Is it raining in Leeds?", "It drizzles.", "And tomorrow?", "It drizzles."]


def calls_the_tool_first(body: dict[str, Any]) -> Answer:
    """The model: it looks out of the window once per conversation."""
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Leeds"}'}}
    knows = any(message["role"] == "tool" for message in body["messages"])
    said = {"content": "It drizzles."} if knows else {"content": None, "tool_calls": [call]}
    choice = {
        "index": 0,
        "finish_reason": "stop" if knows else "tool_calls",
        "message": {"role": "assistant", **said},
    }
    answer = {"id": "a", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
    return 200, json.dumps(answer), {"content-type": "application/json"}
