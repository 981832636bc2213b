"""Memories in the store: evidence and memories are read by key, and written together or not at all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from recollect.learning.reconcile import TAIL, Changes, Order, Support, Tail
from recollect.recall.lexemes import lexemes
from recollect.recall.sketch import quoted, tsvector
from recollect.store.database import Database, Row, Statement, Transaction
from recollect.threads import run_in_thread
from recollect.values.audit import Audit, AuditEntry
from recollect.values.memory import ALWAYS_ON, DEFINES, Evidence, Memory, get_slot, is_single
from recollect.values.scope import MemoryId, ScopeId, uuid7

REFS, TERMS = 13, 15  # columns of a memory that are lists
MEMORY_COLUMNS, SUPPORT_COLUMNS = 20, 4  # of a row of the tail; those of the last evidence follow
MANY = 20  # more rows than this are converted in a thread


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose memory it is; without a user it is the project's."""

    id: ScopeId
    project: str
    user: str | None


@dataclass(frozen=True, slots=True)
class Known:
    """Everything about some keys, as of `version`."""

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
    """What learning writes in one transaction, beside the changes of memories."""

    changes: Changes
    evidence: Sequence[Evidence] = ()  # new ones
    tally: Mapping[str, int] = field(default_factory=Counter)
    audit_entries: Sequence[AuditEntry] = ()


class MemoryStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def load_keys(self, scope: ScopeId, keys: Iterable[str]) -> Known:
        parameters = {"keys": sorted(set(keys))}
        version, memories, evidence = await self._database.run(
            scope, ("holder.version", {}), ("memory.of_keys", parameters), ("evidence.of_keys", parameters)
        )

        def made() -> Known:
            return Known(
                version=version[0][0] if version else 0,
                memories=[as_memory(row) for row in memories],
                evidence=[as_evidence(row) for row in evidence],
            )

        return await run_in_thread(made) if len(evidence) > MANY else made()

    async def load_tail(self, scope: ScopeId, new: Sequence[Evidence]) -> tuple[int, Tail]:
        """Return the latest part of the slots that new evidence is about, and the version it was read at."""
        slots = sorted({(key, kind) for said in new for key, kind in list_slots(said)})
        parameters = {"keys": [key for key, _ in slots], "kinds": [kind for _, kind in slots], "most": TAIL}
        version, active, last = await self._database.run(
            scope,
            ("holder.version", {}),
            ("memory.tail", parameters),
            ("evidence.last_of_keys", {"keys": sorted({said.key for said in new})}),
        )
        supported = await run_in_thread(as_supported_all, active) if len(active) > MANY else as_supported_all(active)
        return version[0][0] if version else 0, Tail(supported, {row[0]: as_order(row[1:]) for row in last})

    async def find(self, scope: ScopeId, ids: Sequence[MemoryId]) -> list[Memory]:
        [rows] = await self._database.run(scope, ("memory.find", {"ids": list(ids)}))
        return [as_memory(row) for row in rows]

    async def load_histories(self, scope: ScopeId, ids: Sequence[MemoryId]) -> list[Memory]:
        """Return some memories with every value ever stored under their keys."""
        [rows] = await self._database.run(scope, ("memory.stories", {"ids": list(ids), "limit": 1000}))
        return [as_memory(row) for row in rows]

    async def find_known(self, scope: ScopeId, look: Lookup) -> list[Memory]:
        """Return important memories, and those that share a key or a word with the lookup."""
        [rows] = await self._database.run(scope, known_statement(look))
        return [as_memory(row[:-1]) for row in rows]

    async def list_memories(
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

    async def list_evidence(self, scope: ScopeId) -> list[Evidence]:
        [rows] = await self._database.run(scope, ("evidence.all", {}))
        return [as_evidence(row) for row in rows]

    async def list_audit(self, scope: ScopeId) -> list[Audit]:
        [rows] = await self._database.run(scope, ("audit.all", {}))
        return [Audit(*row) for row in rows]

    async def list_tally(self, scope: ScopeId) -> list[Row]:
        [rows] = await self._database.run(scope, ("tally.all", {}))
        return rows

    async def write(self, holder: Holder, version: int, learned: Learned, now: datetime, *also: Statement) -> None:
        """Write everything if nothing has changed since `version`; otherwise write nothing and raise Outdated."""
        is_long = len(learned.evidence) + len(learned.changes.put) + len(learned.changes.links) > MANY
        make = (holder, version, learned, now)
        statements = await run_in_thread(build_statements, *make) if is_long else build_statements(*make)
        await self._database.run(holder.id, *also, *statements, write=True)

    async def count_use(self, scope: ScopeId, used: Mapping[MemoryId, int], now: datetime) -> None:
        rows = [{"id": str(memory), "count": count, "at": str(now)} for memory, count in used.items()]
        await self._database.run(scope, ("memory.use", {"used": json.dumps(rows)}), write=True)


def build_statements(holder: Holder, version: int, learned: Learned, now: datetime) -> list[Statement]:
    """Return the statements that write what was learned; none for what is empty."""
    changes, statements = learned.changes, list[Statement]()
    links = {said.id: memory for said, memory in changes.links}
    is_changed = bool(learned.evidence or changes.put or changes.drop or links)
    if is_changed:
        statements.extend(advance_statements(holder, version, now))
    if learned.evidence:
        rows = [dump_evidence(replace(said, memory=links.pop(said.id, None))) for said in learned.evidence]
        statements.append(("evidence.add", {"evidence": json.dumps(rows), "now": now}))
    if changes.put:
        rows = [dump_memory(memory) for memory in changes.put]
        statements.append(("memory.put", {"memories": json.dumps(rows), "now": now}))
    if changes.drop:
        statements.append(("memory.drop", {"memories": list(changes.drop)}))
    if links:
        rows = [{"id": str(said), "memory": memory and str(memory)} for said, memory in links.items()]
        statements.append(("evidence.link", {"links": json.dumps(rows)}))
    for reason, count in learned.tally.items():
        statements.append(("tally.add", {"reason": reason, "count": count, "now": now}))
    if is_changed and len(learned.audit_entries) > 1:
        statements.append(audit_statement_of_all(learned.audit_entries, now))
    else:
        statements.extend(audit_statement(entry, now) for entry in learned.audit_entries)
    return statements


def advance_statements(holder: Holder, version: int, now: datetime) -> list[Statement]:
    """Return the statements that begin a change of what is known at `version`; 0: nothing is, and the scope gets its
    holder."""
    who = {"project": holder.project, "user": holder.user, "version": version, "now": now}
    return [("holder.start", who), ("holder.advance", who)] if version == 0 else [("holder.advance", who)]


def dump_audit(entry: AuditEntry) -> dict[str, Any]:
    return {"id": str(uuid7()), "actor": entry.actor, "action": entry.action, "subject": entry.subject}


def audit_statement(entry: AuditEntry, now: datetime) -> Statement:
    return "audit.add", {**dump_audit(entry), "detail": json.dumps(dict(entry.detail)), "now": now}


def audit_statement_of_all(entries: Sequence[AuditEntry], now: datetime) -> Statement:
    """Return the statement for many entries, of a scope that has a holder."""
    rows = [{**dump_audit(entry), "detail": dict(entry.detail)} for entry in entries]
    return "audit.add_all", {"audit": json.dumps(rows), "now": now}


async def write_audit(transaction: Transaction, entry: AuditEntry, now: datetime) -> None:
    """Add an entry to the audit log inside an open transaction."""
    name, parameters = audit_statement(entry, now)
    await transaction.rows(name, **parameters)


def known_statement(look: Lookup) -> Statement:
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
    """Build a memory by position: `replace` on each of fifty rows costs as much as reading them."""
    values = list(row)
    values[REFS], values[TERMS] = tuple(row[REFS]), tuple(row[TERMS])
    return Memory(*values)


def as_evidence(row: Row) -> Evidence:
    return Evidence(*row)


def list_slots(said: Evidence) -> list[tuple[str, str]]:
    """Return the keys and kinds under which memories of the evidence's slot are found; an empty kind means any."""
    if said.kind in DEFINES and not is_single("note", said.key):
        return [(said.key, kind) for kind in DEFINES]
    return [(said.key, get_slot(said.kind, said.key)[0])]


def as_supported_all(rows: Sequence[Row]) -> list[tuple[Memory, Support]]:
    return [as_supported(row) for row in rows]


def as_supported(row: Row) -> tuple[Memory, Support]:
    last = MEMORY_COLUMNS + SUPPORT_COLUMNS
    return as_memory(row[:MEMORY_COLUMNS]), Support(as_evidence(row[last:]), *row[MEMORY_COLUMNS:last])


def as_order(row: Row) -> Order:
    said_at, conversation, turn, id_ = row
    return said_at, conversation is None, str(conversation), turn or 0, str(id_)


def dump_evidence(said: Evidence) -> dict[str, Any]:
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


def dump_memory(memory: Memory) -> dict[str, Any]:
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
        "place": memory.place,
    }
