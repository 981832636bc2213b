"""Context: what to put into the prompt. Recall plus the session's last turns, packed into the budget."""

from __future__ import annotations

import asyncio
import time

from recollect.flows.metrics import diary_row
from recollect.flows.parts import Parts
from recollect.flows.recall import search
from recollect.model.conversation import Turn
from recollect.model.pack import pack
from recollect.model.scope import Scope
from recollect.model.search import MAX_HITS, Context, Query


async def context(parts: Parts, scope: Scope, query: Query) -> Context:
    started = time.perf_counter()
    found, recent = await asyncio.gather(
        search(parts, scope, query, MAX_HITS, query.budget), just_said(parts, scope, query)
    )

    packed = pack(found, recent)
    parts.diary.note(scope.id, diary_row(scope, "context", found, parts.clock.now(), started, packed))
    return packed


async def just_said(parts: Parts, scope: Scope, query: Query) -> list[Turn]:
    """The end of the session, without the question itself."""
    count = parts.settings.history if query.recent is None else query.recent
    if scope.session is None or count == 0:
        return []
    turns = await parts.store.recent(scope.id, scope.session, count + 1, parts.clock.now())
    turns = [turn for turn in turns if query.as_of is None or (turn.at and turn.at <= query.as_of)]
    if turns and turns[-1].role == "user" and turns[-1].text == query.text:
        turns.pop()
    return [turn for turn in turns if turn.ref not in query.exclude][-count:]
