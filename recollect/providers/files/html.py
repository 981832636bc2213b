"""The HTML reader: visible text only. Scripts, styles, navigation and hidden parts are dropped; nothing is fetched.

lxml's parser calls `Page` as it reads and builds no tree, so memory does not grow with the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from recollect.providers.files.source import Source
from recollect.providers.files.text_formats import Table
from recollect.values.document import Block, BlockKind, is_blank

DROPPED = frozenset(
    {"script", "style", "noscript", "template", "nav", "svg", "math", "head", "iframe", "object", "embed", "audio"}
    | {"video", "canvas", "select", "textarea"}
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
KINDS: dict[str, BlockKind] = {**dict.fromkeys(HEADINGS, "heading"), "li": "list", "pre": "code"}
BREAKING = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl"}
    | {"dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "ol", "p"}
    | {"pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", *HEADINGS}
)
MAX_TEXT = 100_000  # characters of one block
HIDING = re.compile(r"(?:^|;)(?:display:none|visibility:hidden)")
MEDIA = re.compile(r"@[^{}]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}|/\*.*?\*/", re.DOTALL)
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
SIMPLE = re.compile(r"[.#][\w-]+")
MAX_SPAN = 100  # columns that one cell covers


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


def is_hidden(attributes: Mapping[str, str], hiding: frozenset[str]) -> bool:
    """Whether the element itself says so, or has a class or an id that the page's own style sheet hides."""
    style = "".join(attributes.get("style", "").lower().split())
    names = {*(f".{name}" for name in attributes.get("class", "").split()), f"#{attributes.get('id', '')}"}
    is_declared = "hidden" in attributes or attributes.get("aria-hidden") == "true"
    return is_declared or HIDING.search(style) is not None or not hiding.isdisjoint(names)


def find_hiding_names(style: str) -> frozenset[str]:
    """Return the classes and ids whose only selector hides: rules inside @media may not apply, so they are ignored."""
    rules = MEDIA.sub("", style)
    return frozenset(
        name.strip()
        for selectors, body in RULE.findall(rules)
        if HIDING.search("".join(body.lower().split()))
        for name in selectors.split(",")
        if SIMPLE.fullmatch(name.strip())
    )


@dataclass(slots=True)
class Cell:
    """A cell of the current row, and how many columns and rows it covers."""

    is_header: bool
    columns: int = 1
    rows: int = 1
    text: str = ""


def read_span(text: str | None) -> int:
    return (min(int(text), MAX_SPAN) or 1) if text and text.isdecimal() else 1


def place_cells(row: list[Cell], above: dict[int, Cell]) -> list[str]:
    """Return the texts by column; `above` are cells of earlier rows that reach into this one."""
    texts: list[str] = []
    waiting = iter(row)
    while cell := above.get(len(texts)) or next(waiting, None):
        at, cell.rows = len(texts), cell.rows - 1
        # A header names each column that it covers; a value is said once.
        texts += [cell.text, *[cell.text if cell.is_header else ""] * (cell.columns - 1)]
        above[at] = cell
        if cell.rows < 1:
            del above[at]
    return texts


@dataclass(slots=True)
class Page:
    """The parser's target: what was read since the last block."""

    blocks: list[Block] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    length: int = 0
    row: list[Cell] | None = None
    above: dict[int, Cell] = field(default_factory=dict)  # cells that reach into the current row, by column
    table: Table | None = None
    in_style: bool = False
    hiding: frozenset[str] = frozenset()  # classes and ids that a style sheet of the page hides
    dropping: int = 0  # depth inside a dropped element
    kind: BlockKind = "paragraph"
    level: int = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self.dropping or tag in DROPPED or is_hidden(attributes, self.hiding):
            self.dropping += 1
            self.in_style = tag == "style"
        elif tag in ("td", "th"):
            if self.row is not None:
                columns, rows = map(read_span, map(attributes.get, ("colspan", "rowspan")))
                self.row.append(Cell(tag == "th", columns, rows))
        elif tag == "br":
            self.texts.append("\n")
        elif tag in BREAKING:
            self.start_block(tag)

    def start_block(self, tag: str) -> None:
        if self.row is not None and tag not in HEADINGS and tag != "tr":
            self.texts.append(" ")
            return
        self.flush()
        self.kind, self.level = KINDS.get(tag, "paragraph"), HEADINGS.get(tag, 0)
        if tag == "tr":
            self.row, self.table = [], self.table or Table()

    def end(self, tag: str) -> None:
        if self.dropping:
            self.dropping -= 1
            self.in_style = False
        elif tag in ("td", "th") and self.row:
            self.row[-1].text = " ".join("".join(self.texts).split())
            self.texts, self.length = [], 0
        elif tag in BREAKING and (self.row is None or tag in HEADINGS or tag in ("tr", "table")):
            self.flush()
            if tag == "table":
                self.finish_table()

    def data(self, text: str) -> None:
        if self.in_style:
            self.hiding |= find_hiding_names(text)
        if not self.dropping:
            self.texts.append(text)
            self.length += len(text)
            if self.length > MAX_TEXT:
                self.flush_text()

    def comment(self, text: str) -> None:
        """Ignore comments."""

    def close(self) -> None:
        self.flush()
        self.finish_table()

    def finish_table(self) -> None:
        if self.table is not None:
            self.blocks += self.table.finish()
        self.table, self.above = None, {}

    def flush(self) -> None:
        if self.row is not None:
            is_header = bool(self.row) and all(cell.is_header for cell in self.row)
            if self.table is not None:
                self.blocks += self.table.add(place_cells(self.row, self.above), names_columns=is_header)
            self.row = None
        self.flush_text()
        self.kind, self.level = "paragraph", 0

    def flush_text(self) -> None:
        text = "".join(self.texts)
        if not is_blank(text):
            if self.table is not None and self.table.waiting:
                self.blocks += self.table.decide()  # text between two rows keeps its place
            self.blocks.append(
                Block(text.strip("\n") if self.kind == "code" else " ".join(text.split()), self.kind, self.level)
            )
        self.texts, self.length = [], 0

    def take_blocks(self) -> list[Block]:
        blocks, self.blocks = self.blocks, []
        return blocks
