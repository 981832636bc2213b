"""The HTML reader: visible text only. Scripts, styles, navigation and hidden parts are dropped; nothing is fetched.

lxml's parser calls `Page` as it reads and builds no tree, so memory does not grow with the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from recollect.providers.files.source import Source
from recollect.providers.files.text_formats import CELL_SEPARATOR
from recollect.values.blocks import Block, BlockKind

DROPPED = frozenset(
    {"script", "style", "noscript", "template", "nav", "svg", "math", "head", "iframe", "object", "embed", "audio"}
    | {"video", "canvas", "select", "textarea"}
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BREAKING = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl"}
    | {"dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "ol", "p"}
    | {"pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", *HEADINGS}
)
MAX_TEXT = 100_000  # characters of one block


def read_html(source: Source) -> Iterator[Block]:
    from lxml import etree

    page = Page()
    parser = etree.HTMLParser(target=page, huge_tree=True)
    for line in source.lines():
        parser.feed(line)
        if page.blocks:
            yield from page.take_blocks()
    parser.close()
    yield from page.take_blocks()


def is_hidden(attributes: Mapping[str, str]) -> bool:
    """Whether the element itself says so; style sheets are not read."""
    style = "".join(attributes.get("style", "").lower().split())
    is_declared = "hidden" in attributes or attributes.get("aria-hidden") == "true"
    return is_declared or "display:none" in style or "visibility:hidden" in style


@dataclass(slots=True)
class Page:
    """The parser's target: what was read since the last block."""

    blocks: list[Block] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    length: int = 0
    row: list[str] | None = None  # complete cells of the current row
    header_cells: int = 0  # of the current row
    has_header: bool = False  # the current table has had its first row
    dropping: int = 0  # depth inside a dropped element
    kind: BlockKind = "paragraph"
    level: int = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self.dropping or tag in DROPPED or is_hidden(attributes):
            self.dropping += 1
        elif tag in ("td", "th"):
            self.header_cells += tag == "th"
        elif tag == "br":
            self.texts.append("\n")
        elif tag in BREAKING:
            self.start_block(tag)

    def start_block(self, tag: str) -> None:
        if self.row is not None and tag not in HEADINGS and tag != "tr":
            self.texts.append(" ")
            return
        self.flush()
        if tag == "tr":
            self.row, self.header_cells = [], 0
        elif tag == "table":
            self.has_header = False
        elif tag in HEADINGS:
            self.kind, self.level = "heading", HEADINGS[tag]
        elif tag in ("li", "pre"):
            self.kind = "list" if tag == "li" else "code"

    def end(self, tag: str) -> None:
        if self.dropping:
            self.dropping -= 1
        elif tag in ("td", "th") and self.row is not None:
            self.row.append(" ".join("".join(self.texts).split()))
            self.texts, self.length = [], 0
        elif tag in BREAKING and (self.row is None or tag in HEADINGS or tag in ("tr", "table")):
            self.flush()

    def data(self, text: str) -> None:
        if not self.dropping:
            self.texts.append(text)
            self.length += len(text)
            if self.length > MAX_TEXT:
                self.flush_text()

    def comment(self, text: str) -> None:
        """Ignore comments."""

    def close(self) -> None:
        self.flush()

    def flush(self) -> None:
        if self.row is not None:
            self.flush_row(self.row)
        self.flush_text()
        self.kind, self.level = "paragraph", 0

    def flush_row(self, row: list[str]) -> None:
        text = CELL_SEPARATOR.join(row).rstrip(CELL_SEPARATOR)
        if text:
            is_header = not self.has_header and self.header_cells == len(row)
            self.blocks.append(Block(text, "row", 1 if is_header else 0))
            self.has_header = True
        self.row = None

    def flush_text(self) -> None:
        text = "".join(self.texts)
        if not text.isspace() and text:
            self.blocks.append(
                Block(text.strip("\n") if self.kind == "code" else " ".join(text.split()), self.kind, self.level)
            )
        self.texts, self.length = [], 0

    def take_blocks(self) -> list[Block]:
        blocks, self.blocks = self.blocks, []
        return blocks
