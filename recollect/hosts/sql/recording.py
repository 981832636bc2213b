"""Recording: an answer goes into the log with its question, and comes back out of it when the same request is sent
again. The analyst calls `recorded` last; doors call `from_log` for an answer that was given before."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.hosts.sql.asking import Answer, MemoryUsed
from recollect.hosts.sql.keeping import answer_from, kept_turns
from recollect.hosts.sql.remembering import Reader
from recollect.hosts.sql.ways import Case
from recollect.model.conversation import Conversation, Recorded
from recollect.model.explanation import Outcome
from recollect.model.scope import Scope

log = logging.getLogger("recollect.ask")
SUMMARISED_FROM = 20  # turns
PAGE = 200


async def recorded(reader: Reader, scope: Scope, case: Case, answer: Answer) -> Answer:
    """The answer with its place in the log; what could not be kept is not spoken of as memory."""
    if not case.ask.remembers:
        return answer
    try:
        done = await reader.engine.record(scope, kept_turns(case, answer))
        await counted(reader.engine, scope, case, answer)
        used = await memory_used(reader, scope, case, done)
    # As with reading: an answer that cannot be kept is still an answer.
    except Exception:
        log.exception("an answer could not be kept")
        return answer
    return replace(answer, memory=used, ref=done.refs[-1], session=done.conversation.session)


async def memory_used(reader: Reader, scope: Scope, case: Case, done: Recorded) -> MemoryUsed | None:
    memory, talk = case.memory, done.conversation
    if memory is None:
        return None
    is_told = talk.turns >= SUMMARISED_FROM and memory.is_summarized
    if not is_told and not reader.settings.async_storage:  # then recording it may have summed it up
        is_told = await is_summarized(reader.engine, replace(scope, session=talk.session), talk)
    return MemoryUsed(
        memory.interactions,
        len(memory.similar),
        memory.tokens,
        memory.truncated,
        memory.request_id,
        talk,
        is_told,
    )


async def is_summarized(engine: Engine, scope: Scope, talk: Conversation) -> bool:
    """Short conversations never are."""
    return talk.turns >= SUMMARISED_FROM and bool(await engine.episodes(scope, limit=1))


async def counted(engine: Engine, scope: Scope, case: Case, answer: Answer) -> None:
    if answer.used:
        await engine.used(scope, answer.used)
    request = case.memory.request_id if case.memory else None
    if request is not None and (answer.model or answer.error):
        outcome = Outcome(answer.model, round(answer.spent.llm * 1000), "sql" if answer.error else None)
        await engine.answered(scope, request, outcome)


async def from_log(engine: Engine, scope: Scope, ref: str) -> Answer:
    """An answer as it was given; of its rows those that were kept, and its conversation as it is now."""
    session, _, index = ref.rpartition("#")
    place = replace(scope, session=session)
    asked, said = await engine.history(place, limit=2, before=int(index) + 1)
    data: Mapping[str, Any] = said.data or {}
    answer = replace(answer_from(asked.text, said.text, data), ref=ref, session=session)
    if not data.get("memory"):
        return answer
    talk = await conversation(engine, place)
    used = MemoryUsed(**data["memory"], conversation=talk, is_summarized=await is_summarized(engine, place, talk))
    return replace(answer, memory=used)


async def conversation(engine: Engine, scope: Scope) -> Conversation:
    offset = 0
    while page := await engine.conversations(scope, limit=PAGE, offset=offset):
        for talk in page:
            if talk.session == scope.session:
                return talk
        offset += PAGE
    raise NotFound(f"the session {scope.session!r} was forgotten meanwhile")
