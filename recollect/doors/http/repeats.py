"""Repeats: what is kept of an answer under an idempotency key, and how it is told again. A kept answer must not outlive
what it tells of: of a memory only the id is kept, of a receipt only the counts, of an API key all but the secret."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from recollect.doors.shapes import memory_shape
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.model.lesson import Owner
from recollect.model.memory import Memory
from recollect.model.scope import Scope

Answer = Mapping[str, Any]
PAGE = 1000


def itself(scope: Scope) -> Scope:
    return scope


async def as_kept(kept: Answer, engine: Engine, scope: Scope) -> Answer:
    return kept


@dataclass(frozen=True, slots=True)
class Repeat:
    """`kept` of the first answer; `told` again from that; `place` is the scope in which the key is remembered."""

    kept: Callable[[Answer], Answer] = dict
    told: Callable[[Answer, Engine, Scope], Awaitable[Answer]] = as_kept
    place: Callable[[Scope], Scope] = itself


AS_IT_WAS = Repeat()


def memory_again(owner: Owner = "user", shape: Callable[[Memory], Answer] = memory_shape) -> Repeat:
    """A memory as it is now; one that was forgotten since is not told of."""

    async def told(kept: Answer, engine: Engine, scope: Scope) -> Answer:
        return shape(await found(engine, scope, owner, str(kept["id"])))

    return Repeat(lambda answer: {"id": str(answer["id"])}, told)


async def found(engine: Engine, scope: Scope, owner: Owner, wanted: str) -> Memory:
    after: str | None = None
    while page := await engine.memories(scope, status=None, owner=owner, limit=PAGE, after=after):
        for memory in page:
            if str(memory.id) == wanted:
                return memory
        after = str(page[-1].id)
    raise NotFound(f"memory {wanted} was forgotten meanwhile")


def receipt_again() -> Repeat:
    """Who it was about is in the request; here are only counts. Remembered beside the scope, not in it: everything in
    it is being erased."""

    async def told(kept: Answer, engine: Engine, scope: Scope) -> Answer:
        return {"user": scope.user, "session": scope.session, **kept}

    return Repeat(
        lambda answer: {name: answer[name] for name in answer if name not in ("user", "session")}, told, beside
    )


def beside(scope: Scope) -> Scope:
    name = hashlib.sha256(f"{scope.project}\0{scope.user}".encode()).hexdigest()
    return Scope(f"receipts of {name}", project=scope.project)


async def without_secret(kept: Answer, engine: Engine, scope: Scope) -> Answer:
    return {**kept, "secret": None}


KEY_AGAIN = Repeat(lambda answer: {name: answer[name] for name in answer if name != "secret"}, without_secret)
