"""Plain text: paragraphs are what empty lines part. Lines keep their ends: in a log or a poem they mean something."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.model.document import Block
from recollect.providers.files.source import Source

MOST_PARAGRAPH = 20_000  # characters after which a text without empty lines is parted at the next line


def read(source: Source) -> Iterator[Block]:
    lines: list[str] = []
    length = 0
    for line in source.lines():
        if line.isspace() or length > MOST_PARAGRAPH:
            yield Block("".join(lines).rstrip())
            lines, length = [], 0
        if not line.isspace():
            lines.append(line)
            length += len(line)
    yield Block("".join(lines).rstrip())
