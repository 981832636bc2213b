"""Fixtures: a server with its own database, and browser pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, ViewportSize, expect

from recollect.settings import Settings
from tests.server.http.loopback import Served, served

from .chromium import DESKTOP, PATIENCE, Watched, opened_browser

expect.set_options(timeout=PATIENCE)
NewPage = Callable[..., Awaitable[Page]]


@pytest.fixture
def console(settings: Settings) -> Iterator[Served]:
    """A server with a worker and without sign-in."""
    with served(replace(settings, rate_limit=0.0), worker=True) as running:
        yield running


@pytest.fixture
def serve(settings: Settings) -> Iterator[Callable[..., Served]]:
    """`serve(model_url=...)`: a server as `console`, with other settings."""
    with ExitStack() as stack:
        yield lambda **given: stack.enter_context(served(replace(settings, rate_limit=0.0, **given), worker=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of this folder in one event loop, which the browser needs that they share."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.get_closest_marker("asyncio"):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests; each opens pages in contexts of their own, which share no cookies."""
    async with opened_browser() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def new_page(browser: Browser) -> AsyncIterator[NewPage]:
    """`await new_page(url)`: a page without cookies; the test fails if anything goes wrong on it."""
    watched: list[Watched] = []
    contexts: list[BrowserContext] = []

    async def opened(own: str, size: ViewportSize | None = None, **more: Any) -> Page:
        context = await browser.new_context(base_url=own, viewport=size or DESKTOP, **more)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = await context.new_page()
        watched.append(Watched(page, own))
        return page

    yield opened
    for context in contexts:
        await context.close()
    assert [problem for each in watched for problem in each.problems] == []
