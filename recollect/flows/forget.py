"""Forget: one memory, one conversation or a whole user, with everything derived, and a receipt."""

from __future__ import annotations

from recollect.errors import NotFound
from recollect.flows.parts import Parts
from recollect.flows.teach import actor_of, found
from recollect.model.ids import MemoryId
from recollect.model.lesson import Owner
from recollect.model.receipt import Receipt
from recollect.model.scope import Scope
from recollect.store.erasure import Erased

USER = "user"  # acts in his own scope, and needs no name there


async def forget(parts: Parts, scope: Scope, memory: MemoryId | None = None, owner: Owner | None = None) -> Receipt:
    await parts.diary.flush()
    parts.giants.discard(scope.id)
    erased = await erase(parts, scope, memory, owner)
    if parts.cache and memory is None:
        await parts.cache.drop(scope.id)
    session = None if memory else scope.session
    return Receipt(scope.user, session, parts.clock.now(), erased.rows, memory, erased.rebuilt)


async def erase(parts: Parts, scope: Scope, memory: MemoryId | None, owner: Owner | None) -> Erased:
    now, erasure = parts.clock.now(), parts.store.erasure
    if memory is not None:
        holder, known = await found(parts, scope, memory, owner)
        return await erasure.memory(holder.id, memory, known.key, actor_of(holder, scope), now)
    if scope.session is None:
        await parts.store.data_sources.forget_asker(scope.project_id, scope.id)
        await parts.store.documents.forget_adder(scope.project_id, scope.user)
        return await erasure.user(scope.id, USER, now)
    erased = await erasure.conversation(scope.id, scope.session, USER, now)
    if erased is None:
        raise NotFound(f"user {scope.user!r} has no session {scope.session!r}")
    return erased
