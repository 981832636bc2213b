"""Memories in the store: evidence and memories are read by key, and written together or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recollect.learning.reconcile import TAIL, Changes, Support, Tail
from recollect.recall.lexemes import lexemes
from recollect.recall.sketch import quoted, tsvector
from recollect.store.database import Row, Statement, StorePart, Transaction
from recollect.store.wire_format import encode_json, to_row
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


class MemoryStore(StorePart):
    async def load_keys(self, scope: ScopeId, keys: Iterable[str]) -> Known:
        parameters = {"keys": sorted(set(keys))}
        version, memories, evidence = await self._database.run(
            scope, ("holder.version", {}), ("memory.of_keys", parameters), ("evidence.of_keys", parameters)
        )

        def build() -> Known:
            return Known(
                version=version[0][0] if version else 0,
                memories=[as_memory(row) for row in memories],
                evidence=[Evidence(*row) for row in evidence],
            )

        return await run_in_thread(build) if len(evidence) > MANY else build()

    async def load_tail(self, scope: ScopeId, new: Sequence[Evidence]) -> tuple[int, Tail]:
        """Return the latest part of the slots that new evidence is about, and the version it was read at."""
        slots = sorted({slot for said in new for slot in list_slots(said)})
        parameters = {"keys": [key for key, _ in slots], "kinds": [kind for _, kind in slots], "most": TAIL}
        version, active, last = await self._database.run(
            scope,
            ("holder.version", {}),
            ("memory.tail", parameters),
            ("evidence.last_of_keys", {"keys": sorted({said.key for said in new})}),
        )

        def build() -> Tail:
            orders = {
                key: (said_at, conversation is None, str(conversation), turn or 0, str(id_))
                for key, said_at, conversation, turn, id_ in last
            }
            end = MEMORY_COLUMNS + SUPPORT_COLUMNS
            supported = [
                (as_memory(row[:MEMORY_COLUMNS]), Support(Evidence(*row[end:]), *row[MEMORY_COLUMNS:end]))
                for row in active
            ]
            return Tail(supported, orders)

        tail = await run_in_thread(build) if len(active) > MANY else build()
        return version[0][0] if version else 0, tail

    async def find(self, scope: ScopeId, ids: Sequence[MemoryId]) -> list[Memory]:
        return [as_memory(row) for row in await self._database.read(scope, "memory.find", ids=list(ids))]

    async def load_histories(self, scope: ScopeId, ids: Sequence[MemoryId]) -> list[Memory]:
        """Return some memories with every value ever stored under their keys."""
        rows = await self._database.read(scope, "memory.stories", ids=list(ids), limit=1000)
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
        lists = {"kinds": kinds and list(kinds), "keys": keys and list(keys), "status": status and list(status)}
        rows = await self._database.read(scope, "memory.list", **lists, as_of=as_of, after=after, limit=limit)
        return [as_memory(row) for row in rows]

    async def list_evidence(self, scope: ScopeId) -> list[Evidence]:
        return [Evidence(*row) for row in await self._database.read(scope, "evidence.all")]

    async def list_audit(self, scope: ScopeId) -> list[Audit]:
        return [Audit(*row) for row in await self._database.read(scope, "audit.all")]

    async def list_tally(self, scope: ScopeId) -> list[Row]:
        return await self._database.read(scope, "tally.all")

    async def write(self, holder: Holder, version: int, learned: Learned, now: datetime, *also: Statement) -> None:
        """Write everything if nothing has changed since `version`; otherwise write nothing and raise Outdated."""
        is_long = len(learned.evidence) + len(learned.changes.put) + len(learned.changes.links) > MANY
        make = (holder, version, learned, now)
        statements = await run_in_thread(build_statements, *make) if is_long else build_statements(*make)
        await self._database.run(holder.id, *also, *statements, write=True)

    async def count_use(self, scope: ScopeId, used: Mapping[MemoryId, int], now: datetime) -> None:
        rows = [{"id": memory, "count": count, "at": now} for memory, count in used.items()]
        await self._database.write(scope, "memory.use", used=encode_json(rows))


def build_statements(holder: Holder, version: int, learned: Learned, now: datetime) -> list[Statement]:
    """Return the statements that write what was learned; none for what is empty."""
    changes = learned.changes
    links = {said.id: memory for said, memory in changes.links}
    evidence = [{**to_row(said), "memory": links.pop(said.id, None)} for said in learned.evidence]
    relinked = [{"id": said, "memory": memory} for said, memory in links.items()]
    candidates: list[tuple[Sequence[Any], Statement]] = [
        (evidence, ("evidence.add", {"evidence": encode_json(evidence), "now": now})),
        (changes.put, ("memory.put", {"memories": encode_memories(changes.put), "now": now})),
        (changes.drop, ("memory.drop", {"memories": list(changes.drop)})),
        (relinked, ("evidence.link", {"links": encode_json(relinked)})),
    ]
    changed = [statement for rows, statement in candidates if rows]
    if changed:
        changed = [*advance_statements(holder, version, now), *changed]
    tally = [("tally.add", {"reason": reason, "count": count, "now": now}) for reason, count in learned.tally.items()]
    return [*changed, *tally, *audit_statements(learned.audit_entries, now, has_holder=bool(changed))]


def encode_memories(memories: Iterable[Memory]) -> str:
    """Return the rows of memory.put: the memories, and the words they are found by."""
    words = [tsvector(lexemes(f"{memory.key.replace('_', ' ')} {memory.value}")) for memory in memories]
    return encode_json([{**to_row(memory), "words": each} for memory, each in zip(memories, words, strict=True)])


def advance_statements(holder: Holder, version: int, now: datetime) -> list[Statement]:
    """Return the statements that begin a change of what is known at `version`; 0: nothing is, and the scope gets its
    holder."""
    who = {"project": holder.project, "user": holder.user, "version": version, "now": now}
    return [("holder.start", who), ("holder.advance", who)] if version == 0 else [("holder.advance", who)]


def audit_statement(entry: AuditEntry, now: datetime) -> Statement:
    return "audit.add", {**to_row(entry), "detail": encode_json(entry.detail), "id": uuid7(), "now": now}


def audit_statements(entries: Sequence[AuditEntry], now: datetime, *, has_holder: bool) -> list[Statement]:
    if has_holder and len(entries) > 1:
        return [audit_statement_of_all(entries, now)]
    return [audit_statement(entry, now) for entry in entries]


def audit_statement_of_all(entries: Sequence[AuditEntry], now: datetime) -> Statement:
    """Return the statement for many entries, of a scope that has a holder."""
    return "audit.add_all", {"audit": encode_json([{**to_row(entry), "id": uuid7()} for entry in entries]), "now": now}


async def write_audit(transaction: Transaction, entry: AuditEntry, now: datetime) -> None:
    """Add an entry to the audit log inside an open transaction."""
    name, parameters = audit_statement(entry, now)
    await transaction.rows(name, **parameters)


def known_statement(look: Lookup) -> Statement:
    parameters = {
        **to_row(look),
        "keys": list(look.keys),
        "terms": list(look.terms),
        "lexemes": list(look.words),
        "words": " | ".join(quoted(word) for word in look.words),
        "always": ALWAYS_ON,
    }
    return "memory.known", parameters


def as_memory(row: Row) -> Memory:
    """Build a memory by position: `replace` on each of fifty rows costs as much as reading them."""
    values = list(row)
    values[REFS], values[TERMS] = tuple(row[REFS]), tuple(row[TERMS])
    return Memory(*values)


def list_slots(said: Evidence) -> list[tuple[str, str]]:
    """Return the keys and kinds under which memories of the evidence's slot are found; an empty kind means any."""
    if said.kind in DEFINES and not is_single("note", said.key):
        return [(said.key, kind) for kind in DEFINES]
    return [(said.key, get_slot(said.kind, said.key)[0])]
