"""The pictures of the quickstart: a new user's first minutes in the console, really done. Starts `recollect serve
--sample` with a memory of its own, in a folder that is thrown away, and writes docs/images.

    python scripts/screenshots.py [FOLDER]

The story is a test too (tests/browser/test_quickstart.py): if the console changes, the page is found out.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import Locator, Page, ViewportSize, expect

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SIZE: ViewportSize = {"width": 1180, "height": 760}
LISTENS = re.compile(r"listens on (http://\S+)")


@contextmanager
def product(home: Path) -> Iterator[str]:
    """`recollect serve --sample` as a person starts it; its address."""
    home.chmod(0o755)  # for root, PostgreSQL runs as another user
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RECOLLECT_", "MEMORY_"))}
    command = [sys.executable, "-m", "recollect", "serve", "--sample", "--port", "0"]
    told = home / "serve.log"
    with told.open("w") as log:
        running = subprocess.Popen(command, env=environment | {"RECOLLECT_HOME": str(home)}, stderr=log, cwd=home)
    try:
        yield address(running, told)
    finally:
        running.terminate()
        running.wait(60)


def address(running: subprocess.Popen[bytes], told: Path) -> str:
    import time

    while running.poll() is None:
        if found := LISTENS.search(told.read_text()):
            return found[1]
        time.sleep(0.1)
    raise SystemExit(told.read_text())


async def story(page: Page, folder: Path) -> None:
    """Tell it something; ask in a new session; see why; put it right; ask again."""
    await page.goto("/")
    await say(page, "I live in Porto, and I prefer short answers.")
    await expect(page.locator(".lesson").first).to_be_visible()
    await picture(page, folder, "1-tell")

    await page.get_by_role("link", name="New topic").click()
    await say(page, "Where do I live?")
    why = page.locator(".by-assistant .reason").first
    await expect(why).to_contain_text("Porto")
    await picture(page, folder, "2-why")

    await why.get_by_text("Correct", exact=True).click()
    await why.get_by_label("Correct value").fill("Lisbon")
    await picture(page, folder, "3-correct")
    await why.get_by_role("button", name="Save correction").click()
    await say(page, "Where do I live?")
    await expect(page.locator(".by-assistant .text").last).to_contain_text("Lisbon")
    await picture(page, folder, "4-again")

    await page.locator(".by-assistant").last.locator(".reason").first.get_by_role("link", name="History").click()
    await expect(page.get_by_role("main")).to_contain_text("Porto")
    await picture(page, folder, "5-history")

    await page.get_by_role("link", name="Ask a database").click()
    await ask(page, "total sales by region for 2024")
    await picture(page, folder, "6-ask")


async def say(page: Page, text: str) -> None:
    before = await page.locator(".by-assistant").count()
    await page.get_by_label("Message").fill(text)
    await page.get_by_role("button", name="Send").click()
    replies = page.locator(".by-assistant .beside")
    await expect(replies).to_have_count(before + 1)
    await expect(page.get_by_text("Learning …")).to_have_count(0)
    await settled(replies.last)


async def settled(beside: Locator) -> None:
    await expect(beside.get_by_text("Why this answer")).to_have_count(0)


async def ask(page: Page, question: str) -> None:
    await page.get_by_label("Question", exact=True).fill(question)
    await page.get_by_role("button", name="Ask", exact=True).click()
    answer = page.locator("article.asked:not(.pending)").last
    await expect(answer.locator("table").first).to_be_visible()
    await expect(answer.get_by_role("img")).to_be_visible()


async def picture(page: Page, folder: Path, name: str) -> None:
    await page.screenshot(path=folder / f"{name}.png", animations="disabled", caret="hide")


async def main(folder: Path) -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from tests.browser.chromium import PATIENCE, opened_browser

    expect.set_options(timeout=PATIENCE)
    with tempfile.TemporaryDirectory() as home, product(Path(home)) as url:
        async with opened_browser() as browser:
            await story(await browser.new_page(base_url=url, viewport=SIZE), folder)


if __name__ == "__main__":
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    chosen.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(chosen))
