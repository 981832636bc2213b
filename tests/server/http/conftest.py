"""A real server on loopback, on a port of its own, with this test's own database behind it; and one for all tests of a
file, which ask in the name of different users or leave nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from recollect import connect_sync
from recollect.server.access.telemetry import Traces
from recollect.settings import Settings
from tests.cli.conftest import bare_cli, cli

from .loopback import Keys, Served, keys_of_each_role, served, shared_settings

__all__ = ["bare_cli", "cli"]
Serve = Callable[..., Served]


@pytest.fixture
def serve(settings: Settings) -> Iterator[Serve]:
    """`serve(rate_limit=1)`: a server with these settings, until the test ends. It learns in a worker of its own if
    asked to."""
    with ExitStack() as stack:

        def start(*, worker: bool = False, traced: Traces | None = None, **given: Any) -> Served:
            chosen = replace(settings, **{"rate_limit": 0.0, **given})
            return stack.enter_context(served(chosen, worker=worker, traced=traced))

        yield start


@pytest.fixture
async def http(serve: Serve) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of an open door, where everybody is the local admin; it speaks for alex."""
    async with httpx2.AsyncClient(base_url=serve().url, headers={"X-User-Id": "alex"}, timeout=60) as client:
        yield client


@pytest.fixture
def keys(settings: Settings) -> Keys:
    """A key of each role, in project `shop`."""
    with connect_sync(settings, worker=False) as memory:
        return keys_of_each_role(memory)


@pytest.fixture(scope="module")
def open_door(server: str, template: str) -> Iterator[Served]:
    with shared_settings(server, template) as settings, served(settings) as running:
        yield running


@pytest.fixture(scope="module")
def closed_door(server: str, template: str) -> Iterator[tuple[Served, Keys]]:
    with shared_settings(server, template) as settings:
        with connect_sync(settings, worker=False) as memory:
            keys = keys_of_each_role(memory)
        with served(settings) as running:
            yield running, keys
