"""Background work in the store: find, claim and release conversations that are behind their log; write episodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.recall.lexemes import lexemes
from recollect.recall.sketch import tsvector
from recollect.store.database import Database, Row, Statement
from recollect.store.wire_format import VectorArray, Vectors, as_turn
from recollect.values.conversation import Episode, Turn
from recollect.values.scope import ConversationId, ScopeId
from recollect.values.work import Job, Trouble, WorkStatus

Place = tuple[ScopeId, ConversationId]


class WorkStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_work(self, model: int | None, most: int) -> list[Place]:
        """Return conversations of any scope that are behind their log, without locking them: another worker may see the
        same."""
        return [
            (row[0], row[1])
            for row in await self._database.ask_as_operator("work.find", {"model": model, "most": most})
        ]

    async def list_work(self, scope: ScopeId, model: int | None) -> list[ConversationId]:
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
        parameters = {"conversation": job.conversation, "limit": limit}
        [rows] = await self._database.run(job.scope, ("work.unread", parameters))
        return [as_turn(job.session, *row) for row in rows]

    async def load_turns(self, job: Job, first: int, last: int) -> list[Turn]:
        parameters = {"conversation": job.conversation, "first": first, "last": last}
        [rows] = await self._database.run(job.scope, ("work.between", parameters))
        return [as_turn(job.session, *row) for row in rows]

    async def release(self, job: Job, model: int | None) -> None:
        await self._database.run(job.scope, release_statement(job, model), write=True)

    async def postpone(self, job: Job, until: datetime, attempts: int, error: str, now: datetime) -> None:
        parameters = {
            "conversation": job.conversation,
            "until": until,
            "attempts": attempts,
            "error": error,
            "now": now,
        }
        await self._database.run(job.scope, ("work.postpone", parameters), write=True)

    async def drop_lease(self, job: Job) -> None:
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

    async def retry_parked(self, stage: str = "") -> int:
        """Make parked work due at once; return how much there was."""
        [(woken,)] = await self._database.ask_as_operator("work.wake", {"stage": stage})
        return int(woken)

    async def read_status(self, now: datetime, most: int) -> WorkStatus:
        [(due, leased, failing, parked, oldest)] = await self._database.ask("work.status", {})
        troubles = await self._database.ask_as_operator("work.troubles", {"most": most}) if failing or parked else []
        [(waiting, failed, first)] = await self._database.ask("document.work_status", {})
        told = [Trouble(*row) for row in troubles]
        return WorkStatus(
            due, leased, failing, parked, seconds_since(oldest, now), told, waiting, failed, seconds_since(first, now)
        )


def seconds_since(moment: datetime | None, now: datetime) -> float:
    """Return the seconds since a moment."""
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0


def release_statement(job: Job, model: int | None) -> Statement:
    """Return the statement that releases the lease, everything being done up to the job's turns."""
    parameters = {
        "conversation": job.conversation,
        "model": model,
        "turn_count": job.turns,
        "rests": bool(job.resting),
    }
    return "work.release", parameters


def advance_statement(before: Job, after: Job) -> Statement:
    """Return the statement that moves a job's positions, to be sent with what was learned."""
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


def move_learned(job: Job, turn: int, also_reasoned: bool) -> Job:
    return replace(job, learned=turn, reasoned=max(job.reasoned, turn) if also_reasoned else job.reasoned)


LISTS = ("facts", "preferences", "decisions", "todos", "entities")


class EpisodeStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, before: Job, after: Job, episode: Episode, vectors: Vectors | None, model: int | None) -> None:
        """Write the episode and the position it moves together; raises Outdated and writes nothing if the position
        changed."""
        await self._database.run(
            before.scope,
            advance_statement(before, after),
            ("episode.put", _episode_parameters(before, episode, vectors, model)),
            write=True,
        )

    async def list_unembedded(self, job: Job, model: int, limit: int) -> list[Episode]:
        """Return the episodes without a vector of the model."""
        parameters = {"conversation": job.conversation, "model": model, "limit": limit}
        [rows] = await self._database.run(job.scope, ("episode.missing", parameters))
        return [as_episode(row) for row in rows]

    async def embed(self, job: Job, model: int, episodes: Sequence[Episode], vectors: Vectors) -> None:
        places = json.dumps([{"first": episode.first, "v": n} for n, episode in enumerate(episodes, 1)])
        parameters = {
            "conversation": job.conversation,
            "model": model,
            "places": places,
            "vectors": VectorArray(vectors),
        }
        await self._database.run(job.scope, ("episode.embed", parameters), write=True)

    async def list_episodes(self, scope: ScopeId, session: str | None, limit: int) -> list[Episode]:
        [rows] = await self._database.run(scope, ("episode.list", {"session": session, "limit": limit}))
        return [as_episode(row) for row in rows]


def _episode_parameters(job: Job, episode: Episode, vectors: Vectors | None, model: int | None) -> dict[str, Any]:
    return {
        "conversation": job.conversation,
        "first": episode.first,
        "last": episode.last,
        "id": episode.id,
        "session": episode.session,
        "summary": episode.summary,
        "structure": json.dumps({name: getattr(episode, name) for name in LISTS}),
        "learned_by": episode.learned_by,
        "model": episode.model,
        "tokens": episode.tokens,
        "said_from": episode.said_from,
        "said_to": episode.said_to,
        "terms": tsvector(lexemes(episode.text)),
        "vector": None if vectors is None else VectorArray(vectors),
        "model_id": 0 if vectors is None else model,
        "now": episode.created_at,
    }


def as_episode(row: Row) -> Episode:
    id_, session, first, last, summary, structure, learned_by, model, tokens, said_from, said_to, created_at = row[:12]
    lists = {name: tuple(structure[name]) for name in LISTS}
    return Episode(
        id=id_,
        session=session,
        first=first,
        last=last,
        summary=summary,
        **lists,
        learned_by=learned_by,
        model=model,
        tokens=tokens,
        said_from=said_from,
        said_to=said_to,
        created_at=created_at,
    )
