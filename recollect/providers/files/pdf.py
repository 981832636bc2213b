"""The PDF reader: the text of each page, with lines joined into paragraphs and tables (aligned_tables.py) read row by
row. Lines named in the outline are headings; without an outline, lines in larger or bold type. PDFium runs no scripts:
forms and XFA are never initialised.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median_low
from typing import Any

from recollect.providers.files.aligned_tables import Cell, Line, Word, split_tables
from recollect.providers.files.source import Refused, Source
from recollect.providers.files.text_formats import build_row_blocks
from recollect.values.document import Block

MAX_PAGES = 50_000
MAX_OUTLINE = 5_000
PAGES_CHECKED = 20  # for pictures, if there is no text
PASSWORD_ERROR = 4  # PDFium's code
SHORT = 0.8  # of the longest line of a page; a shorter one that ends a sentence ends its paragraph
GAP = 1.3  # times the usual step between lines
CELL_GAP = 1.2  # times the height of a line, between two cells of a table
LARGE = 1.15  # times the usual height of a line, of a heading
LARGEST = 1.5
MAX_TITLE = 120  # characters
BOLD = re.compile(r"bold|black|heavy|semibold", re.IGNORECASE)
WORD = re.compile(r"\S+")
LEADER = re.compile(r"(?:\.\s?){5}")
FINAL = re.compile(r"[.!?:。！？：”\"')）]$")
HYPHEN = re.compile("(?<=\\w)[\ufffe\x02\xad]$")
ITEM = re.compile(r"(?:[•·▪‣◦–*-]|\d{1,2}[.)])\s+\S")
Outline = dict[int, dict[str, int]]


def read_pdf(source: Source) -> Iterator[Block]:
    document = open_pdf(source)
    source.total, source.unit = len(document), "pages"
    if source.total > MAX_PAGES:
        raise Refused("too_large_unpacked", f"{source.total} pages")
    titles = Titles(read_outline(document))
    has_text = False
    for index in range(source.total):
        for block in build_page_blocks(read_page_lines(document, index), titles, index + 1):
            has_text = True
            yield block
        source.done = index + 1
    if not has_text:
        raise Refused("scanned" if has_pictures(document) else "empty")


def open_pdf(source: Source) -> Any:
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(source.file)
    except pypdfium2.PdfiumError as error:
        is_locked = getattr(error, "err_code", None) == PASSWORD_ERROR
        raise Refused("encrypted" if is_locked else "corrupt", str(error)) from error


def read_page_lines(document: Any, index: int) -> list[Line]:
    import pypdfium2

    try:
        page = document[index]
        text = page.get_textpage()
        lines = list(read_lines(text))
        text.close()
        page.close()
    except pypdfium2.PdfiumError as error:
        raise Refused("corrupt", f"page {index + 1}: {error}") from error
    return lines


def read_lines(text: Any) -> Iterator[Line]:
    """Yield the lines with their place on the page, taken from their characters."""
    start, count = 0, text.count_chars()
    for line in text.get_text_range().split("\n"):
        bare = line.strip()
        if bare:
            first = start + line.index(bare)
            _, bottom, _, top = text.get_charbox(min(first, count - 1), loose=True)
            cells = tuple(read_cells(text, bare, first, count, (top - bottom) * CELL_GAP))
            yield Line(bare, bottom, top - bottom, cells, is_bold(text, min(first, count - 1)))
        start += len(line) + 1


def read_cells(text: Any, line: str, first: int, count: int, gap: float) -> Iterator[Cell]:
    """Yield the parts of a line between gaps that are wider than `gap` points; a line with dots to a page number is
    one."""
    words: list[Word] = []
    has_leader = LEADER.search(line) is not None
    for found in WORD.finditer(line):
        left = text.get_charbox(min(first + found.start(), count - 1))[0]
        right = text.get_charbox(min(first + found.end() - 1, count - 1))[2]
        if words and left - words[-1].right > gap and not has_leader:
            yield Cell(tuple(words))
            words = []
        words.append(Word(found[0], left, right))
    yield Cell(tuple(words))


def is_bold(text: Any, index: int) -> bool:
    import pypdfium2.raw

    name, flags = ctypes.create_string_buffer(200), ctypes.c_int()
    length = pypdfium2.raw.FPDFText_GetFontInfo(text.raw, index, name, len(name), flags)
    return bool(length) and BOLD.search(name.value.decode(errors="replace")) is not None


def read_outline(document: Any) -> Outline:
    """Return the heading levels by page and title."""
    found: Outline = defaultdict(dict)
    for count, mark in enumerate(document.get_toc(max_depth=6)):
        if count >= MAX_OUTLINE:
            break
        target = mark.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            found[page][normalize_title(mark.get_title())] = mark.level + 1
    return found


@dataclass(slots=True)
class Titles:
    """Which lines are headings."""

    outline: Outline
    sizes: Counter[float] = field(default_factory=Counter)  # characters by height of their line, in the pages so far

    def read(self, lines: list[Line]) -> None:
        for line in lines:
            self.sizes[round(line.size)] += len(line.text)

    def level(self, line: Line, page: int) -> int:
        """Return the level of a heading, 0 of any other line."""
        if self.outline:
            return self.outline.get(page - 1, {}).get(normalize_title(line.text), 0)
        usual, _ = self.sizes.most_common(1)[0]
        if len(line.text) > MAX_TITLE or len(line.cells) > 1 or not any(map(str.isalpha, line.text)):
            return 0
        if line.size >= LARGEST * usual:
            return 1
        if line.size >= LARGE * usual:
            return 2
        return 3 if line.is_bold and line.size >= usual and not FINAL.search(line.text) else 0


def build_page_blocks(lines: list[Line], titles: Titles, page: int) -> Iterator[Block]:
    titles.read(lines)
    steps = [step for one, two in pairwise(lines) if (step := one.bottom - two.bottom) > 0]
    layout = Layout(max((len(line.text) for line in lines), default=0), median_low(steps) if steps else 0.0)
    for part in split_tables(lines):
        if isinstance(part[0], Line):
            yield from build_text_blocks(part, layout, titles, page)
        else:
            yield from build_row_blocks(part, page)


def build_text_blocks(lines: list[Line], layout: Layout, titles: Titles, page: int) -> Iterator[Block]:
    held: list[Line] = []
    before = 0  # level of the lines held
    for line in lines:
        level = titles.level(line, page)
        if held and (level != before or layout.starts_paragraph(held[-1], line)):
            yield Block(join_lines(held), "heading" if before else "paragraph", before, page)
            held = []
        held.append(line)
        before = level
    if held:
        yield Block(join_lines(held), "heading" if before else "paragraph", before, page)


@dataclass(frozen=True, slots=True)
class Layout:
    """The usual line length and line spacing of a page."""

    length: int  # of the longest line
    step: float  # from one line to the next

    def starts_paragraph(self, line: Line, after: Line) -> bool:
        """Whether `after` begins a paragraph: a list item, or a line after a wide gap or a short end of a sentence."""
        is_gap = line.bottom - after.bottom > self.step * GAP
        is_early = len(line.text) < self.length * SHORT and FINAL.search(line.text) is not None
        return is_gap or is_early or ITEM.match(after.text) is not None


def join_lines(lines: list[Line]) -> str:
    """Return the lines as one, with words that were hyphenated at a line end put together."""
    parts: list[str] = []
    for line in (line.text for line in lines):
        if parts and HYPHEN.search(parts[-1]):
            parts[-1] = parts[-1][:-1]
        elif parts:
            parts.append("" if parts[-1][-1] > "\u2e80" and line[0] > "\u2e80" else " ")  # none between Chinese lines
        parts.append(line)
    return "".join(parts)


def normalize_title(title: str) -> str:
    return "".join(title.split()).casefold()


def has_pictures(document: Any) -> bool:
    import pypdfium2.raw

    kinds = [pypdfium2.raw.FPDF_PAGEOBJ_IMAGE]
    return any(
        next(iter(document[index].get_objects(filter=kinds)), None) is not None
        for index in range(min(len(document), PAGES_CHECKED))
    )
