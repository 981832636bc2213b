"""The PDF reader: the text of each page, with lines joined into paragraphs. Lines named in the outline are headings.

PDFium extracts the text (docs/why/documents.md says why). It runs no scripts: forms and XFA are never initialised.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low
from typing import Any

from recollect.providers.files.source import Refused, Source
from recollect.values.blocks import Block

MAX_PAGES = 50_000
MAX_OUTLINE = 5_000
PAGES_CHECKED = 20  # for pictures, if there is no text
PASSWORD_ERROR = 4  # PDFium's code
SHORT = 0.8  # of the longest line of a page; a shorter one that ends a sentence ends its paragraph
GAP = 1.3  # times the usual step between lines
FINAL = re.compile(r"[.!?:。！？：”\"')）]$")
HYPHEN = re.compile("(?<=\\w)[\ufffe\x02\xad]$")
ITEM = re.compile(r"(?:[•·▪‣◦–*-]|\d{1,2}[.)])\s+\S")
Outline = dict[int, dict[str, int]]


def read_pdf(source: Source) -> Iterator[Block]:
    document = open_pdf(source)
    source.total, source.unit = len(document), "pages"
    if source.total > MAX_PAGES:
        raise Refused("too_large_unpacked", f"{source.total} pages")
    outline = read_outline(document)
    has_text = False
    for index in range(source.total):
        for block in page_blocks(page_lines(document, index), outline.get(index, {}), index + 1):
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


def page_lines(document: Any, index: int) -> list[Line]:
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
    """Yield the lines with their height on the page, taken from their first character."""
    start, count = 0, text.count_chars()
    for line in text.get_text_range().split("\n"):
        bare = line.strip()
        if bare:
            yield Line(bare, text.get_charbox(min(start, count - 1), loose=True)[1])
        start += len(line) + 1


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


def page_blocks(lines: list[Line], headings: dict[str, int], page: int) -> Iterator[Block]:
    layout = Layout.of(lines)
    held: list[Line] = []
    for line in lines:
        level = headings.get(normalize_title(line.text)) if headings else None
        if held and (level or layout.starts_paragraph(held[-1], line)):
            yield Block(join_lines([each.text for each in held]), page=page)
            held = []
        if level:
            yield Block(line.text, "heading", level, page)
        else:
            held.append(line)
    if held:
        yield Block(join_lines([each.text for each in held]), page=page)


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    height: float  # above the bottom of the page, in points


@dataclass(frozen=True, slots=True)
class Layout:
    """The usual line length and line spacing of a page."""

    length: int  # of the longest line
    step: float  # from one line to the next

    @classmethod
    def of(cls, lines: list[Line]) -> Layout:
        steps = [step for one, two in pairwise(lines) if (step := one.height - two.height) > 0]
        return cls(max((len(line.text) for line in lines), default=0), median_low(steps) if steps else 0.0)

    def starts_paragraph(self, line: Line, after: Line) -> bool:
        """Whether `after` begins a paragraph: a list item, or a line after a wide gap or a short end of a sentence."""
        is_gap = line.height - after.height > self.step * GAP
        is_early = len(line.text) < self.length * SHORT and FINAL.search(line.text) is not None
        return is_gap or is_early or ITEM.match(after.text) is not None


def join_lines(lines: list[str]) -> str:
    """Return the lines as one, with words that were hyphenated at a line end put together."""
    parts: list[str] = []
    for line in lines:
        if parts and HYPHEN.search(parts[-1]):
            parts[-1] = parts[-1][:-1]
        elif parts:
            parts.append(joint_between(parts[-1], line))
        parts.append(line)
    return "".join(parts)


def joint_between(text: str, line: str) -> str:
    """Return a space, or nothing between Chinese lines."""
    return "" if text[-1] > "\u2e80" and line[0] > "\u2e80" else " "


def normalize_title(title: str) -> str:
    return "".join(title.split()).casefold()


def has_pictures(document: Any) -> bool:
    import pypdfium2.raw

    kinds = [pypdfium2.raw.FPDF_PAGEOBJ_IMAGE]
    return any(
        next(iter(document[index].get_objects(filter=kinds)), None) is not None
        for index in range(min(len(document), PAGES_CHECKED))
    )
