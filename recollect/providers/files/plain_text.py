"""The reader of plain text: paragraphs, and the rows of tables, whose cells are two or more blanks apart.

The first line of a table names the columns. Without such a line, or with fewer than two lines below it, the lines stay
text. Places are those on a screen: a Chinese character takes two columns.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from unicodedata import east_asian_width

from recollect.providers.files.aligned_tables import Cell, Line, Word, split_tables
from recollect.providers.files.source import Source
from recollect.providers.files.text_formats import DIGIT, MAX_PARAGRAPH, NUMBER, YEAR, Table, has_column_names
from recollect.values.document import Block

MIN_LINES = 3  # of a table, with the line that names the columns
WIDTH, HEIGHT = 6.0, 12.0  # of a character, in points
CELL_GAP = 2  # blanks between two cells
MAX_LINE = 2_000  # characters; a longer line is no row
GAP = re.compile(r"\S {2,}\S")
WORD = re.compile(r"\S+")
WHOLE = re.compile(r"\S(?:.*\S)?", re.DOTALL)
RULER = re.compile(r"[\s|+=_\u2500-\u257f-]+")


def read_text(source: Source) -> Iterator[Block]:
    """Yield paragraphs, which empty lines separate, and the rows of tables. Line ends are kept: they matter in a log or
    a poem."""
    lines: list[str] = []
    length = 0
    names: Sequence[str] = ()  # of the table at the end of a paragraph that was split for its length
    for line in source.lines():
        if line.isspace() or length > MAX_PARAGRAPH:
            names = yield from build_blocks(lines, names)
            names = () if line.isspace() else names
            lines, length = [], 0
        if not line.isspace():
            lines.append(line)
            length += len(line)
    yield from build_blocks(lines, names)


def build_blocks(lines: Sequence[str], names: Sequence[str]) -> Generator[Block, None, Sequence[str]]:
    """Yield a block for the lines between two tables, and one for each row of a table. `names` are the columns of a
    table that the paragraph before began; return those of a table at the end."""

    def is_table(rows: Sequence[Sequence[str]]) -> bool:
        return len(rows[0]) == len(names) or is_named(rows)

    for part in split_tables(place_lines(lines), is_table):
        if isinstance(part[0], Line):
            yield Block("".join(line.text for line in part if isinstance(line, Line)).rstrip())
            names = ()
            continue
        rows = [row for row in part if isinstance(row, list)]
        if len(names) != len(rows[0]):
            names, *rows = rows
        table = Table(names=names, waiting=None)
        for row in rows:
            yield from table.add(row)
    return names


def place_lines(lines: Sequence[str]) -> list[Line]:
    """Return the lines with the places of their words, without rulers below a line with several cells."""
    placed: list[Line] = []
    for number, line in enumerate(lines):
        if not (RULER.fullmatch(line) and placed and len(placed[-1].cells) > 1):
            placed.append(Line(line, -number * HEIGHT, HEIGHT, tuple(split_cells(line.expandtabs()))))
    return placed


def split_cells(line: str) -> Iterator[Cell]:
    """Yield the cells of a line, each with the places of its words. A line without a gap is one word: most are."""
    words: list[Word] = []
    at, right = 0, 0.0
    has_gap = len(line) <= MAX_LINE and GAP.search(line) is not None
    for found in (WORD if has_gap else WHOLE).finditer(line):
        left = right + measure_width(line[at : found.start()])
        if words and found.start() - at >= CELL_GAP:
            yield Cell(tuple(words))
            words = []
        at, right = found.end(), left + measure_width(found[0])
        words.append(Word(found[0], left, right))
    yield Cell(tuple(words))


def measure_width(text: str) -> float:
    """Return the width of a text in points, with characters of one width and Chinese ones twice as wide."""
    wide = 0 if text.isascii() else sum(east_asian_width(each) in "WF" for each in text)
    return WIDTH * (len(text) + wide)


def is_named(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names the columns. Only the first column may have no name; no name is repeated, and
    one with digits is a year or stands above numbers: the first line of a log is no header."""
    names, *others = rows
    values = [list(filter(None, column)) for column in zip(*others, strict=True)]
    if len(rows) < MIN_LINES or not all(names[1:]) or len({*names}) < len(names) or not has_column_names(rows):
        return False
    return all(
        name not in column and (not DIGIT.search(name) or YEAR.fullmatch(name) or all(map(NUMBER.fullmatch, column)))
        for name, column in zip(names, values, strict=True)
    )
