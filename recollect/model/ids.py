"""Ids: UUIDv7 made here, so that they sort by time and need no round trip; scope ids are derived, so that they need no
look-up (docs/why/scope_id.md)."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import NewType
from uuid import UUID, uuid5

ScopeId = NewType("ScopeId", UUID)
ConversationId = NewType("ConversationId", UUID)
RequestId = NewType("RequestId", UUID)
MemoryId = NewType("MemoryId", UUID)

# Any fixed value would do; changing it would orphan every row ever written.
RECOLLECT = UUID("5f0a3c2e-9d41-5b7a-8c66-72656d656d62")


def uuid7() -> UUID:
    """A fresh id: 48 bits of milliseconds, then chance (RFC 9562)."""
    millis = time.time_ns() // 1_000_000
    chance = int.from_bytes(os.urandom(10))
    value = millis << 80 | 0x7 << 76 | (chance >> 68 & 0xFFF) << 64 | 0b10 << 62 | chance & (1 << 62) - 1
    return UUID(int=value)


@lru_cache(maxsize=4096)
def user_scope_id(project: str, user: str) -> ScopeId:
    """The shard and isolation key of everything that belongs to one user of one project."""
    return ScopeId(uuid5(uuid5(RECOLLECT, project), f"u:{user}"))


@lru_cache(maxsize=1024)
def project_scope_id(project: str) -> ScopeId:
    """The key of what everybody in a project shares."""
    return ScopeId(uuid5(uuid5(RECOLLECT, project), "p:"))
