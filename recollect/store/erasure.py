"""Erasure and redaction in the store. Rows are deleted with everything that depends on them alone, and counted per
table; memories that also have other evidence are rebuilt from it in the same transaction. Redaction removes a value
from everywhere in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.learning.reconcile import MARK, REDACTED_AT, build_end_evidence, find_pointless, find_quoting, reconcile
from recollect.recall.sketch import Sketch
from recollect.store.database import Row, StorePart, Transaction
from recollect.store.documents import DOCUMENT_TABLES
from recollect.store.memories import as_memory, encode_memories, write_audit
from recollect.store.wire_format import as_turn, encode_json, to_row
from recollect.threads import run_in_thread
from recollect.values.audit import AuditEntry
from recollect.values.conversation import Turn, name_conversation
from recollect.values.memory import ABOUT_QUESTIONS, Evidence
from recollect.values.scope import ConversationId, MemoryId, ScopeId

# In deletion order: requests before turns, by whose words they are found; conversations last: turns refer to them.
CONVERSATION_TABLES = (
    *("request", "embedding", "chapter", "sketch", "turn", "episode", "evidence", "idempotency", "conversation"),
)
USER_TABLES = (*CONVERSATION_TABLES[:-1], "memory", "tally", "holder", *DOCUMENT_TABLES, "conversation")
PSEUDONYM = "somebody"  # replaces the name of a forgotten person
OWN_NAME = "user"  # what the audit log calls users in their own scope


@dataclass(frozen=True, slots=True)
class Erased:
    """Deleted rows by table, and rebuilt memories."""

    rows: dict[str, int]
    rebuilt: int = 0  # memories that also rest on something else


class ErasureStore(StorePart):
    async def erase_conversation(self, scope: ScopeId, session: str, actor: str, now: datetime) -> Erased | None:
        """Erase one conversation and everything derived from it; None if there is none."""
        async with self._database.transaction(scope) as transaction:
            found = await transaction.rows("conversation.lock_one", session=session)
            if not found:
                return None
            conversation: ConversationId = found[0][0]
            await transaction.rows("holder.lock")
            said = await transaction.rows("evidence.keys_of_conversation", conversation=conversation)
            taught = await transaction.rows("evidence.asked_in", conversation=conversation)
            keys = list(dict.fromkeys([*(key for (key,) in said), *(key for _, _, key in taught)]))
            rows = await transaction.delete(CONVERSATION_TABLES, "delete_one", conversation=conversation)
            rows["evidence"] += await _drop_questions(transaction, taught)
            rows["evidence"] += await _drop_quotations(transaction, keys)
            erased = await rebuild_memories(transaction, keys, rows, now)
            await write_audit(
                transaction, AuditEntry(actor, "forgot", f"conversation:{conversation}", {"rows": erased.rows}), now
            )
            return erased

    async def erase_person(self, project: ScopeId, user: str, asker: ScopeId, now: datetime) -> None:
        """Remove a person's name from their project's memories, documents and audit log. What they taught stays, except
        what was never approved."""
        async with self._database.transaction(project) as transaction:
            await transaction.rows("holder.lock")
            proposals = await transaction.rows("evidence.proposals_of", user=user)
            await transaction.rows("redaction.forget_evidence", evidence=[evidence for evidence, _ in proposals])
            await transaction.rows("evidence.forget_author", user=user)
            await transaction.rows("memory.forget_author", ref=f"@{user}", pseudonym=f"@{PSEUDONYM}")
            if keys := list(dict.fromkeys(key for _, key in proposals)):
                await rebuild_memories(transaction, keys, {}, now)
            await transaction.rows("document.forget_adder", user=user)
            await transaction.rows("shape.forget_asker", asker=asker)
            await transaction.rows("audit.forget_actor", user=user, pseudonym=PSEUDONYM)

    async def erase_user(self, scope: ScopeId, name: str, actor: str, now: datetime) -> Erased:
        """Erase everything in the scope. A conversation that begins meanwhile is not part of it, because half of it
        would remain. The audit log stays: it has no content."""
        async with self._database.transaction(scope) as transaction:
            locked = [row[0] for row in await transaction.rows("conversation.lock_all")]
            await transaction.rows("document.lock_all")
            rows = await transaction.delete(USER_TABLES, "delete_all", conversations=locked)
            await transaction.rows("audit.forget_actor", user=name, pseudonym=OWN_NAME)
            if any(rows.values()):
                await write_audit(transaction, AuditEntry(actor, "forgot", "everything", {"rows": rows}), now)
            return Erased(rows)

    async def erase_memory(self, scope: ScopeId, memory: MemoryId, key: str, actor: str, now: datetime) -> Erased:
        """Erase one memory and its evidence; rebuild its key from the evidence that is left."""
        async with self._database.transaction(scope) as transaction:
            await transaction.rows("holder.lock")
            known = [as_memory(row) for row in await transaction.rows("memory.of_keys", keys=[key])]
            rows = {"evidence": await transaction.count("evidence.drop", memories=[memory])}
            rows["evidence"] += await _drop_quotations(transaction, [key])
            if ended := build_end_evidence(known, memory):
                said = encode_json([to_row(each) for each in ended])
                await transaction.rows("evidence.add", evidence=said, now=now)
            erased = await rebuild_memories(transaction, [key], rows, now)
            await write_audit(transaction, AuditEntry(actor, "forgot", f"memory:{memory}", {"rows": erased.rows}), now)
            return erased


async def _drop_questions(transaction: Transaction, taught: Sequence[Row]) -> int:
    """Erase what was taught about erased questions; other memories only lose the question. Return the number of deleted
    rows."""
    gone = [evidence for evidence, kind, _ in taught if kind in ABOUT_QUESTIONS]
    kept = [evidence for evidence, kind, _ in taught if kind not in ABOUT_QUESTIONS]
    if kept:
        await transaction.rows("evidence.forget_question", evidence=kept)
    return await transaction.count("redaction.forget_evidence", evidence=gone) if gone else 0


async def _drop_quotations(transaction: Transaction, keys: Sequence[str]) -> int:
    """Remove quotations of erased text from retractions and corrections that are left. Return the number of deleted
    rows."""
    rows = await transaction.rows("evidence.of_keys", keys=list(keys))

    def find() -> tuple[list[UUID], list[UUID]]:
        left = [Evidence(*row) for row in rows]
        gone = {said.id for said in find_pointless(left)}
        return list(gone), [said.id for said in find_quoting([said for said in left if said.id not in gone])]

    gone, quotes = await run_in_thread(find)
    if quotes:
        await transaction.rows("redaction.forget_old", evidence=quotes, mark=MARK)
    return await transaction.count("redaction.forget_evidence", evidence=gone) if gone else 0


async def rebuild_memories(
    transaction: Transaction, keys: Sequence[str], rows: dict[str, int], now: datetime
) -> Erased:
    """Rebuild the memories of some keys after evidence was erased. The holder is locked."""
    memories = await transaction.rows("memory.of_keys", keys=list(keys))
    evidence = await transaction.rows("evidence.of_keys", keys=list(keys))
    changes = await run_in_thread(
        lambda: reconcile([as_memory(row) for row in memories], [Evidence(*row) for row in evidence])
    )
    rows["memory"] = await transaction.count("memory.drop", memories=list(changes.drop))
    if changes.put:
        await transaction.rows("memory.put", memories=encode_memories(changes.put), now=now)
    if changes.links:
        links = [{"id": said.id, "memory": memory} for said, memory in changes.links]
        await transaction.rows("evidence.link", links=encode_json(links))
    return Erased(rows, len(changes.put))


# For each turn, in this order: what is deleted, inserted or rebuilt.
STEPS = {
    "turn": ("take_turn", "put_turn"),
    "sketch": ("sketch",),
    "embedding": ("vectors",),
    "episode": ("episodes",),
    "chapter": ("chapters",),
    "idempotency": ("answers",),
    "conversation": ("again",),
}


@dataclass(frozen=True, slots=True)
class TurnWithValue:
    """A turn that has the value, or that the memory rests on (`is_ground`) in other words."""

    conversation: ConversationId
    turn: Turn
    is_ground: bool


@dataclass(frozen=True, slots=True)
class RewrittenTurn:
    """A turn before and after redaction, and its new search data."""

    conversation: ConversationId
    before: Turn
    after: Turn
    sketch: Sketch


class RedactionStore(StorePart):
    async def list_wordings(self, scope: ScopeId, memory: MemoryId) -> list[str]:
        """Return every wording of a memory."""
        return [row[0] for row in await self._database.read(scope, "redaction.words", memory=memory)]

    async def find_turns(self, scope: ScopeId, memory: MemoryId, pattern: str) -> list[TurnWithValue]:
        rows = await self._database.read(scope, "redaction.turns", memory=memory, pattern=pattern)
        return [TurnWithValue(row[0], as_turn(*row[1:9]), row[9]) for row in rows]

    async def write(
        self, scope: ScopeId, memory: MemoryId, pattern: str, turns: Sequence[RewrittenTurn], actor: str, now: datetime
    ) -> dict[str, int]:
        """Return how many rows of each table were blanked, rebuilt or deleted."""
        data = encode_json({REDACTED_AT: now.isoformat()})
        shared = {"memory": memory, "pattern": pattern, "mark": MARK, "data": data, "now": now}
        async with self._database.transaction(scope) as transaction:
            for conversation in sorted({each.conversation for each in turns}):
                await transaction.rows("conversation.lock", conversation=conversation)
            await transaction.rows("holder.lock")
            rows = Counter(await _blank_memories(transaction, shared))
            for each in turns:
                rows.update(await _rewrite_turn(transaction, each, shared))
            entry = AuditEntry(actor, "redacted", f"memory:{memory}", {"rows": dict(rows)})
            await write_audit(transaction, entry, now)
        return dict(rows)


async def _blank_memories(transaction: Transaction, shared: dict[str, Any]) -> dict[str, int]:
    keys = [row[0] for row in await transaction.rows("redaction.keys", **shared)]
    rows = {
        "request": await transaction.count("redaction.requests", **shared),
        "evidence": await transaction.count("redaction.drop_evidence", **shared)
        + await transaction.count("redaction.blank_evidence", **shared),
    }
    erased = await rebuild_memories(transaction, keys, {}, shared["now"])
    return rows | {"memory": erased.rebuilt + erased.rows["memory"]}


async def _rewrite_turn(transaction: Transaction, each: RewrittenTurn, shared: dict[str, Any]) -> dict[str, int]:
    turn, sketched = each.after, each.sketch
    parameters = {
        **shared,
        "conversation": each.conversation,
        **{name: getattr(turn, name) for name in ("index", "role", "speaker", "text", "high_value")},
        **{name: getattr(sketched, name) for name in ("flags", "tokens", "length")},
        "said_at": turn.at,
        "terms": sketched.tsvector,
        "old_name": name_conversation([each.before]),
        "name": name_conversation([turn]),
    }
    counted = {
        table: [await transaction.count(f"redaction.{step}", **parameters) for step in steps][-1]
        for table, steps in STEPS.items()
    }
    return {table: count for table, count in counted.items() if count}
