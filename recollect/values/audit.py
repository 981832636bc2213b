"""Audit log and receipts: one entry for every change of memories and for every erasure. Entries name things by id,
never by content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.values.scope import MemoryId


@dataclass(frozen=True, slots=True)
class Audit:
    """A stored audit entry. `subject` is what was changed, e.g. `memory:<id>`; `detail` has kinds and counts."""

    id: UUID
    at: datetime
    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A new audit entry; the store adds id and time."""

    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erasure removed, counted per table. `session` is None if one memory or the whole user was forgotten.
    `rebuilt` counts memories that were rebuilt from evidence that was not erased."""

    user: str
    session: str | None
    at: datetime
    rows: Mapping[str, int]
    memory: MemoryId | None = None
    rebuilt: int = 0

    @property
    def total(self) -> int:
        return sum(self.rows.values())
