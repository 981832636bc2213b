"""The browser of these tests: a Chromium from a package (`make test` unpacks it). A script error, a refused script or
style, or a request to another host fails the test."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Page, Request, ViewportSize, async_playwright

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv" / "browser"
CHROMIUM = FOLDER / "chromium"
DESKTOP: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 780}
PATIENCE = 60_000  # milliseconds for what a page should show


def environment() -> Mapping[str, str]:
    """Return environment variables that point to the package's libraries and fonts where the machine has none."""
    if not CHROMIUM.exists():
        raise RuntimeError("there is no browser to test with; `make test` installs it")
    linked = subprocess.run(["ldd", CHROMIUM], capture_output=True, text=True, check=False).stdout
    libraries = {"LD_LIBRARY_PATH": str(FOLDER / "al2023" / "lib")} if "not found" in linked else {}
    has_fonts = any(Path("/usr/share/fonts").rglob("*.ttf")) if Path("/usr/share/fonts").exists() else False
    return libraries | ({} if has_fonts else {"FONTCONFIG_PATH": str(FOLDER / "fonts"), "HOME": str(FOLDER)})


@asynccontextmanager
async def opened_browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], env={**environment()}
        )
        try:
            yield browser
        finally:
            await browser.close()


class Watched:
    """Collects what goes wrong on a page."""

    def __init__(self, page: Page, own: str) -> None:
        self.problems: list[str] = []
        self._own = urlsplit(own).netloc
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        page.on("console", self._heard)
        page.on("request", self._requested)
        page.on("dialog", lambda dialog: self.problems.append(f"a dialog: {dialog.message}"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "the server responded with a status of" not in message.text:
            self.problems.append(f"console: {message.text}")

    def _requested(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "about", "blob") and parts.netloc != self._own:
            self.problems.append(f"a request left: {request.url}")
