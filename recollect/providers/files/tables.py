"""Tables as text, in every format: one block per row, each cell with the name of its column.

"Region: North | Sales 2024: 12" can be found, quoted and understood without the rest of its table. `Table` takes rows
one at a time and decides from the first few whether one of them names the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time

from recollect.values.blocks import Block

CELL_SEPARATOR = " | "
ROWS_SEEN = 10  # before the columns are named
MAX_NAME = 80  # characters of a column's name
NUMBER = re.compile(r"[-+(]?\s?[$€£¥]?\s?\d[\d.,\s]*\s?[%€$£¥)]?")
YEAR = re.compile(r"(?:19|20)\d\d")
DIGIT = re.compile(r"\d")


def row_blocks(rows: Iterable[Sequence[object]], page: int | None = None) -> Iterator[Block]:
    """Yield a block for each row that is not empty."""
    table = Table(page)
    for row in rows:
        yield from table.add([cell_text(cell) for cell in row])
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
    first, *others = rows
    filled = [cell for cell in first if cell]
    if len(filled) < 2:
        return False
    if any(NUMBER.fullmatch(cell) and not YEAR.fullmatch(cell) for cell in filled):
        return False
    if max(map(count_columns, rows)) > 2:
        return True
    values = [row[1] for row in others if len(row) > 1 and row[1]]
    return bool(values) and all(map(DIGIT.search, values)) and not DIGIT.search(first[0])


def cell_text(value: object) -> str:
    if isinstance(value, str):
        return value if value.isalnum() else " ".join(value.split())
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, (date, time)) else str(value)
