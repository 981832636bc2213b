"""Once: a write under an idempotency key. The first request with a key does the work and its answer is kept; the same
request again gets that answer, another one is a Conflict. One that comes while the first is at work waits for it.

`record` keeps its answer in the transaction that appends. Here the work has its own transaction: a process that dies
between the work and its answer leaves a key without one, and after a while the same request does the work again. That
is safe, because each of these writes changes nothing when it is repeated: it says again what is known already. (Making
an API key is the exception: then there are two, and nobody has the secret of the first.)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from recollect.errors import Conflict
from recollect.flows.parts import Parts
from recollect.model.scope import MAX_NAME, Scope
from recollect.model.text import checked_text

ABANDONED = timedelta(seconds=60)
LOOKS = 100  # at the key of a request that is being done
PAUSE = 0.05  # seconds between two of them


async def once(
    parts: Parts, scope: Scope, key: str, body: bytes, work: Callable[[], Awaitable[Any]]
) -> tuple[Any, bool]:
    """The answer, and whether it was given before."""
    key = checked_text("Idempotency-Key", key, MAX_NAME)
    for _ in range(LOOKS):
        now = parts.clock.now()
        first = await parts.store.begin_once(scope.id, key, body, now, now - ABANDONED)
        if first is None:
            return await _done(parts, scope, key, work), False
        first_body, answer = first
        if first_body != body:
            raise Conflict(f"idempotency key {key!r} was used for another request; use a new key for this one")
        if answer is not None:
            return answer, True
        await asyncio.sleep(PAUSE)
    raise Conflict(f"the request with idempotency key {key!r} is still being done; ask again in a moment")


async def _done(parts: Parts, scope: Scope, key: str, work: Callable[[], Awaitable[Any]]) -> Any:
    try:
        answer = await work()
    except BaseException:  # also when cancelled: whatever stopped it, the key must be free for another try
        await parts.store.abandon_once(scope.id, key)
        raise
    await parts.store.end_once(scope.id, key, json.dumps(answer, default=str))
    return answer
