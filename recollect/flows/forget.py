"""Forget and redact: erase a memory, a conversation or a user with everything derived, or blank a value everywhere.

Redaction blanks the value in the memory, its evidence and every turn that mentions it, and rebuilds what is derived
from those turns. The log is changed only by these two, each on a person's request and each with an audit entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from recollect.errors import NotFound
from recollect.flows.dependencies import Dependencies
from recollect.flows.teach import find_memory, get_actor
from recollect.learning.reconcile import MARK
from recollect.recall.sketch import sketch
from recollect.store.erasure import OWN_NAME, RewrittenTurn, TurnWithValue
from recollect.values.audit import Receipt
from recollect.values.lesson import Owner
from recollect.values.scope import MemoryId, Scope


async def forget(
    deps: Dependencies, scope: Scope, memory: MemoryId | None = None, owner: Owner | None = None
) -> Receipt:
    """Erase one memory, the scope's session or the whole user; return a receipt."""
    await deps.request_log.flush()
    deps.large_scopes.discard(scope.id)
    now, erasure = deps.clock.now(), deps.store.erasure
    if memory is not None:
        holder, known = await find_memory(deps, scope, memory, owner)
        erased = await erasure.erase_memory(holder.id, memory, known.key, get_actor(holder, scope), now)
        return Receipt(scope.user, None, now, erased.rows, memory, erased.rebuilt)
    if scope.session is None:
        await erasure.erase_person(scope.project_id, scope.user, scope.id, now)
        erased = await erasure.erase_user(scope.id, scope.user, OWN_NAME, now)
    elif found := await erasure.erase_conversation(scope.id, scope.session, OWN_NAME, now):
        erased = found
    else:
        raise NotFound(f"user {scope.user!r} has no session {scope.session!r}")
    if deps.cache:
        await deps.cache.drop(scope.id)
    return Receipt(scope.user, scope.session, now, erased.rows, rebuilt=erased.rebuilt)


async def redact(deps: Dependencies, scope: Scope, memory: MemoryId, owner: Owner | None = None) -> Receipt:
    """Blank a memory's value everywhere; return a receipt."""
    await deps.request_log.flush()
    holder, known = await find_memory(deps, scope, memory, owner)
    words = {known.value, *await deps.store.redaction.list_wordings(holder.id, memory)} - {MARK}
    if not words:
        return Receipt(scope.user, None, deps.clock.now(), {}, memory)
    pattern = build_pattern(words)
    said = await deps.store.redaction.find_turns(holder.id, memory, pattern)

    turns = [rewrite_turn(each, pattern) for each in said]

    now = deps.clock.now()
    rows = await deps.store.redaction.write(holder.id, memory, pattern, turns, get_actor(holder, scope), now)
    if deps.cache:
        await deps.cache.drop(holder.id)
    return Receipt(scope.user, None, now, rows, memory)


def build_pattern(values: Iterable[str]) -> str:
    """Return a pattern, for Python and PostgreSQL, that matches any of the values as whole words, longest first."""
    return "|".join(_match_whole_words(value) for value in sorted(values, key=lambda value: (-len(value), value)))


def _match_whole_words(value: str) -> str:
    """Return a pattern with word boundaries only next to Latin letters and digits: Chinese has none."""
    before = "(?<![A-Za-z0-9_])" if re.match(r"[A-Za-z0-9_]", value) else ""
    after = "(?![A-Za-z0-9_])" if re.search(r"[A-Za-z0-9_]$", value) else ""
    return before + r"\s+".join(map(re.escape, value.split())) + after


def rewrite_turn(said: TurnWithValue, pattern: str) -> RewrittenTurn:
    """Return a turn before and after redaction, with its new search data. A turn that the memory rests on in other
    words loses all its text."""
    turn = said.turn
    text, times = re.subn(pattern, MARK, turn.text, flags=re.IGNORECASE)
    speaker = None if turn.speaker and re.search(pattern, turn.speaker, re.IGNORECASE) else turn.speaker
    after = replace(turn, text=MARK if said.is_ground and not times else text, speaker=speaker, data=None)
    return RewrittenTurn(said.conversation, turn, after, sketch(after))
