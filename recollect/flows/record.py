"""Record: append turns to the log with what can be derived at once; run other writes once per idempotency key.

`record` stores its answer in the transaction that appends. `run_once` runs work that has its own transaction: a process
that dies before its answer is stored leaves a key without an answer, and after a while the same request runs the work
again. That is safe, because these writes change nothing when repeated, and the work is told that it is a repetition.
(Creating an API key is the exception: then there are two, and nobody has the first one's secret.)
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from recollect.deadline import run_in_time
from recollect.errors import Conflict, InvalidInput, NotFound, RecollectError, StoreUnavailable
from recollect.flows.dependencies import Dependencies
from recollect.flows.derive import derive
from recollect.recall.sketch import Flag, Sketch, sketch
from recollect.settings import Settings, Unset
from recollect.store.store import Append
from recollect.store.upkeep import Usage
from recollect.threads import run_in_thread
from recollect.values.conversation import (
    DATABASE_HOST,
    Conversation,
    Recorded,
    Turn,
    TurnLike,
    check_turns,
    list_turns,
    name_conversation,
)
from recollect.values.query import MAX_REF
from recollect.values.scope import MAX_NAME, ConversationId, Scope, uuid7
from recollect.values.sensitive_data import mask_data, mask_text
from recollect.values.text import check_text

INLINE = 100  # turns checked in the event loop; more are checked in a thread
INLINE_CHARS = 5_000  # characters analyzed in the event loop
PAGE_CHARS = 100_000  # characters analyzed at once in a thread
MAX_INDEX = 2**31 - 1


def compute_expiry(settings: Settings, turns: Sequence[Turn], now: datetime) -> datetime | None:
    """Return when a conversation expires. Chat and library conversations are kept until they are forgotten, unless the
    setting was given; questions to a database have its default."""
    days = settings.retention_days
    is_due = not isinstance(days, Unset) or any((turn.data or {}).get("host") == DATABASE_HOST for turn in turns)
    return now + timedelta(days=days) if days and is_due else None


async def record(
    deps: Dependencies, scope: Scope, turns: Turn | Iterable[TurnLike], idempotency_key: str | None = None
) -> Recorded:
    """Append turns to the log, and derive what follows from them now or in the background."""
    now = deps.clock.now()
    given = list_turns(turns)
    if idempotency_key is not None:
        check_text("idempotency_key", idempotency_key, MAX_NAME)

    def check() -> tuple[list[Turn], bytes | None]:
        said = check_turns(given, now)
        if deps.settings.mask_sensitive:
            said = [mask_turn(turn) for turn in said]
        return said, None if idempotency_key is None else hash_request(scope, given, said)

    said, body = await run_in_thread(check) if len(given) > INLINE else check()
    await deps.quota.check(scope, Usage(turns=len(said)))
    session = scope.session or await choose_session(deps, scope, now)

    vectors = await deps.embedding.embed_turns(said)
    new = Append(
        project=scope.project,
        user=scope.user,
        session=session,
        name=name_conversation(said),
        conversation=ConversationId(uuid7()),
        turns=said,
        sketches=await sketch_turns(said),
        vectors=vectors.vectors,
        embedded=vectors.places,
        model=vectors.model,
        covered=vectors.complete,
        now=now,
        expires=compute_expiry(deps.settings, said, now),
    )

    if idempotency_key is None or body is None:
        recorded = await deps.store.append(scope.id, new)
    else:
        recorded = await deps.store.append_once(scope.id, new, idempotency_key, body)
    if deps.settings.async_storage:
        deps.new_conversations.add(scope.id, recorded.conversation.id)
    else:
        await derive(deps, scope.id, recorded.conversation.id)
    return recorded


def mask_turn(turn: Turn) -> Turn:
    speaker = turn.speaker and mask_text(turn.speaker)[:MAX_NAME]
    return replace(turn, text=mask_text(turn.text), speaker=speaker, data=mask_data(turn.data))


async def sketch_turns(turns: Sequence[Turn]) -> list[Sketch]:
    """Return the search data of each turn. Long texts are analyzed in a thread, a page at a time, so that other
    requests' texts are not blocked."""
    if sum(len(turn.text) for turn in turns) <= INLINE_CHARS:
        return [sketch(turn) for turn in turns]
    made: list[Sketch] = []
    for page in split_pages(turns):
        made += await run_in_thread(lambda page=page: [sketch(turn) for turn in page])  # type: ignore[misc]
    return made


def split_pages(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    """Yield runs of at most `INLINE` turns and about `PAGE_CHARS` characters."""
    start = chars = 0
    for place, turn in enumerate(turns):
        chars += len(turn.text)
        if place - start == INLINE or chars > PAGE_CHARS:
            yield turns[start : place + 1]
            start, chars = place + 1, 0
    yield turns[start:]


async def choose_session(deps: Dependencies, scope: Scope, now: datetime) -> str:
    """Return the session if the caller named none: the user's last one if it is recent, else a new one."""
    if minutes := deps.settings.session_window:
        latest = await deps.store.find_latest_session(scope.id, now - timedelta(minutes=minutes), now)
        if latest is not None:
            return latest
    return str(uuid7())


def hash_request(scope: Scope, given: Sequence[TurnLike], said: Sequence[Turn]) -> bytes:
    """Return a digest that is equal for equal requests. A time that we added is not part of it."""
    own_times = [turn.at if isinstance(turn, Turn) else None for turn in given]
    body = [
        (turn.role, turn.text, turn.speaker, str(at), dict(turn.data) if turn.data else None, turn.high_value)
        for turn, at in zip(said, own_times, strict=True)
    ]
    return hashlib.sha256(json.dumps([scope.session, body], sort_keys=True).encode()).digest()


async def rename_session(deps: Dependencies, scope: Scope, name: str) -> Conversation:
    if scope.session is None:
        raise InvalidInput("session", "is required; name the session to rename")
    line = deps.mask(" ".join(check_text("name", name, MAX_NAME).split()))
    renamed = await deps.store.rename(scope.id, scope.session, line, deps.clock.now())
    if renamed is None:
        raise NotFound(f"user {scope.user!r} has no session {scope.session!r}")
    return renamed


async def mark_turn(deps: Dependencies, scope: Scope, ref: str, high_value: bool) -> None:
    session, _, index = check_text("ref", ref, MAX_REF).rpartition("#")
    if not session or not index.isdecimal() or int(index) > MAX_INDEX:
        raise InvalidInput("ref", f"{ref!r} is not a turn's ref, which has the form session#index, e.g. monday#3")
    if not await deps.store.mark(scope.id, session, int(index), int(Flag.HIGH_VALUE), high_value):
        raise NotFound(f"user {scope.user!r} has no turn {ref}")


ABANDONED = timedelta(seconds=60)
LOOKS = 100  # how often to check for the answer of a running request
PAUSE = 0.05  # seconds between two checks


async def run_once(
    deps: Dependencies, scope: Scope, key: str, body: bytes, work: Callable[[bool], Awaitable[Any]]
) -> tuple[Any, bool]:
    """Return the answer, and whether it was given before. A request that comes while the first one runs waits for
    it. `work` is told whether an earlier attempt under this key may have been carried out."""
    key = check_text("Idempotency-Key", key, MAX_NAME)
    for _ in range(LOOKS):
        now = deps.clock.now()
        claim = await run_in_time(deps.store.claim_key(scope.id, key, body, now, now - ABANDONED))
        if claim.is_taken:
            return await _run_and_store(deps, scope, key, partial(work, claim.is_repetition)), False
        if claim.body != body:
            raise Conflict(f"idempotency key {key!r} was used for another request; use a new key for this one")
        if claim.answer is not None:
            return claim.answer, True
        await asyncio.sleep(PAUSE)
    raise Conflict(f"the request with idempotency key {key!r} is still running; retry in a moment")


async def _run_and_store(deps: Dependencies, scope: Scope, key: str, work: Callable[[], Awaitable[Any]]) -> Any:
    try:
        answer = await work()
    except BaseException as error:  # also when cancelled: the key must be free for another try
        if isinstance(error, RecollectError) and not isinstance(error, StoreUnavailable):
            await run_in_time(deps.store.release_key(scope.id, key))
        else:  # a commit that got no answer may have happened
            await run_in_time(deps.store.leave_key(scope.id, key, deps.clock.now() - 2 * ABANDONED))
        raise
    await run_in_time(deps.store.store_answer(scope.id, key, json.dumps(answer, default=str)))
    return answer
