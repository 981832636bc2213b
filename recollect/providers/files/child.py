"""Child: the process that reads one file. Started by reader.py as `python -m`, with the file as its standard input.

It confines itself, finds out what the file is, and writes frames until it has written a last word. A pipe that is full
stops it, so it reads no faster than its parent takes.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

import msgspec

from recollect.model.cutting import word_end
from recollect.model.document import Batch, Block, DocumentFormat, Failure, FailureReason, Finished, Limits, is_blank
from recollect.providers.files.confine import confine, was_near_limit
from recollect.providers.files.frames import Item, frame
from recollect.providers.files.sniff import sniff
from recollect.providers.files.source import Refused, Source

READERS: dict[DocumentFormat, str] = {"csv": "table"}  # the others are in a module of their own name
BATCH_BLOCKS = 500
BATCH_CHARS = 100_000
MOST_BLOCK = 100_000  # characters; a longer one is given in parts
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
OUT_OF_MEMORY = 71  # exit status, for when not even a frame can be made


def main() -> int:
    limits = msgspec.json.decode(sys.argv[1], type=Limits)
    pipe = own_output()
    confine(limits)
    try:
        with open(0, "rb", closefd=False) as file, pipe:
            for item in reading(file, sys.argv[2], limits):
                pipe.write(frame(item))
                pipe.flush()
    except MemoryError:
        return OUT_OF_MEMORY
    return 0


def own_output() -> BinaryIO:
    """The pipe to the parent, out of reach of whatever prints."""
    pipe = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return pipe


def reading(file: BinaryIO, name: str, limits: Limits) -> Iterator[Item]:
    """Batches and one last word, whatever the file does to the libraries."""
    try:
        yield from read(Source(file, os.fstat(file.fileno()).st_size, limits), name)
    except Refused as refused:
        yield Failure(refused.reason, refused.detail)
    except MemoryError:
        yield Failure("too_much_memory")
    # Libraries fail on damaged files in more ways than they document; here each of them is the file's fault.
    except Exception as error:  # noqa: BLE001
        reason: FailureReason = "too_much_memory" if was_near_limit(limits) else "corrupt"
        yield Failure(reason, f"{type(error).__name__}: {error}"[:500])


def read(source: Source, name: str) -> Iterator[Item]:
    kind = sniff(source, name)
    source.file.seek(0)
    source.done, source.total = 0, source.size
    module = importlib.import_module(f"recollect.providers.files.{READERS.get(kind, kind)}")
    blocks = characters = 0
    for batch in batches(module.read(source), source):
        blocks += len(batch.blocks)
        characters += sum(len(block.text) for block in batch.blocks)
        yield batch
    if not blocks:
        raise Refused("empty")
    yield Finished(kind, blocks, characters)


def batches(blocks: Iterator[Block], source: Source) -> Iterator[Batch]:
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
    """Blocks that have words, none too long, without characters that cannot be kept."""
    for block in blocks:
        text = CONTROL.sub("", block.text)
        if is_blank(text):
            continue
        if text == block.text and len(text) <= MOST_BLOCK:
            yield block
        else:
            yield from (replace(block, text=part) for part in parts(text))


def parts(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > MOST_BLOCK:
        end = word_end(text, start, start + MOST_BLOCK)
        yield text[start:end]
        start = end
    yield text[start:]


if __name__ == "__main__":
    sys.exit(main())
