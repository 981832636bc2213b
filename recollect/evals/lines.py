"""Labelled data as people write it: a JSON object a line, blank lines left out, each with its number for an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect.errors import InvalidInput


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidInput("file", f"{path}: {error.strerror or error}") from None
    return ((number, line) for number, line in enumerate(lines, 1) if line.strip())
