"""API keys in the store. Lookups are cached briefly, so that a request costs no round trip. A key revoked through this
store stops working at once, one revoked by another process after `KNOWN_FOR` seconds. While the database does not
answer, answers of the last `SEEN_FOR` seconds are used. Guesses are cached apart, so that they never displace keys.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from datetime import datetime
from typing import Any, Generic, TypeVar

from recollect.deadline import run_in_time
from recollect.errors import RecollectError
from recollect.store.database import Database, StorePart
from recollect.store.wire_format import to_row
from recollect.values.identity import ApiKey, KeyId, NewKey, parse_key

KNOWN_FOR = 30.0  # seconds
UNKNOWN_FOR = 5.0
MOST_KNOWN = 10_000
MOST_UNKNOWN = 1_000
NOTED_FOR = 60.0
SEEN_FOR = 900.0  # how long a cached answer is used while the database does not answer
NONE_FOR = 5.0  # how long the answer "there are no keys" is cached
V = TypeVar("V")


class RecentValues(Generic[V]):
    """Values with the time at which they were put; beyond `most` entries the oldest are dropped."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Hashable, tuple[float, V]] = {}

    def get(self, name: Hashable, seconds: float) -> V | None:
        """Return the value, unless it is older than that."""
        at, value = self._kept.get(name, (-math.inf, None))
        return value if time.monotonic() - at < seconds else None

    def put(self, name: Hashable, value: V) -> None:
        self._kept.pop(name, None)
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[name] = (time.monotonic(), value)

    def drop(self, name: Hashable) -> None:
        self._kept.pop(name, None)

    def clear(self) -> None:
        self._kept.clear()


class KeyStore(StorePart):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._known: RecentValues[ApiKey] = RecentValues(MOST_KNOWN)
        self._unknown: RecentValues[bool] = RecentValues(MOST_UNKNOWN)
        self._noted: RecentValues[bool] = RecentValues(MOST_KNOWN)
        self._had_none_at = -math.inf
        self._has_any = False
        self._changes = 0

    async def find(self, digest: bytes) -> ApiKey | None:
        """Return the key with this digest, also if it is revoked or expired; None if there is none."""
        if (key := self._known.get(digest, KNOWN_FOR)) or self._unknown.get(digest, UNKNOWN_FOR):
            return key
        changes = self._changes
        asking = self._database.ask("key.find", digest=digest)
        seen = self._known.get(digest, SEEN_FOR)
        try:
            rows = await (asking if seen is None else run_in_time(asking))
        except RecollectError:
            if seen is None:
                raise
            return seen
        found = ApiKey(*rows[0]) if rows else None
        if changes != self._changes:
            return found  # another task may have revoked it meanwhile: this answer is used, but not cached
        if found is not None:
            self._known.put(digest, found)
        else:
            self._unknown.put(digest, True)
            self._known.drop(digest)
        return found

    async def has_any(self) -> bool:
        """Return whether a key was ever created; once True it stays True."""
        age = time.monotonic() - self._had_none_at
        if self._has_any or age < NONE_FOR:
            return self._has_any
        asking = self._database.ask("key.any")
        try:
            [(self._has_any,)] = await (run_in_time(asking) if age < SEEN_FOR else asking)
        except RecollectError:
            if age >= SEEN_FOR:
                raise
            return False
        if not self._has_any:
            self._had_none_at = time.monotonic()
        return self._has_any

    async def add(self, new: NewKey) -> None:
        await self._database.ask_as_operator("key.add", **build_key_row(new))
        self._has_any = True
        self._forget_answers()

    async def add_under(self, new: NewKey, under: KeyId) -> bool:
        """Add a key that is revoked with its parent; refuse a parent that was added so itself. Return whether it was
        added."""
        [(is_added,)] = await self._database.ask_as_operator("key.add_under", **build_key_row(new), under=under)
        return bool(is_added)

    async def revoke(self, key: KeyId, project: str | None, by: str, now: datetime) -> ApiKey | None:
        """Return the revoked key; None if there is no such key, or none of this project."""
        try:
            rows = await self._database.ask_as_operator("key.revoke", id=key, project=project, by=by, now=now)
        finally:
            self._forget_answers()  # also when the answer got lost: it may have happened
        return ApiKey(*rows[0]) if rows else None

    async def list_keys(self, project: str | None) -> list[ApiKey]:
        """Return the keys of one project, or all, oldest first."""
        return [ApiKey(*row) for row in await self._database.ask_as_operator("key.all", project=project)]

    def is_use_due(self, key: KeyId) -> bool:
        """Return True once a minute."""
        if self._noted.get(key, NOTED_FOR):
            return False
        self._noted.put(key, True)
        return True

    async def record_use(self, key: KeyId, now: datetime) -> None:
        await self._database.ask("key.note_use", id=key, now=now)

    def _forget_answers(self) -> None:
        self._changes += 1
        self._known.clear()
        self._unknown.clear()


def build_key_row(new: NewKey) -> dict[str, Any]:
    """Return what is stored of a new key: its digest in place of the secret."""
    key, presented = new.key, parse_key(new.secret)
    assert presented is not None
    times = {"now": key.created_at, "expires": key.expires_at}
    return {**to_row(key), **times, "by": key.created_by, "digest": presented.digest}
