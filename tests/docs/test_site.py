"""The documentation as a site: it builds without a warning, has every page in its navigation, and fetches nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from .pages import ROOT

FETCHES = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}
IN_STYLES = re.compile(r"""(?:@import\s+|url\()\s*["']?((?:https?:)?//[^"')\s]+)""")
HOSTS = re.compile(r"https?://(?:unpkg|cdn|cdnjs|fonts|use)\.[\w./@-]+|https?://[\w.-]*jsdelivr[\w./@-]*")


class Fetched(HTMLParser):
    """What a page has a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        # Where a page is, and what comes next, is said by links that nobody fetches.
        if tag in FETCHES and given.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(given.get(FETCHES[tag]) or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(made)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return made


def fetched(page: Path) -> list[str]:
    reader = Fetched()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader.addresses


def test_every_page_is_built_and_in_the_navigation(site: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")]
    assert [str(page) for page in pages if not (site / page).exists()] == []
    assert [str(page) for page in pages if f'href="{page}"' not in start] == []


def test_no_page_fetches_a_script_a_style_or_a_font_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    outside = {str(page): [each for each in fetched(page) if "//" in each] for page in pages}
    assert {page: found for page, found in outside.items() if found} == {}
    assert any(fetched(page) for page in pages)


def test_no_style_or_script_of_the_site_names_another_host_to_fetch_from(site: Path) -> None:
    named = {}
    for each in [*site.rglob("*.css"), *site.rglob("*.js"), *site.rglob("*.html")]:
        text = each.read_text(encoding="utf-8")
        named[each.name] = {*HOSTS.findall(text), *(IN_STYLES.findall(text) if each.suffix == ".css" else ())}
    assert {name: found for name, found in named.items() if found} == {}
