"""What the two processes share: the open file that a format's reader works on with its encoding, and the frames that
carry its blocks.

A reader is a function from a Source to an iterator of Blocks. It keeps `done` up to date, and raises `Refused` when it
knows what is wrong; any other error means a damaged file. The parent trusts no frame: it decodes into one of three
types, or the process is ended.
"""

from __future__ import annotations

import codecs
import io
import re
import struct
from asyncio import StreamReader
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal

import msgspec

from recollect.values.document import Batch, Failure, FailureReason, Finished, Limits

Item = Batch | Finished | Failure
TYPES: dict[bytes, type[Item]] = {b"B": Batch, b"D": Finished, b"F": Failure}
LETTERS = {kind: letter for letter, kind in TYPES.items()}
HEADER = struct.Struct(">cI")
MAX_FRAME_BYTES = 16_000_000
# Kinds of files that are not read, by their first bytes.
UNREAD_KINDS = {
    b"\x1f\x8b": "gzip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!": "rar",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x89PNG": "png",
    b"\xff\xd8\xff": "jpeg",
    b"GIF8": "gif",
    b"II*\0": "tiff",
    b"MM\0*": "tiff",
    b"RIFF": "riff",
    b"\x7fELF": "elf",
    b"MZ": "exe",
    b"{\\rtf": "rtf",
    b"%!PS": "postscript",
    b"SQLite format 3": "sqlite",
    b"\xca\xfe\xba\xbe": "class",
}
BLOCK = 1 << 20
SAMPLE = 16_384  # bytes before and after the first that is not UTF-8
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1b\x1a")) + b"\x7f"
MAX_CONTROLS = 0.01  # of all bytes, or FEW: a file with more is no text
FEW = 16
NEARLY = 20  # non-ASCII characters per broken one from which it is UTF-8 with a flaw
CANDIDATES = ["gb18030", "big5", "cp932", "euc_jp", "euc_kr", "cp1251", "cp1252", "koi8_r"]
DECLARED = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.I)
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


def detect_encoding(source: Source) -> str:
    """Return the encoding of a text. UTF-8 is taken if it decodes or nearly does, UTF-16 by its mark; otherwise
    charset-normalizer chooses among encodings still in use, from the part of the file in which UTF-8 failed."""
    source.file.seek(0)
    head = source.file.read(4)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        check_utf16(source)
        return "utf-16"
    check_bytes(source)
    flaw = find_flaw(source.file)
    if flaw is None:
        return "utf-8-sig"
    return find_declared_encoding(source.file) or guess_encoding(source.file, flaw)


def check_bytes(source: Source) -> None:
    """Refuse a file with a NUL, or with control characters that no text has."""
    source.file.seek(0)
    controls = 0
    while block := source.file.read(BLOCK):
        if b"\0" in block:
            raise Refused("not_text", "NUL")
        controls += len(block) - len(block.translate(None, CONTROLS))
    if controls > max(FEW, source.size * MAX_CONTROLS):
        raise Refused("not_text", "control characters")


def check_utf16(source: Source) -> None:
    source.file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        while block := source.file.read(BLOCK):
            text = decoder.decode(block)
            if "\0" in text:
                raise Refused("not_text", "NUL")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise Refused("not_text", "UTF-16") from error


def find_flaw(file: BinaryIO) -> int | None:
    """Return where UTF-8 fails; None if it does not, or so rarely that it is a UTF-8 text with a flaw."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    flaw, flaws, wide, at = None, 0, 0, 0
    while block := file.read(BLOCK):
        text = decoder.decode(block, final=len(block) < BLOCK)
        found = text.count("\ufffd") - block.count(b"\xef\xbf\xbd")
        if found > 0 and flaw is None:
            flaw = at + len(text[: text.index("\ufffd")].encode())
        flaws += max(0, found)
        wide += len(text) - len(text.encode("ascii", "ignore"))
        at += len(block)
    return flaw if flaws * NEARLY > wide else None


def find_declared_encoding(file: BinaryIO) -> str:
    """Return the encoding that an HTML page declares, if the first block decodes with it."""
    file.seek(0)
    block = file.read(BLOCK)
    found = DECLARED.search(block[:4096])
    try:
        name = codecs.lookup(found[1].decode()).name if found else ""
        return name if name and "\ufffd" not in block.decode(name, "replace")[:-2] else ""
    except LookupError:
        return ""


def guess_encoding(file: BinaryIO, flaw: int) -> str:
    from charset_normalizer import from_bytes

    file.seek(max(0, flaw - SAMPLE))
    sample = file.read(2 * SAMPLE)
    lines = sample[: sample.rfind(b"\n") + 1] or sample
    best = from_bytes(lines, cp_isolation=CANDIDATES).best()
    if best is None:
        raise Refused("not_text", "no encoding fits")
    return best.encoding
