"""A server with this test's own database, and pages that look at it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from doors.http.loopback import Served, served
from playwright.async_api import Browser, Page, ViewportSize, expect

from recollect.settings import Settings

from .chromium import DESKTOP, PATIENCE, Watched, opened_browser

expect.set_options(timeout=PATIENCE)
NewPage = Callable[..., Awaitable[Page]]


@pytest.fixture
def console(settings: Settings) -> Iterator[Served]:
    """A server that learns, open to whoever is on this machine."""
    with served(replace(settings, rate_limit=0.0), worker=True) as running:
        yield running


@pytest.fixture
def serve(settings: Settings) -> Iterator[Callable[..., Served]]:
    """`serve(model_url=...)`: as `console`, with other settings."""
    with ExitStack() as stack:
        yield lambda **given: stack.enter_context(served(replace(settings, rate_limit=0.0, **given), worker=True))


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with opened_browser() as running:
        yield running


@pytest.fixture
async def new_page(browser: Browser) -> AsyncIterator[NewPage]:
    """`await new_page(url)`: a page of a browser that has no cookies yet, watched until the test ends."""
    watched: list[Watched] = []

    async def opened(own: str, size: ViewportSize | None = None, **more: Any) -> Page:
        context = await browser.new_context(base_url=own, viewport=size or DESKTOP, **more)
        context.set_default_timeout(PATIENCE)
        page = await context.new_page()
        watched.append(Watched(page, own))
        return page

    yield opened
    assert [problem for each in watched for problem in each.problems] == []
