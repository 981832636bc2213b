"""Readers of plain text, CSV and Markdown, all a line at a time.

Markdown's marks inside a line (emphasis, links) are kept: they are part of the text.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from recollect.providers.files.source import Refused, Source
from recollect.providers.files.tables import Table, cell_text, row_blocks
from recollect.values.blocks import Block, BlockKind

MAX_FIELD = 1_000_000  # characters of a CSV field
MAX_PARAGRAPH = 20_000  # characters after which a text without empty lines is split at the next line
DELIMITERS = ",;\t|"
HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")


def read_text(source: Source) -> Iterator[Block]:
    """Yield paragraphs, which empty lines separate. Line ends are kept: they matter in a log or a poem."""
    lines: list[str] = []
    length = 0
    for line in source.lines():
        if line.isspace() or length > MAX_PARAGRAPH:
            yield Block("".join(lines).rstrip())
            lines, length = [], 0
        if not line.isspace():
            lines.append(line)
            length += len(line)
    yield Block("".join(lines).rstrip())


def read_csv(source: Source) -> Iterator[Block]:
    lines = source.lines()
    first = list(islice(lines, 20))
    csv.field_size_limit(MAX_FIELD)
    # The delimiter by which most rows have the same number of columns.
    delimiter = max(DELIMITERS, key=lambda each: measure_evenness(first, each))
    try:
        yield from row_blocks(csv.reader(chain(first, lines), delimiter=delimiter))
    except csv.Error as error:
        raise Refused("corrupt", str(error)) from error


def is_table(lines: list[str]) -> bool:
    return len(lines) > 2 and any(measure_evenness(lines[:-1], delimiter) >= (1.0, 3) for delimiter in DELIMITERS)


def measure_evenness(lines: list[str], delimiter: str) -> tuple[float, int]:
    """Return the share of rows with the most common number of columns, and that number; zeros if it is one."""
    try:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
    except csv.Error:
        return 0.0, 0
    width, count = max(widths.items(), key=lambda found: found[1], default=(0, 0))
    return (count / widths.total(), width) if width > 1 else (0.0, 0)


def read_markdown(source: Source) -> Iterator[Block]:
    page = MarkdownPage()
    for line in source.lines():
        yield from page.take(line.rstrip())
    yield from page.flush()


@dataclass(slots=True)
class MarkdownPage:
    """The lines since the last block, and their kind."""

    lines: list[str] = field(default_factory=list)
    length: int = 0
    kind: BlockKind = "paragraph"
    fence: str = ""
    table: Table | None = None

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
            yield Block(strip_closing_hashes(line[heading.end() :]), "heading", len(heading[1]))
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
        is_table_ruler = "|" in line and "-" in line and not line.strip("|-: \t")
        if self.kind == "row" and is_table_ruler:
            return
        if line.lstrip().startswith("|"):
            is_first = self.table is None
            if self.table is None:
                yield from self.flush()
                self.kind, self.table = "row", Table()
            cells = [cell_text(cell) for cell in line.strip().strip("|").split("|")]
            yield from self.table.add(cells, names_columns=is_first)
        elif ITEM.match(line):
            yield from self.flush()
            self.kind = "list"
            yield from self.add(line)
        else:
            if not self.lines:
                yield from self.flush()
            yield from self.add(line)

    def add(self, line: str) -> Iterator[Block]:
        self.lines.append(line)
        self.length += len(line)
        if self.length > MAX_PARAGRAPH:
            yield Block("\n".join(self.lines), self.kind)
            self.lines, self.length = [], 0

    def flush(self) -> Iterator[Block]:
        if self.table is not None:
            yield from self.table.finish()
        elif self.lines:
            yield Block("\n".join(self.lines).rstrip(), self.kind)
        self.clear()

    def clear(self) -> None:
        self.lines, self.length, self.kind, self.fence, self.table = [], 0, "paragraph", "", None


def strip_closing_hashes(title: str) -> str:
    title = title.strip()
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else title
