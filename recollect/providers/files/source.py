"""Source: the open file that a format's reader works on, and how it refuses.

A reader is a function from a Source to an iterator of Blocks. It keeps `done` up to date, and raises `Refused` when it
knows what is wrong; anything else it raises is taken for a damaged file (child.py). Neither leaves the process.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal

from recollect.model.document import FailureReason, Limits

LINE = 100_000  # characters; a longer line is read in parts


class Refused(Exception):
    """The file cannot be read, and this is why."""

    def __init__(self, reason: FailureReason, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


@dataclass(slots=True)
class Source:
    file: BinaryIO
    size: int
    limits: Limits
    encoding: str = "utf-8"  # of a text
    done: int = 0
    total: int = 0
    unit: Literal["pages", "bytes"] = "bytes"

    def lines(self) -> Iterator[str]:
        """The lines of a text, their ends included; what cannot be decoded is marked, never dropped silently."""
        self.file.seek(0)
        text = io.TextIOWrapper(self.file, self.encoding, errors="replace", newline=None)
        try:
            while line := text.readline(LINE):
                self.done = self.file.tell()
                yield line
        finally:
            text.detach()
