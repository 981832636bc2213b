"""Cache of what recall reads again: the end of a session, the texts of turns, the vectors of questions.

Cached entries are validated against the database, so no invalidation is needed: turns are only appended and redactions
are counted, so an entry stored under a conversation and a count equals the log (docs/why/cost-and-cache.md). A value
that is incomplete, of another owner or name, or of another type is a miss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TypeVar
from uuid import UUID

import msgspec
import numpy as np

from recollect.ports import Cache, CacheCounts
from recollect.recall.fuse import Candidates, Ints
from recollect.store.question_context import ContextLookup, QuestionContext
from recollect.store.store import Store
from recollect.store.wire_format import Vectors
from recollect.values.conversation import Turn, Window
from recollect.values.scope import ConversationId, ScopeId

T = TypeVar("T")
MAX_TURN_BYTES = 16_384  # of one turn; a longer one is read from the log each time


@dataclass(frozen=True, slots=True)
class TurnCache:
    """The session windows, turns and question vectors of a scope, in a Cache."""

    cache: Cache
    store: Store

    @property
    def counts(self) -> CacheCounts:
        return self.cache.counts

    @property
    def is_up(self) -> bool:
        return self.cache.is_up

    async def read(self, scope: ScopeId, project: ScopeId, sought: ContextLookup) -> QuestionContext:
        """Return what the store's `question_context.read` returns; of the session's last turns, read only those that
        are not cached."""
        if not sought.recent or sought.current is None:
            return await self.store.question_context.read(scope, project, sought)
        name = f"w:{hash_texts(sought.current)}"
        kept = await self._window(scope, name, sought)

        found = await self.store.question_context.read(scope, project, replace(sought, is_cached=True, kept=kept))

        window = found.window
        self._count_lookup(window if window and window.continues(kept) else None)
        if window and window.turns and not (kept and window.continues(kept) and window.turns[-1] == kept.turns[-1]):
            self._write(scope, {name: _encode(window)})
        return found

    async def read_turns(self, scope: ScopeId, rows: Ints, found: Candidates, most_chars: int) -> list[Turn]:
        """Return the turns of these rows, in no order; those that are not cached are read from the store."""
        places = locate_turns(rows, found)
        kept = await self._turns(scope, places)
        missing = [place for place in places if place.ref not in kept]
        if not missing:
            return list(kept.values())

        read = await self.store.load_turns(scope, [(place.conversation, place.index) for place in missing], most_chars)

        names = {place.ref: place.name for place in missing}
        bodies = {names[turn.ref]: _encode(turn) for turn in read}
        self._write(scope, {name: body for name, body in bodies.items() if len(body) <= MAX_TURN_BYTES})
        return [*kept.values(), *read]

    async def read_vector(self, scope: ScopeId, model: str, text: str) -> Vectors | None:
        name = f"q:{hash_texts(model, text)}"
        [body] = await self._read(scope, [name])
        return self._count_lookup(None if body is None else decode_vector(body))

    def write_vector(self, scope: ScopeId, model: str, text: str, vector: Vectors) -> None:
        if vector.dtype == np.float32:
            self._write(scope, {f"q:{hash_texts(model, text)}": vector.astype("<f4").tobytes()})

    async def drop(self, scope: ScopeId) -> None:
        """Remove a scope's entries. Forgotten or redacted text would not be served again, but it must not stay
        either."""
        await self.cache.drop(scope)

    async def _window(self, scope: ScopeId, name: str, sought: ContextLookup) -> Window | None:
        [body] = await self._read(scope, [name])
        kept = None if body is None else decode_window(body)
        usable = kept is not None and kept.is_long_enough(sought.recent) and kept.turns[-1].session == sought.current
        return kept if usable else None

    async def _turns(self, scope: ScopeId, places: Sequence[TurnLocation]) -> dict[str, Turn]:
        """Return the cached turns, by ref."""
        bodies = await self._read(scope, [place.name for place in places])
        turns = [self._count_lookup(None if body is None else decode_turn(body)) for body in bodies]
        return {place.ref: turn for place, turn in zip(places, turns, strict=True) if turn and turn.ref == place.ref}

    async def _read(self, scope: ScopeId, names: Sequence[str]) -> list[bytes | None]:
        found = await self.cache.read(scope, names)
        return [verify_checksum(scope, name, value) for name, value in zip(names, found, strict=True)]

    def _write(self, scope: ScopeId, values: Mapping[str, bytes]) -> None:
        self.cache.write(scope, {name: add_checksum(scope, name, body) for name, body in values.items()})

    def _count_lookup(self, value: T | None) -> T | None:
        if value is None:
            self.counts.misses += 1
        else:
            self.counts.hits += 1
        return value


@dataclass(frozen=True, slots=True)
class TurnLocation:
    """A turn's position in the log, its ref, and its name in the cache."""

    conversation: ConversationId
    index: int
    ref: str
    name: str


def locate_turns(rows: Ints, found: Candidates) -> list[TurnLocation]:
    """Return the locations of some rows. The time is part of the name: after a restore of an older database state,
    another turn may get the same index."""
    columns = (found.conversation[rows].tolist(), found.turn[rows].tolist(), found.said_at[rows].tolist())
    located = []
    for number, index, at in zip(*columns, strict=True):
        conversation = found.conversations[number]
        name = f"t:{conversation.hex}:{index}:{found.redactions.get(conversation, 0)}:{at:.6f}"
        located.append(TurnLocation(conversation, index, f"{found.sessions[number]}#{index}", name))
    return located


CHECKSUM_BYTES = 8  # bytes


_encode = msgspec.json.Encoder().encode
_turn = msgspec.json.Decoder(Turn)
_window = msgspec.json.Decoder(Window)


def add_checksum(owner: UUID, name: str, body: bytes) -> bytes:
    """Return the body with a checksum over owner, name and body. It detects accidents, not forgeries."""
    return _compute_checksum(owner, name, body) + body


def verify_checksum(owner: UUID, name: str, value: bytes | None) -> bytes | None:
    if value is None or value[:CHECKSUM_BYTES] != _compute_checksum(owner, name, value[CHECKSUM_BYTES:]):
        return None
    return value[CHECKSUM_BYTES:]


def _compute_checksum(owner: UUID, name: str, body: bytes) -> bytes:
    return blake2b(b"%b%b\0%b" % (owner.bytes, name.encode(), body), digest_size=CHECKSUM_BYTES).digest()


def decode_turn(body: bytes) -> Turn | None:
    try:
        turn = _turn.decode(body)
    except ValueError:
        return None
    return turn if is_of_log(turn) else None


def decode_window(body: bytes) -> Window | None:
    try:
        window = _window.decode(body)
    except ValueError:
        return None
    return window if all(map(is_of_log, window.turns)) else None


def is_of_log(turn: Turn) -> bool:
    """Return whether a turn has what the log adds to it."""
    return turn.at is not None and turn.session is not None and turn.index is not None


def decode_vector(body: bytes) -> Vectors | None:
    if not body or len(body) % 4:
        return None
    vector = np.frombuffer(body, "<f4").astype(np.float32)
    return vector if np.isfinite(vector).all() else None


def hash_texts(*parts: str) -> str:
    """Return a short name for texts that are too long or too personal to be one."""
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
