"""The store's part for upkeep: finds scopes where something may be due, and does it in each scope's own transaction.

Every method is safe to repeat and to run in several processes at once: whatever is decided, is decided on rows that are
locked. An erasure leaves an audit row of ids and counts in the same transaction.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.model.audit import Deed
from recollect.model.decay import Fate, Idle, fate
from recollect.model.ids import ConversationId, MemoryId, ScopeId
from recollect.model.memory import is_single
from recollect.model.upkeep import Limits
from recollect.store.database import Database, Row, Transaction
from recollect.store.memories import audited

LOOKED_AT = 10_000  # rows of a page when looking for scopes
HOLDERS = 1_000  # the same for holders, each of which has some hundred memories
START = UUID(int=0)
ACTOR = "upkeep"
# What goes with an expired conversation; what was learned from it stays.
EXPIRING = ("embedding", "chapter", "sketch", "turn", "request", "idempotency", "conversation")


@dataclass(frozen=True, slots=True)
class Faded:
    """A page of idle memories; `last` is where the next one begins, None at the end."""

    decayed: int = 0
    forgotten: int = 0
    last: UUID | None = None


class UpkeepStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    # Finding

    def with_expired(self, limits: Limits) -> AsyncIterator[ScopeId]:
        return self._walk("upkeep.find_expired", LOOKED_AT, {"now": limits.now})

    def with_old_requests(self, limits: Limits) -> AsyncIterator[ScopeId]:
        return self._walk("upkeep.find_old_requests", LOOKED_AT, {"before": limits.now - limits.requests})

    def with_old_keys(self, limits: Limits) -> AsyncIterator[ScopeId]:
        return self._walk("upkeep.find_old_keys", LOOKED_AT, {"before": limits.now - limits.keys})

    def with_memories(self, limits: Limits) -> AsyncIterator[ScopeId]:
        parameters = {
            "user_idle": limits.now - limits.user.period,
            "project_idle": limits.now - limits.project.period,
            "forgotten": limits.now - limits.user.patience,
            "below": limits.user.below,
            "ended": limits.now - limits.history,
            "minor": limits.minor,
            "minor_most": limits.minor_most,
        }
        return self._walk("upkeep.find_memories", HOLDERS, parameters)

    async def _walk(self, name: str, page: int, parameters: Mapping[str, Any]) -> AsyncIterator[ScopeId]:
        """Scopes in the order of their ids, a page of rows at a time."""
        after = START
        while rows := await self._database.ask(name, {**parameters, "after": after, "most": page}):
            for (scope,) in rows:
                yield scope
            after = rows[-1][0]

    # The log and the diary

    async def expired(self, scope: ScopeId, limits: Limits, after: UUID) -> list[tuple[ConversationId, bool]]:
        """Expired conversations after an id, and whether something was still to be learned from each."""
        parameters = {"now": limits.now, "after": after, "limit": limits.batch}
        [rows] = await self._database.run(scope, ("upkeep.expired", parameters))
        return [(row[0], row[1]) for row in rows]

    async def expire(self, scope: ScopeId, conversation: ConversationId, now: datetime) -> dict[str, int] | None:
        """Erases an expired conversation; None if it has gone, or has gone on."""
        async with self._database.transaction(scope) as transaction:
            if not await transaction.rows("upkeep.lock_expired", conversation=conversation, now=now):
                return None
            rows = {noun: await transaction.count(f"{noun}.delete_one", conversation=conversation) for noun in EXPIRING}
            await note(transaction, [Deed(ACTOR, "expired", f"conversation:{conversation}", rows)], now)
            return rows

    async def drop_requests(self, scope: ScopeId, limits: Limits) -> int:
        """One batch; how many there were."""
        parameters = {"before": limits.now - limits.requests, "limit": limits.batch}
        [[(gone,)]] = await self._database.run(scope, ("upkeep.drop_requests", parameters), write=True)
        return int(gone)

    async def drop_keys(self, scope: ScopeId, limits: Limits) -> int:
        parameters = {"before": limits.now - limits.keys, "limit": limits.batch}
        [[(gone,)]] = await self._database.run(scope, ("upkeep.drop_keys", parameters), write=True)
        return int(gone)

    # Memories

    async def fade(self, scope: ScopeId, limits: Limits, after: UUID) -> Faded:
        """Takes from idle memories what time takes, and erases those of which too little is left."""
        async with self._database.transaction(scope) as transaction:
            held = await transaction.rows("upkeep.hold")
            if not held:
                return Faded()
            rule = limits.project if held[0][0] else limits.user
            idle = limits.now - min(rule.period, rule.patience)
            rows = await transaction.rows("upkeep.idle", idle=idle, after=after, limit=limits.batch)
            fates = [(memory, fate(memory, rule, limits.now)) for memory in (Idle(*row) for row in rows)]
            forgotten = [(m.id, m.kind, m.key, m.status) for m, f in fates if f.is_forgotten]
            return Faded(
                decayed=await decay(transaction, fates),
                forgotten=await erase(transaction, forgotten, "decayed away", limits.now),
                last=rows[-1][0] if len(rows) == limits.batch else None,
            )

    async def drop_ended(self, scope: ScopeId, limits: Limits) -> int:
        """One batch of history that has had its time."""
        parameters = {"ended": limits.now - limits.history, "limit": limits.batch}
        return await self._drop(scope, "upkeep.ended", parameters, "outlived", limits.now)

    async def prune(self, scope: ScopeId, limits: Limits) -> int:
        """One batch of minor memories beyond the most that are kept."""
        parameters = {"minor": limits.minor, "minor_most": limits.minor_most, "limit": limits.batch}
        return await self._drop(scope, "upkeep.crowding", parameters, "pruned", limits.now)

    async def _drop(self, scope: ScopeId, name: str, parameters: Mapping[str, Any], action: str, now: datetime) -> int:
        async with self._database.transaction(scope) as transaction:
            if not await transaction.rows("upkeep.hold"):
                return 0
            return await erase(transaction, await transaction.rows(name, **parameters), action, now)

    # Whose turn it is

    async def take(self, errand: str, now: datetime, until: datetime) -> bool:
        """True for one of all who ask while it is due. Unless it is finished, it is due again at `until`."""
        return bool(await self._database.ask("upkeep.take_errand", {"name": errand, "now": now, "until": until}))

    async def finish(self, errand: str, then: datetime) -> None:
        await self._database.ask("upkeep.finish_errand", {"name": errand, "next": then})


async def decay(transaction: Transaction, fates: Sequence[tuple[Idle, Fate]]) -> int:
    faded = [
        {"id": str(memory.id), "decayed": then.decayed, "at": str(then.at)}
        for memory, then in fates
        if then.at != memory.decayed_at and not then.is_forgotten
    ]
    return await transaction.count("upkeep.decay", faded=json.dumps(faded)) if faded else 0


async def erase(transaction: Transaction, chosen: Sequence[Row], action: str, now: datetime) -> int:
    """Memories (id, kind, key, status) with their evidence, and with all that they took the place of: otherwise the
    next thing said about the key would bring an older value back. How many were chosen."""
    if not chosen:
        return 0
    ids = [row[0] for row in chosen]
    roots: dict[MemoryId, MemoryId] = {}
    for root, memory in await transaction.rows("upkeep.with_earlier", memories=ids):
        roots.setdefault(memory, root)
    alone = {key: memory for memory, kind, key, status in chosen if status == "active" and is_single(kind, key)}
    said = await transaction.rows("upkeep.drop_evidence", memories=list(roots), keys=list(alone))
    await transaction.rows("memory.drop", memories=list(roots))
    evidence = Counter(alone[key] if memory is None else roots[memory] for memory, key in said)
    earlier = Counter(root for memory, root in roots.items() if memory not in ids)
    details = {memory: {"evidence": evidence[memory], "earlier": earlier[memory]} for memory in ids}
    await note(transaction, [Deed(ACTOR, action, f"memory:{memory}", details[memory]) for memory in ids], now)
    return len(ids)


async def note(transaction: Transaction, deeds: Sequence[Deed], now: datetime) -> None:
    name, parameters = audited(deeds, now)
    await transaction.rows(name, **parameters)
