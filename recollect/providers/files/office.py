"""Office: what an archive is, and whether it is safe to unpack. Asked before any library sees the file.

Only the directory of the archive and the first bytes of its XML parts are read here. Nothing is ever written, no path
in the archive is used as a path, an archive inside the archive is not opened, and macros end the matter.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from zipfile import ZipFile, ZipInfo

from recollect.model.document import DocumentFormat
from recollect.providers.files.source import Refused, Source

MAIN_PARTS: dict[str, DocumentFormat] = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
}
RATIO_FREE = 16_000_000  # bytes unpacked up to which the ratio does not matter: a small sheet can pack very well
IS_ENCRYPTED = 1
PROLOG = 65_536  # bytes within which an XML part must have begun
ROOT = re.compile(r"<[A-Za-z_]")
ENCODING = re.compile(r"<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']+)")
ENCODINGS = ("utf-8", "utf-16", "us-ascii", "ascii")


def office_format(source: Source) -> DocumentFormat:
    try:
        with ZipFile(source.file) as archive:
            members = archive.infolist()
            check_members(members, source)
            found = main_part(members)
            check_parts(archive, members)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error) as error:
        raise Refused("corrupt", repr(error)) from error
    return found


def check_members(members: list[ZipInfo], source: Source) -> None:
    """Refuses a bomb by what its directory says; what it says is also the most that zipfile unpacks."""
    limits = source.limits
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > limits.members:
        raise Refused("too_large_unpacked", f"{len(members)} members")
    if unpacked > limits.unpacked_bytes:
        raise Refused("too_large_unpacked", f"{unpacked} bytes")
    if unpacked > max(RATIO_FREE, limits.unpacked_ratio * source.size):
        raise Refused("too_large_unpacked", f"{unpacked} bytes from {source.size}")
    if packed > source.size:
        raise Refused("corrupt", "members overlap")
    if any(member.flag_bits & IS_ENCRYPTED for member in members):
        raise Refused("encrypted")


def main_part(members: list[ZipInfo]) -> DocumentFormat:
    names = [member.filename for member in members]
    if len(set(names)) < len(names):
        raise Refused("corrupt", "two members of one name")
    if any(name.lower().endswith("vbaproject.bin") for name in names):
        raise Refused("macros")
    if "[Content_Types].xml" not in names:
        raise Refused("unsupported", "an archive")
    found = [kind for part, kind in MAIN_PARTS.items() if part in names]
    if len(found) != 1:
        raise Refused("unsupported", f"{len(found)} main parts")
    return found[0]


def check_parts(archive: ZipFile, members: list[ZipInfo]) -> None:
    for member in members:
        if member.filename.lower().endswith((".xml", ".rels")) and member.file_size:
            with archive.open(member) as part:
                check_prolog(part.read(PROLOG), member.filename)


def check_prolog(head: bytes, name: str) -> None:
    """The standard forbids document type declarations in these files, and entities are declared nowhere else."""
    text = head.decode("utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8", "replace")
    root = ROOT.search(text)
    if root is None or "<!DOCTYPE" in text[: root.start()].upper():
        raise Refused("corrupt", f"{name}: no root element, or a document type")
    encoding = ENCODING.match(text.lstrip("\ufeff"))
    if encoding is not None and encoding[1].lower() not in ENCODINGS:
        raise Refused("corrupt", f"{name}: encoding {encoding[1][:40]}")
