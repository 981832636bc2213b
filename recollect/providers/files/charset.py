"""Charset: the encoding of a text, or the finding that it is none. One pass over the file, a block at a time.

UTF-8 is taken if it decodes, or nearly; UTF-16 by its mark; else charset-normalizer chooses between a few encodings
that people still have, from the part of the file in which UTF-8 failed.
"""

from __future__ import annotations

import codecs
import re
from typing import BinaryIO

from recollect.providers.files.source import Refused, Source

BLOCK = 1 << 20
SAMPLE = 16_384  # bytes before and after the first that is not UTF-8
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1b\x1a")) + b"\x7f"
MOST_CONTROLS = 0.01  # of all bytes; more is no text, unless they are only a few
FEW = 16
NEARLY = 20  # characters beyond ASCII per broken one, from which on it is UTF-8 with a flaw
CANDIDATES = ["gb18030", "big5", "cp932", "euc_jp", "euc_kr", "cp1251", "cp1252", "koi8_r"]
DECLARED = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.I)


def text_encoding(source: Source) -> str:
    source.file.seek(0)
    head = source.file.read(4)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        check_utf16(source)
        return "utf-16"
    check_bytes(source)
    flaw = first_flaw(source.file)
    if flaw is None:
        return "utf-8-sig"
    return declared(source.file) or detected(source.file, flaw)


def check_bytes(source: Source) -> None:
    """Refuses what contains a NUL, or control characters that no text has."""
    source.file.seek(0)
    controls = 0
    while block := source.file.read(BLOCK):
        if b"\0" in block:
            raise Refused("not_text", "NUL")
        controls += len(block) - len(block.translate(None, CONTROLS))
    if controls > max(FEW, source.size * MOST_CONTROLS):
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


def first_flaw(file: BinaryIO) -> int | None:
    """Where UTF-8 fails; None where it does not, or so rarely that it is a flaw of an UTF-8 text."""
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


def declared(file: BinaryIO) -> str:
    """What a page says of itself, if it is true as far as the first block goes."""
    file.seek(0)
    block = file.read(BLOCK)
    found = DECLARED.search(block[:4096])
    try:
        name = codecs.lookup(found[1].decode()).name if found else ""
        return name if name and "\ufffd" not in block.decode(name, "replace")[:-2] else ""
    except LookupError:
        return ""


def detected(file: BinaryIO, flaw: int) -> str:
    from charset_normalizer import from_bytes

    file.seek(max(0, flaw - SAMPLE))
    sample = file.read(2 * SAMPLE)
    lines = sample[: sample.rfind(b"\n") + 1] or sample
    best = from_bytes(lines, cp_isolation=CANDIDATES).best()
    if best is None:
        raise Refused("not_text", "no encoding fits")
    return best.encoding
