"""Context: what to put into the prompt. Recall plus the session's last turns, packed into the budget."""

from __future__ import annotations

import time
from collections.abc import Sequence

from recollect.flows.metrics import diary_row
from recollect.flows.parts import Parts
from recollect.flows.recall import search
from recollect.model.conversation import Turn
from recollect.model.known import LEAST, EpisodeHit, MemoryHit
from recollect.model.pack import pack
from recollect.model.scope import Scope
from recollect.model.search import MAX_HITS, Context, Hit, Query


async def context(parts: Parts, scope: Scope, query: Query) -> Context:
    started = time.perf_counter()
    count = parts.settings.history if query.recent is None else query.recent
    # One more than asked for: the last may be the question itself.
    found, turns = await search(parts, scope, query, MAX_HITS, query.budget, recent=count and count + 1)

    packed = pack(found, just_said(turns, query, count))
    hits = packed.hits
    note_usage(parts, scope, hits)
    parts.diary.note(scope.id, diary_row(scope, "context", found, len(hits), parts.clock.now(), started, packed))
    return packed


def note_usage(parts: Parts, scope: Scope, hits: Sequence[Hit | MemoryHit | EpisodeHit]) -> None:
    """What speaks to a question and goes into the prompt is used: it does not fade. Being in every context is none."""
    used = [hit for hit in hits if isinstance(hit, MemoryHit) and hit.score >= LEAST]
    for holder, tier in ((scope.id, "user"), (scope.project_id, "project")):
        parts.usage.note(holder, [hit.memory.id for hit in used if hit.tier == tier])


def just_said(turns: Sequence[Turn], query: Query, count: int) -> list[Turn]:
    """The end of the session, without the question itself."""
    said = [turn for turn in turns if query.as_of is None or (turn.at and turn.at <= query.as_of)]
    if said and said[-1].role == "user" and said[-1].text == query.text:
        said.pop()
    return [turn for turn in said if turn.ref not in query.exclude][-count:] if count else []
