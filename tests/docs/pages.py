"""The pages of the documentation, and the fenced blocks in them. Read by the tests beside this file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])

# A fence, with the comment that stands directly above it.
FENCE = re.compile(
    r"^ *(?:<!-- (?P<mark>[^\n]*?) -->\n *)?```(?P<language>\w*)\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL
)
NOT_RUN = "not run: "
OUTPUT = "output"
RUNNABLE = ("python", "bash", "sql")


@dataclass(frozen=True, slots=True)
class Block:
    page: Path
    line: int
    language: str
    body: str
    mark: str
    output: str | None  # what the page says it prints; … stands for anything

    @property
    def place(self) -> str:
        return f"{name(self.page)}:{self.line}"

    @property
    def runs(self) -> bool:
        return self.language in RUNNABLE and not self.mark.startswith(NOT_RUN)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    for fence in _fences(page):
        if fence.mark == OUTPUT:
            last = found.pop()
            fence = Block(last.page, last.line, last.language, last.body, last.mark, fence.body)
        found.append(fence)
    return found


def _fences(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("language")) + 1
        yield Block(page, line, fence["language"], fence["body"], fence["mark"] or "", None)
