"""CSV files: what a spreadsheet opens has words as headers, all values, and no formula."""

from __future__ import annotations

import csv
import io

import pytest

from recollect.apps.ask.answers.wording import guard_cell, make_file_name, write_csv
from recollect.apps.ask.sources.running import Rows


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1+1", "-", "+49 30 123"]
)
def test_formula_is_made_a_text(text: str) -> None:
    assert guard_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", [-5, 3.25, "-5", "+1.5e3", "a=b", "North", "2024-01-01"])
def test_other_values_are_kept(value: object) -> None:
    assert guard_cell(value) == value


def test_file_has_headers_and_every_row() -> None:
    rows = Rows(("region", "total"), (('North, "East"\nand more', 1.5), (None, -2), ("=HYPERLINK(1)", 3)))
    text = write_csv(rows, ("Region", "=Total"))
    assert text.startswith("\ufeff")
    assert list(csv.reader(io.StringIO(text[1:]))) == [
        ["Region", "'=Total"],
        ['North, "East"\nand more', "1.5"],
        ["", "-2"],
        ["'=HYPERLINK(1)", "3"],
    ]


def test_name_says_where_the_file_is_not_complete() -> None:
    assert make_file_name("Total sales by region, 2024", Rows((), ())) == "Total-sales-by-region-2024.csv"
    assert make_file_name("../../etc", Rows(("a",), ((1,),), True)) == "etc-first-1-rows.csv"
    assert make_file_name("销售总计，按月", Rows((), ())) == "销售总计-按月.csv"
    assert make_file_name("???", Rows((), ())) == "result.csv"
