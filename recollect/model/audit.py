"""Audit: one row for every change of what is known and for every erasure. It names things by id, never by content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.model.ids import MemoryId
from recollect.model.memory import Memory
from recollect.model.reconcile import Changes


@dataclass(frozen=True, slots=True)
class Audit:
    """`subject` is what was changed, e.g. `memory:<id>`; `detail` has kinds and counts."""

    id: UUID
    at: datetime
    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deed:
    """An audit row on its way into the store, which adds id and time."""

    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any]


def deeds(changes: Changes, before: Iterable[Memory], actor: str) -> list[Deed]:
    """What changed about which memory."""
    known = {memory.id: memory for memory in before}
    made = [Deed(actor, _action(known.get(new.id), new), new.ref, _detail(new)) for new in changes.put]
    return made + [Deed(actor, "erased", f"memory:{gone}", {}) for gone in changes.drop]


def _action(old: Memory | None, new: Memory) -> str:
    if old is None:
        return "learned" if new.status == "active" else new.status
    if old.status != new.status:
        return "restored" if new.status == "active" else new.status
    return "confirmed" if old.value == new.value else "changed"


def _detail(memory: Memory) -> dict[str, Any]:
    detail = {"kind": memory.kind, "by": memory.learned_by, "source": memory.source}
    replaced: MemoryId | None = memory.replaced_by
    return detail | ({"replaced_by": str(replaced)} if replaced else {})
