"""Tables as text, in every format, and the readers of CSV and Markdown, a line at a time.

A table becomes one block per row, each cell with the name of its column: "Region: North | Sales 2024: 12" can be found,
quoted and understood without the rest of its table. Markdown's marks inside a line are kept.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from itertools import chain, islice, zip_longest

from recollect.providers.files.source import Refused, Source
from recollect.values.document import Block, BlockKind

CELL_SEPARATOR = " | "
ROWS_SEEN = 10  # before the columns are named
MAX_NAME = 80  # characters of a column's name
NUMBER = re.compile(r"[-+(]?\s?[$€£¥]?\s?\d[\d.,\s]*\s?[%€$£¥)]?")
YEAR = re.compile(r"(?:19|20)\d\d")
DIGIT = re.compile(r"\d")
MAX_FIELD = 1_000_000  # characters of a CSV field
MAX_PARAGRAPH = 20_000  # characters after which a text without empty lines is split at the next line
DELIMITERS = ",;\t|"
HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")


def build_row_blocks(rows: Iterable[Sequence[object]], page: int | None = None) -> Iterator[Block]:
    """Yield a block for each row that is not empty."""
    table = Table(page)
    for row in rows:
        yield from table.add([format_cell(cell) for cell in row])
    yield from table.finish()


@dataclass(slots=True)
class Table:
    """The rows of one table. `names` are the columns' names, empty if there are none."""

    page: int | None = None
    names: Sequence[str] = ()
    is_pairs: bool = False  # two columns without names: a name and its value in each row
    waiting: list[Sequence[str]] | None = field(default_factory=list)  # None: decided

    def add(self, cells: Sequence[str], *, names_columns: bool = False) -> Iterator[Block]:
        """Yield the blocks that are certain after this row. `names_columns`: the file says that this row does."""
        if not any(cells):
            return
        if self.waiting is None:
            yield self.row_block(cells)
            return
        if names_columns and not self.names and sum(map(bool, cells)) > 1:
            yield from map(self.row_block, self.waiting)
            self.names, self.waiting = cells, []
            return
        self.waiting.append(cells)
        if len(self.waiting) >= ROWS_SEEN:
            yield from self.decide()

    def finish(self) -> Iterator[Block]:
        """Yield what is left; the names alone if no row came after them."""
        names = self.names
        if names and self.waiting == []:
            self.names = ()
            yield self.row_block(names)
        yield from self.decide()

    def decide(self) -> Iterator[Block]:
        rows, self.waiting = self.waiting or [], None
        if not self.names:
            while len(rows) > 1 and sum(map(bool, rows[0])) == 1:
                yield Block(next(filter(None, rows.pop(0))), "row", page=self.page)  # a caption, or a list
            if len(rows) > 1 and has_column_names(rows):
                self.names, *rows = rows
        self.is_pairs = not self.names and bool(rows) and max(map(count_columns, rows)) == 2
        yield from map(self.row_block, rows)

    def row_block(self, cells: Sequence[str]) -> Block:
        if self.names:
            named = [*self.names, *[""] * (len(cells) - len(self.names))]
            said = [name_cell(name, cell) for name, cell in zip(named, cells, strict=False) if cell]
        elif self.is_pairs and len(cells) > 1 and cells[0] and cells[1]:
            said = [name_cell(cells[0], cells[1])]
        else:
            said = list(cells[: count_columns(cells)])  # an empty cell keeps its place
        return Block(CELL_SEPARATOR.join(said), "row", page=self.page)


def name_cell(name: str, cell: str) -> str:
    return f"{name[:MAX_NAME].rstrip(' :：')}: {cell}" if name and name != cell else cell


def count_columns(cells: Sequence[str]) -> int:
    return max((at for at, cell in enumerate(cells, 1) if cell), default=0)


def has_column_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names the columns: it has no figures but years. Of two columns it does only if all
    figures are below it; otherwise each row is a name and its value."""
    first = rows[0]
    filled = list(filter(None, first))
    if len(filled) < 2:
        return False
    if any(NUMBER.fullmatch(cell) and not YEAR.fullmatch(cell) for cell in filled):
        return False
    if max(map(count_columns, rows)) > 2:
        return True
    _, *others = zip(*zip_longest(*rows, fillvalue=""), strict=True)
    values = [row[1] for row in others if row[1]]
    return bool(values) and all(map(DIGIT.search, values)) and not DIGIT.search(first[0])


def format_cell(value: object) -> str:
    if isinstance(value, str):
        return value if value.isalnum() else " ".join(value.split())
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


def read_csv(source: Source) -> Iterator[Block]:
    lines = source.lines()
    first = list(islice(lines, 20))
    csv.field_size_limit(MAX_FIELD)
    # The delimiter by which most rows have the same number of columns.
    delimiter = max(DELIMITERS, key=lambda each: measure_evenness(first, each))
    try:
        yield from build_row_blocks(csv.reader(chain(first, lines), delimiter=delimiter))
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
        is_end = line.strip().startswith(self.fence) and not line.strip().strip(self.fence[0])
        return self.flush() if is_end else self.add(line)

    def take_text(self, line: str) -> Iterator[Block]:
        is_table_ruler = "|" in line and "-" in line and not line.strip("|-: \t")
        if self.kind == "row" and is_table_ruler:
            return
        if line.lstrip().startswith("|"):
            is_first = self.table is None
            if self.table is None:
                yield from self.flush()
                self.kind, self.table = "row", Table()
            cells = [format_cell(cell) for cell in line.strip().strip("|").split("|")]
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
