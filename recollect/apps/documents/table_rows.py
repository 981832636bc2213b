"""The row with the largest or smallest value: "Which department has the biggest headcount?". Pure.

A row is a line "Department: Support | Headcount: 9". There is an answer only if the question names exactly one column
of numbers of one table, all of its rows were found, and each other word of the question is in the table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from recollect.recall.lexemes import lexemes
from recollect.values.document import ChunkHit
from recollect.values.text import is_cjk

CELL_SEPARATOR = " | "
SUPERLATIVE = re.compile(
    r"\b(?P<most>most|biggest|largest|highest|greatest|longest|maximum|max)\b|(?P<most_zh>最[大高多长贵])"
    r"|\b(?:least|smallest|lowest|fewest|shortest|minimum|min)\b|最[小低少短]",
    re.IGNORECASE,
)
# A number stands first in its cell or after a currency: "Room 12" is a name. Three decimals may be thousands with a
# point, as in 1.200: such a number is not compared.
NUMBER = re.compile(
    r"(?P<currency>[^\w\s-]|[A-Z]{3})? ?(?P<value>-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.(?:\d{1,2}|\d{4,}))?)(?![\d.,]*\d)"
)
ROUNDING = 0.005  # of a sum


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, and its place in the document."""

    hit: ChunkHit
    start: int
    end: int
    cells: Mapping[str, str]  # by the name of the column

    @property
    def text(self) -> str:
        return self.hit.chunk.text[self.start - self.hit.chunk.start : self.end - self.hit.chunk.start]

    @property
    def words(self) -> set[str]:
        return set(lexemes(" ".join(self.cells.values())))


@dataclass(slots=True)
class FoundTable:
    """Rows that follow each other and share columns."""

    rows: list[Row] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(name for row in self.rows for name in row.cells))


def find_extreme_rows(question: str, wanted: Sequence[str], hits: Sequence[ChunkHit]) -> list[Row]:
    """Return the rows with the largest or smallest value of the column that the question names. `wanted` are the words
    that an answer must have."""
    asked = SUPERLATIVE.search(question)
    if asked is None:
        return []
    tables = [table for table in find_tables(hits) if is_complete(table, hits)]
    found = [rows for table in tables if (rows := compare_rows(question, asked, wanted, table))]
    return found[0] if len(found) == 1 else []


def find_tables(hits: Sequence[ChunkHit]) -> list[FoundTable]:
    """Return the tables of the passages. Passages overlap: a row is taken once."""
    rows = {(row.hit.document.id, row.start): row for hit in hits for row in read_rows(hit)}
    tables: list[FoundTable] = []
    last: Row | None = None
    for row in sorted(rows.values(), key=lambda row: (row.hit.document.id.bytes, row.start)):
        is_next = last and row.hit.document.id == last.hit.document.id and row.start == last.end + 1
        if not is_next or row.cells.keys().isdisjoint(tables[-1].columns):
            tables.append(FoundTable())
        tables[-1].rows.append(row)
        last = row
    return tables


def read_rows(hit: ChunkHit) -> Iterator[Row]:
    start = hit.chunk.start
    for line in hit.chunk.text.split("\n"):
        parts = [part.partition(": ") for part in line.split(CELL_SEPARATOR)]
        cells = {name.strip(): cell.strip() for name, _, cell in parts if cell}
        if len(parts) > 1 and cells:
            yield Row(hit, start, start + len(line), cells)
        start += len(line) + 1


def is_complete(table: FoundTable, hits: Sequence[ChunkHit]) -> bool:
    """Return whether no row can be in a passage that was not found."""
    first, last = table.rows[0], table.rows[-1]
    found = {hit.chunk.index for hit in hits if hit.document.id == first.hit.document.id}
    begins = first.start > first.hit.chunk.start or first.hit.chunk.index == 0 or first.hit.chunk.index - 1 in found
    after = last.hit.chunk.index + 1
    return begins and (last.end < last.hit.chunk.end or after >= last.hit.document.chunks or after in found)


def compare_rows(question: str, asked: re.Match[str], wanted: Sequence[str], table: FoundTable) -> list[Row]:
    """Return the best rows of a table; nothing if the question does not name one of its columns of numbers."""
    named = find_named_columns(table.columns, question, wanted)
    rows = keep_matching_rows(question.replace(asked[0], " "), wanted, named, asked[0], drop_total(table))
    columns = [values for name in named if (values := read_numbers(name, rows))]
    if len(columns) != 1:
        return []
    best = (max if asked["most"] or asked["most_zh"] else min)(columns[0].values())
    return [row for row in rows if columns[0].get(row.start) == best]


def drop_total(table: FoundTable) -> Sequence[Row]:
    """Return the rows without a last one whose numbers are the sums of those above it."""
    *others, last = table.rows
    sums = {name: sum(values.values()) for name in table.columns if (values := read_numbers(name, others))}
    numbers = {name: value for name in sums for value in read_numbers(name, [last]).values()}
    is_total = bool(numbers) and all(abs(value - sums[name]) < ROUNDING for name, value in numbers.items())
    return others if is_total and len(others) > 1 else table.rows


def find_named_columns(columns: Sequence[str], question: str, wanted: Sequence[str]) -> list[str]:
    """Return the columns whose names the question has whole, or by a word that no other column has."""
    words = {column: set(lexemes(column)) for column in columns}
    shared = Counter(word for each in words.values() for word in each)
    asked = set(wanted)
    return [
        column
        for column in columns
        if (column in question if is_cjk(column) else any(shared[word] == 1 for word in words[column] & asked))
        or (words[column] and words[column] <= asked)
    ]


def keep_matching_rows(
    question: str, wanted: Sequence[str], named: Sequence[str], superlative: str, rows: Sequence[Row]
) -> list[Row]:
    """Return the rows that have the words of the question that are no column; none if a word is nowhere."""
    for name in named:
        question = question.replace(name, " ")
    others = set(wanted) & set(lexemes(question)) - set(lexemes(" ".join((*named, superlative))))
    return [row for row in rows if others <= row.words]


def read_numbers(column: str, rows: Sequence[Row]) -> dict[int, float]:
    """Return the numbers of a column by the place of the row; nothing if a cell has none, or another unit."""
    numbers, units = {}, set()
    for row in rows:
        if column in row.cells:
            cell = row.cells[column]
            found = NUMBER.match(cell)
            units.add(None if found is None else (found["currency"], cell[found.end() :].strip()))
            numbers[row.start] = float(found["value"].replace(",", "")) if found else 0.0
    return numbers if len(units) == 1 and None not in units else {}
