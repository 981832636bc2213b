"""Memory contains text that other people wrote. The console prints it and never runs it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from playwright.async_api import Page, expect

from recollect import Lesson, Scope, SyncEngine, connect_sync
from recollect.settings import Settings
from recollect.values.document import Upload
from recollect.values.term import Term
from tests.server.http.loopback import Served

from .conftest import NewPage
from .payloads import FOREIGN, PAYLOADS

ME = Scope("me", "payloads")
PAGES = ("chat", "ask", "documents", "memory", "terms", "health", "privacy", "settings")


def test_there_are_at_least_60_payloads() -> None:
    assert len(set(PAYLOADS)) >= 60


@pytest.fixture
def payloads_stored(settings: Settings) -> None:
    """A memory in which every text is a payload."""
    with connect_sync(settings, worker=False) as memory:
        for start in range(0, len(PAYLOADS), 30):
            memory.record(ME, [("user", text) for text in PAYLOADS[start : start + 30]])
        memory.record(Scope("me", PAYLOADS[0]), [("assistant", PAYLOADS[12])])
        memory.learn(ME, [Lesson(text, key=text[:190]) for text in PAYLOADS])
        memory.learn(ME, [Lesson(text, key="one key", kind="decision") for text in PAYLOADS[:5]])
        for text in PAYLOADS[:10]:
            memory.terms.put(ME, Term(text[:190], description=text, synonyms=[f"{text[:180]} too"]))
        add_documents(memory)
        memory.settle(ME)


def add_documents(memory: SyncEngine) -> None:
    """Add documents with payloads as names and texts; one is unreadable, so that its error is shown."""
    whole = "\n\n".join(PAYLOADS).encode(errors="replace")
    for name in PAYLOADS[:6]:
        memory.documents.add(ME, Upload(f"{name[:150]}.txt", whole + name.encode(errors="replace")))
    memory.documents.add(ME, Upload(f"{PAYLOADS[13]}.pdf", b"%PDF-1.7 broken"))


async def check_clean(page: Page) -> None:
    assert await page.evaluate("window.pwned") is None, page.url
    found = await page.evaluate("s => [...document.querySelectorAll(s)].map(e => e.outerHTML.slice(0, 200))", FOREIGN)
    assert found == [], page.url


async def visit_all(page: Page, path: str, most: int = 12) -> None:
    """Open a page and the pages it links to."""
    await page.goto(f"/console/{path}")
    await check_clean(page)
    links = await page.eval_on_selector_all("main a[href^='/console/']", "all => all.map(a => a.getAttribute('href'))")
    pages = [address for address in dict.fromkeys(links) if "/export" not in address]  # which is a download
    for address in pages[:most]:
        await page.goto(address)
        await check_clean(page)


@pytest.mark.usefixtures("payloads_stored")
async def test_no_page_runs_stored_text(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url)
    for path in PAGES:
        await visit_all(page, path)
    await page.goto("/console/chat?session=payloads")
    await expect(page.locator(".exchange .text").last).to_have_text(PAYLOADS[-1].strip())
    await check_clean(page)


@pytest.fixture
def notes(console: Served, tmp_path: Path) -> None:
    """A database whose rows are payloads."""
    file = tmp_path / "notes.db"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, pages INTEGER)")
        database.executemany("INSERT INTO notes (body, pages) VALUES (?, ?)", [(text, 3) for text in PAYLOADS])
    body = {"name": "notes", "dsn": f"sqlite:///{file}"}
    httpx2.post(f"{console.url}/api/projects/default/datasources", json=body, timeout=60).raise_for_status()


@pytest.mark.usefixtures("notes")
async def test_rows_errors_and_input_are_escaped(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url)
    await page.goto("/console/ask?source=notes")
    for question in ("show the body of all notes", f"how many notes {PAYLOADS[12]}", PAYLOADS[17]):
        answered = page.locator("article.asked:not(.pending)")
        there = await answered.count()
        await page.get_by_label("Question", exact=True).fill(question)
        await page.get_by_role("button", name="Ask", exact=True).click()
        await expect(answered).to_have_count(there + 1)
        await check_clean(page)
    await expect(page.locator("main")).to_contain_text(PAYLOADS[20])

    await page.goto("/console/chat")
    await page.get_by_label("Message").fill(PAYLOADS[12])
    await page.keyboard.press("Enter")
    await expect(page.locator(".by-assistant .beside")).to_have_count(1)
    await check_clean(page)
    for path in (
        "chat?session=",
        "memory/one?id=",
        "documents/",
        "terms?search=",
        "ask?source=",
        "memory/search?question=",
    ):
        await page.goto(f"/console/{path}{quote(PAYLOADS[17])}")
        await check_clean(page)
