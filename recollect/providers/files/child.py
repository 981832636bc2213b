"""The confined process that reads one file. reader.py starts it as `python -m`, with the file as its standard input. It
gives up its rights (`confine`), detects the format by the content, and writes frames (source.py). A file's name only
decides between kinds of text, where a wrong guess does no harm."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import msgspec

from recollect.providers.files.html import read_html
from recollect.providers.files.office import detect_office_format, read_docx, read_pptx, read_xlsx
from recollect.providers.files.pdf import read_pdf
from recollect.providers.files.plain_text import read_text
from recollect.providers.files.source import UNREAD_KINDS, Item, Refused, Source, detect_encoding, encode_frame
from recollect.providers.files.text_formats import is_table, read_csv, read_markdown
from recollect.recall.chunking import find_word_end
from recollect.values.document import Batch, Block, DocumentFormat, Failure, FailureReason, Finished, Limits, is_blank

READERS: dict[DocumentFormat, Callable[[Source], Iterator[Block]]] = {
    "pdf": read_pdf,
    "docx": read_docx,
    "pptx": read_pptx,
    "xlsx": read_xlsx,
    "csv": read_csv,
    "html": read_html,
    "markdown": read_markdown,
    "text": read_text,
}
HEAD = 8_192
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # old Office files, and new ones under a password
PASSWORD = "EncryptedPackage".encode("utf-16-le")
# Atomic groups: nested comments would otherwise make the search exponential.
HTML = re.compile(r"(?>\s+|<!--.*?-->|<\?xml[^>]*>)*+<(?:!doctype\s+html|html|head|body|title|meta)[\s>]", re.I | re.S)
TAG = re.compile(r"</(?:p|div|h[1-6]|table|ul|ol|body|section|article|span|a)\s*>", re.I)
MARKDOWN = re.compile(r"^(?:#{1,6} \S|```|~~~|\[[^\]]+\]\([^)]+\)|\|[ :-]+\|)", re.M)
BY_NAME: dict[str, DocumentFormat] = {"md": "markdown", "markdown": "markdown", "csv": "csv", "tsv": "csv"}
BATCH_BLOCKS = 500
BATCH_CHARS = 100_000
MAX_BLOCK = 100_000  # characters; a longer block is sent in pieces
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
OUT_OF_MEMORY = 71  # exit status if there is no memory even for a frame
OPEN_FILES = 64
GRACE = 2  # CPU seconds between SIGXCPU, which tells the parent why, and SIGKILL
NEAR_LIMIT = 0.75  # of the memory limit
PEAK_MEMORY = re.compile(r"VmPeak:\s+(\d+) kB")
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000


def main() -> int:
    limits = msgspec.json.decode(sys.argv[1], type=Limits)
    pipe = take_output()
    confine(limits)
    try:
        with open(0, "rb", closefd=False) as file, pipe:
            for item in read_safely(file, sys.argv[2], limits):
                pipe.write(encode_frame(item))
                pipe.flush()
    except MemoryError:
        return OUT_OF_MEMORY
    return 0


def take_output() -> BinaryIO:
    """Return the pipe to the parent, and send whatever libraries print nowhere."""
    pipe = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return pipe


def read_safely(file: BinaryIO, name: str, limits: Limits) -> Iterator[Item]:
    """Yield batches and one last item, whatever the file does to the libraries."""
    try:
        yield from read(Source(file, os.fstat(file.fileno()).st_size, limits), name)
    except Refused as refused:
        yield Failure(refused.reason, refused.detail)
    except MemoryError:
        yield Failure("too_much_memory")
    except ModuleNotFoundError as error:
        yield Failure("not_installed", str(error))
    # Libraries fail on damaged files in more ways than they document.
    except Exception as error:  # noqa: BLE001
        reason: FailureReason = "too_much_memory" if was_near_limit(limits) else "corrupt"
        yield Failure(reason, f"{type(error).__name__}: {error}"[:500])


def read(source: Source, name: str) -> Iterator[Item]:
    kind = detect_format(source, name)
    source.file.seek(0)
    source.done, source.total = 0, source.size
    blocks = characters = 0
    for batch in make_batches(READERS[kind](source), source):
        blocks += len(batch.blocks)
        characters += sum(len(block.text) for block in batch.blocks)
        yield batch
    if not blocks:
        raise Refused("empty")
    yield Finished(kind, blocks, characters)


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
    for magic, kind in UNREAD_KINDS.items():
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


def make_batches(blocks: Iterator[Block], source: Source) -> Iterator[Batch]:
    held: list[Block] = []
    length = 0
    for block in clean_blocks(blocks):
        held.append(block)
        length += len(block.text)
        if length > BATCH_CHARS or len(held) >= BATCH_BLOCKS:
            yield Batch(held, source.done, source.total, source.unit)
            held, length = [], 0
    if held:
        yield Batch(held, source.total, source.total, source.unit)


def clean_blocks(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the blocks that have text, none too long, without characters that cannot be stored."""
    for block in blocks:
        text = CONTROL.sub("", block.text)
        if is_blank(text):
            continue
        if text == block.text and len(text) <= MAX_BLOCK:
            yield block
        else:
            yield from (replace(block, text=part) for part in split_text(text))


def split_text(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > MAX_BLOCK:
        end = find_word_end(text, start, start + MAX_BLOCK)
        yield text[start:end]
        start = end
    yield text[start:]


def confine(limits: Limits) -> None:
    """Limit memory, CPU time, open files and new processes, forbid writing to disk, die with the parent, and give up
    the network where the system allows it. reader.py has already left the environment behind."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # Root needs no user namespace, and could not read our own modules in one. Where neither call is allowed this
        # does nothing, and the limits below still hold.
        if libc.unshare(CLONE_NEWNET) != 0:
            libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)
    lower_limit(resource.RLIMIT_AS, limits.memory_bytes)
    lower_limit(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + GRACE)
    lower_limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    lower_limit(resource.RLIMIT_FSIZE, 0)
    lower_limit(resource.RLIMIT_CORE, 0)
    lower_limit(resource.RLIMIT_NPROC, 0)


def lower_limit(which: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, never above the one in force."""
    _, current = resource.getrlimit(which)
    most = current if current != resource.RLIM_INFINITY else sys.maxsize
    resource.setrlimit(which, (min(soft, most), min(soft if hard is None else hard, most)))


def was_near_limit(limits: Limits) -> bool:
    """Whether an error may come from a lack of memory: C libraries report it in many ways."""
    status = Path("/proc/self/status")
    found = PEAK_MEMORY.search(status.read_text()) if status.exists() else None
    return found is not None and int(found[1]) * 1024 > limits.memory_bytes * NEAR_LIMIT


if __name__ == "__main__":
    sys.exit(main())
