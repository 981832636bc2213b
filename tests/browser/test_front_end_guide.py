"""The page of docs/howto/front-end.md, as it stands, in a browser against a real server: it keeps its session, begins
new topics, notices when a session is over, and shows what was used."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.staticfiles import StaticFiles
from playwright.async_api import Browser, Page, expect

from recollect.apps.ask.sample import make_sample
from recollect.server.app import make_app
from recollect.settings import Settings
from tests.docs.pages import ROOT
from tests.server.http.loopback import Served

from .conftest import NewPage

SAMPLES = ROOT / "docs" / "samples"
PAGE = "/pages/front-end.html"
SHELF = "recollect.session/sample/dana"
WHOSE = {"user_id": "dana", "project": "sample"}


@pytest.fixture
def shop(console: Served, tmp_path: Path) -> Served:
    """A server that has the page beside its routes, and a database to ask."""
    console.app.mount("/pages", StaticFiles(directory=SAMPLES))
    add_shop(console.url, tmp_path)
    return console


def add_shop(url: str, folder: Path) -> None:
    make_sample(folder / "sample.db")
    body = {"name": "shop", "dsn": f"sqlite:///{folder / 'sample.db'}"}
    httpx2.post(f"{url}/api/projects/sample/datasources", json=body, timeout=60).raise_for_status()


async def ask(page: Page, question: str) -> None:
    await page.get_by_label("Question").fill(question)
    await page.get_by_role("button", name="Ask").click()


async def read_stored(page: Page) -> dict[str, Any] | None:
    told: dict[str, Any] | None = await page.evaluate(f"JSON.parse(localStorage.getItem({SHELF!r}))")
    return told


async def test_session_survives_reload_until_new_topic(shop: Served, new_page: NewPage) -> None:
    page = await new_page(shop.url)
    await page.goto(PAGE)
    await ask(page, "Show me total sales by region for 2024")
    await expect(page.locator(".sql").last).to_contain_text("2024-01-01")
    await ask(page, "What about 2023?")
    await expect(page.locator(".used").last).to_have_text("Used: earlier messages 1, similar questions 1")
    await expect(page.locator(".sql").last).to_contain_text("2023-01-01")
    first = await read_stored(page)

    await page.reload()
    await expect(page.locator(".question")).to_have_count(2)
    await expect(page.locator("#session")).to_contain_text("2 asked · kept until")
    await ask(page, "And 2022?")
    await expect(page.locator(".sql").last).to_contain_text("2022-01-01")
    assert (await read_stored(page) or {})["session_id"] == (first or {})["session_id"]

    await page.get_by_role("button", name="New topic").click()
    await expect(page.locator(".question")).to_have_count(0)
    assert await read_stored(page) is None
    await ask(page, "How many customers are there?")
    await expect(page.locator("#session")).to_contain_text("1 asked")
    assert (await read_stored(page) or {})["session_id"] != (first or {})["session_id"]


async def test_clarification_is_asked_once(shop: Served, new_page: NewPage) -> None:
    page = await new_page(shop.url)
    await page.goto(PAGE)
    await ask(page, "How many active customers are there?")
    await page.get_by_role("button", name="status open").click()
    await expect(page.locator(".assumed")).to_contain_text("Assumed: active means status open (user")
    await page.get_by_role("button", name="New topic").click()
    await ask(page, "How many active customers are there?")
    await expect(page.locator(".assumed")).to_have_count(1)
    await expect(page.locator(".sql")).to_contain_text("open")


async def test_expired_session_is_reported_and_replaced(shop: Served, new_page: NewPage) -> None:
    page = await new_page(shop.url)
    await page.goto(PAGE)
    await ask(page, "How many customers are there?")
    await expect(page.locator("#session")).to_contain_text("1 asked")
    old = (await read_stored(page) or {})["session_id"]
    httpx2.delete(f"{shop.url}/chat/sessions/{old}", params=WHOSE, timeout=60).raise_for_status()
    await page.reload()
    await expect(page.locator(".problem")).to_have_text("The last conversation is gone; this is a new one.")
    assert await read_stored(page) is None

    await ask(page, "How many customers are there?")
    await expect(page.locator("#session")).to_contain_text("1 asked")
    await page.evaluate(
        f"localStorage.setItem({SHELF!r}, JSON.stringify("
        f"{{...JSON.parse(localStorage.getItem({SHELF!r})), expires_at: '2020-01-01T00:00:00Z'}}))"
    )
    async with page.expect_request("**/answerQuestion") as sent:
        await ask(page, "How many products are there?")
    await expect(page.locator(".problem").last).to_have_text("The last conversation has expired; this is a new one.")
    assert "session_id" not in ((await sent.value).post_data_json or {})


@pytest.fixture
def other_origin() -> Iterator[str]:
    """The page at an origin of its own."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(SAMPLES))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def allowed(other_origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server, wrapped as the guide says."""

    def wrapped(settings: Settings, **more: Any) -> FastAPI:
        app = make_app(settings, **more)
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[other_origin],
            allow_methods=["*"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key"],
            expose_headers=["Retry-After", "X-Request-Id"],
        )
        return app

    monkeypatch.setattr("tests.server.http.loopback.make_app", wrapped)


async def ask_from(browser: Browser, page_at: str, server: str) -> Page:
    page = await browser.new_page()
    await page.goto(f"{page_at}/front-end.html?server={server}")
    await ask(page, "How many customers are there?")
    return page


async def test_other_origin_is_answered_if_allowed(
    allowed: None, shop: Served, other_origin: str, browser: Browser
) -> None:
    page = await ask_from(browser, other_origin, shop.url)
    await expect(page.locator(".answer")).to_contain_text("customers")


async def test_other_origin_is_refused_by_default(console: Served, other_origin: str, browser: Browser) -> None:
    page = await ask_from(browser, other_origin, console.url)
    await expect(page.locator(".problem")).to_contain_text("Failed to fetch")
