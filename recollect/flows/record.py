"""Record: what was said goes into the log, with all that can be derived at once."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.flows.derive import derive
from recollect.flows.parts import Parts
from recollect.model.conversation import (
    Conversation,
    Recorded,
    Turn,
    TurnLike,
    checked_turns,
    conversation_name,
    listed_turns,
)
from recollect.model.ids import ConversationId, uuid7
from recollect.model.scope import MAX_NAME, Scope
from recollect.model.search import MAX_REF
from recollect.model.sensitive import masked, masked_data
from recollect.model.sketch import Flag, Sketch, sketch
from recollect.model.text import checked_text
from recollect.store.store import Append

INLINE = 100  # turns
MAX_INDEX = 2**31 - 1


async def record(
    parts: Parts, scope: Scope, turns: Turn | Iterable[TurnLike], idempotency_key: str | None = None
) -> Recorded:
    now = parts.clock.now()
    given = listed_turns(turns)
    said = kept_turns(parts, checked_turns(given, now))
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

    recorded = await append(parts, scope, new, idempotency_key, body)
    if parts.settings.async_storage:
        parts.hints.add(scope.id, recorded.conversation.id)
    else:
        await derive(parts, scope.id, recorded.conversation.id)
    return recorded


async def append(parts: Parts, scope: Scope, new: Append, key: str | None, body: bytes | None) -> Recorded:
    if key is None or body is None:
        return await parts.store.append(scope.id, new)
    recorded = await parts.store.append_once(scope.id, new, checked_text("idempotency_key", key, MAX_NAME), body)
    if recorded is None:
        raise Conflict(f"idempotency key {key!r} was used for another request; use a new key for this one")
    return recorded


def kept_turns(parts: Parts, turns: list[Turn]) -> list[Turn]:
    """As they are kept: where the setting says so, without what is sensitive."""
    if not parts.settings.mask_sensitive:
        return turns
    return [
        replace(turn, text=masked(turn.text), data=None if turn.data is None else masked_data(turn.data))
        for turn in turns
    ]


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


async def rename(parts: Parts, scope: Scope, name: str) -> Conversation:
    if scope.session is None:
        raise InvalidInput("session", "say which session to rename")
    line = " ".join(checked_text("name", name, MAX_NAME).split())
    kept = masked(line) if parts.settings.mask_sensitive else line
    renamed = await parts.store.rename(scope.id, scope.session, kept, parts.clock.now())
    if renamed is None:
        raise NotFound(f"user {scope.user!r} has no session {scope.session!r}")
    return renamed


async def mark(parts: Parts, scope: Scope, ref: str, high_value: bool) -> None:
    session, _, index = checked_text("ref", ref, MAX_REF).rpartition("#")
    if not session or not index.isdecimal() or int(index) > MAX_INDEX:
        raise InvalidInput("ref", f"{ref!r} names no turn; it looks like monday#3")
    if not await parts.store.mark(scope.id, session, int(index), int(Flag.HIGH_VALUE), high_value):
        raise NotFound(f"user {scope.user!r} has no turn {ref}")
