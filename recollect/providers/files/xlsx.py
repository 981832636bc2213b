"""Workbooks: each sheet a heading, each row a block, read a row at a time. Formulas are taken by their last value."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.model.document import Block
from recollect.providers.files.source import Source
from recollect.providers.files.table import row_blocks


def read(source: Source) -> Iterator[Block]:
    from openpyxl import load_workbook

    book = load_workbook(source.file, read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        # What a sheet says of its own size may be a lie that makes millions of empty cells.
        sheet.reset_dimensions()
        yield Block(str(sheet.title), "heading", 1)
        yield from row_blocks(sheet.iter_rows(values_only=True))
