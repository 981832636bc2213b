"""Change memories: read everything known about some keys, decide, reconcile and write. If another writer was faster,
all of it is repeated on the new state. Every change of memories goes through `change_memories` or `add_evidence`."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from recollect.errors import Outdated
from recollect.flows.dependencies import Dependencies
from recollect.learning.evidence import build_audit_entries, count_rejections
from recollect.learning.reconcile import Changes, extend, reconcile
from recollect.store.database import Statement
from recollect.store.memories import Holder, Known, Learned
from recollect.threads import run_in_thread
from recollect.values.memory import Evidence, Extraction, Memory

TRIES = 20
PAUSE = 0.005  # seconds; random, so that concurrent writers do not collide again
LONGEST_PAUSE = 0.2
FEW = 20  # pieces of evidence folded in the event loop; more are folded in a thread


@dataclass(frozen=True, slots=True)
class Amendment:
    """New evidence, the existing evidence as it counts from now on, and further statements to write."""

    new: Sequence[Evidence]
    kept: Sequence[Evidence]
    also: Sequence[Statement] = ()


Amend = Callable[[Known], Amendment]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to write, and the version it was decided on."""

    version: int
    known: Sequence[Memory]
    new: Sequence[Evidence]
    changes: Changes
    also: Sequence[Statement] = ()


async def change_memories(
    deps: Dependencies,
    holder: Holder,
    keys: Iterable[str],
    amend: Amend,
    *,
    actor: str,
    read: Mapping[int, Extraction] | None = None,
) -> Changes:
    """Change the memories of some keys, after reading everything about them."""
    keys = list(keys)
    return await write_decision(deps, holder, lambda: decide(deps, holder, keys, amend), actor, read)


async def add_evidence(
    deps: Dependencies,
    holder: Holder,
    new: Sequence[Evidence],
    *also: Statement,
    actor: str,
    read: Mapping[int, Extraction] | None = None,
) -> Changes:
    """Add evidence to what is known. Only its end is read, unless the new evidence reaches further back."""

    async def decided() -> Decision:
        if not new:
            return Decision(0, (), (), Changes(), also)
        version, tail = await deps.store.memories.load_tail(holder.id, new)
        changes = await run_in_thread(extend, tail, new) if len(new) > FEW else extend(tail, new)
        if changes is not None:
            return Decision(version, [memory for memory, _ in tail.active], new, changes, also)
        return await decide(
            deps, holder, list({said.key for said in new}), lambda known: Amendment(new, known.evidence, also)
        )

    return await write_decision(deps, holder, decided, actor, read)


async def decide(deps: Dependencies, holder: Holder, keys: Sequence[str], amend: Amend) -> Decision:
    """Read everything about some keys and decide what changes."""
    known = await deps.store.memories.load_keys(holder.id, keys) if keys else Known()

    def think() -> Decision:
        amendment = amend(known)
        changes = reconcile(known.memories, [*amendment.kept, *amendment.new])
        return Decision(known.version, known.memories, amendment.new, changes, amendment.also)

    return await run_in_thread(think) if len(known.evidence) > FEW else think()


async def write_decision(
    deps: Dependencies,
    holder: Holder,
    decided: Callable[[], Awaitable[Decision]],
    actor: str,
    read: Mapping[int, Extraction] | None,
) -> Changes:
    """Write what `decided` returns; decide again if another writer was faster."""
    for attempt in range(1, TRIES + 1):
        made = await decided()
        learned = Learned(
            changes=made.changes,
            evidence=made.new,
            tally=count_rejections((read or {}).values(), made.new, made.known, made.changes),
            audit_entries=build_audit_entries(made.changes, made.known, actor),
        )
        try:
            await deps.store.memories.write(holder, made.version, learned, deps.clock.now(), *made.also)
            return made.changes
        except Outdated:
            if attempt == TRIES:
                raise
            await asyncio.sleep(random.uniform(0, min(LONGEST_PAUSE, PAUSE * 2**attempt)))
    raise AssertionError("unreachable")
