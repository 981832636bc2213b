"""The store's part for forgetting: rows go, with all that rests on them alone, and are counted per table. What also
rests on other evidence is made anew from that, in the same transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.model.audit import Deed
from recollect.model.ids import ConversationId, MemoryId, ScopeId
from recollect.model.reconcile import MARK, pointless, quoting, reconcile, still_ended
from recollect.store.database import Database, Transaction
from recollect.store.documents import OF_DOCUMENT
from recollect.store.memories import as_evidence, as_memory, audited, evidence_json, memory_json

# The order matters to nobody but the reader of a receipt; a conversation's row goes last, its turns refer to it.
OF_CONVERSATION = (
    "embedding",
    "chapter",
    "sketch",
    "turn",
    "episode",
    "evidence",
    "request",
    "idempotency",
    "conversation",
)
OF_USER = (*OF_CONVERSATION[:-1], "memory", "tally", "holder", *OF_DOCUMENT, "conversation")


@dataclass(frozen=True, slots=True)
class Erased:
    rows: dict[str, int]
    rebuilt: int = 0  # memories that also rest on something else


class ErasureStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def conversation(self, scope: ScopeId, session: str, actor: str, now: datetime) -> Erased | None:
        """One conversation and everything derived from it; None if there is none."""
        async with self._database.transaction(scope) as transaction:
            found = await transaction.rows("conversation.lock_one", session=session)
            if not found:
                return None
            conversation: ConversationId = found[0][0]
            keys = [
                row[0] for row in await transaction.rows("evidence.keys_of_conversation", conversation=conversation)
            ]
            rows = {
                noun: await transaction.count(f"{noun}.delete_one", conversation=conversation)
                for noun in OF_CONVERSATION
            }
            await transaction.rows("holder.lock")
            rows["evidence"] += await _unquoted(transaction, keys)
            erased = await rebuilt(transaction, keys, rows, now)
            await _audited(
                transaction, Deed(actor, "forgot", f"conversation:{conversation}", {"rows": erased.rows}), now
            )
            return erased

    async def user(self, scope: ScopeId, actor: str, now: datetime) -> Erased:
        """Everything in the scope. A conversation that begins meanwhile is not part of it: half erased, it would leave
        strays. The trail stays: it says that things were, never what."""
        async with self._database.transaction(scope) as transaction:
            locked = [row[0] for row in await transaction.rows("conversation.lock_all")]
            await transaction.rows("document.lock_all")
            rows = {noun: await transaction.count(f"{noun}.delete_all", conversations=locked) for noun in OF_USER}
            if any(rows.values()):
                await _audited(transaction, Deed(actor, "forgot", "everything", {"rows": rows}), now)
            return Erased(rows)

    async def memory(self, scope: ScopeId, memory: MemoryId, key: str, actor: str, now: datetime) -> Erased:
        """One memory and the evidence it rests on. Its key is made anew from the evidence that is left."""
        async with self._database.transaction(scope) as transaction:
            await transaction.rows("holder.lock")
            known = [as_memory(row) for row in await transaction.rows("memory.of_keys", keys=[key])]
            rows = {"evidence": await transaction.count("evidence.drop", memories=[memory])}
            rows["evidence"] += await _unquoted(transaction, [key])
            if ended := still_ended(known, memory):
                said = json.dumps([evidence_json(each) for each in ended])
                await transaction.rows("evidence.add", evidence=said, now=now)
            erased = await rebuilt(transaction, [key], rows, now)
            await _audited(transaction, Deed(actor, "forgot", f"memory:{memory}", {"rows": erased.rows}), now)
            return erased


async def _unquoted(transaction: Transaction, keys: Sequence[str]) -> int:
    """What is left of some keys must not quote what was erased: retractions and corrections do. How many rows went."""
    left = [as_evidence(row) for row in await transaction.rows("evidence.of_keys", keys=list(keys))]
    gone = pointless(left)
    kept = [said for said in left if said not in gone]
    if quotes := [said.id for said in quoting(kept)]:
        await transaction.rows("redaction.forget_old", evidence=quotes, mark=MARK)
    return await transaction.count("redaction.forget_evidence", evidence=[said.id for said in gone]) if gone else 0


async def rebuilt(transaction: Transaction, keys: Sequence[str], rows: dict[str, int], now: datetime) -> Erased:
    """What is known of some keys, made anew after evidence was erased. The holder is locked."""
    memories = [as_memory(row) for row in await transaction.rows("memory.of_keys", keys=list(keys))]
    evidence = [as_evidence(row) for row in await transaction.rows("evidence.of_keys", keys=list(keys))]
    changes = reconcile(memories, evidence)
    rows["memory"] = await transaction.count("memory.drop", memories=list(changes.drop))
    if changes.put:
        put = json.dumps([memory_json(memory) for memory in changes.put])
        await transaction.rows("memory.put", memories=put, now=now)
    if changes.links:
        links = [{"id": str(said.id), "memory": memory and str(memory)} for said, memory in changes.links]
        await transaction.rows("evidence.link", links=json.dumps(links))
    return Erased(rows, len(changes.put))


async def _audited(transaction: Transaction, deed: Deed, now: datetime) -> None:
    name, parameters = audited([deed], now)
    await transaction.rows(name, **parameters)
