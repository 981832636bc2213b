"""Idempotency keys: a write with an `Idempotency-Key` is done once and answered every time.

What is stored under a key must not outlive what it is about: of a memory only the id is stored, of a receipt only the
counts, of an API key everything but the secret.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from fastapi import Header

from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.server.access.caller import Call
from recollect.values.lesson import Owner
from recollect.values.memory import Memory
from recollect.values.scope import MemoryId, Scope
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
PAGE = 1000


async def return_stored(stored: Stored, call: Call, **_: Any) -> Stored:
    return stored


@dataclass(frozen=True, slots=True)
class Replay:
    """How the result of a write is stored under its key, and made again from that.

    `store` returns what is kept of the result, `restore` gets that, the call and the arguments of the route,
    and `place` returns the scope that the key belongs to.
    """

    store: Callable[[Any], Stored] = to_json
    restore: Callable[..., Awaitable[Any]] = return_stored
    place: Callable[[Scope], Scope] = lambda scope: scope


STORED = Replay()


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

    async def work_and_store() -> Any:
        results.append(await work())
        return msgspec.to_builtins(replay.store(results[0]) or {}, enc_hook=str)

    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).digest()
    stored, replayed = await call.engine.runtime.run_once(replay.place(call.scope), key, digest, work_and_store)
    return (await replay.restore(stored, call, **(arguments or {})), True) if replayed else (results[0], False)


def store_id(result: Any) -> Stored:
    return {"id": str(result.id)}


def memory_replay(owner: Owner = "user") -> Replay:
    """Replay a memory as it is now; one that was forgotten since is not found."""

    async def restore(stored: Stored, call: Call, **_: Any) -> Memory:
        return await find_memory(call.engine, call.scope, owner, stored["id"])

    return Replay(store_id, restore)


async def find_memory(engine: Engine, scope: Scope, owner: Owner, wanted: str) -> Memory:
    """Return a memory by its id, whatever its status; raise NotFound if it was forgotten."""
    if memory := await search_memory(engine, scope, owner, wanted):
        return memory
    raise NotFound(f"memory {wanted} was forgotten meanwhile")


async def search_memory(engine: Engine, scope: Scope, owner: Owner, wanted: MemoryId | str) -> Memory | None:
    """Return a memory by its id. The list is searched in pages: the engine has no way to load a single memory."""
    after: MemoryId | None = None
    while page := await engine.memories(scope, status=None, owner=owner, limit=PAGE, after=after):
        if memory := next((each for each in page if str(each.id) == str(wanted)), None):
            return memory
        after = page[-1].id
    return None


def store_counts(receipt: Any) -> Stored:
    return {name: value for name, value in to_json(receipt).items() if name not in ("user", "session")}


async def restore_receipt(stored: Stored, call: Call, **_: Any) -> Stored:
    return {"user": call.scope.user, "session": call.scope.session, **stored}


def place_beside(scope: Scope) -> Scope:
    """Return a scope that outlives the erasure of `scope`, for the key of that erasure."""
    name = hashlib.sha256(f"{scope.project}\0{scope.user}".encode()).hexdigest()
    return Scope(f"receipts of {name}", project=scope.project)


RECEIPT_REPLAY = Replay(store_counts, restore_receipt, place_beside)
