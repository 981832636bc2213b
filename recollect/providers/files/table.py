"""Tables: how a row of cells becomes a line of text, for every format that has them; and CSV, which is nothing else."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from itertools import chain, islice

from recollect.model.document import Block
from recollect.providers.files.sniff import delimiter_of
from recollect.providers.files.source import Refused, Source

BETWEEN = " | "
MOST_FIELD = 1_000_000  # characters


def read(source: Source) -> Iterator[Block]:
    lines = source.lines()
    first = list(islice(lines, 20))
    csv.field_size_limit(MOST_FIELD)
    rows = csv.reader(chain(first, lines), delimiter=delimiter_of(first))
    try:
        yield from row_blocks(rows)
    except csv.Error as error:
        raise Refused("corrupt", str(error)) from error


def row_blocks(rows: Iterable[Sequence[object]], page: int | None = None) -> Iterator[Block]:
    """Rows that are not empty; the first names the columns if it holds words only."""
    level = 1
    for row in rows:
        text = row_text(row)
        if text:
            yield Block(text, "row", level if level and names_columns(row) else 0, page)
            level = 0


def row_text(row: Sequence[object]) -> str:
    """The cells in order; an empty one keeps its place, except at the end."""
    return BETWEEN.join(map(cell_text, row)).rstrip(BETWEEN)


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


def names_columns(row: Sequence[object]) -> bool:
    filled = [cell for cell in map(cell_text, row) if cell]
    return len(filled) > 1 and not any(cell.replace(".", "").replace(",", "").lstrip("-").isdigit() for cell in filled)
