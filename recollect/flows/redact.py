"""Redact: a value goes, the trail stays. It is blanked in the memory and its evidence and in every turn that speaks it,
which keep their place; what is derived from those turns is made anew.

The log never changes but for this and for forgetting: both are asked for by a person, and both leave an audit row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from recollect.flows.parts import Parts
from recollect.flows.teach import actor_of, found
from recollect.model.conversation import Turn
from recollect.model.ids import MemoryId
from recollect.model.lesson import Owner
from recollect.model.receipt import Receipt
from recollect.model.reconcile import MARK
from recollect.model.scope import Scope
from recollect.model.sketch import sketch
from recollect.store.redaction import Rewritten, Spoken


async def redact(parts: Parts, scope: Scope, memory: MemoryId, owner: Owner | None = None) -> Receipt:
    await parts.diary.flush()
    holder, known = await found(parts, scope, memory, owner)
    words = {known.value, *await parts.store.redaction.words(holder.id, memory)} - {MARK}
    if not words:
        return Receipt(scope.user, None, parts.clock.now(), {}, memory)
    pattern = spoken(words)
    said = await parts.store.redaction.turns(holder.id, memory, pattern)

    turns = [rewritten(each, pattern) for each in said]

    now = parts.clock.now()
    rows = await parts.store.redaction.write(holder.id, memory, pattern, turns, actor_of(holder, scope), now)
    if parts.cache:
        await parts.cache.drop(holder.id)
    return Receipt(scope.user, None, now, rows, memory)


def spoken(values: Iterable[str]) -> str:
    """A pattern, for Python and for PostgreSQL, of any of the values, the longest first; "Al" is not part of "also"."""
    return "|".join(_whole(value) for value in sorted(values, key=lambda value: (-len(value), value)))


def _whole(value: str) -> str:
    """Boundaries only where a Latin letter or a digit is at the edge: Chinese has none."""
    before = "(?<![A-Za-z0-9_])" if re.match(r"[A-Za-z0-9_]", value) else ""
    after = "(?![A-Za-z0-9_])" if re.search(r"[A-Za-z0-9_]$", value) else ""
    return before + r"\s+".join(map(re.escape, value.split())) + after


def rewritten(said: Spoken, pattern: str) -> Rewritten:
    after = blank(said.turn, pattern, said.is_ground)
    return Rewritten(said.conversation, said.turn, after, sketch(after))


def blank(turn: Turn, pattern: str, is_ground: bool) -> Turn:
    """The turn without the value; one that the memory rests on in other words loses all its text."""
    text, times = re.subn(pattern, MARK, turn.text, flags=re.IGNORECASE)
    speaker = None if turn.speaker and re.search(pattern, turn.speaker, re.IGNORECASE) else turn.speaker
    return replace(turn, text=MARK if is_ground and not times else text, speaker=speaker, data=None)
