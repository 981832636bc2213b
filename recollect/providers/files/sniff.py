"""Sniff: what a file is, by its content. Its name only decides between kinds of text, where a wrong guess is harmless.

Called by child.py, inside the confined process. Refuses what is not read at all, and says why.
"""

from __future__ import annotations

import csv
import re
from collections import Counter

from recollect.model.document import DocumentFormat
from recollect.providers.files.charset import text_encoding
from recollect.providers.files.office import office_format
from recollect.providers.files.source import Refused, Source

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
# Atomic, since comments within comments could be parted in more ways than there is time to try.
HTML = re.compile(r"(?>\s+|<!--.*?-->|<\?xml[^>]*>)*+<(?:!doctype\s+html|html|head|body|title|meta)[\s>]", re.I | re.S)
TAG = re.compile(r"</(?:p|div|h[1-6]|table|ul|ol|body|section|article|span|a)\s*>", re.I)
MARKDOWN = re.compile(r"^(?:#{1,6} \S|```|~~~|\[[^\]]+\]\([^)]+\)|\|[ :-]+\|)", re.M)
BY_NAME: dict[str, DocumentFormat] = {"md": "markdown", "markdown": "markdown", "csv": "csv", "tsv": "csv"}
DELIMITERS = ",;\t|"


def sniff(source: Source, name: str) -> DocumentFormat:
    """Sets the source's encoding if it is a text."""
    head = source.file.read(HEAD)
    if not head:
        raise Refused("empty")
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"PK"):
        return office_format(source)
    if head.startswith(OLE):
        raise Refused("encrypted" if contains(source, PASSWORD) else "unsupported", "OLE")
    for magic, kind in KNOWN.items():
        if head.startswith(magic):
            raise Refused("unsupported", kind)
    source.encoding = text_encoding(source)
    return kind_of_text(head.decode(source.encoding, errors="ignore"), name)


def kind_of_text(head: str, name: str) -> DocumentFormat:
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


def delimiter_of(lines: list[str]) -> str:
    """The character that parts the columns: the one by which most rows have the same number of them."""
    return max(DELIMITERS, key=lambda delimiter: evenness(lines, delimiter))


def evenness(lines: list[str], delimiter: str) -> tuple[float, int]:
    """The share of rows that have as many columns as most, and how many these are; nothing, if that is one."""
    try:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
    except csv.Error:
        return 0.0, 0
    width, count = max(widths.items(), key=lambda found: found[1], default=(0, 0))
    return (count / widths.total(), width) if width > 1 else (0.0, 0)


def is_table(lines: list[str]) -> bool:
    return len(lines) > 2 and any(evenness(lines[:-1], delimiter) >= (1.0, 3) for delimiter in DELIMITERS)


def contains(source: Source, needle: bytes) -> bool:
    source.file.seek(0)
    before = b""
    while block := source.file.read(1 << 20):
        if needle in before + block:
            return True
        before = block[-len(needle) :]
    return False
