"""What the tests of the proxy share: a door with an upstream behind it, requests to it, and a look at the log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx2

from recollect import Scope, connect_sync
from recollect.prompts import CLOSE, OPEN
from recollect.settings import Settings
from recollect.values.conversation import Turn

from .upstream import KEY, Upstream

PATH = "/v1/chat/completions"
BEGIN, END = f"{OPEN}memory{CLOSE}\n", f"\n{OPEN}end{CLOSE}"


def before(upstream: Upstream) -> dict[str, Any]:
    """The settings of a door before this upstream."""
    return {"model_url": upstream.url, "model": "small", "model_key": KEY}


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def ask(door: httpx2.Client, *messages: dict[str, Any], headers: dict[str, str] | None = None, **more: Any) -> Any:
    """A request for alex, unless headers or fields say otherwise."""
    named = {"X-Recollect-User": "alex"} if headers is None else headers
    return door.post(PATH, json={"model": "small", "messages": list(messages), **more}, headers=named)


def turns(settings: Settings, session: str, who: str = "alex", project: str = "default") -> list[Turn]:
    with connect_sync(settings, worker=False) as memory:
        return memory.history(Scope(who, session, project))


def texts(settings: Settings, session: str) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in turns(settings, session)]


def record(settings: Settings, text: str, session: str = "friday") -> None:
    with connect_sync(settings, worker=False) as memory:
        memory.record(Scope("alex", session), [("user", text)])


def learned(settings: Settings, who: str = "alex") -> list[str]:
    """What the rules learn from everything that was said."""
    with connect_sync(replace(settings, model_url="", model=""), worker=False) as memory:
        memory.settle(Scope(who))
        return [known.value for known in memory.memories(Scope(who))]


def in_marks(content: str) -> str:
    return content.partition(BEGIN)[2].rpartition(END)[0]
