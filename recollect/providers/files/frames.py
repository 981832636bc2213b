"""Frames: how the confined process (child.py) tells its parent (reader.py) what it reads.

A frame is a letter for its type, four bytes of length, and MessagePack. The parent trusts nothing in it: a reader that
was taken over by a hostile file can only send a frame that decodes into one of three types, or be ended.
"""

from __future__ import annotations

import struct
from asyncio import StreamReader

import msgspec

from recollect.model.document import Batch, Failure, Finished

Item = Batch | Finished | Failure
TYPES: dict[bytes, type[Item]] = {b"B": Batch, b"D": Finished, b"F": Failure}
LETTERS = {kind: letter for letter, kind in TYPES.items()}
HEADER = struct.Struct(">cI")
MOST_BYTES = 16_000_000  # of one frame


class BadFrame(Exception):
    """The other side does not keep to the form."""


def frame(item: Item) -> bytes:
    body = msgspec.msgpack.encode(item)
    return HEADER.pack(LETTERS[type(item)], len(body)) + body


async def next_item(stream: StreamReader) -> Item:
    """Raises IncompleteReadError at the end of the stream."""
    letter, length = HEADER.unpack(await stream.readexactly(HEADER.size))
    if letter not in TYPES or length > MOST_BYTES:
        raise BadFrame
    body = await stream.readexactly(length)
    try:
        return msgspec.msgpack.decode(body, type=TYPES[letter])
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadFrame from error
