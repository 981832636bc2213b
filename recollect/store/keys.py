"""The store's part for API keys. What was found is remembered for a moment, so that a request costs no round trip; a
key that is revoked through this store is out at once, one revoked by another process after `KNOWN_FOR` seconds.

Known and unknown keys are remembered apart: guesses can push out guesses, never the keys of those who belong here.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from datetime import datetime
from typing import Generic, TypeVar

from recollect.model.api_key import ApiKey, KeyId, NewKey, presented
from recollect.store.database import Database, Row

KNOWN_FOR = 30.0  # seconds
UNKNOWN_FOR = 5.0
MOST_KNOWN = 10_000
MOST_UNKNOWN = 1_000
NOTED_FOR = 60.0
NONE_FOR = 5.0  # how long it is believed that there are no keys at all
V = TypeVar("V")


class Recent(Generic[V]):
    """Answers of the last seconds; beyond `most` of them the oldest go."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._kept: dict[Hashable, tuple[float, V]] = {}

    def get(self, name: Hashable) -> V | None:
        until, value = self._kept.get(name, (0.0, None))
        return value if time.monotonic() < until else None

    def put(self, name: Hashable, value: V) -> None:
        self._kept.pop(name, None)
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[name] = (time.monotonic() + self._seconds, value)

    def clear(self) -> None:
        self._kept.clear()


class KeyStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: Recent[ApiKey] = Recent(KNOWN_FOR, MOST_KNOWN)
        self._unknown: Recent[bool] = Recent(UNKNOWN_FOR, MOST_UNKNOWN)
        self._noted: Recent[bool] = Recent(NOTED_FOR, MOST_KNOWN)
        self._none: Recent[bool] = Recent(NONE_FOR, 1)
        self._has_any = False
        self._changes = 0

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, be it revoked or expired; None if there is none."""
        if (key := self._known.get(digest)) or self._unknown.get(digest):
            return key
        changes = self._changes
        rows = await self._database.ask("key.find", {"digest": digest})
        found = _key(rows[0]) if rows else None
        # Another task may have revoked it between the answer and now: such an answer is used, but not kept.
        if changes == self._changes:
            self._remember(digest, found)
        return found

    def _remember(self, digest: bytes, found: ApiKey | None) -> None:
        if found is not None:
            self._known.put(digest, found)
        else:
            self._unknown.put(digest, True)

    async def any(self) -> bool:
        """Whether a key was ever made; a yes stays."""
        if not self._has_any and not self._none.get("none"):
            [(self._has_any,)] = await self._database.ask("key.any", {})
            if not self._has_any:
                self._none.put("none", True)
        return self._has_any

    async def add(self, new: NewKey) -> None:
        key, shown = new.key, presented(new.secret)
        assert shown is not None
        parameters = {
            "id": key.id,
            "digest": shown.digest,
            "prefix": key.prefix,
            "name": key.name,
            "role": key.role,
            "project": key.project,
            "user": key.user,
            "now": key.created_at,
            "by": key.created_by,
            "expires": key.expires_at,
        }
        await self._database.ask("key.add", parameters)
        self._has_any = True
        self._forget_answers()

    async def add_under(self, new: NewKey, under: KeyId) -> bool:
        """A key that ends with another; not under one that was itself made so. There is one already, so nobody's answer
        changes."""
        key, shown = new.key, presented(new.secret)
        assert shown is not None
        parameters = {"id": key.id, "digest": shown.digest, "prefix": key.prefix, "under": under}
        times = {"now": key.created_at, "expires": key.expires_at}
        [(is_added,)] = await self._database.ask("key.add_under", parameters | times)
        return bool(is_added)

    async def revoke(self, key: KeyId, project: str | None, by: str, now: datetime) -> ApiKey | None:
        """None if there is no such key, or none of this project."""
        try:
            rows = await self._database.ask("key.revoke", {"id": key, "project": project, "by": by, "now": now})
        finally:
            self._forget_answers()  # also when the answer got lost: it may have happened
        return _key(rows[0]) if rows else None

    async def all(self, project: str | None) -> list[ApiKey]:
        """Of one project, or of all; the oldest first."""
        return [_key(row) for row in await self._database.ask("key.all", {"project": project})]

    def is_use_worth_noting(self, key: KeyId) -> bool:
        """True once a minute."""
        if self._noted.get(key):
            return False
        self._noted.put(key, True)
        return True

    async def note_use(self, key: KeyId, now: datetime) -> None:
        await self._database.ask("key.note_use", {"id": key, "now": now})

    def _forget_answers(self) -> None:
        self._changes += 1
        self._known.clear()
        self._unknown.clear()


def _key(row: Row) -> ApiKey:
    return ApiKey(*row)
