"""Scope: whose memory is read or written; and ids. New ids are UUIDv7, made here, so that they sort by time. Scope ids
are derived from names, so that they need no lookup (docs/why/storage-and-scope.md)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NewType
from uuid import UUID, uuid5

from recollect.values.text import check_text

ScopeId = NewType("ScopeId", UUID)
ConversationId = NewType("ConversationId", UUID)
RequestId = NewType("RequestId", UUID)
MemoryId = NewType("MemoryId", UUID)
Tier = Literal["session", "user", "project", "ontology"]  # where something is defined, nearest first

# Any fixed value would do; changing it would orphan every row ever written.
RECOLLECT = UUID("5f0a3c2e-9d41-5b7a-8c66-72656d656d62")


def uuid7() -> UUID:
    """Return a new id: 48 bits of milliseconds, then random bits (RFC 9562)."""
    millis = time.time_ns() // 1_000_000
    chance = int.from_bytes(os.urandom(10))
    value = millis << 80 | 0x7 << 76 | (chance >> 68 & 0xFFF) << 64 | 0b10 << 62 | chance & (1 << 62) - 1
    return UUID(int=value)


@lru_cache(maxsize=4096)
def user_scope_id(project: str, user: str) -> ScopeId:
    """Return the shard and isolation key of everything that belongs to one user of one project."""
    return ScopeId(uuid5(uuid5(RECOLLECT, project), f"u:{user}"))


@lru_cache(maxsize=1024)
def project_scope_id(project: str) -> ScopeId:
    """Return the key of what all users of a project share."""
    return ScopeId(uuid5(uuid5(RECOLLECT, project), "p:"))


MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Scope:
    """A user of a project and, if one is open, the session."""

    user: str
    session: str | None = None
    project: str = "default"

    def __post_init__(self) -> None:
        check_text("user", self.user, MAX_NAME)
        check_text("project", self.project, MAX_NAME)
        if self.session is not None:
            check_text("session", self.session, MAX_NAME)

    @property
    def id(self) -> ScopeId:
        return user_scope_id(self.project, self.user)

    @property
    def project_id(self) -> ScopeId:
        """The scope of what the whole project knows."""
        return project_scope_id(self.project)
