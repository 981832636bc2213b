"""Requests and replies of OpenAI's protocol, read without being changed."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from recollect.apps.chat.completions import (
    Completion,
    Events,
    UpstreamReply,
    find_recorded_question,
    read_completion,
    read_reply,
)
from recollect.values.conversation import Turn

DELTAS = [
    {"role": "assistant"},
    {"content": "The 苍"},
    {"content": "鹭."},
    {"tool_calls": [{"function": {"name": "f"}}]},
]
STREAM = b"".join(
    [
        b": ping\r\n\r\n",
        *(f"data: {json.dumps({'choices': [{'delta': delta}]}, ensure_ascii=False)}\n\n".encode() for delta in DELTAS),
        b'data: {"choices": [{"index": 1, "delta": {"content": "Another choice."}}]}\n\n',
        b'data: {"choices": [], "usage": {"total_tokens": 3}}\r\n\r\n',
        b"data: [DONE]",
    ]
)


def asked(*messages: Any, **more: Any) -> Completion:
    found = read_completion(json.dumps({"messages": messages, **more}).encode())
    assert found is not None
    return found


def says(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


@given(some.lists(some.integers(0, len(STREAM)), max_size=12))
def test_a_stream_is_the_same_however_it_is_cut(cuts: list[int]) -> None:
    events = Events()
    places = [0, *sorted(cuts), len(STREAM)]
    passed = [events.feed(STREAM[start:end]) for start, end in pairwise(places)]
    assert b"".join([*passed, events.last()]) == STREAM
    assert all(piece.endswith(b"\n") for piece in passed if piece)
    assert events.spoken == UpstreamReply("The 苍鹭.", None, ["f"], ended=True)
    assert events.is_done


@given(
    some.binary(max_size=60),
    some.recursive(some.none() | some.text(), lambda x: some.lists(x) | some.dictionaries(some.text(), x)),
)
def test_what_an_upstream_says_never_breaks_the_listener(data: bytes, odd: Any) -> None:
    for key in ("choices", "error", "model", "x"):
        body = json.dumps({key: odd, "choices": [odd, {"message": odd}, {"message": {"tool_calls": odd}}]}).encode()
        read_reply(body)
    events = Events()
    assert events.feed(b"data: " + data + b"\n") == b"data: " + data + b"\n"


@given(some.binary(max_size=60))
def test_what_a_client_sends_never_breaks_the_reader(data: bytes) -> None:
    read_completion(data)
    read_completion(b'{"messages": [' + data + b"]}")


@pytest.mark.parametrize(
    ("messages", "new"),
    [
        ([says("user", "a")], ["a"]),
        ([says("system", "s"), says("user", "a"), says("assistant", "b"), says("user", "c")], ["c"]),
        ([says("user", "a"), says("assistant", "b"), says("user", "c"), says("user", "d")], ["c", "d"]),
        ([says("user", "a"), says("assistant", None), says("tool", "t")], ["a"]),
        ([says("user", [{"type": "image_url"}]), says("user", [{"type": "text", "text": "a"}])], ["a"]),
    ],
)
def test_new_is_what_the_user_said_since_the_last_reply(messages: list[Any], new: list[str]) -> None:
    found = asked(*messages)
    assert [found.messages[place].text for place in found.new] == new


def test_a_message_has_the_same_name_whenever_it_is_sent_and_another_after_other_words() -> None:
    first = asked(says("system", "It is nine."), says("user", "a"))
    later = asked(says("system", "It is ten."), says("user", "a"), says("assistant", "b"), says("user", "a"))
    assert first.key(1, "s") == later.key(1, "s")
    assert len({first.key(1, "s"), first.key(1, "t"), later.key(3, "s")}) == 3
    assert first.derived_session == later.derived_session


def test_a_request_with_memory_differs_in_the_question_alone() -> None:
    body = b'{"a": 1.50, "messages": [{"role": "system", "content": "s"}, {"role":"user", "content":"q", "x":[ 1 ]}]}'
    found = read_completion(body)
    assert found is not None
    assert found.with_memory("M") == (
        b'{"a":1.50,"messages":[{"role": "system", "content": "s"},{"role":"user","content":"M\\n\\nq","x":[ 1 ]}]}'
    )


def test_a_turn_that_failed_is_known_by_its_reply() -> None:
    question = Turn("user", "q", session="s", index=0)
    failed = Turn("assistant", "Sorry.", data={"answers": "s#0", "error_stage": "llm_reply"}, session="s", index=1)
    good = Turn("assistant", "Yes.", data={"answers": "s#0", "error_stage": None}, session="s", index=2)
    request = asked(says("user", "q"))
    assert find_recorded_question(request, [question, failed], is_retry=False) == question
    assert find_recorded_question(request, [question, failed, good], is_retry=False) is None
    assert find_recorded_question(request, [question, failed, good], is_retry=True) == question
