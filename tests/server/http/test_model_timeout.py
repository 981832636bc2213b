"""A language model that does not answer in time: nothing is left behind in the event loop, also where the caller left
before the model did."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from recollect.apps.ask.sample import make_sample
from recollect.settings import Settings

from .loopback import served
from .upstream import Scripted, Upstream, said, upstream_server

LATE = 1.0  # seconds that the model has
TRIES = 50  # the first requests may be too slow to reach the model at all
SOURCES = "/api/projects/default/datasources"
MESSAGES = [{"role": "user", "content": "What is the code word?"}]
ASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/chat", {"user_id": "alex", "message": "What is the code word?"}),
    "chat stream": ("/chat", {"user_id": "alex", "message": "What is the code word?", "stream": True}),
    "proxy": ("/v1/chat/completions", {"user": "alex", "model": "small", "messages": MESSAGES}),
    "proxy stream": ("/v1/chat/completions", {"user": "alex", "model": "m", "messages": MESSAGES, "stream": True}),
    "database": ("/answerQuestion", {"user_id": "alex", "question": "Which region sold the most heron decoys?"}),
}


@pytest.fixture
def silent() -> Iterator[Upstream]:
    """A model's server that takes every request and answers none before the test ends."""
    done = threading.Event()

    def answer(_: Any) -> Scripted:
        done.wait(60)
        return said("Too late.")

    with upstream_server() as one:
        one.answer = answer
        try:
            yield one
        finally:
            done.set()


@pytest.mark.parametrize("waits", [True, False], ids=["caller waits", "caller leaves"])
def test_model_timeout_leaves_no_failed_task(
    settings: Settings, silent: Upstream, caplog: pytest.LogCaptureFixture, tmp_path: Path, waits: bool
) -> None:
    given = replace(settings, rate_limit=0.0, model_url=silent.url, model="small", model_timeout=LATE)
    make_sample(tmp_path / "shop.db")
    with ExitStack() as stack:
        http = stack.enter_context(httpx2.Client(timeout=60))
        with served(given) as first:
            source = {"name": "shop", "dsn": f"sqlite:///{tmp_path / 'shop.db'}"}
            assert http.post(first.url + SOURCES, json=source).status_code == 201
        door = stack.enter_context(served(replace(given, request_timeout=60.0 if waits else LATE / 2)))
        for kind, (path, body) in ASKS.items():
            before = len(silent.asked)
            for _ in range(TRIES):
                http.post(door.url + path, json=body)
                if len(silent.asked) > before:
                    break
            assert len(silent.asked) > before, kind
        time.sleep(2 * LATE)  # until the model's time is over: closing the server would wait for what is left
        gc.collect()  # then asyncio tells of tasks that failed unseen

    told = [record.getMessage() for record in caplog.records]
    assert [line for line in told if "never retrieved" in line] == []
