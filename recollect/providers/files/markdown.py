"""Markdown: headings, fenced code, lists, tables and paragraphs, a line at a time.

Marks inside a line (emphasis, links) are left as they were written: they are part of what the author said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from recollect.model.document import Block, BlockKind
from recollect.providers.files.source import Source
from recollect.providers.files.text import MOST_PARAGRAPH

HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")


def read(source: Source) -> Iterator[Block]:
    page = Page()
    for line in source.lines():
        yield from page.take(line.rstrip())
    yield from page.flush()


@dataclass(slots=True)
class Page:
    """The lines since the last block, and what they are."""

    lines: list[str] = field(default_factory=list)
    length: int = 0
    kind: BlockKind = "paragraph"
    fence: str = ""

    def take(self, line: str) -> Iterator[Block]:
        if self.fence:
            yield from self.take_code(line)
        elif fence := FENCE.match(line):
            yield from self.flush()
            self.kind, self.fence = "code", fence[1]
        elif not line.strip():
            yield from self.flush()
        elif heading := HEADING.match(line):
            yield from self.flush()
            yield Block(title(line[heading.end() :]), "heading", len(heading[1]))
        elif self.kind == "paragraph" and self.lines and (under := UNDERLINE.match(line)):
            yield Block("\n".join(self.lines), "heading", 1 if under[1][0] == "=" else 2)
            self.clear()
        else:
            yield from self.take_text(line)

    def take_code(self, line: str) -> Iterator[Block]:
        if line.strip().startswith(self.fence) and not line.strip().strip(self.fence[0]):
            yield from self.flush()
        else:
            yield from self.add(line)

    def take_text(self, line: str) -> Iterator[Block]:
        if self.kind == "row" and is_ruler(line):
            return
        if line.lstrip().startswith("|"):
            yield from self.flush_unless("row")
            yield Block(cells(line), "row", 0 if self.kind == "row" else 1)
            self.kind = "row"
        elif ITEM.match(line):
            yield from self.flush()
            self.kind = "list"
            yield from self.add(line)
        else:
            yield from self.flush_unless(self.kind if self.lines else "paragraph")
            yield from self.add(line)

    def add(self, line: str) -> Iterator[Block]:
        self.lines.append(line)
        self.length += len(line)
        if self.length > MOST_PARAGRAPH:
            yield Block("\n".join(self.lines), self.kind)
            self.lines, self.length = [], 0

    def flush_unless(self, kind: BlockKind) -> Iterator[Block]:
        if self.kind != kind:
            yield from self.flush()

    def flush(self) -> Iterator[Block]:
        if self.lines:
            yield Block("\n".join(self.lines).rstrip(), self.kind)
        self.clear()

    def clear(self) -> None:
        self.lines, self.length, self.kind, self.fence = [], 0, "paragraph", ""


def title(text: str) -> str:
    """Without the hashes that may close it."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else text


def is_ruler(line: str) -> bool:
    """The line under a table's header."""
    return "|" in line and "-" in line and not line.strip("|-: \t")


def cells(line: str) -> str:
    return " | ".join(cell.strip() for cell in line.strip().strip("|").split("|"))
