"""The reader of plain text: paragraphs, and the rows of tables.

A table is a run of lines whose cells stand in the same columns, with two or more blanks between them. Its first line
names the columns. Without such a line, and where the columns do not run through at least two more lines, the lines stay
text. Widths are those on a screen: a Chinese character takes two columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_
from unicodedata import east_asian_width

from recollect.providers.files.source import Source
from recollect.providers.files.text_formats import DIGIT, MAX_PARAGRAPH, NUMBER, YEAR, Table, has_column_names
from recollect.values.document import Block

MIN_LINES = 3  # of a table, with the line that names the columns
MAX_STARTS = 50  # lines of a paragraph from which a table is tried
CELL = re.compile(r"\S+(?: \S+)*")
GAP = re.compile("0{2,}")
RULER = re.compile(r"[\s|+=_\u2500-\u257f-]+")


@dataclass(frozen=True, slots=True)
class AlignedTable:
    """A table: the names of the columns, and the rows with as many cells."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class AlignedLine:
    """A line with the places of its cells, in columns of the screen."""

    text: str
    cells: tuple[tuple[int, int, str], ...]  # start, end, text

    @property
    def mask(self) -> int:
        """The columns that the line fills, as bits."""
        return sum((1 << end) - (1 << start) for start, end, _ in self.cells)

    def read(self, low: int, high: int) -> str:
        """Return the cells that begin within these columns of the screen."""
        return " ".join(text for start, _, text in self.cells if low <= start < high)

    @property
    def is_ruler(self) -> bool:
        return RULER.fullmatch(self.text) is not None


def read_text(source: Source) -> Iterator[Block]:
    """Yield paragraphs, which empty lines separate, and the rows of tables. Line ends are kept: they matter in a log or
    a poem."""
    lines: list[str] = []
    length = 0
    names: Sequence[str] = ()  # of the table at the end of a paragraph that was split for its length
    for line in source.lines():
        if line.isspace() or length > MAX_PARAGRAPH:
            parts = list(split_aligned_tables(lines, names))
            last = parts[-1] if parts and not line.isspace() else ""
            names = last.names if isinstance(last, AlignedTable) else ()
            yield from build_blocks(parts)
            lines, length = [], 0
        if not line.isspace():
            lines.append(line)
            length += len(line)
    yield from build_blocks(split_aligned_tables(lines, names))


def build_blocks(parts: Iterable[str | AlignedTable]) -> Iterator[Block]:
    """Yield a block for the lines between two tables, and one for each row of a table."""
    lines: list[str] = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
            continue
        yield Block("".join(lines).rstrip())
        lines = []
        table = Table(names=part.names, waiting=None)
        for row in part.rows:
            yield from table.add(row)
    yield Block("".join(lines).rstrip())


def split_aligned_tables(lines: Sequence[str], names: Sequence[str] = ()) -> Iterator[str | AlignedTable]:
    """Yield the lines of a paragraph, with its tables in their places. `names` are those of a table that a long
    paragraph before this one began."""
    placed = [place_line(line) for line in lines]
    at, tries = 0, MAX_STARTS
    if names and placed and len(placed[0].cells) == len(names):
        at = count_aligned(placed)
        yield AlignedTable(names, read_rows(placed[:at]))
    while at < len(placed):
        table, length = None, 1
        if tries and len(placed[at].cells) > 1 and not placed[at].is_ruler:
            tries -= 1
            table, length = find_table(placed[at:])
        yield table or placed[at].text
        at += length


def place_line(line: str) -> AlignedLine:
    text = line.expandtabs()
    cells = []
    for found in CELL.finditer(text):
        start = measure_width(text[: found.start()])
        cells.append((start, start + measure_width(found[0]), found[0]))
    return AlignedLine(line, tuple(cells))


def measure_width(text: str) -> int:
    return len(text) if text.isascii() else sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def find_table(lines: Sequence[AlignedLine]) -> tuple[AlignedTable | None, int]:
    """Return the table that begins with the first line, and the number of its lines; None and 1 if there is none."""
    length = count_aligned(lines)
    rows = read_rows(lines[:length])
    has_ruler = length > 1 and lines[1].is_ruler
    if len(rows) < MIN_LINES or not (has_ruler or is_header(rows)):
        return None, 1
    return AlignedTable(rows[0], rows[1:]), length


def count_aligned(lines: Sequence[AlignedLine]) -> int:
    """Return how many lines keep the columns of the first one apart."""
    wanted, filled = len(lines[0].cells), 0
    for count, line in enumerate(lines):
        if line.is_ruler:
            continue
        filled |= line.mask
        if len(find_columns(filled)) < wanted:
            return count
    return len(lines)


def find_columns(mask: int) -> list[tuple[int, int]]:
    """Return the runs of filled columns that two or more blank ones separate."""
    bits = f"{mask:b}"[::-1]
    gaps = [found.span() for found in GAP.finditer(bits)]
    edges = [0, *chain.from_iterable(gaps), len(bits)]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if end > start]


def read_rows(lines: Sequence[AlignedLine]) -> list[list[str]]:
    """Return the cells of each line by column. A line that begins only in a later column continues the row before."""
    content = [line for line in lines if not line.is_ruler]
    columns = find_columns(reduce(or_, (line.mask for line in content), 0))
    rows: list[list[str]] = []
    for line in content:
        row = [line.read(start, end) for start, end in columns]
        if len(rows) > 1 and len(line.cells) == 1 and not row[0]:
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], row, strict=True)]
        else:
            rows.append(row)
    return rows


def is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names the columns. Only the first column may have no name; no name is repeated, and
    one with digits is a year or stands above numbers: the first line of a log is no header."""
    names, *others = rows
    values = [list(filter(None, column)) for column in zip(*others, strict=True)]
    if not all(names[1:]) or len({*names}) < len(names) or not has_column_names(rows):
        return False
    return all(
        name not in column and (not DIGIT.search(name) or YEAR.fullmatch(name) or all(map(NUMBER.fullmatch, column)))
        for name, column in zip(names, values, strict=True)
    )
