"""Background work in the store: find, claim and release conversations that are behind their log; write episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.recall.lexemes import lexemes
from recollect.recall.sketch import tsvector
from recollect.store.database import Row, Statement, StorePart
from recollect.store.wire_format import VectorArray, Vectors, as_turn, encode_json, to_row
from recollect.values.conversation import Episode, Turn
from recollect.values.scope import ConversationId, ScopeId
from recollect.values.work import Job, Trouble, WorkStatus

Place = tuple[ScopeId, ConversationId]


class WorkStore(StorePart):
    async def find_work(self, model: int | None, most: int) -> list[Place]:
        """Return conversations of any scope that are behind their log, without locking them: another worker may see the
        same."""
        return await self._database.ask_as_operator("work.find", model=model, most=most)

    async def list_work(self, scope: ScopeId, model: int | None) -> list[ConversationId]:
        return [row[0] for row in await self._database.read(scope, "work.of_scope", model=model)]

    async def claim(
        self,
        scope: ScopeId,
        conversation: ConversationId,
        model: int | None,
        now: datetime,
        until: datetime,
        limit: int,
    ) -> tuple[Job, list[Turn]] | None:
        """Take the lease; return it with the first turns not learned from, or None if another worker has it or nothing
        is to be done."""
        parameters = {"conversation": conversation, "model": model, "now": now, "until": until, "limit": limit}
        claimed, turns = await self._database.run(
            scope, ("work.claim", parameters), ("work.unread", parameters), write=True
        )
        if not claimed:
            return None
        job = Job(scope, *claimed[0])
        return job, [as_turn(job.session, *row) for row in turns]

    async def list_unread(self, job: Job, limit: int) -> list[Turn]:
        rows = await self._database.read(job.scope, "work.unread", conversation=job.conversation, limit=limit)
        return [as_turn(job.session, *row) for row in rows]

    async def load_turns(self, job: Job, first: int, last: int) -> list[Turn]:
        part = {"conversation": job.conversation, "first": first, "last": last}
        rows = await self._database.read(job.scope, "work.between", **part)
        return [as_turn(job.session, *row) for row in rows]

    async def release(self, job: Job, model: int | None) -> None:
        await self._database.run(job.scope, release_statement(job, model), write=True)

    async def postpone(self, job: Job, until: datetime, attempts: int, error: str, now: datetime) -> None:
        then = {"until": until, "attempts": attempts, "error": error, "now": now}
        await self._database.write(job.scope, "work.postpone", conversation=job.conversation, **then)

    async def drop_lease(self, job: Job) -> None:
        await self._database.write(job.scope, "work.let_go", conversation=job.conversation)

    async def park(self, job: Job, stages: Sequence[str], retry_at: datetime, error: str, now: datetime) -> None:
        why = {"parked": sorted({*job.resting, *stages}), "retry_at": retry_at, "error": error, "now": now}
        await self._database.write(job.scope, "work.park", conversation=job.conversation, turn_count=job.turns, **why)

    async def retry_parked(self, stage: str = "") -> int:
        """Make parked work due at once; return how much there was."""
        [(woken,)] = await self._database.ask_as_operator("work.wake", stage=stage)
        return int(woken)

    async def read_status(self, now: datetime, most: int) -> WorkStatus:
        [(due, leased, failing, parked, oldest)] = await self._database.ask("work.status")
        troubles = await self._database.ask_as_operator("work.troubles", most=most) if failing or parked else []
        [(waiting, failed, first)] = await self._database.ask("document.work_status")
        told = [Trouble(*row) for row in troubles]
        return WorkStatus(
            due, leased, failing, parked, seconds_since(oldest, now), told, waiting, failed, seconds_since(first, now)
        )


def seconds_since(moment: datetime | None, now: datetime) -> float:
    """Return the seconds since a moment."""
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0


def release_statement(job: Job, model: int | None) -> Statement:
    """Return the statement that releases the lease, everything being done up to the job's turns."""
    rests = bool(job.resting)
    return "work.release", {"conversation": job.conversation, "model": model, "turn_count": job.turns, "rests": rests}


def advance_statement(before: Job, after: Job) -> Statement:
    """Return the statement that moves a job's positions, to be sent with what was learned."""
    stages = ("learned", "reasoned", "episodes")
    return "work.advance", {**to_row(after), **{f"{name}_before": getattr(before, name) for name in stages}}


def move_learned(job: Job, turn: int, also_reasoned: bool) -> Job:
    return replace(job, learned=turn, reasoned=max(job.reasoned, turn) if also_reasoned else job.reasoned)


# The lists of an episode, in the order of its fields; they are stored as one JSON object.
LISTS = ("facts", "preferences", "decisions", "todos", "entities")


class EpisodeStore(StorePart):
    async def add(
        self,
        before: Job,
        after: Job,
        episode: Episode,
        vectors: Vectors | None,
        model: int | None,
        model_ms: int | None = None,
    ) -> None:
        """Write the episode and the position it moves together; raises Outdated and writes nothing if the position
        changed."""
        await self._database.run(
            before.scope,
            advance_statement(before, after),
            ("episode.put", _episode_parameters(before, episode, vectors, model) | {"model_ms": model_ms}),
            write=True,
        )

    async def list_unembedded(self, job: Job, model: int, limit: int) -> list[Episode]:
        """Return the episodes without a vector of the model."""
        rows = await self._database.read(
            job.scope, "episode.missing", conversation=job.conversation, model=model, limit=limit
        )
        return [as_episode(row) for row in rows]

    async def embed(self, job: Job, model: int, episodes: Sequence[Episode], vectors: Vectors) -> None:
        places = encode_json([{"first": episode.first, "v": n} for n, episode in enumerate(episodes, 1)])
        new = {"model": model, "places": places, "vectors": VectorArray(vectors)}
        await self._database.write(job.scope, "episode.embed", conversation=job.conversation, **new)

    async def list_episodes(self, scope: ScopeId, session: str | None, limit: int) -> list[Episode]:
        rows = await self._database.read(scope, "episode.list", session=session, limit=limit)
        return [as_episode(row) for row in rows]


def _episode_parameters(job: Job, episode: Episode, vectors: Vectors | None, model: int | None) -> dict[str, Any]:
    return {
        **to_row(episode),
        "conversation": job.conversation,
        "structure": encode_json({name: getattr(episode, name) for name in LISTS}),
        "terms": tsvector(lexemes(episode.text)),
        "vector": None if vectors is None else VectorArray(vectors),
        "model_id": 0 if vectors is None else model,
        "now": episode.created_at,
    }


def as_episode(row: Row) -> Episode:
    structure = row[5]
    return Episode(*row[:5], *(tuple(structure[name]) for name in LISTS), *row[6:12])
