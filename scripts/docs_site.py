"""What mkdocs is told beyond mkdocs.yml: the navigation, the pages that lie outside docs/, and that nothing is fetched.

The navigation is docs/index.md: its sections, and in each the pages of its table. The files above docs/ that pages link
to come along. The theme's script would fetch two libraries from a CDN, one for diagrams, which
we have none of, and one for searching in a site that was opened as a file; their addresses are taken out of it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = {"README.md": "readme.md", "CHANGELOG.md": "changes.md", "LICENSE": "license.txt"}
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| \[([^]]+)\]\(([^)]+)\) \|", re.MULTILINE)
CDN = re.compile(r"https://unpkg\.com/[\w@./-]+")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    index = (Path(config.docs_dir) / "index.md").read_text(encoding="utf-8")
    config.nav = [{"Documentation": "index.md"}, {"Quickstart": "quickstart.md"}, *sections(index)]
    return config


def sections(index: str) -> list[dict[str, Any]]:
    _, *parts = SECTION.split(index)
    told = {title: [{name: inside(target)} for name, target in ROW.findall(text)] for title, text in pairs(parts)}
    return [{title: pages} for title, pages in told.items() if pages]


def pairs(parts: list[str]) -> list[tuple[str, str]]:
    return list(zip(parts[::2], parts[1::2], strict=True))


def inside(target: str) -> str:
    """Where a page lies in the site."""
    return OUTSIDE.get(target.removeprefix("../"), target)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, page in OUTSIDE.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    for name, target in OUTSIDE.items():
        markdown = re.sub(rf"\]\((?:\.\./)*{name}\b", f"]({'../' * page.file.src_uri.count('/')}{target}", markdown)
    return markdown


def on_post_build(config: MkDocsConfig) -> None:
    for script in Path(config.site_dir).rglob("*.js*"):  # its map, too
        text = script.read_text(encoding="utf-8")
        if CDN.search(text):
            script.write_text(CDN.sub("", text), encoding="utf-8")
