"""A result as a CSV file for spreadsheets: headers in words, and no cell that is read as a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from recollect.apps.ask.sources.running import Rows

BYTE_ORDER_MARK = "\ufeff"  # without it, Excel does not read UTF-8
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")
NAME_CHARS = 60


def write_csv(rows: Rows, headers: Sequence[str]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(map(guard_cell, headers or rows.columns))
    writer.writerows(map(guard_cell, row) for row in rows.rows)
    return BYTE_ORDER_MARK + out.getvalue()


def guard_cell(value: Any) -> Any:
    """Return a value with an apostrophe in front where a spreadsheet would run it as a formula; numbers are kept."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return value
    text = str(value)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) and not NUMBER.fullmatch(text) else text


def make_file_name(title: str, rows: Rows) -> str:
    """Return a name from the title, which says so where the file does not have all rows."""
    name = re.sub(r"[^\w.]+", "-", title).strip("-._")[:NAME_CHARS] or "result"
    return f"{name}-first-{len(rows.rows)}-rows.csv" if rows.is_truncated else f"{name}.csv"
