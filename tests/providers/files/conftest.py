"""One reading from start to end, as a caller sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import pytest

from recollect.providers.files.reader import read_file
from recollect.values.document import Batch, Block, Failure, Finished, Limits


@dataclass(frozen=True, slots=True)
class Reading:
    batches: list[Batch]
    last: Finished | Failure

    @property
    def blocks(self) -> list[Block]:
        """What a caller may keep: nothing, unless the reading was finished."""
        if isinstance(self.last, Failure):
            return []
        return [block for batch in self.batches for block in batch.blocks]

    @property
    def reason(self) -> str:
        return self.last.reason if isinstance(self.last, Failure) else "finished"

    def texts(self) -> list[str]:
        return [block.text for block in self.blocks]


Read = Callable[..., Awaitable[Reading]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    async def reading(content: bytes, name: str, limits: Limits | None = None) -> Reading:
        path = tmp_path / "upload"
        path.write_bytes(content)
        return await read_path(path, name, limits or Limits())

    return reading


async def read_path(path: Path, name: str, limits: Limits) -> Reading:
    batches: list[Batch] = []
    last: Finished | Failure | None = None
    async with aclosing(read_file(path, name, limits)) as items:
        async for item in items:
            assert last is None, "nothing comes after the last word"
            if isinstance(item, Batch):
                batches.append(item)
            else:
                last = item
    assert last is not None
    return Reading(batches, last)
