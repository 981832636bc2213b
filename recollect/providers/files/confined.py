"""Confined: the adapter of the port FileReader. It reads a file through reader.py, and looks at a first few bytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

from recollect.model.document import Failure, Limits
from recollect.providers.files.frames import Item
from recollect.providers.files.reader import DEFAULT, read_file
from recollect.providers.files.sniff import KNOWN


class ConfinedReader:
    def __init__(self, limits: Limits = DEFAULT) -> None:
        self._limits = limits

    def glance(self, head: bytes, name: str) -> Failure | None:
        """Only what the first bytes say for certain: no parser runs outside the confined process."""
        if not head:
            return Failure("empty")
        kind = next((kind for magic, kind in KNOWN.items() if head.startswith(magic)), None)
        return None if kind is None else Failure("unsupported", kind)

    def read(self, path: Path, name: str) -> AsyncGenerator[Item, None]:
        return read_file(path, name, self._limits)
