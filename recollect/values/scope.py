"""Scope: whose memory is read or written; and ids. New ids are UUIDv7, made here, so that they sort by time. Scope ids
are derived from names, so that they need no lookup (docs/why/storage.md)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Literal, NewType
from uuid import UUID, uuid5

from recollect.errors import InvalidInput
from recollect.values.text import check_optional_text, check_text

ScopeId = NewType("ScopeId", UUID)
ConversationId = NewType("ConversationId", UUID)
RequestId = NewType("RequestId", UUID)
MemoryId = NewType("MemoryId", UUID)
Tier = Literal["session", "user", "project", "ontology"]  # where something is defined, nearest first

# Any fixed value would do; changing it would orphan every row ever written.
RECOLLECT = UUID("5f0a3c2e-9d41-5b7a-8c66-72656d656d62")


_ids = Lock()
_last_id = 0  # 48 bits of milliseconds and 74 random bits


def uuid7() -> UUID:
    """Return a new id: 48 bits of milliseconds, then random bits (RFC 9562). Ids made by one process in the same
    millisecond sort in the order in which they were made, so that listings by id are in order too."""
    global _last_id
    fresh = time.time_ns() // 1_000_000 << 74 | int.from_bytes(os.urandom(10)) >> 6
    with _ids:
        if fresh >> 74 == _last_id >> 74 and fresh <= _last_id:
            fresh = _last_id + 1 + (fresh & 0xFFFF_FFFF)  # a random step keeps the ids of forked processes apart
        _last_id = fresh
    millis, high, low = fresh >> 74, fresh >> 62 & 0xFFF, fresh & (1 << 62) - 1
    return UUID(int=millis << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low)


def parse_id(field: str, value: object, noun: str) -> UUID:
    """Return an id that a caller gave; raise an error that names the field."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)  # type: ignore[arg-type]
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput(field, f"{value!r} is not a {noun} id") from None


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
        check_optional_text("session", self.session, MAX_NAME)

    @property
    def id(self) -> ScopeId:
        return user_scope_id(self.project, self.user)

    @property
    def project_id(self) -> ScopeId:
        """The scope of what the whole project knows."""
        return project_scope_id(self.project)
