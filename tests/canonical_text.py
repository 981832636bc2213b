"""The canonical text of a document, which the character ranges of chunks refer to (values/document.py), and all of its
chunks at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recollect.recall.chunking import Packing
from recollect.values.document import Block, Chunk, get_separator, is_blank


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


def split_chunks(blocks: Iterable[Block], *, size: int = 800, overlap: int = 80) -> Iterator[Chunk]:
    packing = Packing(size, overlap)
    for block in blocks:
        yield from packing.take(block)
    yield from packing.finish()
