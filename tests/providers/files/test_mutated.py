"""Files with bytes changed at random: each is read, or refused with a reason; the process that reads them survives."""

from __future__ import annotations

import random

import pytest

from tests.bounds import bound

from . import makers
from .conftest import Read

FILES = {
    "pdf": makers.pdf([("Chapter", ["A line of text.", "Another line."])]),
    "docx": makers.docx(),
    "pptx": makers.pptx(),
    "xlsx": makers.xlsx(),
    "html": b"<html><body><h1>Title</h1><table><tr><th>a</th></tr><tr><td>1</td></tr></table></body></html>",
    "csv": b"name,amount\nNorth,12\nSouth,7\n",
    "md": b"# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
}


def mutate(content: bytes, chance: random.Random) -> bytes:
    """Return the content with some bytes replaced, a part cut out, or a part repeated."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(data))
        match chance.randrange(3):
            case 0:
                data[place] = chance.randrange(256)
            case 1:
                del data[place : place + chance.randint(1, 40)]
            case _:
                data[place:place] = data[place : place + chance.randint(1, 40)]
        if not data:
            break
    return bytes(data)


@pytest.mark.long
@pytest.mark.parametrize("ending", FILES)
async def test_a_changed_file_is_read_or_refused(ending: str, read: Read) -> None:
    for seed in range(bound(3, 300)):
        reading = await read(mutate(FILES[ending], random.Random(seed)), f"upload.{ending}")

        assert reading.reason
        assert all(isinstance(text, str) for text in reading.texts())
