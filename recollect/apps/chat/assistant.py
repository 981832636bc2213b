"""The chat assistant: record the message, recall, make a reply, record the reply with its sources. This order loses no
message, whatever fails later.

A message runs in its own task and is recorded even if the client disconnects, which ends the call to the model. If
memory fails, the reply is made without it; if the model fails, memory answers; both are noted in the answer and the
log. Interfaces call
`answer` or `stream`; bootstrap.py makes an Assistant and closes it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.apps.background_tasks import BackgroundTasks, leave
from recollect.apps.chat.answers import make_suggestions
from recollect.apps.chat.message import (
    Answer,
    Ask,
    ChatReply,
    Intent,
    MemoryUse,
    Message,
    describe_memory_use,
    describe_quoted_use,
    read_message,
)
from recollect.apps.chat.model_reply import (
    MEMORY_TOKENS,
    OnText,
    PromptRoom,
    build_messages,
    find_room,
    rank_sources,
    select_recent_turns,
    stream_reply,
)
from recollect.apps.chat.phrases import Phrases, phrases_for
from recollect.apps.chat.without_model import reply_from_memory
from recollect.engine import Engine
from recollect.errors import Conflict, InvalidInput
from recollect.learning.rules import rulebooks
from recollect.ports import Reasoner
from recollect.settings import Settings
from recollect.values.audit import Outcome
from recollect.values.conversation import MAX_TURN_CHARS, Turn
from recollect.values.query import MAX_QUERY_CHARS, Context, Query
from recollect.values.scope import Scope, uuid7
from recollect.values.sensitive_data import mask_text

log = logging.getLogger("recollect.chat")

BUDGET = MEMORY_TOKENS
MAX_TURNS = 6
TURN_CHARS = 700
LIMITS: dict[str, Any] = {"budget": BUDGET, "max_turns": MAX_TURNS, "turn_chars": TURN_CHARS}
FALLBACK = 30  # statements that are looked through, if fewer match
MODEL_TURNS = 20  # as LIMITS has, for a model: it understands other words than the question's
REPLY_WINDOW = 50  # turns after a message that are searched for its reply
# Messages that need no recall, if a model replies and if it does not.
NO_RECALL_WITH_MODEL: tuple[Intent, ...] = ("small talk",)
NO_RECALL_WITHOUT_MODEL: tuple[Intent, ...] = ("small talk", "why", "profile", "window", "order")
MESSAGE_NOT_RECORDED = "the message could not be recorded; nothing was recalled for it"
REPLY_NOT_RECORDED = "the reply could not be recorded"
NO_MEMORY = "memory failed; this was answered without it"


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """The user's message, with its place in the log. Without an index it could not be recorded."""

    scope: Scope
    message: Message
    words: Phrases
    index: int | None = None
    at: datetime | None = None
    replayed: bool = False

    @property
    def ref(self) -> str | None:
        return None if self.index is None else f"{self.scope.session}#{self.index}"


@dataclass(frozen=True, slots=True)
class RecalledContext:
    """What memory has for a message. `history` is the end of the session, up to and including the message."""

    context: Context | None = None
    history: Sequence[Turn] = ()
    rewritten: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def use(self) -> MemoryUse:
        if self.context is None:
            return MemoryUse(notes=self.notes, rewritten=self.rewritten)
        return describe_memory_use(self.context, self.rewritten, self.notes)


class Assistant:
    """Handles chat messages. Without a `reasoner` it answers from memory alone."""

    def __init__(self, engine: Engine, settings: Settings, reasoner: Reasoner | None = None) -> None:
        self._engine = engine
        self._settings = settings
        self._reasoner = reasoner
        self._tasks = BackgroundTasks()

    async def answer(self, scope: Scope, ask: Ask) -> Answer:
        """Return the answer. Without a session in the scope, a new one is started; its id is in the answer."""
        left = asyncio.Event()
        try:
            return await self._tasks.finish(self._reply(scope, ask, lambda _: None, left))
        except asyncio.CancelledError:
            left.set()
            raise

    async def stream(self, scope: Scope, ask: Ask) -> AsyncIterator[str | Answer]:
        """Yield the reply in pieces, then the whole answer."""
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        left = asyncio.Event()
        work = self._tasks.start(self._reply(scope, ask, pieces.put_nowait, left))
        work.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
        except (asyncio.CancelledError, GeneratorExit):
            left.set()
            leave(work)
            raise
        yield await work

    async def close(self) -> None:
        """Wait for running replies. Call this before the engine is closed."""
        await self._tasks.close()

    async def _reply(self, scope: Scope, ask: Ask, say: OnText, left: asyncio.Event) -> Answer:
        started = time.perf_counter()
        if self._settings.mask_sensitive:
            # First of all: nothing derived from the message may repeat sensitive data.
            ask = replace(ask, text=mask_text(ask.text)[:MAX_TURN_CHARS])
        heard = await self._record_message(scope, ask)
        if heard.replayed and (given := await self._find_earlier_answer(heard)):
            say(given.response)
            return given
        room = await find_room(self._reasoner, ask.text) if self._reasoner else None
        found = await self._recall(heard, ask, room)
        said, failed = await self._make_reply(heard, found, room, say, left)
        use = describe_use(heard, found, said, failed)
        more = self._suggest(heard, found, said)
        answer = Answer(said.text, heard.scope.session or "", 0, use, more, said.model, said.error_stage)
        answer = await self._record_reply(heard, said, answer, ask.key)
        await self._record_outcome(heard, said, answer)
        return replace(answer, latency_ms=round((time.perf_counter() - started) * 1000))

    async def _record_message(self, scope: Scope, ask: Ask) -> ReceivedMessage:
        """Record the user's message first."""
        message = read_message(ask.text, rulebooks())
        heard = ReceivedMessage(scope, message, phrases_for(ask.text))
        try:
            done = await self._engine.record(scope, [Turn("user", ask.text)], idempotency_key=ask.key)
        except (InvalidInput, Conflict):
            raise
        # A failure of memory must not break the answer; the answer reports it.
        except Exception:
            log.exception("a message could not be recorded")
            return replace(heard, scope=replace(scope, session=scope.session or str(uuid7())))
        place = replace(scope, session=done.conversation.session)
        return replace(heard, scope=place, index=done.first, at=done.conversation.updated_at, replayed=done.replayed)

    async def _recall(self, heard: ReceivedMessage, ask: Ask, room: PromptRoom | None) -> RecalledContext:
        """Return what memory has for a message; `room` is for a model's prompt."""
        if heard.index is None:
            return RecalledContext(notes=(MESSAGE_NOT_RECORDED,))
        has_model = room is not None
        if heard.message.intent == "small talk" and not has_model:
            return RecalledContext()
        found = RecalledContext()
        try:
            count = self._settings.history + 1 if ask.history else 1
            found = replace(found, history=await self._engine.history(heard.scope, limit=count, before=heard.index + 1))
            if not ask.memory or heard.message.intent in (
                NO_RECALL_WITH_MODEL if has_model else NO_RECALL_WITHOUT_MODEL
            ):
                return found
            query, rewritten = await build_query(self._engine, heard, ask, found.history, room)
            return replace(found, context=await self._engine.context(heard.scope, query), rewritten=rewritten)
        # As above: an answer without memory is better than none.
        except Exception as failure:
            log.exception("memory could not be searched")
            return replace(found, notes=(f"{NO_MEMORY} ({type(failure).__name__})",))

    async def _make_reply(
        self, heard: ReceivedMessage, found: RecalledContext, room: PromptRoom | None, say: OnText, left: asyncio.Event
    ) -> tuple[ChatReply, str | None]:
        """Return the reply, and what failed in memory while it was made. If the model fails, memory answers."""
        if self._reasoner is None or room is None:
            said, failed = await self._reply_from_memory(heard, found)
            say(said.text)
            return said, failed
        messages = build_messages(heard.message.text, found.context, found.history[:-1], heard.at, room)
        reply = await stream_reply(self._reasoner, messages, heard.words, say, left, room.reply)
        if reply.text != heard.words.model_failed or left.is_set():
            return reply, None
        said, failed = await self._reply_from_memory(heard, found)
        say(f"\n{said.text}")
        return replace(reply, text=f"{reply.text}\n{said.text}", sources=said.sources), failed

    async def _reply_from_memory(self, heard: ReceivedMessage, found: RecalledContext) -> tuple[ChatReply, str | None]:
        message, words = heard.message, heard.words
        if message.intent != "small talk" and not self._settings.enabled:
            return ChatReply(words.switched_off), None
        if message.intent != "small talk" and not found.history:
            return ChatReply(words.unreachable, error_stage="retrieval"), None
        try:
            said = await reply_from_memory(self._engine, heard.scope, message, found.context, found.history, words)
        # As above.
        except Exception as failure:
            log.exception("memory could not be searched")
            return ChatReply(words.unreachable, error_stage="retrieval"), f"{NO_MEMORY} ({type(failure).__name__})"
        return said, None

    def _suggest(self, heard: ReceivedMessage, found: RecalledContext, said: ChatReply) -> tuple[str, ...]:
        """Return suggestions; none for a command to forget, because recalled text may name what was forgotten."""
        forgets = any(command.verb == "forget" for command in heard.message.read.commands)
        if found.context is None or not self._settings.suggestions or forgets:
            return ()
        return make_suggestions(found.context, heard.words, self._settings.suggestion_count, rulebooks(), said.ended)

    async def _record_reply(self, heard: ReceivedMessage, said: ChatReply, answer: Answer, key: str | None) -> Answer:
        """Record the reply with its sources."""
        if heard.ref is None:
            return answer
        turn = Turn("assistant", said.text, data=reply_data(heard.ref, said, answer.memory, answer.suggestions))
        again = None if key is None else f"{key[:190]} reply"
        try:
            done = await self._engine.record(heard.scope, [turn], idempotency_key=again)
        # As above: the answer exists and is returned.
        except Exception:
            log.exception("a reply could not be recorded")
            return replace(answer, memory=replace(answer.memory, notes=(*answer.memory.notes, REPLY_NOT_RECORDED)))
        return replace(answer, ref=done.refs[0])

    async def _record_outcome(self, heard: ReceivedMessage, said: ChatReply, answer: Answer) -> None:
        """Add the outcome to the request's row; a message that needed no search gets a row of its own."""
        # A question that memory answers with a refusal used nothing of what was found.
        is_quoting = said.model is None and heard.message.intent == "question"
        used = len(said.sources) if is_quoting else None
        outcome = Outcome(said.model, said.model_ms, said.error_stage, used)
        try:
            if answer.memory.request_id is None:
                await self._engine.runtime.record_message(heard.scope, heard.message.text, outcome)
            elif outcome != Outcome():
                await self._engine.runtime.record_outcome(heard.scope, answer.memory.request_id, outcome)
        # As above: statistics must never break an answer.
        except Exception:
            log.exception("an outcome could not be recorded")

    async def _find_earlier_answer(self, heard: ReceivedMessage) -> Answer | None:
        """Return the reply that this message got the first time, if any."""
        last = (heard.index or 0) + REPLY_WINDOW
        turns = await self._engine.history(heard.scope, limit=REPLY_WINDOW, before=last + 1)
        reply = next((turn for turn in turns if (turn.data or {}).get("answers") == heard.ref), None)
        return None if reply is None else answer_from_log(reply)


def describe_use(heard: ReceivedMessage, found: RecalledContext, said: ChatReply, failed: str | None) -> MemoryUse:
    """Return what memory contributed to a reply: all that a model was shown, or what was quoted."""
    use = found.use if failed is None else replace(found.use, notes=(*found.use.notes, failed))
    if said.model is None or said.sources:
        return describe_quoted_use(use, said.sources)
    if found.context is None:
        return use
    return replace(use, sources=rank_sources(said.text, heard.message.text, found.context))


async def build_query(
    engine: Engine, heard: ReceivedMessage, ask: Ask, history: Sequence[Turn], room: PromptRoom | None
) -> tuple[Query, str | None]:
    """Return the query for memory, and the rewritten question if it differs. The message itself and turns that the
    model is shown anyway are excluded."""
    shown = [turn.ref for turn in select_recent_turns(history[:-1], room.history)] if room else []
    previous = [turn.text for turn in history[:-1] if turn.role == "user"]
    alone = await standalone_text(engine, heard.message, previous)
    limits = LIMITS | {"max_turns": MODEL_TURNS, "budget": max(room.memory, 1)} if room else LIMITS
    query = Query(alone, scope=ask.scope, recent=0, exclude=(heard.ref or "", *shown), fallback=FALLBACK, **limits)
    return query, None if alone == ask.text[:MAX_QUERY_CHARS] else alone


async def standalone_text(engine: Engine, message: Message, previous: Sequence[str]) -> str:
    """Return a message as it can be understood without the user's `previous` messages, oldest first."""
    if message.intent not in ("question", "statement"):
        return message.text[:MAX_QUERY_CHARS]
    return await engine.standalone(message.text, previous)


def reply_data(ref: str, said: ChatReply, use: MemoryUse, suggestions: Sequence[str] = ()) -> dict[str, object]:
    return {
        "answers": ref,
        "model": said.model,
        "latency_ms": said.model_ms,
        "error_stage": said.error_stage,
        "error": said.error,
        "memory": use.to_data(),
        "suggestions": list(suggestions),
    }


def answer_from_log(reply: Turn) -> Answer:
    data = reply.data or {}
    return Answer(
        reply.text,
        reply.session or "",
        0,
        MemoryUse.from_data(data.get("memory") or {}),
        tuple(data.get("suggestions") or ()),
        data.get("model"),
        data.get("error_stage"),
        reply.ref,
        replayed=True,
    )
