"""Detection of a file's format by its content, and of a text's encoding. Runs inside the confined process (child.py).

A file's name only decides between kinds of text, where a wrong guess does no harm.
"""

from __future__ import annotations

import codecs
import re
from typing import BinaryIO

from recollect.providers.files.office import detect_office_format
from recollect.providers.files.source import Refused, Source
from recollect.providers.files.text_formats import is_table
from recollect.values.blocks import DocumentFormat

HEAD = 8_192
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # old Office files, and new ones under a password
PASSWORD = "EncryptedPackage".encode("utf-16-le")
KNOWN = {
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
# Atomic groups: nested comments would otherwise make the search exponential.
HTML = re.compile(r"(?>\s+|<!--.*?-->|<\?xml[^>]*>)*+<(?:!doctype\s+html|html|head|body|title|meta)[\s>]", re.I | re.S)
TAG = re.compile(r"</(?:p|div|h[1-6]|table|ul|ol|body|section|article|span|a)\s*>", re.I)
MARKDOWN = re.compile(r"^(?:#{1,6} \S|```|~~~|\[[^\]]+\]\([^)]+\)|\|[ :-]+\|)", re.M)
BY_NAME: dict[str, DocumentFormat] = {"md": "markdown", "markdown": "markdown", "csv": "csv", "tsv": "csv"}
BLOCK = 1 << 20
SAMPLE = 16_384  # bytes before and after the first that is not UTF-8
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1b\x1a")) + b"\x7f"
MAX_CONTROLS = 0.01  # of all bytes, or FEW: a file with more is no text
FEW = 16
NEARLY = 20  # non-ASCII characters per broken one from which it is UTF-8 with a flaw
CANDIDATES = ["gb18030", "big5", "cp932", "euc_jp", "euc_kr", "cp1251", "cp1252", "koi8_r"]
DECLARED = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.I)


def detect_format(source: Source, name: str) -> DocumentFormat:
    """Return the format of a file, and set the source's encoding if it is a text. Raises Refused for others."""
    head = source.file.read(HEAD)
    if not head:
        raise Refused("empty")
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"PK"):
        return detect_office_format(source)
    if head.startswith(OLE):
        raise Refused("encrypted" if contains(source, PASSWORD) else "unsupported", "OLE")
    for magic, kind in KNOWN.items():
        if head.startswith(magic):
            raise Refused("unsupported", kind)
    source.encoding = detect_encoding(source)
    return detect_text_format(head.decode(source.encoding, errors="ignore"), name)


def detect_text_format(head: str, name: str) -> DocumentFormat:
    ending = name.rpartition(".")[2].lower()
    if HTML.match(head.lstrip("\ufeff")) or (ending in ("html", "htm", "xhtml") and TAG.search(head)):
        return "html"
    if ending in BY_NAME:
        return BY_NAME[ending]
    if "." in name:
        return "text"
    if MARKDOWN.search(head):
        return "markdown"
    return "csv" if is_table(head.splitlines()[:20]) else "text"


def contains(source: Source, needle: bytes) -> bool:
    source.file.seek(0)
    before = b""
    while block := source.file.read(1 << 20):
        if needle in before + block:
            return True
        before = block[-len(needle) :]
    return False


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
    return declared_encoding(source.file) or guess_encoding(source.file, flaw)


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


def declared_encoding(file: BinaryIO) -> str:
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
