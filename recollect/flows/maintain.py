"""Maintain: upkeep of what is derived from the log."""

from __future__ import annotations

from recollect.flows.parts import Parts
from recollect.model.chapter import TURNS
from recollect.model.ids import ScopeId
from recollect.model.scope import Scope
from recollect.store.store import Store


async def write_chapters(store: Store, scope: ScopeId) -> None:
    """One short transaction per conversation, so that nobody waits long for its lock."""
    for conversation in await store.unchaptered(scope):
        await store.write_chapters(scope, conversation, TURNS)


async def settle(parts: Parts, scope: Scope) -> None:
    await parts.diary.flush()
    await write_chapters(parts.store, scope.id)
