"""Office files: whether an archive is safe to unpack, and the readers of DOCX, PPTX and XLSX.

`detect_office_format` runs before any library sees the file. It reads only the archive's directory and the first bytes
of its XML parts. Nothing is written, no path in the archive is used, nested archives stay closed, macros are refused.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile, ZipInfo

from recollect.providers.files.source import Refused, Source
from recollect.providers.files.text_formats import build_row_blocks
from recollect.values.document import Block, DocumentFormat

if TYPE_CHECKING:
    from docx.document import Document
    from docx.table import Table
    from docx.text.paragraph import Paragraph

MAIN_PARTS: dict[str, DocumentFormat] = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
}
RATIO_FREE = 16_000_000  # unpacked bytes up to which the ratio is not checked: a small sheet can pack very well
ENCRYPTED_FLAG = 1
PROLOG = 65_536  # bytes within which an XML part must have begun
ROOT = re.compile(r"<[A-Za-z_]")
ENCODING = re.compile(r"<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']+)")
ENCODINGS = ("utf-8", "utf-16", "us-ascii", "ascii")
HEADING = re.compile(r"Heading ([1-9])|Title$")
MAX_STYLE_BASES = 10  # styles in a chain of based-on styles
MAX_SPAN = 100  # columns that one cell covers
MAX_GROUP_DEPTH = 20  # groups within groups of a slide


def detect_office_format(source: Source) -> DocumentFormat:
    try:
        with ZipFile(source.file) as archive:
            members = archive.infolist()
            check_members(members, source)
            found = find_main_part(members)
            for member in members:
                if member.filename.lower().endswith((".xml", ".rels")) and member.file_size:
                    with archive.open(member) as part:
                        check_prolog(part.read(PROLOG), member.filename)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error) as error:
        raise Refused("corrupt", repr(error)) from error
    return found


def check_members(members: list[ZipInfo], source: Source) -> None:
    """Refuse a zip bomb by the sizes in its directory. zipfile unpacks no more than these."""
    limits = source.limits
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > limits.members:
        raise Refused("too_large_unpacked", f"{len(members)} members")
    if unpacked > limits.unpacked_bytes:
        raise Refused("too_large_unpacked", f"{unpacked} bytes")
    if unpacked > max(RATIO_FREE, limits.unpacked_ratio * source.size):
        raise Refused("too_large_unpacked", f"{unpacked} bytes from {source.size}")
    if packed > source.size:
        raise Refused("corrupt", "members overlap")
    if any(member.flag_bits & ENCRYPTED_FLAG for member in members):
        raise Refused("encrypted")


def find_main_part(members: list[ZipInfo]) -> DocumentFormat:
    names = [member.filename for member in members]
    if len(set(names)) < len(names):
        raise Refused("corrupt", "two members with the same name")
    if any(name.lower().endswith("vbaproject.bin") for name in names):
        raise Refused("macros")
    if "[Content_Types].xml" not in names:
        raise Refused("unsupported", "an archive")
    found = [kind for part, kind in MAIN_PARTS.items() if part in names]
    if len(found) != 1:
        raise Refused("unsupported", f"{len(found)} main parts")
    return found[0]


def check_prolog(head: bytes, name: str) -> None:
    """Refuse document type declarations: the standard forbids them here, and only they can declare entities."""
    text = head.decode("utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8", "replace")
    root = ROOT.search(text)
    if root is None or "<!DOCTYPE" in text[: root.start()].upper():
        raise Refused("corrupt", f"{name}: no root element, or a document type")
    encoding = ENCODING.match(text.lstrip("\ufeff"))
    if encoding is not None and encoding[1].lower() not in ENCODINGS:
        raise Refused("corrupt", f"{name}: encoding {encoding[1][:40]}")


def read_docx(source: Source) -> Iterator[Block]:
    """Yield paragraphs, lists and tables in order. Pages are unknown; headers, footers and notes are left out."""
    import docx
    from docx.table import Table

    document = docx.Document(source.file)
    levels = read_heading_levels(document)
    source.total = len(document.element.body)
    for item in document.iter_inner_content():
        if isinstance(item, Table):
            yield from build_row_blocks(iter_table_rows(item))
        else:
            yield build_paragraph(item, levels)


def read_heading_levels(document: Document) -> dict[str, int]:
    """Return the heading level of each style that is a heading or is based on one, by style id."""
    levels: dict[str, int] = {}
    for style in document.styles:
        base = style
        for _ in range(MAX_STYLE_BASES):
            if found := HEADING.match(getattr(base, "name", None) or ""):
                levels[style.style_id] = min(6, int(found[1] or 1))
                break
            base = getattr(base, "base_style", None)
    return levels


def build_paragraph(paragraph: Paragraph, levels: dict[str, int]) -> Block:
    style = paragraph._p.style or ""
    if style in levels:
        return Block(paragraph.text, "heading", levels[style])
    properties = paragraph._p.pPr
    is_item = style.startswith("List") or (properties is not None and properties.numPr is not None)
    return Block(paragraph.text, "list" if is_item else "paragraph")


def iter_table_rows(table: Table) -> Iterator[list[str]]:
    """Yield the cells by column; a cell that continues the one above repeats it. Read from the file itself: python-docx
    takes quadratic time."""
    from docx.table import _Cell

    above: list[str] = []
    for row in table._tbl.tr_lst:
        cells: list[str] = []
        for cell in row.tc_lst:
            is_continued = cell.vMerge == "continue" and len(cells) < len(above)
            text = above[len(cells)] if is_continued else _Cell(cell, table).text
            cells += [text, *[""] * (min(cell.grid_span, MAX_SPAN) - 1)]
        above = cells
        yield cells


def read_pptx(source: Source) -> Iterator[Block]:
    """Yield the title of each slide as a heading, then text and tables in order, then notes. A slide is a page. Hidden
    slides are left out."""
    import pptx

    slides = pptx.Presentation(source.file).slides
    source.total, source.unit = len(slides), "pages"
    for number, slide in enumerate(slides, 1):
        if slide._element.get("show") in ("0", "false"):
            continue
        title = slide.shapes.title
        if title is not None and title.has_text_frame:
            yield Block(" ".join(title.text_frame.text.split()), "heading", 1, number)
        others = (shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id)
        yield from build_shape_blocks(others, number)
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
            yield Block(notes.text, page=number)
        source.done = number


def build_shape_blocks(shapes: Iterable[Any], page: int, depth: int = 0) -> Iterator[Block]:
    for shape in shapes:
        if shape.has_text_frame:
            yield from build_text_blocks(shape, page)
        elif shape.has_table:
            yield from build_row_blocks(([cell.text for cell in row.cells] for row in shape.table.rows), page)
        elif depth < MAX_GROUP_DEPTH and hasattr(shape, "shapes"):
            yield from build_shape_blocks(shape.shapes, page, depth + 1)


def build_text_blocks(shape: Any, page: int) -> Iterator[Block]:
    """In a placeholder, more than one paragraph is a list."""
    paragraphs = shape.text_frame.paragraphs
    is_list = shape.is_placeholder and len(paragraphs) > 1
    for paragraph in paragraphs:
        yield Block(paragraph.text, "list" if is_list else "paragraph", page=page)


def read_xlsx(source: Source) -> Iterator[Block]:
    """Yield each sheet as a heading and its rows, a row at a time; formulas by their last value. Hidden sheets are left
    out."""
    from openpyxl import load_workbook

    book = load_workbook(source.file, read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            continue
        # The size that a sheet declares may be wrong and make millions of empty cells.
        sheet.reset_dimensions()
        yield Block(str(sheet.title), "heading", 1)
        yield from build_row_blocks(sheet.iter_rows(values_only=True))
