"""Upkeep: what has expired, is old, idle or too much goes, a small piece at a time.

    conversations   past their end: the turns and what was derived for finding them; what was learned from them stays
    memories        idle ones fade and are forgotten, long-ended ones and too many minor ones go
    the diary       requests and idempotency keys that are too old

Scopes are found by functions that run as the owner and give away ids only; rows are changed in each scope's own short
transactions. It may stop anywhere, start again, and run in several processes at once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import fields
from datetime import timedelta

from recollect.errors import RecollectError, StoreUnavailable
from recollect.flows.derive import derive
from recollect.flows.parts import Parts
from recollect.model.decay import Rule
from recollect.model.ids import ScopeId
from recollect.model.memory import ALWAYS_ON
from recollect.model.upkeep import Limits, Upkeep
from recollect.store.upkeep import START

log = logging.getLogger("recollect.upkeep")

ERRAND = "upkeep"
Progress = Callable[[str, int], None]


async def maintain(parts: Parts, progress: Progress | None = None) -> Upkeep:
    """One round; `progress` is told what is being done and how much of it was done so far."""
    limits = limits_of(parts)
    work = Round(parts, limits, progress)
    store = parts.store.upkeep
    await work.each(store.with_expired(limits), work.expire)
    await work.each(store.with_memories(limits), work.tend)
    await work.each(store.with_old_requests(limits), work.drop_requests)
    await work.each(store.with_old_keys(limits), work.drop_keys)
    await store.finish(ERRAND, limits.now + timedelta(hours=parts.settings.cleanup_hours))
    return work.done()


def limits_of(parts: Parts) -> Limits:
    chosen = parts.settings

    def rule(days: int) -> Rule:
        return Rule(timedelta(days=days), chosen.decay_step, chosen.forget_below, timedelta(days=chosen.forget_days))

    return Limits(
        now=parts.clock.now(),
        user=rule(chosen.decay_days),
        project=rule(chosen.project_decay_days),
        history=timedelta(days=chosen.history_days),
        requests=timedelta(days=chosen.request_days),
        keys=timedelta(hours=chosen.idempotency_hours),
        minor=ALWAYS_ON,
        minor_most=chosen.memory_limit,
        batch=chosen.cleanup_batch,
    )


class Round:
    """One round of upkeep, and what it has done so far."""

    def __init__(self, parts: Parts, limits: Limits, progress: Progress | None) -> None:
        self._parts = parts
        self._store = parts.store.upkeep
        self._limits = limits
        self._progress = progress
        self._counts: Counter[str] = Counter()
        self._rows: Counter[str] = Counter()

    async def each(self, scopes: AsyncIterator[ScopeId], do: Callable[[ScopeId], Awaitable[None]]) -> None:
        """A scope where something fails is put off; only a database that does not answer ends the round."""
        async for scope in scopes:
            try:
                await do(scope)
            except StoreUnavailable:
                raise
            except RecollectError as error:
                log.warning("upkeep of scope %s was put off: %s", scope, error)
                self._count("put_off", 1)

    async def expire(self, scope: ScopeId) -> None:
        after = START
        while found := await self._store.expired(scope, self._limits, after):
            for conversation, is_due in found:
                if is_due:
                    # The last chance to learn from it; that it fails does not keep it.
                    await derive(self._parts, scope, conversation)
                rows = await self._store.expire(scope, conversation, self._limits.now)
                if rows is not None:
                    self._rows.update(rows)
                    self._count("conversations", 1)
            self._parts.giants.discard(scope)
            after = found[-1][0]

    async def tend(self, scope: ScopeId) -> None:
        after = START
        while True:
            faded = await self._store.fade(scope, self._limits, after)
            self._count("decayed", faded.decayed)
            self._count("decayed_away", faded.forgotten)
            if faded.last is None:
                break
            after = faded.last
        await self._all("outlived", self._store.drop_ended, scope)
        await self._all("pruned", self._store.prune, scope)

    async def drop_requests(self, scope: ScopeId) -> None:
        await self._all("requests", self._store.drop_requests, scope)

    async def drop_keys(self, scope: ScopeId) -> None:
        await self._all("keys", self._store.drop_keys, scope)

    async def _all(self, what: str, some: Callable[[ScopeId, Limits], Awaitable[int]], scope: ScopeId) -> None:
        """Batch after batch, until one is not full."""
        while True:
            count = await some(scope, self._limits)
            self._count(what, count)
            if count < self._limits.batch:
                return

    def _count(self, what: str, by: int) -> None:
        self._counts[what] += by
        if by and self._progress is not None:
            self._progress(what.replace("_", " "), self._counts[what])

    def done(self) -> Upkeep:
        counts = {f.name: self._counts[f.name] for f in fields(Upkeep) if f.name != "rows"}
        return Upkeep(rows=dict(self._rows), **counts)
