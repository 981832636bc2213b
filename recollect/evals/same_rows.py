"""Whether two results say the same: the rows of a gold query and the rows of an answer.

The answer may name its columns otherwise, order them otherwise, and carry more of them (a key, a label). A person's
name may come in one column or in two. Numbers are equal within a millionth. Row order counts only where asked for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

Row = Sequence[object]
Cell = float | str | None
Column = tuple[Cell, ...]

RELATIVE = 1e-6
MOST_TRIED = 2_000  # ways to lay the answer's columns under the gold ones
MOST_JOINED = 12  # text columns that are tried in pairs, as a first and a last name
BESIDE_A_NUMBER = 3  # a wide row holds any small number by chance


def same_rows(gold: Sequence[Row], answer: Sequence[Row], *, ordered: bool = False) -> bool:
    if len(gold) != len(answer):
        return False
    if not gold:
        return True
    wanted, given = columns_of(gold), columns_of(answer)
    if is_a_number(wanted) and len(given) > len(wanted) + BESIDE_A_NUMBER:
        return False
    shown = list(zip(*wanted, strict=True))
    ways = itertools.islice(layings(wanted, [*given, *joined(given)]), MOST_TRIED)
    return any(agree(shown, list(zip(*way, strict=True)), ordered) for way in ways)


def columns_of(rows: Sequence[Row]) -> list[Column]:
    return [tuple(plain(cell) for cell in column) for column in zip(*rows, strict=True)]


def plain(value: object) -> Cell:
    """`2024`, `"2024"` and 2024.0 are one year; midnight is the day."""
    if value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    text = str(value).strip().removesuffix(" 00:00:00")
    return float(text) if text.isascii() and text.isdigit() else text


def is_a_number(columns: Sequence[Column]) -> bool:
    """One row of numbers: a total, a count."""
    return all(len(column) == 1 and isinstance(column[0], float) for column in columns)


def joined(columns: Sequence[Column]) -> Iterator[Column]:
    texts = [column for column in columns if all(isinstance(cell, str) for cell in column)][:MOST_JOINED]
    for first, last in itertools.permutations(texts, 2):
        yield tuple(f"{one} {other}" for one, other in zip(first, last, strict=True))


def layings(wanted: Sequence[Column], given: Sequence[Column]) -> Iterator[tuple[Column, ...]]:
    """The given columns that may stand for the wanted ones, each column used once."""
    like = [[n for n, column in enumerate(given) if agree(rows(want), rows(column), False)] for want in wanted]
    for chosen in itertools.product(*like):
        if len(set(chosen)) == len(chosen):
            yield tuple(given[n] for n in chosen)


def rows(column: Column) -> list[Column]:
    return [(cell,) for cell in column]


def agree(gold: Sequence[Column], answer: Sequence[Column], ordered: bool) -> bool:
    if ordered and not in_sequence(gold, answer):
        return False
    return alike(sorted(gold, key=by_value), sorted(answer, key=by_value))


def in_sequence(gold: Sequence[Column], answer: Sequence[Column]) -> bool:
    """What rises or falls in the gold rows does so in the answer: rows with the same value may change places. Where
    nothing shown tells the order, the rows themselves must come in it."""
    sorts = [n for n, column in enumerate(zip(*gold, strict=True)) if is_sorted(rows(column))]
    chosen = sorts or range(len(gold[0]))
    return alike([[row[n] for n in chosen] for row in gold], [[row[n] for n in chosen] for row in answer])


def is_sorted(cells: Sequence[Column]) -> bool:
    keys = [by_value(cell) for cell in cells]
    return keys in (sorted(keys), sorted(keys, reverse=True))


def alike(one: Sequence[Sequence[Cell]], other: Sequence[Sequence[Cell]]) -> bool:
    return all(same(a, b) for left, right in zip(one, other, strict=True) for a, b in zip(left, right, strict=True))


def by_value(row: Sequence[Cell]) -> list[tuple[int, float, str]]:
    """Numbers by nine digits, so that the noise of a sum does not change the order."""
    return [
        (0, 0.0, "") if cell is None else (1, float(f"{cell:.9g}"), "") if isinstance(cell, float) else (2, 0.0, cell)
        for cell in row
    ]


def same(one: Cell, other: Cell) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=1e-9)
    return one == other
