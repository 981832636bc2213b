"""Record: what was said goes into the log, with all that can be derived at once."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from recollect.errors import Conflict
from recollect.flows.parts import Parts
from recollect.model.conversation import Recorded, Turn, TurnLike, checked_turns, conversation_name, listed_turns
from recollect.model.ids import ConversationId, uuid7
from recollect.model.scope import MAX_NAME, Scope
from recollect.model.sketch import Sketch, sketch
from recollect.model.text import checked_text
from recollect.store.store import Append

INLINE = 100  # turns


async def record(
    parts: Parts, scope: Scope, turns: Turn | Iterable[TurnLike], idempotency_key: str | None = None
) -> Recorded:
    now = parts.clock.now()
    given = listed_turns(turns)
    said = checked_turns(given, now)
    body = None if idempotency_key is None else digest(scope, given, said)
    session = scope.session or await open_session(parts, scope, now)

    vectors = await parts.embedding.turns(said)
    new = Append(
        project=scope.project,
        user=scope.user,
        session=session,
        name=conversation_name(said),
        conversation=ConversationId(uuid7()),
        turns=said,
        sketches=await sketched(said),
        vectors=vectors.vectors,
        embedded=vectors.places,
        model=vectors.model,
        covered=vectors.complete,
        now=now,
        expires=now + timedelta(days=days) if (days := parts.settings.retention_days) else None,
    )

    if idempotency_key is None or body is None:
        return await parts.store.append(scope.id, new)
    recorded = await parts.store.append_once(
        scope.id, new, checked_text("idempotency_key", idempotency_key, MAX_NAME), body
    )
    if recorded is None:
        raise Conflict(f"idempotency key {idempotency_key!r} was used for another request; use a new key for this one")
    return recorded


async def sketched(turns: Sequence[Turn]) -> list[Sketch]:
    """Many are read in a thread: the event loop has others to serve."""
    if len(turns) <= INLINE:
        return [sketch(turn) for turn in turns]
    return await asyncio.to_thread(lambda: [sketch(turn) for turn in turns])


async def open_session(parts: Parts, scope: Scope, now: datetime) -> str:
    """The session a caller did not name: the user's last one while it is young, else a new one."""
    if minutes := parts.settings.session_window:
        latest = await parts.store.latest_session(scope.id, now - timedelta(minutes=minutes), now)
        if latest is not None:
            return latest
    return str(uuid7())


def digest(scope: Scope, given: Sequence[TurnLike], said: Sequence[Turn]) -> bytes:
    """What makes two requests the same. A time that we added is not part of it."""
    own_times = [turn.at if isinstance(turn, Turn) else None for turn in given]
    body = [
        (turn.role, turn.text, turn.speaker, str(at), dict(turn.data) if turn.data else None, turn.high_value)
        for turn, at in zip((replace(turn) for turn in said), own_times, strict=True)
    ]
    return hashlib.sha256(json.dumps([scope.session, body], sort_keys=True).encode()).digest()
