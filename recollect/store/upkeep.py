"""Upkeep and reports in the store: find scopes where something is due, and do it in each scope's own transaction; count
a project's requests without reading content. Every method is safe to repeat and to run in several processes at once:
decisions are made on locked rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from recollect.learning.upkeep import Decay, IdleMemory, UpkeepLimits, compute_decay
from recollect.store.database import Row, StorePart, Transaction
from recollect.store.memories import audit_statement_of_all, write_audit
from recollect.store.wire_format import encode_json, to_row
from recollect.values.audit import AuditEntry
from recollect.values.memory import is_single
from recollect.values.report import LATENCY_STEPS, MOST_STORED, WEEKS, Day, ReportCounts, ScopeStorage, Totals, Week
from recollect.values.scope import ConversationId, MemoryId, ScopeId, project_scope_id

LOOKED_AT = 10_000  # rows of a page when looking for scopes
HOLDERS = 1_000  # the same for holders, each of which has some hundred memories
START = UUID(int=0)
Old = Literal["requests", "keys"]  # what is deleted once it is old; UpkeepLimits says when
ACTOR = "upkeep"
# Deleted with an expired conversation; memories learned from it stay.
EXPIRING_TABLES = ("request", "embedding", "chapter", "sketch", "turn", "idempotency", "conversation")


@dataclass(frozen=True, slots=True)
class Faded:
    """The result of a page of idle memories; `last` is where the next page begins, None at the end."""

    decayed: int = 0
    forgotten: int = 0
    last: UUID | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What counts against a quota."""

    turns: int = 0
    document_bytes: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.turns + other.turns, self.document_bytes + other.document_bytes)


class UpkeepStore(StorePart):
    # Finding

    def find_expired_scopes(self, limits: UpkeepLimits) -> AsyncIterator[ScopeId]:
        return self._walk("upkeep.find_expired", LOOKED_AT, {"now": limits.now})

    def find_old(self, what: Old, limits: UpkeepLimits) -> AsyncIterator[ScopeId]:
        return self._walk(f"upkeep.find_old_{what}", LOOKED_AT, {"before": limits.now - getattr(limits, what)})

    def find_memory_scopes(self, limits: UpkeepLimits) -> AsyncIterator[ScopeId]:
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
        """Yield scopes in the order of their ids, read a page of rows at a time."""
        after = START
        while rows := await self._database.ask_as_operator(name, **parameters, after=after, most=page):
            for (scope,) in rows:
                yield scope
            after = rows[-1][0]

    # The log and the requests

    async def list_expired(
        self, scope: ScopeId, limits: UpkeepLimits, after: UUID
    ) -> list[tuple[ConversationId, bool]]:
        """Return expired conversations after an id, and whether something was still to be learned from each."""
        return await self._database.read(scope, "upkeep.expired", now=limits.now, after=after, limit=limits.batch)

    async def expire(self, scope: ScopeId, conversation: ConversationId, now: datetime) -> dict[str, int] | None:
        """Erase an expired conversation; None if it is gone, or was continued."""
        async with self._database.transaction(scope) as transaction:
            if not await transaction.rows("upkeep.lock_expired", conversation=conversation, now=now):
                return None
            rows = await transaction.delete(EXPIRING_TABLES, "delete_one", conversation=conversation)
            await write_audit(transaction, AuditEntry(ACTOR, "expired", f"conversation:{conversation}", rows), now)
            return rows

    async def drop_old(self, what: Old, scope: ScopeId, limits: UpkeepLimits) -> int:
        """Delete one batch; return its size."""
        before = limits.now - getattr(limits, what)
        [(gone,)] = await self._database.write(scope, f"upkeep.drop_{what}", before=before, limit=limits.batch)
        return int(gone)

    # Memories

    async def decay_memories(self, scope: ScopeId, limits: UpkeepLimits, after: UUID) -> Faded:
        """Reduce the confidence of idle memories, and erase those below the limit."""
        async with self._database.transaction(scope) as transaction:
            held = await transaction.rows("upkeep.hold")
            if not held:
                return Faded()
            rule = limits.project if held[0][0] else limits.user
            idle = limits.now - min(rule.period, rule.patience)
            rows = await transaction.rows("upkeep.idle", idle=idle, after=after, limit=limits.batch)
            fates = [(memory, compute_decay(memory, rule, limits.now)) for memory in (IdleMemory(*row) for row in rows)]
            forgotten = [(m.id, m.kind, m.key, m.status) for m, then in fates if then.is_forgotten]
            return Faded(
                decayed=await write_decay(transaction, fates),
                forgotten=await erase_memories(transaction, forgotten, "decayed away", limits.now),
                last=rows[-1][0] if len(rows) == limits.batch else None,
            )

    async def drop_memories(self, action: Literal["outlived", "pruned"], scope: ScopeId, limits: UpkeepLimits) -> int:
        """Delete one batch of outdated history, or of minor memories beyond the limit."""
        name = {"outlived": "upkeep.ended", "pruned": "upkeep.crowding"}[action]
        parameters = {**to_row(limits), "ended": limits.now - limits.history, "limit": limits.batch}
        async with self._database.transaction(scope) as transaction:
            if not await transaction.rows("upkeep.hold"):
                return 0
            return await erase_memories(transaction, await transaction.rows(name, **parameters), action, limits.now)

    # Scheduling

    async def claim_task(self, task: str, now: datetime, until: datetime) -> bool:
        """Return True for one caller while the task is due. Unless it is finished, it is due again at `until`."""
        return bool(await self._database.ask("upkeep.take_errand", name=task, now=now, until=until))

    async def finish_task(self, task: str, then: datetime) -> None:
        await self._database.ask("upkeep.finish_errand", name=task, next=then)


async def write_decay(transaction: Transaction, fates: Sequence[tuple[IdleMemory, Decay]]) -> int:
    faded = [
        {"id": memory.id, "decayed": then.decayed, "at": then.at}
        for memory, then in fates
        if then.at != memory.decayed_at and not then.is_forgotten
    ]
    return await transaction.count("upkeep.decay", faded=encode_json(faded)) if faded else 0


async def erase_memories(transaction: Transaction, chosen: Sequence[Row], action: str, now: datetime) -> int:
    """Erase memories (id, kind, key, status) with their evidence and everything they replaced: otherwise the next
    statement about the key would restore an older value. Return how many were given."""
    if not chosen:
        return 0
    ids = [row[0] for row in chosen]
    replaced = await transaction.rows("upkeep.with_earlier", memories=ids)
    roots = {memory: root for root, memory in reversed(replaced)}  # of several, the first
    alone = find_single_values(chosen)
    said = await transaction.rows("upkeep.drop_evidence", memories=list(roots), keys=list(alone))
    await transaction.rows("memory.drop", memories=list(roots))
    evidence = Counter(alone[key] if memory is None else roots[memory] for memory, key in said)
    earlier = Counter(root for memory, root in roots.items() if memory not in ids)
    entries = [
        AuditEntry(ACTOR, action, f"memory:{memory}", {"evidence": evidence[memory], "earlier": earlier[memory]})
        for memory in ids
    ]
    name, parameters = audit_statement_of_all(entries, now)
    await transaction.rows(name, **parameters)
    return len(ids)


def find_single_values(chosen: Sequence[Row]) -> dict[str, MemoryId]:
    """Return the active memories whose keys have one value at a time, by key."""
    return {key: memory for memory, kind, key, status in chosen if status == "active" and is_single(kind, key)}


class ReportStore(StorePart):
    async def count(self, project: str, since: datetime, until: datetime) -> ReportCounts:
        """Return the counts of eight queries; rows written meanwhile may be in some of them only."""
        span = {"project": project, "since": since, "until": until}
        [requests] = await self._database.ask("report.requests", **span)
        [signals] = await self._database.ask("report.signals", **span)
        [follow_ups] = await self._database.ask("report.follow_ups", **span)
        [conversations] = await self._database.ask("report.conversations", **span)
        days = await self._database.ask("report.days", **span)
        counts = await self._database.ask("report.counts", **span, steps=list(LATENCY_STEPS))
        named: dict[str, dict[str, int]] = {}
        for what, name, count in counts:
            named.setdefault(what, {})[name] = count
        weeks = await self._database.ask(
            "report.asking", project=project, since=until - timedelta(weeks=WEEKS), until=until
        )
        stored = await self._database.ask_as_operator(
            "report.storage", project=project, shared=project_scope_id(project), most=MOST_STORED
        )
        return ReportCounts(
            totals=Totals(*requests, *follow_ups, *conversations, *signals),
            days=[Day(*row) for row in days],
            named=named,
            weeks=[Week(*row) for row in weeks],
            stored=[ScopeStorage(*row) for row in stored],
        )

    async def read_usage(self, scope: ScopeId) -> Usage:
        [row] = await self._database.read(scope, "report.usage_of_scope")
        return Usage(*row)

    async def read_project_usage(self, project: str) -> Usage:
        shared = project_scope_id(project)
        [row] = await self._database.ask_as_operator("report.usage_of_project", project=project, shared=shared)
        return Usage(*row)
