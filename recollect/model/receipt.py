"""Receipt: what an erasure removed, counted per table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """`session` is None when the whole user was forgotten."""

    user: str
    session: str | None
    at: datetime
    rows: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.rows.values())
