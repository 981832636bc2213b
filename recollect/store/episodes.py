"""The store's part for episodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from recollect.model.episode import Episode
from recollect.model.ids import ScopeId
from recollect.model.sketch import tsvector
from recollect.model.text import lexemes
from recollect.model.work import Job
from recollect.store.database import Database, Row
from recollect.store.wire_format import VectorArray, Vectors
from recollect.store.work import advanced

LISTS = ("facts", "preferences", "decisions", "todos", "entities")


class EpisodeStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, before: Job, after: Job, episode: Episode, vectors: Vectors | None, model: int | None) -> None:
        """The episode and the position that it moves, together or not at all (then Outdated is raised)."""
        await self._database.run(
            before.scope, advanced(before, after), ("episode.put", _put(before, episode, vectors, model)), write=True
        )

    async def missing(self, job: Job, model: int, limit: int) -> list[Episode]:
        """Those without a vector of the model."""
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

    async def listed(self, scope: ScopeId, session: str | None, limit: int) -> list[Episode]:
        [rows] = await self._database.run(scope, ("episode.list", {"session": session, "limit": limit}))
        return [as_episode(row) for row in rows]


def _put(job: Job, episode: Episode, vectors: Vectors | None, model: int | None) -> dict[str, Any]:
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
