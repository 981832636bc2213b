"""All pages are accessible: axe finds nothing serious, in light and dark, and no page scrolls sideways."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, ViewportSize, expect

from recollect import Scope, connect
from recollect.bootstrap import open_analyst
from recollect.server.sample import load_sample
from recollect.settings import Settings
from recollect.values.document import Upload
from tests.server.http.loopback import served

from .chromium import DESKTOP, PHONE
from .conftest import NewPage

PAGES = (
    *("chat", "chat?session=monday", "ask?source=shop&session=monday", "documents", "memory", "terms"),
    *("memory/search?question=what+does+active+mean%3F", "health", "privacy", "settings", "sign-in", "nowhere"),
)
DARK = ("chat?session=monday", "ask?source=shop&session=monday", "documents", "memory", "health", "privacy")
SERIOUS = ("serious", "critical")


async def filled(settings: Settings, folder: Path) -> None:
    async with connect(settings, worker=False) as engine, open_analyst(engine, settings) as analyst:
        await load_sample(engine, analyst, folder)
        dana = Scope("dana", project="sample")
        await engine.documents.add(dana, Upload("prices.txt", b"A tyre change is 40 euros."))
        await engine.settle(dana)


async def serious(page: Page) -> list[str]:
    found = (await Axe().run(page)).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:150]}" for each in found if each["impact"] in SERIOUS]


@pytest.mark.parametrize(
    ("scheme", "size", "paths"), [("light", DESKTOP, PAGES), ("dark", PHONE, DARK)], ids=["light", "dark"]
)
async def test_no_page_has_a_serious_problem(
    settings: Settings, new_page: NewPage, tmp_path: Path, scheme: str, size: ViewportSize, paths: Sequence[str]
) -> None:
    await filled(settings, tmp_path)
    with served(settings, worker=False) as console:
        page = await new_page(console.url, size, color_scheme=scheme)
        problems = {}
        for path in paths:
            await page.goto(f"/console/{path}")
            await expect(page.locator("details[open][data-lazy]")).to_have_count(0)
            wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            problems[path] = [*(await serious(page)), *([f"{wide} pixels too wide"] if wide > 0 else [])]
        assert {path: found for path, found in problems.items() if found} == {}
