"""The store's part for redaction: one transaction in which a value disappears from everywhere it is kept. What is known
of its keys is made anew from the evidence, as after an erasure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.model.audit import Deed
from recollect.model.conversation import Turn, conversation_name
from recollect.model.ids import ConversationId, MemoryId, ScopeId
from recollect.model.reconcile import MARK, REDACTED_AT
from recollect.model.sketch import Sketch
from recollect.store.database import Database, Transaction
from recollect.store.erasure import rebuilt
from recollect.store.memories import audited
from recollect.store.rows import as_turn

# Of each turn, in this order: what is taken out, put back or has to be made anew.
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
class Spoken:
    """A turn that has the value, or that the memory rests on (`is_ground`) in whatever words."""

    conversation: ConversationId
    turn: Turn
    is_ground: bool


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A turn as it was, as it is to be, and what search keeps of that."""

    conversation: ConversationId
    before: Turn
    after: Turn
    sketch: Sketch


class RedactionStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def words(self, scope: ScopeId, memory: MemoryId) -> list[str]:
        """All the ways in which a memory was said."""
        [rows] = await self._database.run(scope, ("redaction.words", {"memory": memory}))
        return [row[0] for row in rows]

    async def turns(self, scope: ScopeId, memory: MemoryId, pattern: str) -> list[Spoken]:
        [rows] = await self._database.run(scope, ("redaction.turns", {"memory": memory, "pattern": pattern}))
        return [Spoken(row[0], as_turn(*row[1:9]), row[9]) for row in rows]

    async def write(
        self, scope: ScopeId, memory: MemoryId, pattern: str, turns: Sequence[Rewritten], actor: str, now: datetime
    ) -> dict[str, int]:
        """How many rows of each table were blanked, made anew or taken out."""
        data = json.dumps({REDACTED_AT: now.isoformat()})
        shared = {"memory": memory, "pattern": pattern, "mark": MARK, "data": data, "now": now}
        async with self._database.transaction(scope) as transaction:
            for conversation in sorted({each.conversation for each in turns}):
                await transaction.rows("conversation.lock", conversation=conversation)
            await transaction.rows("holder.lock")
            rows = Counter(await _blank_known(transaction, shared))
            for each in turns:
                rows.update(await _rewrite(transaction, each, shared))
            name, parameters = audited([Deed(actor, "redacted", f"memory:{memory}", {"rows": dict(rows)})], now)
            await transaction.rows(name, **parameters)
        return dict(rows)


async def _blank_known(transaction: Transaction, shared: dict[str, Any]) -> dict[str, int]:
    keys = [row[0] for row in await transaction.rows("redaction.keys", **shared)]
    rows = {
        "request": await transaction.count("redaction.requests", **shared),
        "evidence": await transaction.count("redaction.drop_evidence", **shared)
        + await transaction.count("redaction.blank_evidence", **shared),
    }
    erased = await rebuilt(transaction, keys, {}, shared["now"])
    return rows | {"memory": erased.rebuilt + erased.rows["memory"]}


async def _rewrite(transaction: Transaction, each: Rewritten, shared: dict[str, Any]) -> dict[str, int]:
    turn, sketched = each.after, each.sketch
    parameters = {
        **shared,
        "conversation": each.conversation,
        "index": turn.index,
        "role": turn.role,
        "speaker": turn.speaker,
        "text": turn.text,
        "said_at": turn.at,
        "high_value": turn.high_value,
        "flags": sketched.flags,
        "tokens": sketched.tokens,
        "length": sketched.length,
        "terms": sketched.tsvector,
        "old_name": conversation_name([each.before]),
        "name": conversation_name([turn]),
    }
    counted = {
        table: [await transaction.count(f"redaction.{step}", **parameters) for step in steps][-1]
        for table, steps in STEPS.items()
    }
    return {table: count for table, count in counted.items() if count}
