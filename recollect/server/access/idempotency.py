"""Idempotency keys: a write with an `Idempotency-Key` is done once and answered every time.

What is stored under a key must not outlive what it is about: of a memory only the id is stored, of a receipt only the
counts, of an API key everything but the secret.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import isawaitable
from typing import Annotated, Any

import msgspec
from fastapi import Header

from recollect import InvalidInput, Memory, NotFound, Receipt, Scope
from recollect.server.access.caller import Call
from recollect.values.lesson import Owner
from recollect.values.serialization import to_json

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="The same key and body again get the same answer, and nothing is done twice.",
        max_length=200,
        examples=["3f6c2a"],
    ),
]
Stored = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replay:
    """How the result of a write is stored under its key, and made again from that.

    `store` returns what is kept of the result, `restore` gets that, the call and the arguments of the route,
    and `place` returns the scope that the key belongs to. `when_done` returns the result of a request that is refused
    because an earlier attempt has carried it out and ended without an answer. `restore` and `when_done` may be async.
    """

    store: Callable[[Any], Stored] = to_json
    restore: Callable[..., Any] = lambda stored, call, **_: stored
    place: Callable[[Scope], Scope] = lambda scope: scope
    when_done: Callable[..., Any] | None = None


STORED = Replay()
NO_CONTENT = Replay(when_done=lambda call, **_: None)


async def run_once(
    call: Call,
    key: str | None,
    identity: Any,
    work: Callable[[], Awaitable[Any]],
    replay: Replay = STORED,
    arguments: Mapping[str, Any] | None = None,
) -> tuple[Any, bool]:
    """Return the result of `work`, done once per key and identity, and whether it is a replay."""
    if key is None:
        return await work(), False
    results: list[Any] = []

    async def work_and_store(is_repetition: bool) -> Any:
        try:
            results.append(await work())
        except (NotFound, InvalidInput):
            if not is_repetition or replay.when_done is None:
                raise
            results.append(await settle(replay.when_done(call, **(arguments or {}))))
        return msgspec.to_builtins(replay.store(results[0]) or {}, enc_hook=str)

    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).digest()
    stored, replayed = await call.engine.runtime.run_once(replay.place(call.scope), key, digest, work_and_store)
    return (await settle(replay.restore(stored, call, **(arguments or {}))) if replayed else results[0]), replayed


async def settle(result: Any) -> Any:
    """Return a result that may have to be awaited."""
    return await result if isawaitable(result) else result


def store_id(result: Any) -> Stored:
    return {"id": str(result.id)}


def memory_replay(owner: Owner = "user") -> Replay:
    """Replay a memory as it is now; one that was forgotten since is not found."""

    async def find_changed(call: Call, memory: str = "", **_: Any) -> Memory:
        found = await call.engine.memory(call.scope, memory)
        if owner == "user":
            return found
        # One that was promoted is the project's under another id.
        shared = await call.engine.memories(call.scope, key=found.key, status=None, owner="project")
        return next((each for each in shared if each.value == found.value), found)

    return Replay(
        store_id,
        lambda stored, call, **_: call.engine.memory(call.scope, stored["id"], owner=owner),
        when_done=find_changed,
    )


def place_beside(scope: Scope) -> Scope:
    """Return a scope that outlives the erasure of `scope`, for the key of that erasure."""
    name = hashlib.sha256(f"{scope.project}\0{scope.user}".encode()).hexdigest()
    return Scope(f"receipts of {name}", project=scope.project)


RECEIPT_REPLAY = Replay(
    store=lambda receipt: {name: value for name, value in to_json(receipt).items() if name not in ("user", "session")},
    restore=lambda stored, call, **_: {"user": call.scope.user, "session": call.scope.session, **stored},
    place=place_beside,
    when_done=lambda call, **_: Receipt(call.scope.user, call.scope.session, datetime.now(UTC), {}),
)
