"""Receipt: what an erasure removed, counted per table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from recollect.model.ids import MemoryId


@dataclass(frozen=True, slots=True)
class Receipt:
    """`session` is None when the whole user was forgotten, or one memory. `rebuilt` counts memories that also rest on
    something that was not erased, and were made anew from it."""

    user: str
    session: str | None
    at: datetime
    rows: Mapping[str, int]
    memory: MemoryId | None = None
    rebuilt: int = 0

    @property
    def total(self) -> int:
        return sum(self.rows.values())
