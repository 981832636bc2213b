"""Tables without marks: lines one after the other whose cells stand at the same places are rows of a table.

The readers of PDF and plain text give each line with the places of its words (`Line`); `split_tables` finds the tables.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

LONG_CELL = 50  # letters of cells on average from which two columns are text, not a table
ALIGNED = 4.0  # points
NEXT_LINE = 1.6  # times the height of a line, to the next line of the same row
MIN_ALIGNED = 0.6  # of the rows


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its place on the page, in points."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a line between two wide gaps."""

    words: tuple[Word, ...]

    @property
    def left(self) -> float:
        return self.words[0].left

    @property
    def right(self) -> float:
        return self.words[-1].right


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    bottom: float  # above the bottom of the page, in points
    size: float  # height of its first character, in points
    cells: tuple[Cell, ...]
    is_bold: bool = False


def split_tables(
    lines: Sequence[Line], is_table: Callable[[list[list[str]]], bool] = bool
) -> Iterator[list[Line] | list[list[str]]]:
    """Yield runs of lines, and tables as rows of cells; `is_table` says which rows are one."""
    text: list[Line] = []
    for is_wide, group in groupby(join_continued(lines), key=lambda run: len(run[0].cells) > 1):
        runs = list(group)
        table = arrange_rows(runs) if is_wide else []
        if table and is_table(table):
            yield from filter(None, [text])
            yield table
            text = []
        else:
            text += [line for run in runs for line in run]
    yield from filter(None, [text])


def join_continued(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield rows: a line with several cells, with the lines below it that continue only its later cells."""
    run: list[Line] = []
    for line in lines:
        first = run[0].cells if run else ()
        is_continued = (
            1 <= len(line.cells) < len(first)
            and line.cells[0].left >= first[1].left - ALIGNED
            and run[-1].bottom - line.bottom < NEXT_LINE * line.size
        )
        if run and not is_continued:
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def arrange_rows(runs: Sequence[Sequence[Line]]) -> list[list[str]]:
    """Return the cells of each row by column; nothing if the lines are no table."""
    first_lines = [run[0].cells for run in runs]
    if len(runs) < 2 or not is_aligned(first_lines):
        return []
    rows = [list(chain.from_iterable(line.cells for line in run)) for run in runs]
    words = [word.text for cell in chain.from_iterable(rows) for word in cell.words]
    if sum(map(len, words)) > LONG_CELL * sum(map(len, rows)):
        return []
    columns = find_columns(first_lines)
    return [place_words(row, columns) for row in rows]


def is_aligned(rows: Sequence[Sequence[Cell]]) -> bool:
    """Return whether the last cells of most rows share a left edge, a right edge or a middle with another row's."""
    last = [row[-1] for row in rows]
    edges = ([c.left for c in last], [c.right for c in last], [(c.left + c.right) / 2 for c in last])
    near = (
        bisect_right(ordered, place + ALIGNED) - bisect_left(ordered, place - ALIGNED)
        for ordered in map(sorted, edges)
        for place in ordered
    )
    return max(near) >= MIN_ALIGNED * len(rows)


def find_columns(rows: Sequence[Sequence[Cell]]) -> list[float]:
    """Return the columns' left edges: those of the row with the most cells, widened by cells that meet only one."""
    columns = [(cell.left, cell.right) for cell in max(rows, key=len)]
    for cell in (cell for row in rows for cell in row):
        met = [at for at, (left, right) in enumerate(columns) if cell.left < right and left < cell.right]
        if len(met) == 1:
            left, right = columns[met[0]]
            columns[met[0]] = min(left, cell.left), max(right, cell.right)
    return [left for left, _ in columns]


def place_words(row: Sequence[Cell], edges: Sequence[float]) -> list[str]:
    """Return the text of each column. A cell that reaches into the next column is cut between two words."""
    texts: list[list[str]] = [[] for _ in edges]
    for word in (word for cell in row for word in cell.words):
        at = sum(edge <= word.left + ALIGNED for edge in edges[1:])
        texts[at].append(word.text)
    return [" ".join(each) for each in texts]
