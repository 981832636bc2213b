"""The store's part for work: finding, claiming and releasing conversations that something derived is behind on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from recollect.model.conversation import Turn
from recollect.model.ids import ConversationId, ScopeId
from recollect.model.work import Job, Trouble, WorkStatus
from recollect.store.database import Database, Statement
from recollect.store.rows import as_turn

Place = tuple[ScopeId, ConversationId]


class WorkStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, model: int | None, most: int) -> list[Place]:
        """Conversations of any scope that are behind their log; unlocked, another worker may see the same."""
        return [(row[0], row[1]) for row in await self._database.ask("work.find", {"model": model, "most": most})]

    async def of_scope(self, scope: ScopeId, model: int | None) -> list[ConversationId]:
        [rows] = await self._database.run(scope, ("work.of_scope", {"model": model}))
        return [row[0] for row in rows]

    async def claim(
        self,
        scope: ScopeId,
        conversation: ConversationId,
        model: int | None,
        now: datetime,
        until: datetime,
        limit: int,
    ) -> tuple[Job, list[Turn]] | None:
        """The lease, with the first turns that were not learned from; None when another has it or has done it."""
        parameters = {"conversation": conversation, "model": model, "now": now, "until": until, "limit": limit}
        claimed, turns = await self._database.run(
            scope, ("work.claim", parameters), ("work.unread", parameters), write=True
        )
        if not claimed:
            return None
        job = Job(scope, *claimed[0])
        return job, [as_turn(job.session, *row) for row in turns]

    async def unread(self, job: Job, limit: int) -> list[Turn]:
        parameters = {"conversation": job.conversation, "limit": limit}
        [rows] = await self._database.run(job.scope, ("work.unread", parameters))
        return [as_turn(job.session, *row) for row in rows]

    async def between(self, job: Job, first: int, last: int) -> list[Turn]:
        parameters = {"conversation": job.conversation, "first": first, "last": last}
        [rows] = await self._database.run(job.scope, ("work.between", parameters))
        return [as_turn(job.session, *row) for row in rows]

    async def release(self, job: Job, model: int | None) -> None:
        await self._database.run(job.scope, released(job, model), write=True)

    async def postpone(self, job: Job, until: datetime, attempts: int, error: str, now: datetime) -> None:
        parameters = {
            "conversation": job.conversation,
            "until": until,
            "attempts": attempts,
            "error": error,
            "now": now,
        }
        await self._database.run(job.scope, ("work.postpone", parameters), write=True)

    async def let_go(self, job: Job) -> None:
        await self._database.run(job.scope, ("work.let_go", {"conversation": job.conversation}), write=True)

    async def park(self, job: Job, stages: Sequence[str], retry_at: datetime, error: str, now: datetime) -> None:
        parameters = {
            "conversation": job.conversation,
            "turn_count": job.turns,
            "parked": sorted({*job.resting, *stages}),
            "retry_at": retry_at,
            "error": error,
            "now": now,
        }
        await self._database.run(job.scope, ("work.park", parameters), write=True)

    async def wake(self, stage: str = "") -> int:
        """Parked work is tried again at once; how much there was."""
        [(woken,)] = await self._database.ask("work.wake", {"stage": stage})
        return int(woken)

    async def status(self, now: datetime, most: int) -> WorkStatus:
        [(due, leased, failing, parked, oldest)] = await self._database.ask("work.status", {})
        troubles = await self._database.ask("work.troubles", {"most": most}) if failing or parked else []
        [(waiting, failed, first)] = await self._database.ask("document.work_status", {})
        told = [Trouble(*row) for row in troubles]
        return WorkStatus(due, leased, failing, parked, since(oldest, now), told, waiting, failed, since(first, now))


def since(moment: datetime | None, now: datetime) -> float:
    """Seconds."""
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0


def released(job: Job, model: int | None) -> Statement:
    """The statement that gives the lease back, everything being done up to the job's turns."""
    parameters = {
        "conversation": job.conversation,
        "model": model,
        "turn_count": job.turns,
        "rests": bool(job.resting),
    }
    return "work.release", parameters


def advanced(before: Job, after: Job) -> Statement:
    """The statement that moves a job's positions, to be sent with what was learned."""
    parameters = {
        "conversation": before.conversation,
        "learned": after.learned,
        "reasoned": after.reasoned,
        "episodes": after.episodes,
        "learned_before": before.learned,
        "reasoned_before": before.reasoned,
        "episodes_before": before.episodes,
    }
    return "work.advance", parameters


def learned_up_to(job: Job, turn: int, also_reasoned: bool) -> Job:
    return replace(job, learned=turn, reasoned=max(job.reasoned, turn) if also_reasoned else job.reasoned)
