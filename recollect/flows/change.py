"""Change: the one way in which what is known is changed. Read all there is of some keys, let the change be thought out,
reconcile, write; if another was faster, all of it again on what is there now."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from recollect.errors import Outdated
from recollect.flows.parts import Parts
from recollect.model.audit import deeds
from recollect.model.fact import Extraction
from recollect.model.memory import Evidence
from recollect.model.reconcile import Changes, reconcile
from recollect.model.witness import turned_away
from recollect.store.database import Statement
from recollect.store.memories import Holder, Known, Learned

TRIES = 20
PAUSE = 0.005  # seconds; those who met are spread before they try again
LONGEST_PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class Amendment:
    """New evidence, the evidence that was there as it is to count from now on, and what to write besides."""

    new: Sequence[Evidence]
    kept: Sequence[Evidence]
    also: Sequence[Statement] = ()


Amend = Callable[[Known], Amendment]


async def change(
    parts: Parts,
    holder: Holder,
    keys: Iterable[str],
    amend: Amend,
    *,
    actor: str,
    read: Mapping[int, Extraction] | None = None,
) -> Changes:
    keys = list(keys)
    for attempt in range(1, TRIES + 1):
        known = await parts.store.memories.of_keys(holder.id, keys) if keys else Known()
        amendment = amend(known)
        changes = reconcile(known.memories, [*amendment.kept, *amendment.new])
        learned = Learned(
            changes=changes,
            evidence=amendment.new,
            tally=turned_away((read or {}).values(), amendment.new, known.memories, changes),
            deeds=deeds(changes, known.memories, actor),
        )
        try:
            await parts.store.memories.write(holder, known.version, learned, parts.clock.now(), *amendment.also)
            return changes
        except Outdated:
            if attempt == TRIES:
                raise
            await asyncio.sleep(random.uniform(0, min(LONGEST_PAUSE, PAUSE * 2**attempt)))
    raise AssertionError("unreachable")


def adding(new: Sequence[Evidence], *also: Statement) -> Amend:
    return lambda known: Amendment(new, known.evidence, also)
