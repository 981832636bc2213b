"""The store's part for what is known: evidence and memories are read by key, and written together or not at all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from recollect.model.audit import Audit, Deed
from recollect.model.ids import MemoryId, ScopeId, uuid7
from recollect.model.memory import ALWAYS_ON, Evidence, Memory
from recollect.model.reconcile import Changes
from recollect.model.sketch import quoted, tsvector
from recollect.model.text import lexemes
from recollect.store.database import Database, Row, Statement

REFS, TERMS = 13, 15  # columns of a memory that are lists


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose memory it is; no user: the project's."""

    id: ScopeId
    project: str
    user: str | None


@dataclass(frozen=True, slots=True)
class Known:
    """All there is of some keys, as of `version`."""

    version: int = 0
    memories: Sequence[Memory] = ()
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a question shares with memories that are not in every context anyway."""

    keys: Sequence[str] = ()
    terms: Sequence[str] = ()
    words: Sequence[str] = ()
    past: bool = False
    as_of: datetime | None = None
    limit: int = 300


@dataclass(frozen=True, slots=True)
class Learned:
    """What learning writes in one transaction, beside the changes of what is known."""

    changes: Changes
    evidence: Sequence[Evidence] = ()  # new ones
    tally: Mapping[str, int] = field(default_factory=Counter)
    deeds: Sequence[Deed] = ()


class MemoryStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_keys(self, scope: ScopeId, keys: Iterable[str]) -> Known:
        parameters = {"keys": sorted(set(keys))}
        version, memories, evidence = await self._database.run(
            scope, ("holder.version", {}), ("memory.of_keys", parameters), ("evidence.of_keys", parameters)
        )
        return Known(
            version=version[0][0] if version else 0,
            memories=[as_memory(row) for row in memories],
            evidence=[as_evidence(row) for row in evidence],
        )

    async def find(self, scope: ScopeId, ids: Sequence[MemoryId]) -> list[Memory]:
        [rows] = await self._database.run(scope, ("memory.find", {"ids": list(ids)}))
        return [as_memory(row) for row in rows]

    async def stories(self, scope: ScopeId, ids: Sequence[MemoryId]) -> list[Memory]:
        """Some memories, with all that was ever believed under their keys."""
        [rows] = await self._database.run(scope, ("memory.stories", {"ids": list(ids), "limit": 1000}))
        return [as_memory(row) for row in rows]

    async def known(self, scope: ScopeId, look: Lookup) -> list[Memory]:
        """What is important, and what the look-up shares a key or a word with."""
        [rows] = await self._database.run(scope, known_by(look))
        return [as_memory(row[:-1]) for row in rows]

    async def listed(
        self,
        scope: ScopeId,
        *,
        kinds: Sequence[str] | None = None,
        keys: Sequence[str] | None = None,
        status: Sequence[str] | None = None,
        as_of: datetime | None = None,
        after: MemoryId | None = None,
        limit: int,
    ) -> list[Memory]:
        parameters = {
            "kinds": kinds and list(kinds),
            "keys": keys and list(keys),
            "status": status and list(status),
            "as_of": as_of,
            "after": after,
            "limit": limit,
        }
        [rows] = await self._database.run(scope, ("memory.list", parameters))
        return [as_memory(row) for row in rows]

    async def evidence(self, scope: ScopeId) -> list[Evidence]:
        [rows] = await self._database.run(scope, ("evidence.all", {}))
        return [as_evidence(row) for row in rows]

    async def audit(self, scope: ScopeId) -> list[Audit]:
        [rows] = await self._database.run(scope, ("audit.all", {}))
        return [Audit(*row) for row in rows]

    async def tally(self, scope: ScopeId) -> list[Row]:
        [rows] = await self._database.run(scope, ("tally.all", {}))
        return rows

    async def write(self, holder: Holder, version: int, learned: Learned, now: datetime, *also: Statement) -> None:
        """All of it, if nothing has changed since `version` was read; otherwise nothing, and Outdated is raised."""
        await self._database.run(holder.id, *also, *written(holder, version, learned, now), write=True)

    async def use(self, scope: ScopeId, used: Mapping[MemoryId, int], now: datetime) -> None:
        rows = [{"id": str(memory), "count": count, "at": str(now)} for memory, count in used.items()]
        await self._database.run(scope, ("memory.use", {"used": json.dumps(rows)}), write=True)


def written(holder: Holder, version: int, learned: Learned, now: datetime) -> list[Statement]:
    """The statements that write what was learned; none for what is empty."""
    changes, statements = learned.changes, list[Statement]()
    links = {said.id: memory for said, memory in changes.links}
    if learned.evidence or changes.put or changes.drop or links:
        who = {"project": holder.project, "user": holder.user, "version": version, "now": now}
        statements.append(("holder.advance", who))
    if learned.evidence:
        rows = [evidence_json(replace(said, memory=links.pop(said.id, None))) for said in learned.evidence]
        statements.append(("evidence.add", {"evidence": json.dumps(rows), "now": now}))
    if changes.put:
        rows = [memory_json(memory) for memory in changes.put]
        statements.append(("memory.put", {"memories": json.dumps(rows), "now": now}))
    if changes.drop:
        statements.append(("memory.drop", {"memories": list(changes.drop)}))
    if links:
        rows = [{"id": str(said), "memory": memory and str(memory)} for said, memory in links.items()]
        statements.append(("evidence.link", {"links": json.dumps(rows)}))
    if learned.tally:
        rows = [{"reason": reason, "count": count} for reason, count in learned.tally.items()]
        statements.append(("tally.add", {"tally": json.dumps(rows), "now": now}))
    if learned.deeds:
        statements.append(audited(learned.deeds, now))
    return statements


def audited(done: Sequence[Deed], now: datetime) -> Statement:
    rows = [
        {"id": str(uuid7()), "actor": d.actor, "action": d.action, "subject": d.subject, "detail": dict(d.detail)}
        for d in done
    ]
    return "audit.add", {"audit": json.dumps(rows), "now": now}


def known_by(look: Lookup) -> Statement:
    parameters = {
        "always": ALWAYS_ON,
        "keys": list(look.keys),
        "terms": list(look.terms),
        "words": " | ".join(quoted(word) for word in look.words),
        "lexemes": list(look.words),
        "past": look.past,
        "as_of": look.as_of,
        "limit": look.limit,
    }
    return "memory.known", parameters


def as_memory(row: Row) -> Memory:
    """By position: where fifty are read, `replace` on each costs as much as reading them."""
    values = list(row)
    values[REFS], values[TERMS] = tuple(row[REFS]), tuple(row[TERMS])
    return Memory(*values)


def as_evidence(row: Row) -> Evidence:
    return Evidence(*row)


def evidence_json(said: Evidence) -> dict[str, Any]:
    return {
        "id": str(said.id),
        "memory": said.memory and str(said.memory),
        "act": said.act,
        "kind": said.kind,
        "key": said.key,
        "value": said.value,
        "data": said.data,
        "confidence": said.confidence,
        "importance": said.importance,
        "source": said.source,
        "learned_by": said.learned_by,
        "corrects": said.corrects,
        "old": said.old,
        "said_at": str(said.said_at),
        "conversation": said.conversation and str(said.conversation),
        "session": said.session,
        "turn": said.turn,
        "author": said.author,
    }


def memory_json(memory: Memory) -> dict[str, Any]:
    return {
        "id": str(memory.id),
        "kind": memory.kind,
        "key": memory.key,
        "value": memory.value,
        "data": memory.data,
        "terms": list(memory.terms),
        "words": tsvector(lexemes(f"{memory.key.replace('_', ' ')} {memory.value}")),
        "confidence": memory.confidence,
        "importance": memory.importance,
        "source": memory.source,
        "learned_by": memory.learned_by,
        "status": memory.status,
        "valid_from": str(memory.valid_from),
        "valid_to": memory.valid_to and str(memory.valid_to),
        "reason": memory.reason,
        "replaced_by": memory.replaced_by and str(memory.replaced_by),
        "refs": list(memory.refs),
    }
