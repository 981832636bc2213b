"""Forget: one conversation or a whole user, with everything derived, and a receipt."""

from __future__ import annotations

from recollect.errors import NotFound
from recollect.flows.parts import Parts
from recollect.model.receipt import Receipt
from recollect.model.scope import Scope


async def forget(parts: Parts, scope: Scope) -> Receipt:
    await parts.diary.flush()
    parts.giants.discard(scope.id)
    if scope.session is None:
        rows = await parts.store.forget_user(scope.id)
    else:
        found = await parts.store.forget_conversation(scope.id, scope.session)
        if found is None:
            raise NotFound(f"user {scope.user!r} has no session {scope.session!r}")
        rows = found
    return Receipt(user=scope.user, session=scope.session, at=parts.clock.now(), rows=rows)
