"""Maintenance: settle, upkeep, health and report.

Upkeep removes expired, old, idle or surplus data in small batches, in each scope's own short transactions. It may stop
anywhere, restart, and run in several processes at once. Memories learned from an expired conversation stay.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, fields
from datetime import timedelta
from functools import partial
from typing import get_args

from recollect.errors import RecollectError, StoreUnavailable
from recollect.flows.dependencies import Dependencies
from recollect.flows.derive import derive
from recollect.flows.read_document import read_document
from recollect.learning.upkeep import DecayRule, UpkeepLimits, UpkeepSummary
from recollect.ports import WatchedReasoner
from recollect.recall.fuse import TURNS
from recollect.store.store import Store
from recollect.store.upkeep import START, Old
from recollect.values.memory import ALWAYS_ON
from recollect.values.query import check_range
from recollect.values.report import MAX_DAYS, Report, evaluate_report, get_period
from recollect.values.scope import MAX_NAME, Scope, ScopeId
from recollect.values.text import check_text
from recollect.values.work import Health, find_problems

MAX_ROUNDS = 20
PAUSE = 0.05  # seconds
READING_PATIENCE = 1500
READING_PAUSE = 0.1


async def write_chapters(store: Store, scope: ScopeId) -> None:
    """One short transaction per conversation, so that nobody waits long for its lock."""
    for conversation in await store.list_unchaptered(scope):
        await store.write_chapters(scope, conversation, TURNS)


async def settle(deps: Dependencies, scope: Scope) -> None:
    """Process everything that is behind the log, unless another worker holds it for long or a stage fails."""
    await deps.request_log.flush()
    await deps.usage.flush()
    model = await deps.embedding.get_model()
    for _ in range(MAX_ROUNDS):
        behind = await deps.store.work.list_work(scope.id, model)
        if not [conversation for conversation in behind if not await derive(deps, scope.id, conversation)]:
            break
        await asyncio.sleep(PAUSE)
    await write_chapters(deps.store, scope.id)
    for holder in (scope.id, scope.project_id):
        await settle_documents(deps, holder)


async def settle_documents(deps: Dependencies, holder: ScopeId) -> None:
    """Read uploaded documents, or wait for the worker that does, unless a retry is scheduled."""
    for document in await deps.store.documents.list_work(holder, await deps.embedding.get_model()):
        for _ in range(READING_PATIENCE):
            if await read_document(deps, holder, document):
                break
            found = await deps.store.documents.find(holder, document, "user")
            if found is None or found.status != "processing":
                break
            await asyncio.sleep(READING_PAUSE)


log = logging.getLogger("recollect.upkeep")

TASK = "upkeep"


async def run_upkeep(deps: Dependencies) -> UpkeepSummary:
    """Run one round."""
    limits = build_limits(deps)
    work = UpkeepRound(deps, limits)
    store = deps.store.upkeep
    await work.each(store.find_expired_scopes(limits), work.expire)
    await work.each(store.find_memory_scopes(limits), work.tidy_memories)
    for what in get_args(Old):
        await work.each(store.find_old(what, limits), partial(work.drain, what, partial(store.drop_old, what)))
    await store.finish_task(TASK, limits.now + timedelta(hours=deps.settings.cleanup_hours))
    counts = {f.name: work.counts[f.name] for f in fields(UpkeepSummary) if f.name != "rows"}
    return UpkeepSummary(rows=dict(work.rows), **counts)


def build_limits(deps: Dependencies) -> UpkeepLimits:
    chosen = deps.settings

    def rule(days: int) -> DecayRule:
        return DecayRule(
            timedelta(days=days), chosen.decay_step, chosen.forget_below, timedelta(days=chosen.forget_days)
        )

    return UpkeepLimits(
        now=deps.clock.now(),
        user=rule(chosen.decay_days),
        project=rule(chosen.project_decay_days),
        history=timedelta(days=chosen.history_days),
        requests=timedelta(days=chosen.request_days),
        keys=timedelta(hours=chosen.idempotency_hours),
        minor=ALWAYS_ON,
        minor_most=chosen.memory_limit,
        batch=chosen.cleanup_batch,
    )


class UpkeepRound:
    """One round of upkeep and its counts so far."""

    def __init__(self, deps: Dependencies, limits: UpkeepLimits) -> None:
        self._deps = deps
        self._store = deps.store.upkeep
        self._limits = limits
        self.counts: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()

    async def each(self, scopes: AsyncIterator[ScopeId], do: Callable[[ScopeId], Awaitable[None]]) -> None:
        """Process each scope. A failing scope is postponed; only a database that does not answer ends the round."""
        async for scope in scopes:
            try:
                await do(scope)
            except StoreUnavailable:
                raise
            except Exception as error:
                traced = None if isinstance(error, RecollectError) else error
                message = "upkeep of scope %s failed and is retried in the next round: %s"
                log.warning(message, scope, error, exc_info=traced)
                self.counts["put_off"] += 1

    async def expire(self, scope: ScopeId) -> None:
        after = START
        while found := await self._store.list_expired(scope, self._limits, after):
            for conversation, is_due in found:
                if is_due:
                    # The last chance to learn from it; it expires even if that fails.
                    await derive(self._deps, scope, conversation)
                rows = await self._store.expire(scope, conversation, self._limits.now)
                if rows is not None:
                    self.rows.update(rows)
                    self.counts["conversations"] += 1
            self._deps.large_scopes.discard(scope)
            after = found[-1][0]

    async def tidy_memories(self, scope: ScopeId) -> None:
        after = START
        while True:
            faded = await self._store.decay_memories(scope, self._limits, after)
            self.counts["decayed"] += faded.decayed
            self.counts["decayed_away"] += faded.forgotten
            if faded.last is None:
                break
            after = faded.last
        await self.drain("outlived", partial(self._store.drop_memories, "outlived"), scope)
        await self.drain("pruned", partial(self._store.drop_memories, "pruned"), scope)

    async def drain(self, what: str, some: Callable[[ScopeId, UpkeepLimits], Awaitable[int]], scope: ScopeId) -> None:
        """Repeat a step until a batch is not full."""
        while True:
            count = await some(scope, self._limits)
            self.counts[what] += count
            if count < self._limits.batch:
                return


MAX_SECONDS = 5.0  # a health check cannot wait as long as a request
MAX_TROUBLES = 5


async def check_health(deps: Dependencies) -> Health:
    """Return the state of the store and its work. Never raises: an unreachable database is a result."""
    embedder = deps.embedding.embedder.name if deps.embedding.embedder else None
    model = deps.reasoner.name if deps.reasoner else None
    try:
        async with asyncio.timeout(MAX_SECONDS):
            work = await deps.store.work.read_status(deps.clock.now(), MAX_TROUBLES)
    except RecollectError as error:
        return Health(False, str(error), embedder=embedder, model=model)
    except TimeoutError:
        silent = f"PostgreSQL did not answer within {MAX_SECONDS:g} seconds"
        return Health(False, silent, embedder=embedder, model=model)
    wrong = find_problems(work)
    problem = deps.reasoner.problem() if isinstance(deps.reasoner, WatchedReasoner) else ""
    wrong += [f"the language model failed: {problem}"] if problem else []
    cache = None if deps.cache is None else asdict(deps.cache.counts)
    return Health(not wrong, "ok", work, embedder, model, wrong, cache)


async def build_report(deps: Dependencies, project: str, days: int) -> Report:
    """Return the counts of a project's requests, compared with their limits."""
    check_text("project", project, MAX_NAME)
    check_range("days", days, 1, MAX_DAYS)
    await deps.request_log.flush()  # our own latest requests count too
    since, until = get_period(deps.clock.now(), days)
    return evaluate_report(project, since, until, await deps.store.report.count(project, since, until))
