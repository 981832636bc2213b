"""HTML: what a reader would read. Scripts, styles, navigation and hidden parts are dropped; nothing is fetched.

lxml's parser calls a target as it reads, so that no tree is built: memory does not grow with the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from recollect.model.document import Block, BlockKind
from recollect.providers.files.source import Source
from recollect.providers.files.table import BETWEEN

DROPPED = frozenset(
    {"script", "style", "noscript", "template", "nav", "svg", "math", "head", "iframe", "object", "embed", "audio"}
    | {"video", "canvas", "select", "textarea"}
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
PARTING = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl"}
    | {"dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "ol", "p"}
    | {"pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", *HEADINGS}
)
MOST_TEXT = 100_000  # characters of one block


def read(source: Source) -> Iterator[Block]:
    from lxml import etree

    page = Page()
    parser = etree.HTMLParser(target=page, huge_tree=True)
    for line in source.lines():
        parser.feed(line)
        if page.blocks:
            yield from page.taken()
    parser.close()
    yield from page.taken()


def is_hidden(attributes: Mapping[str, str]) -> bool:
    """By the element itself; what a style sheet hides is not known here."""
    style = "".join(attributes.get("style", "").lower().split())
    is_told = "hidden" in attributes or attributes.get("aria-hidden") == "true"
    return is_told or "display:none" in style or "visibility:hidden" in style


@dataclass(slots=True)
class Page:
    """What was read since the last block."""

    blocks: list[Block] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    length: int = 0
    row: list[str] | None = None  # cells that are complete, of the row we are in
    names: int = 0  # of them are header cells
    has_named: bool = False  # this table has had its header
    dropping: int = 0  # how deep inside a dropped element
    kind: BlockKind = "paragraph"
    level: int = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self.dropping or tag in DROPPED or is_hidden(attributes):
            self.dropping += 1
        elif tag in ("td", "th"):
            self.names += tag == "th"
        elif tag == "br":
            self.texts.append("\n")
        elif tag in PARTING:
            self.part(tag)

    def part(self, tag: str) -> None:
        if self.row is not None and tag not in HEADINGS and tag != "tr":
            self.texts.append(" ")
            return
        self.flush()
        if tag == "tr":
            self.row, self.names = [], 0
        elif tag == "table":
            self.has_named = False
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
        elif tag in PARTING and (self.row is None or tag in HEADINGS or tag in ("tr", "table")):
            self.flush()

    def data(self, text: str) -> None:
        if not self.dropping:
            self.texts.append(text)
            self.length += len(text)
            if self.length > MOST_TEXT:
                self.flush_text()

    def comment(self, text: str) -> None:
        """Not read."""

    def close(self) -> None:
        self.flush()

    def flush(self) -> None:
        if self.row is not None:
            self.flush_row(self.row)
        self.flush_text()
        self.kind, self.level = "paragraph", 0

    def flush_row(self, row: list[str]) -> None:
        text = BETWEEN.join(row).rstrip(BETWEEN)
        if text:
            is_header = not self.has_named and self.names == len(row)
            self.blocks.append(Block(text, "row", 1 if is_header else 0))
            self.has_named = True
        self.row = None

    def flush_text(self) -> None:
        text = "".join(self.texts)
        if not text.isspace() and text:
            self.blocks.append(Block(text.strip("\n") if self.kind == "code" else tidy(text), self.kind, self.level))
        self.texts, self.length = [], 0

    def taken(self) -> list[Block]:
        blocks, self.blocks = self.blocks, []
        return blocks


def tidy(text: str) -> str:
    return " ".join(text.split())
