"""What the two processes share: the open file that a format's reader works on, and the frames that carry its blocks.

A reader is a function from a Source to an iterator of Blocks. It keeps `done` up to date, and raises `Refused` when it
knows what is wrong; any other error means a damaged file (child.py). A frame is a letter for its type, four bytes of
length, and MessagePack. The parent trusts no frame: a process taken over by a hostile file can only send one that
decodes into one of three types, or be ended.
"""

from __future__ import annotations

import io
import struct
from asyncio import StreamReader
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal

import msgspec

from recollect.values.blocks import Batch, Failure, FailureReason, Finished, Limits

Item = Batch | Finished | Failure
TYPES: dict[bytes, type[Item]] = {b"B": Batch, b"D": Finished, b"F": Failure}
LETTERS = {kind: letter for letter, kind in TYPES.items()}
HEADER = struct.Struct(">cI")
MAX_FRAME_BYTES = 16_000_000
MAX_LINE = 100_000  # characters; a longer line is read in pieces


class Refused(Exception):
    """The file cannot be read, for a known reason."""

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
        """Yield the lines of a text with their ends. Bytes that cannot be decoded become replacement characters."""
        self.file.seek(0)
        text = io.TextIOWrapper(self.file, self.encoding, errors="replace", newline=None)
        try:
            while line := text.readline(MAX_LINE):
                self.done = self.file.tell()
                yield line
        finally:
            text.detach()


class BadFrame(Exception):
    """The other process sent something that is not a frame."""


def encode_frame(item: Item) -> bytes:
    body = msgspec.msgpack.encode(item)
    return HEADER.pack(LETTERS[type(item)], len(body)) + body


async def read_frame(stream: StreamReader) -> Item:
    """Return the next item. Raises IncompleteReadError at the end of the stream."""
    letter, length = HEADER.unpack(await stream.readexactly(HEADER.size))
    if letter not in TYPES or length > MAX_FRAME_BYTES:
        raise BadFrame
    body = await stream.readexactly(length)
    try:
        return msgspec.msgpack.decode(body, type=TYPES[letter])
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadFrame from error
