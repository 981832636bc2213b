"""Recording: an answer goes into the log with its question, and comes back out of it when the same request is sent
again. The analyst calls `recorded` last; doors call `load_answer` for an answer that was given before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from recollect.apps.ask.memory import Reader, log_failure
from recollect.apps.ask.proposals import Case
from recollect.apps.ask.question import Answer, MemoryUsed
from recollect.apps.ask.turn_data import kept_turns, read_answer
from recollect.deadline import run_in_time
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.values.conversation import Conversation, Recorded
from recollect.values.explanation import Outcome
from recollect.values.scope import Scope

SUMMARISED_FROM = 20  # turns


async def recorded(reader: Reader, scope: Scope, case: Case, answer: Answer) -> Answer:
    """The answer with its place in the log; what could not be kept is not shown as memory."""
    if not case.ask.remembers:
        return answer
    try:
        done, used = await run_in_time(kept(reader, scope, case, answer))
    # As with reading: an answer that cannot be kept is still an answer.
    except Exception as error:  # noqa: BLE001
        log_failure("an answer could not be kept", error)
        return answer
    return replace(answer, memory=used, ref=done.refs[-1], session=done.conversation.session)


async def kept(reader: Reader, scope: Scope, case: Case, answer: Answer) -> tuple[Recorded, MemoryUsed | None]:
    done = await reader.engine.record(scope, kept_turns(case, answer))
    await counted(reader.engine, scope, case, answer)
    return done, await memory_used(reader, scope, case, done)


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
        await engine.runtime.count_use(scope, answer.used)
    request = case.memory.request_id if case.memory else None
    if request is not None and (answer.model or answer.error):
        outcome = Outcome(answer.model, round(answer.spent.llm * 1000), "sql" if answer.error else None)
        await engine.runtime.record_outcome(scope, request, outcome)


async def load_answer(engine: Engine, scope: Scope, ref: str) -> Answer:
    """An answer as it was given; of its rows those that were kept, and its conversation as it is now."""
    session, _, index = ref.rpartition("#")
    place = replace(scope, session=session)
    asked, said = await engine.history(place, limit=2, before=int(index) + 1)
    data: Mapping[str, Any] = said.data or {}
    answer = replace(read_answer(asked.text, said.text, data), ref=ref, session=session)
    if not data.get("memory"):
        return answer
    talk = await engine.conversation(place)
    if talk is None:
        raise NotFound(f"session {session!r} no longer exists")
    used = MemoryUsed(**data["memory"], conversation=talk, is_summarized=await is_summarized(engine, place, talk))
    return replace(answer, memory=used)
