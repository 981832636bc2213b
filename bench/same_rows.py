"""Comparison of result rows: `same_rows` says whether an answer has the rows of a gold query.

The answer may have other column names, another column order, and more columns (a key, a label). A person's name may be
in one column or in two. Numbers are equal within a millionth. Row order counts only with `ordered`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

Row = Sequence[object]
Cell = float | str | None
Column = tuple[Cell, ...]

RELATIVE = 1e-6
MAX_ASSIGNMENTS = 2_000  # of the answer's columns to the gold ones
MAX_JOINED = 12  # text columns that are joined in pairs, as first and last name
MAX_EXTRA_COLUMNS = 3  # next to a single number: a wide row contains any small number by chance


def same_rows(gold: Sequence[Row], answer: Sequence[Row], *, ordered: bool = False) -> bool:
    if len(gold) != len(answer):
        return False
    if not gold:
        return True
    wanted, given = read_columns(gold), read_columns(answer)
    if is_number(wanted) and len(given) > len(wanted) + MAX_EXTRA_COLUMNS:
        return False
    shown = list(zip(*wanted, strict=True))
    ways = itertools.islice(assign_columns(wanted, [*given, *join_columns(given)]), MAX_ASSIGNMENTS)
    return any(are_same(shown, list(zip(*way, strict=True)), ordered) for way in ways)


def read_columns(rows: Sequence[Row]) -> list[Column]:
    return [tuple(normalize(cell) for cell in column) for column in zip(*rows, strict=True)]


def normalize(value: object) -> Cell:
    """Return a comparable value: `2024`, `"2024"` and 2024.0 are equal; midnight equals its day."""
    if value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    text = str(value).strip().removesuffix(" 00:00:00")
    return float(text) if text.isascii() and text.isdigit() else text


def is_number(columns: Sequence[Column]) -> bool:
    """Whether the result is one row of numbers, such as a total or a count."""
    return all(len(column) == 1 and isinstance(column[0], float) for column in columns)


def join_columns(columns: Sequence[Column]) -> Iterator[Column]:
    texts = [column for column in columns if all(isinstance(cell, str) for cell in column)][:MAX_JOINED]
    for first, last in itertools.permutations(texts, 2):
        yield tuple(f"{one} {other}" for one, other in zip(first, last, strict=True))


def assign_columns(wanted: Sequence[Column], given: Sequence[Column]) -> Iterator[tuple[Column, ...]]:
    """Yield the ways to assign given columns to the wanted ones, each column used once."""
    like = [[n for n, column in enumerate(given) if are_same(rows(want), rows(column), False)] for want in wanted]
    for chosen in itertools.product(*like):
        if len(set(chosen)) == len(chosen):
            yield tuple(given[n] for n in chosen)


def rows(column: Column) -> list[Column]:
    return [(cell,) for cell in column]


def are_same(gold: Sequence[Column], answer: Sequence[Column], ordered: bool) -> bool:
    if ordered and not is_in_sequence(gold, answer):
        return False
    return are_equal(sorted(gold, key=sort_key), sorted(answer, key=sort_key))


def is_in_sequence(gold: Sequence[Column], answer: Sequence[Column]) -> bool:
    """Whether columns that are sorted in the gold rows have the same order in the answer; rows with equal values may
    change places. If no column is sorted, all columns must have the same order."""
    sorts = [n for n, column in enumerate(zip(*gold, strict=True)) if is_sorted(rows(column))]
    chosen = sorts or range(len(gold[0]))
    return are_equal([[row[n] for n in chosen] for row in gold], [[row[n] for n in chosen] for row in answer])


def is_sorted(cells: Sequence[Column]) -> bool:
    keys = [sort_key(cell) for cell in cells]
    return keys in (sorted(keys), sorted(keys, reverse=True))


def are_equal(one: Sequence[Sequence[Cell]], other: Sequence[Sequence[Cell]]) -> bool:
    return all(same(a, b) for left, right in zip(one, other, strict=True) for a, b in zip(left, right, strict=True))


def sort_key(row: Sequence[Cell]) -> list[tuple[int, float, str]]:
    """Return a sort key. Numbers are rounded to nine digits, so that rounding errors do not change the order."""
    return [
        (0, 0.0, "") if cell is None else (1, float(f"{cell:.9g}"), "") if isinstance(cell, float) else (2, 0.0, cell)
        for cell in row
    ]


def same(one: Cell, other: Cell) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=1e-9)
    return one == other
