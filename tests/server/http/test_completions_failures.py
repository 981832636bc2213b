"""The proxy when something fails: the upstream at once or in mid-sentence, the memory, the client who leaves."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import psycopg
import pytest

from recollect.apps.chat.phrases import ENGLISH
from recollect.apps.chat.proxy import BROKE_OFF
from recollect.settings import Settings
from recollect.values.conversation import Turn

from .conftest import Serve
from .proxied import PATH, ask, before, record, texts, turns, user
from .upstream import EVENTS, KEY, Scripted, Upstream, event, said, streamed, upstream_server

SESSION = {"X-Recollect-User": "alex", "X-Recollect-Session": "monday"}
PATIENCE = 60


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with upstream_server() as one:
        yield one


@pytest.fixture
def door(serve: Serve, upstream: Upstream) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=serve(**before(upstream)).url, timeout=60) as client:
        yield client


def reply_of(settings: Settings) -> tuple[str, dict[str, Any]]:
    """The last turn, waited for: it is kept after the client has gone."""
    until = time.monotonic() + PATIENCE
    found: list[Turn] = []
    while time.monotonic() < until and len(found) < 2:
        found = turns(settings, "monday")
    assert [turn.role for turn in found] == ["user", "assistant"]
    return found[-1].text, dict(found[-1].data or {})


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_is_passed_on_as_it_is_and_kept_with_its_stage(
    door: httpx2.Client, upstream: Upstream, settings: Settings, stream: bool
) -> None:
    body = b'{"error": {"message": "slow down",  "type": "tokens"}}'
    upstream.answer = lambda _: Scripted([body], status=429, headers={"Retry-After": "7", "X-RateLimit-Limit": "9"})
    answer = ask(door, user("What is the code word?"), headers=SESSION, stream=stream)
    assert (answer.status_code, answer.content) == (429, body)
    assert (answer.headers["retry-after"], answer.headers["x-ratelimit-limit"]) == ("7", "9")
    text, data = reply_of(settings)
    assert (text, data["error_stage"]) == (ENGLISH.model_failed, "llm_reply")
    assert data["error"].startswith("HTTP 429: ")
    assert "slow down" in data["error"]


def test_a_message_that_is_tried_again_after_a_failure_is_recorded_once(
    door: httpx2.Client, upstream: Upstream, settings: Settings
) -> None:
    ask(door, user("The code word is heron."), headers=SESSION)
    upstream.answer = lambda _: Scripted([b"{}"], status=500)
    ask(door, user("What is it?"), headers=SESSION)
    upstream.answer = lambda _: said("Heron.")
    ask(door, user("What is it?"), headers=SESSION)
    ask(door, user("What is it?"), headers={**SESSION, "X-Stainless-Retry-Count": "1"})
    kept = texts(settings, "monday")
    assert [text for role, text in kept if role == "user"] == ["The code word is heron.", "What is it?"]
    assert [text for role, text in kept if role == "assistant"][1:] == [ENGLISH.model_failed, "Heron.", "Heron."]


def test_an_upstream_that_is_away_is_told_in_openais_form(serve: Serve, upstream: Upstream, settings: Settings) -> None:
    nowhere = {**before(upstream), "model_url": "http://127.0.0.1:9/v1"}
    with httpx2.Client(base_url=serve(**nowhere).url, timeout=60) as door:
        answer = ask(door, user("What is the code word?"), headers=SESSION)
        listed = door.get("/v1/models")
    assert (answer.status_code, listed.status_code) == (502, 502)
    told = answer.json()["error"]
    assert (told["type"], told["code"]) == ("server_error", "reasoner_failed")
    assert "127.0.0.1" not in told["message"]
    text, data = reply_of(settings)
    assert (text, data["error_stage"]) == (ENGLISH.model_failed, "llm_reply")


def test_a_key_that_the_upstream_quotes_is_not_passed_on(door: httpx2.Client, upstream: Upstream) -> None:
    upstream.answer = lambda _: Scripted([f"bad key {KEY}".encode()], status=401)
    answer = ask(door, user("What is the code word?"))
    assert (answer.status_code, answer.text) == (401, "bad key ***")


@pytest.mark.parametrize("cut", [b"", b'data: {"choices": [{"ind'])
def test_a_stream_that_dies_gets_an_end_that_says_so(
    door: httpx2.Client, upstream: Upstream, settings: Settings, cut: bytes
) -> None:
    whole = [event({"content": "The her"})]
    upstream.answer = lambda _: Scripted([*whole, *([cut] if cut else [])], kind=EVENTS, dies=True)
    answer = ask(door, user("What is the code word?"), headers=SESSION, stream=True)
    assert answer.status_code == 200
    rest = answer.content.removeprefix(b"".join(whole))
    [error, done] = rest.strip().split(b"\n\n")
    assert json.loads(error.removeprefix(b"data: ")) == {"error": BROKE_OFF}
    assert done == b"data: [DONE]"
    text, data = reply_of(settings)
    assert (text, data["error_stage"]) == (f"The her\n{ENGLISH.broke_off}", "llm_reply")
    assert data["error"]


def test_a_stream_that_dies_is_an_error_to_openais_client(door: httpx2.Client, upstream: Upstream) -> None:
    upstream.answer = lambda _: Scripted([event({"content": "The her"})], kind=EVENTS, dies=True)
    with openai.OpenAI(base_url=str(door.base_url.join("/v1")), api_key="any", max_retries=0) as client:
        stream = client.chat.completions.create(
            model="small", messages=[{"role": "user", "content": "What is it?"}], user="alex", stream=True
        )
        assert next(stream).choices[0].delta.content == "The her"
        with pytest.raises(openai.APIError, match="broke off"):
            next(stream)


def test_without_memory_a_stream_that_dies_just_breaks_off(door: httpx2.Client, upstream: Upstream) -> None:
    upstream.answer = lambda _: Scripted([event({"content": "The her"})], kind=EVENTS, dies=True)
    with pytest.raises(httpx2.HTTPError):
        ask(door, user("What is it?"), headers={"X-Recollect-Memory": "off"}, stream=True)


def test_an_error_in_mid_stream_is_passed_on_and_kept(
    door: httpx2.Client, upstream: Upstream, settings: Settings
) -> None:
    pieces = [event({"content": "The her"}), b'data: {"error": {"message": "overloaded"}}\n\n']
    upstream.answer = lambda _: Scripted(pieces, kind=EVENTS)
    answer = ask(door, user("What is the code word?"), headers=SESSION, stream=True)
    assert answer.content == b"".join(pieces)
    text, data = reply_of(settings)
    assert (text, data["error_stage"]) == (f"The her\n{ENGLISH.broke_off}", "llm_reply")
    assert "overloaded" in data["error"]


def test_a_client_that_leaves_in_mid_stream_leaves_what_was_said(
    door: httpx2.Client, upstream: Upstream, settings: Settings
) -> None:
    never = threading.Event()
    upstream.answer = lambda _: Scripted([event({"content": "The heron"}), event({})], kind=EVENTS, waits=never)
    body = {"messages": [user("What is the code word?")], "stream": True}
    with door.stream("POST", PATH, json=body, headers=SESSION) as answer:
        assert "The heron" in next(answer.iter_text())
    text, data = reply_of(settings)
    never.set()
    assert (text, data["error_stage"], data["finished"]) == ("The heron", None, False)


def test_a_client_that_does_not_wait_for_the_answer_finds_it_in_the_log(
    serve: Serve, upstream: Upstream, settings: Settings
) -> None:
    may_end = threading.Event()

    def late(_: Any) -> Scripted:
        may_end.wait(PATIENCE)
        return streamed("The heron.")

    upstream.answer = late
    with httpx2.Client(base_url=serve(**before(upstream), request_timeout=6.0).url, timeout=60) as door:
        answer = ask(door, user("What is the code word?"), headers=SESSION, stream=True)
        assert answer.status_code == 503
        may_end.set()
        assert reply_of(settings)[0] == "The heron."


@pytest.mark.parametrize(("table", "kept"), [("episode", 2), ("embedding", 0)])
def test_a_memory_that_fails_does_not_break_the_answer(
    door: httpx2.Client, upstream: Upstream, settings: Settings, database: str, table: str, kept: int
) -> None:
    record(settings, "The code word is heron.")
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"ALTER TABLE recollect.{table} RENAME TO lost".encode())
    answer = ask(door, user("What is the code word?"), headers=SESSION)
    assert (answer.status_code, answer.json()["choices"][0]["message"]["content"]) == (200, "All right.")
    assert answer.headers["x-recollect-memory"] == "failed"
    assert upstream.bodies[-1]["messages"] == [user("What is the code word?")]
    with psycopg.connect(database) as owner:
        count = owner.execute("SELECT count(*) FROM recollect.turn WHERE text <> 'The code word is heron.'").fetchone()
    assert count == (kept,)


def test_a_message_that_cannot_be_kept_is_passed_on(door: httpx2.Client, upstream: Upstream) -> None:
    answer = ask(door, user("a\0b, what is it?"), headers=SESSION)
    assert (answer.status_code, answer.headers["x-recollect-memory"]) == (200, "failed")
    assert upstream.told == "a\0b, what is it?"
