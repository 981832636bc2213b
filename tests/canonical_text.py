"""The canonical text of a document, which the character ranges of chunks refer to (values/document.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recollect.values.document import Block, get_separator, is_blank


def iter_canonical_text(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the canonical text in parts, to be joined without a separator."""
    before: Block | None = None
    for block in blocks:
        if is_blank(block.text):
            continue
        if before is not None:
            yield get_separator(before, block)
        yield block.text
        before = block
