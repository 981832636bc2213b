"""A server that speaks OpenAI's protocol, and no waiting between tries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.providers import openai_http
from tests.openai_server import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_http, "WAIT", 0.001)
