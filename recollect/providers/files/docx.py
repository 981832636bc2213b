"""Word documents: paragraphs, lists and tables in order, headings by their style. Pages are not known: Word makes them
when it prints. Headers, footers, notes, comments and text boxes are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.model.document import Block
from recollect.providers.files.source import Source
from recollect.providers.files.table import row_blocks

if TYPE_CHECKING:
    from docx.document import Document
    from docx.table import Table
    from docx.text.paragraph import Paragraph

HEADING = re.compile(r"Heading ([1-9])")
MOST_BASES = 10  # styles that a style may build upon


def read(source: Source) -> Iterator[Block]:
    import docx
    from docx.table import Table

    document = docx.Document(source.file)
    levels = heading_levels(document)
    source.total = len(document.element.body)
    for item in document.iter_inner_content():
        if isinstance(item, Table):
            yield from row_blocks(table_rows(item))
        else:
            yield paragraph_block(item, levels)


def heading_levels(document: Document) -> dict[str, int]:
    """The level of each style that is a heading, or builds upon one, by the style's id."""
    levels: dict[str, int] = {}
    for style in document.styles:
        base, steps = style, 0
        while base is not None and steps < MOST_BASES:
            found = HEADING.match(base.name or "")
            if found or base.name == "Title":
                levels[style.style_id] = min(6, int(found[1])) if found else 1
                break
            base, steps = getattr(base, "base_style", None), steps + 1
    return levels


def paragraph_block(paragraph: Paragraph, levels: dict[str, int]) -> Block:
    style = paragraph._p.style or ""
    if style in levels:
        return Block(paragraph.text, "heading", levels[style])
    properties = paragraph._p.pPr
    is_item = style.startswith("List") or (properties is not None and properties.numPr is not None)
    return Block(paragraph.text, "list" if is_item else "paragraph")


def table_rows(table: Table) -> Iterator[list[str]]:
    """Cells as they are in the file: python-docx repeats merged ones, and takes time that grows with the square."""
    from docx.table import _Cell

    for row in table._tbl.tr_lst:
        yield [_Cell(cell, table).text for cell in row.tc_lst]
