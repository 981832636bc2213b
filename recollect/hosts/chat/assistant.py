"""The assistant: a message the whole way. The user's turn is appended, memory is asked, a reply is made, the reply is
appended with what it rests on. In this order, so that nothing said is lost whatever fails after it.

A message once taken is finished, also when its client leaves: it runs in a task of its own. Memory that fails is
answered without; a model that fails is answered with an apology; both are in the answer and in the log. Two clients may
write to one session: the log orders them. Doors call `answer` or `stream`; wire.py makes one and closes it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.engine import Engine
from recollect.errors import Conflict, InvalidInput
from recollect.hosts.chat.phrases import Phrases, phrases_for
from recollect.hosts.chat.prompt import just_said, messages
from recollect.hosts.chat.suggestions import suggestions
from recollect.hosts.chat.voice import Say, voiced
from recollect.hosts.chat.without_model import recited
from recollect.model.chat import Answer, Ask, Intent, MemoryUse, Message, Said, memory_use, quoted_use, read_message
from recollect.model.conversation import Turn
from recollect.model.explanation import Outcome
from recollect.model.followup import followup
from recollect.model.ids import uuid7
from recollect.model.scope import Scope
from recollect.model.search import MAX_QUERY_CHARS, Context, Query
from recollect.ports import Reasoner
from recollect.rules import rulebooks
from recollect.settings import Settings

log = logging.getLogger("recollect.chat")

BUDGET = 2000  # tokens of memory in a prompt
MOST_TURNS = 6
TURN_CHARS = 700
LIMITS: dict[str, Any] = {"budget": BUDGET, "max_turns": MOST_TURNS, "turn_chars": TURN_CHARS}
REPLIES_AFTER = 50  # turns after a message in which its reply is looked for
ALONE: tuple[Intent, ...] = ("small talk",)  # needs no recall
RECITED: tuple[Intent, ...] = ("small talk", "why", "profile")  # nor these, where no model has to understand them
NOT_KEPT = "the message could not be kept; nothing was recalled for it"
REPLY_NOT_KEPT = "the reply could not be kept"
NO_MEMORY = "memory failed; this was answered without it"


@dataclass(frozen=True, slots=True)
class Heard:
    """The user's turn in the log; without an index it could not be kept."""

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
class Remembered:
    """What memory has for a message; `history` is the end of the session, up to the message."""

    context: Context | None = None
    history: Sequence[Turn] = ()
    rewritten: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def use(self) -> MemoryUse:
        if self.context is None:
            return MemoryUse(notes=self.notes, rewritten=self.rewritten)
        return memory_use(self.context, self.rewritten, self.notes)


class Assistant:
    """Without a `reasoner` it answers from memory alone."""

    def __init__(self, engine: Engine, settings: Settings, reasoner: Reasoner | None = None) -> None:
        self._engine = engine
        self._settings = settings
        self._reasoner = reasoner
        self._at_work: set[asyncio.Task[Answer]] = set()

    async def answer(self, scope: Scope, ask: Ask) -> Answer:
        """Without a session in the scope a new one is begun; its id is in the answer."""
        return await asyncio.shield(self._begin(scope, ask, lambda _: None))

    async def stream(self, scope: Scope, ask: Ask) -> AsyncIterator[str | Answer]:
        """The reply in pieces, then the whole answer."""
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        work = self._begin(scope, ask, pieces.put_nowait)
        work.add_done_callback(lambda _: pieces.put_nowait(None))
        while (piece := await pieces.get()) is not None:
            yield piece
        yield await work

    async def close(self) -> None:
        """Waits for the replies at hand; before the engine is closed."""
        await asyncio.gather(*self._at_work, return_exceptions=True)

    def _begin(self, scope: Scope, ask: Ask, say: Say) -> asyncio.Task[Answer]:
        work = asyncio.create_task(self._reply(scope, ask, say))
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        return work

    async def _reply(self, scope: Scope, ask: Ask, say: Say) -> Answer:
        started = time.perf_counter()
        heard = await self._hear(scope, ask)
        if heard.replayed and (given := await self._given(heard)):
            say(given.response)
            return given
        found = await self._remember(heard, ask)
        said, failed = await self._speak(heard, found, say)
        use = found.use if failed is None else replace(found.use, notes=(*found.use.notes, failed))
        use = use if said.model else quoted_use(use, said.sources)
        more = self._suggested(heard, found, said)
        answer = Answer(said.text, heard.scope.session or "", 0, use, more, said.model, said.error_stage)
        answer = await self._keep(heard, said, answer, ask.key)
        await self._measure(heard, said, answer)
        return replace(answer, latency_ms=round((time.perf_counter() - started) * 1000))

    async def _hear(self, scope: Scope, ask: Ask) -> Heard:
        """The user's turn goes into the log first."""
        message = read_message(ask.text, rulebooks())
        heard = Heard(scope, message, phrases_for(ask.text))
        try:
            done = await self._engine.record(scope, [Turn("user", ask.text)], idempotency_key=ask.key)
        except (InvalidInput, Conflict):
            raise
        # A memory that fails must not break the answer, whatever the failure; the answer says so.
        except Exception:
            log.exception("a message could not be kept")
            return replace(heard, scope=replace(scope, session=scope.session or str(uuid7())))
        place = replace(scope, session=done.conversation.session)
        return replace(heard, scope=place, index=done.first, at=done.conversation.updated_at, replayed=done.replayed)

    async def _remember(self, heard: Heard, ask: Ask) -> Remembered:
        if heard.index is None:
            return Remembered(notes=(NOT_KEPT,))
        has_model = self._reasoner is not None
        if heard.message.intent == "small talk" and not has_model:
            return Remembered()
        found = Remembered()
        try:
            count = self._settings.history + 1 if ask.history else 1
            found = replace(found, history=await self._engine.history(heard.scope, limit=count, before=heard.index + 1))
            if not ask.memory or heard.message.intent in (ALONE if has_model else RECITED):
                return found
            query, rewritten = asked(heard, ask, found.history, has_model)
            return replace(found, context=await self._engine.context(heard.scope, query), rewritten=rewritten)
        # As above: an answer without memory is better than none.
        except Exception as failure:
            log.exception("memory could not be asked")
            return replace(found, notes=(f"{NO_MEMORY} ({type(failure).__name__})",))

    async def _speak(self, heard: Heard, found: Remembered, say: Say) -> tuple[Said, str | None]:
        """The reply, and what failed in memory while it was made."""
        message, words = heard.message, heard.words
        if self._reasoner is not None:
            before = found.history[:-1]
            return await voiced(
                self._reasoner, messages(message.text, found.context, before, heard.at), words, say
            ), None
        said, failed = await self._recite(heard, found)
        say(said.text)
        return said, failed

    async def _recite(self, heard: Heard, found: Remembered) -> tuple[Said, str | None]:
        message, words = heard.message, heard.words
        if message.intent != "small talk" and not self._settings.enabled:
            return Said(words.switched_off), None
        if message.intent != "small talk" and not found.history:
            return Said(words.unreachable, error_stage="retrieval"), None
        try:
            said = await recited(self._engine, heard.scope, message, found.context, found.history, words)
        # As above.
        except Exception as failure:
            log.exception("memory could not be asked")
            return Said(words.unreachable, error_stage="retrieval"), f"{NO_MEMORY} ({type(failure).__name__})"
        return said, None

    def _suggested(self, heard: Heard, found: Remembered, said: Said) -> tuple[str, ...]:
        """None where something is to be forgotten: what was recalled before may name it."""
        forgets = any(command.verb == "forget" for command in heard.message.read.commands)
        if found.context is None or not self._settings.suggestions or forgets:
            return ()
        return suggestions(found.context, heard.words, self._settings.suggestion_count, rulebooks(), said.ended)

    async def _keep(self, heard: Heard, said: Said, answer: Answer, key: str | None) -> Answer:
        """The reply goes into the log, with what it rests on."""
        if heard.ref is None:
            return answer
        turn = Turn("assistant", said.text, data=kept_data(heard.ref, said, answer.memory, answer.suggestions))
        again = None if key is None else f"{key[:190]} reply"
        try:
            done = await self._engine.record(heard.scope, [turn], idempotency_key=again)
        # As above: the answer is there, and goes out.
        except Exception:
            log.exception("a reply could not be kept")
            return replace(answer, memory=replace(answer.memory, notes=(*answer.memory.notes, REPLY_NOT_KEPT)))
        return replace(answer, ref=done.refs[0])

    async def _measure(self, heard: Heard, said: Said, answer: Answer) -> None:
        """The request's row gets what came of it."""
        if answer.memory.request_id is None or not (said.model or said.error_stage):
            return
        try:
            outcome = Outcome(said.model, said.model_ms, said.error_stage)
            await self._engine.answered(heard.scope, answer.memory.request_id, outcome)
        # As above: numbers must never break an answer.
        except Exception:
            log.exception("an answer could not be counted")

    async def _given(self, heard: Heard) -> Answer | None:
        """The reply that this message got when it came first, if it did."""
        last = (heard.index or 0) + REPLIES_AFTER
        turns = await self._engine.history(heard.scope, limit=REPLIES_AFTER, before=last + 1)
        reply = next((turn for turn in turns if (turn.data or {}).get("answers") == heard.ref), None)
        return None if reply is None else given_before(reply)


def asked(heard: Heard, ask: Ask, history: Sequence[Turn], has_model: bool) -> tuple[Query, str | None]:
    """What memory is asked, and how the question was rewritten, if it was: never for the message itself, nor for what
    a model is shown in any case."""
    shown = [turn.ref for turn in just_said(history[:-1])] if has_model else []
    previous = [turn.text for turn in history[:-1] if turn.role == "user"]
    alone = stand_alone(heard.message, previous)
    query = Query(alone, scope=ask.scope, recent=0, exclude=(heard.ref or "", *shown), **LIMITS)
    return query, None if alone == ask.text[:MAX_QUERY_CHARS] else alone


def stand_alone(message: Message, previous: Sequence[str]) -> str:
    """A message as it is understood alone; `previous` is what the user said before."""
    follows = message.intent in ("question", "statement")
    return (followup(message.text, previous).text if follows else message.text)[:MAX_QUERY_CHARS]


def kept_data(ref: str, said: Said, use: MemoryUse, suggestions: Sequence[str] = ()) -> dict[str, object]:
    return {
        "answers": ref,
        "model": said.model,
        "latency_ms": said.model_ms,
        "error_stage": said.error_stage,
        "error": said.error,
        "memory": use.to_data(),
        "suggestions": list(suggestions),
    }


def given_before(reply: Turn) -> Answer:
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
