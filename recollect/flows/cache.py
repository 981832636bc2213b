"""What recall would read again: the end of a session, the texts of turns, the vectors of questions. None of it is ever
believed because it is there.

No invalidation is needed, so none can get lost. PostgreSQL says in each request which conversations there are and how
often a turn of each was blanked. Conversations' ids are never used twice, turns are only added, and blanking counts:
so whatever was kept under a conversation's id and count is what the log says now. docs/why/cache.md has the reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from recollect.flows.cached_values import (
    digest,
    sealed,
    turn_bytes,
    turn_in,
    unsealed,
    vector_bytes,
    vector_in,
    window_bytes,
    window_in,
)
from recollect.model.candidates import Candidates, Ints
from recollect.model.conversation import Turn
from recollect.model.ids import ConversationId, ScopeId
from recollect.model.window import Window
from recollect.ports import Cache, CacheCounts
from recollect.store.around import Around, Surroundings
from recollect.store.store import Store
from recollect.store.wire_format import Vectors

T = TypeVar("T")
MOST_BYTES = 16_384  # of one turn; a longer one is read from the log each time


@dataclass(frozen=True, slots=True)
class TurnCache:
    cache: Cache
    store: Store

    @property
    def counts(self) -> CacheCounts:
        return self.cache.counts

    @property
    def is_up(self) -> bool:
        return self.cache.is_up

    async def read(self, scope: ScopeId, project: ScopeId, sought: Around) -> Surroundings:
        """As the store's `around.read`; of the session's last turns only those are read that are not here."""
        if not sought.recent or sought.current is None:
            return await self.store.around.read(scope, project, sought)
        name = f"w:{digest(sought.current)}"
        kept = await self._window(scope, name, sought)

        found = await self.store.around.read(scope, project, replace(sought, is_cached=True, kept=kept))

        window = found.window
        self._counted(window if window and window.continues(kept) else None)
        if window and window.turns and not (kept and window.continues(kept) and window.turns[-1] == kept.turns[-1]):
            self._write(scope, {name: window_bytes(window)})
        return found

    async def chosen(self, scope: ScopeId, rows: Ints, found: Candidates, most_chars: int) -> list[Turn]:
        """The turns of these rows, in no order; what is not here is read from the log, as the store's `chosen` does."""
        places = places_of(rows, found)
        kept = await self._turns(scope, places)
        missing = [place for place in places if place.ref not in kept]
        if not missing:
            return list(kept.values())

        read = await self.store.chosen(scope, [(place.conversation, place.index) for place in missing], most_chars)

        names = {place.ref: place.name for place in missing}
        bodies = {names[turn.ref]: turn_bytes(turn) for turn in read}
        self._write(scope, {name: body for name, body in bodies.items() if len(body) <= MOST_BYTES})
        return [*kept.values(), *read]

    async def vector(self, scope: ScopeId, model: str, text: str) -> Vectors | None:
        name = f"q:{digest(model, text)}"
        [body] = await self._read(scope, [name])
        return self._counted(None if body is None else vector_in(body))

    def keep_vector(self, scope: ScopeId, model: str, text: str, vector: Vectors) -> None:
        if vector.dtype == np.float32:
            self._write(scope, {f"q:{digest(model, text)}": vector_bytes(vector)})

    async def drop(self, scope: ScopeId) -> None:
        """What was forgotten or blanked is not served any more; nor shall it stay."""
        await self.cache.drop(scope)

    async def _window(self, scope: ScopeId, name: str, sought: Around) -> Window | None:
        [body] = await self._read(scope, [name])
        kept = None if body is None else window_in(body)
        usable = kept is not None and kept.suffices(sought.recent) and kept.turns[-1].session == sought.current
        return kept if usable else None

    async def _turns(self, scope: ScopeId, places: Sequence[Place]) -> dict[str, Turn]:
        """By ref, those that are here."""
        bodies = await self._read(scope, [place.name for place in places])
        turns = [self._counted(None if body is None else turn_in(body)) for body in bodies]
        return {place.ref: turn for place, turn in zip(places, turns, strict=True) if turn and turn.ref == place.ref}

    async def _read(self, scope: ScopeId, names: Sequence[str]) -> list[bytes | None]:
        found = await self.cache.read(scope, names)
        return [unsealed(scope, name, value) for name, value in zip(names, found, strict=True)]

    def _write(self, scope: ScopeId, values: Mapping[str, bytes]) -> None:
        self.cache.write(scope, {name: sealed(scope, name, body) for name, body in values.items()})

    def _counted(self, value: T | None) -> T | None:
        if value is None:
            self.counts.misses += 1
        else:
            self.counts.hits += 1
        return value


@dataclass(frozen=True, slots=True)
class Place:
    """A turn's place in the log, how it is cited, and the name under which it is kept."""

    conversation: ConversationId
    index: int
    ref: str
    name: str


def places_of(rows: Ints, found: Candidates) -> list[Place]:
    """A turn's time is part of its name: a database that was set back to an older state may give the same index to
    another turn."""
    columns = (found.conversation[rows].tolist(), found.turn[rows].tolist(), found.said_at[rows].tolist())
    return [_place(found, number, index, at) for number, index, at in zip(*columns, strict=True)]


def _place(found: Candidates, number: int, index: int, at: float) -> Place:
    conversation = found.conversations[number]
    blanked = found.redactions.get(conversation, 0)
    name = f"t:{conversation.hex}:{index}:{blanked}:{at:.6f}"
    return Place(conversation, index, f"{found.sessions[number]}#{index}", name)
