"""The proxy: somebody else's conversation with somebody else's model, passed on with memory. What the user said is
appended, memory is asked, the request goes to the upstream with what is remembered in it, the reply is appended on its
way back.

The order and the failures are the assistant's (assistant.py): memory that fails is done without, and the answer's note
says so; a model that fails is the client's to know, as the upstream told it, and the log's. Of a stream whose client
leaves, what was said so far is kept and the upstream let go; a request that has no answer yet is finished without him.
What a reply is made of is read on its way past (model/completion_reply.py). wire.py makes a Proxy and closes it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Literal

from recollect.engine import Engine
from recollect.errors import NotFound, ReasonerFailed
from recollect.hosts.chat.assistant import LIMITS, NO_MEMORY, NOT_KEPT, Heard, Remembered, kept_data, stand_alone
from recollect.hosts.chat.phrases import phrases_for
from recollect.hosts.chat.prompt import remembered, spoken
from recollect.model.chat import Said, read_message
from recollect.model.completion_reply import Events, Spoken, spoken_whole
from recollect.model.completions import Completion, excluded, is_said_anew, said_before
from recollect.model.conversation import Turn
from recollect.model.explanation import Outcome
from recollect.model.ids import RequestId
from recollect.model.scope import Scope
from recollect.model.search import MAX_QUERY_CHARS, Query
from recollect.ports import Upstream, UpstreamAnswer
from recollect.rules import rulebooks

log = logging.getLogger("recollect.chat")

COMPLETIONS = "/chat/completions"
EVENTS = "text/event-stream"
LOG_TURNS = 40  # of the session's end, in which a message that came before is looked for
ERROR_CHARS = 300
NO_ANSWER = "the language model's server gave no answer; the message is kept, try again"
CUT_OFF = "the answer broke off before its end"
BROKE_OFF = {"message": CUT_OFF, "type": "server_error", "param": None, "code": "upstream_broke_off"}
State = Literal["used", "empty", "failed", "off", "no-user", "unreadable"]


@dataclass(frozen=True, slots=True)
class Asking:
    """A request of a user's, its session in the scope. `names_session`: the client named it; `is_retry`: it says so."""

    scope: Scope
    completion: Completion
    names_session: bool = False
    is_retry: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """What memory did for an answer. `request_id` is for `explain`."""

    state: State
    request_id: RequestId | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Relayed:
    """An answer as the upstream gave it. Who gets a stream must close it."""

    status: int
    headers: Mapping[str, str]
    body: bytes | AsyncGenerator[bytes, None]
    note: Note


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that is on its way to the upstream."""

    asking: Asking
    heard: Heard
    found: Remembered
    started: float

    @property
    def body(self) -> bytes:
        context = self.found.context
        return self.asking.completion.with_memory(remembered(context)) if context and context.text else self.plain

    @property
    def plain(self) -> bytes:
        return self.asking.completion.body

    def note(self, kept: bool = True) -> Note:
        context = self.found.context
        failed = self.heard.index is None or NO_MEMORY in self.found.notes or not kept
        state: State = "failed" if failed else "used" if context and context.text else "empty"
        return Note(state, context.request_id if context else None, self.heard.scope.session)

    def said(self, reply: Spoken) -> Said:
        """The reply as it is kept; no text: nothing was said."""
        taken = round((time.perf_counter() - self.started) * 1000)
        model = f"openai:{reply.model or self.asking.completion.model or 'unnamed'}"
        text, words = spoken(reply.text).rstrip(), self.heard.words
        if reply.error is None:
            return Said(text, model=model, model_ms=taken)
        text = f"{text}\n{words.broke_off}" if text else words.model_failed
        return Said(text, (), model, taken, "llm_reply", reply.error[:ERROR_CHARS])


class Proxy:
    """Without an `upstream` it cannot be used, and `is_open` says so."""

    def __init__(self, engine: Engine, upstream: Upstream | None) -> None:
        self._engine = engine
        self._upstream = upstream
        self._at_work: set[asyncio.Task[Any]] = set()

    @property
    def is_open(self) -> bool:
        return self._upstream is not None

    async def plain(self, method: str, path: str, body: bytes | None = None, state: State = "off") -> Relayed:
        """Bytes there and back, and nothing else."""
        answer = await self._send(method, path, body)
        return Relayed(answer.status, answer.headers, untouched(answer), Note(state))

    async def complete(self, asking: Asking) -> Relayed:
        """With memory. What was begun is finished, also when the client does not wait for the answer to begin."""
        opening = self._begin(self._open(asking))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            self._begin(drained(opening))
            raise

    async def close(self) -> None:
        """Waits for what is at hand; before the engine is closed."""
        while self._at_work:
            await asyncio.gather(*self._at_work, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        return task

    async def _open(self, asking: Asking) -> Relayed:
        heard, said = await self._hear(asking)
        found = await self._remember(asking, heard, said)
        exchange = Exchange(asking, heard, found, time.perf_counter())
        try:
            answer = await self._send("POST", COMPLETIONS, exchange.body)
            if answer.status < 400 and answer.headers.get("content-type", "").startswith(EVENTS):
                return Relayed(answer.status, answer.headers, self._streamed(exchange, answer), exchange.note())
            body = b"".join([piece async for piece in untouched(answer)])
        except ReasonerFailed as failure:
            await self._keep(exchange, Spoken(error=str(failure)))
            raise ReasonerFailed(NO_ANSWER) from failure
        kept = await self._keep(exchange, reply_in(answer.status, body))
        return Relayed(answer.status, answer.headers, body, exchange.note(kept))

    async def _send(self, method: str, path: str, body: bytes | None) -> UpstreamAnswer:
        assert self._upstream is not None, "the door asks is_open first"
        return await self._upstream.send(method, path, body)

    async def _hear(self, asking: Asking) -> tuple[Heard, Sequence[Turn]]:
        """The user's turn goes into the log first, or is found there. Beside it, the end of the session before it."""
        text = asking.completion.question
        message = read_message(text[:MAX_QUERY_CHARS], rulebooks())
        heard = Heard(asking.scope, message, phrases_for(text))
        try:
            before = await self._end_of(asking.scope)
            said = said_before(asking.completion, before, asking.is_retry)
            index = await self._record(asking, before) if said is None else said.index
        # A memory that fails must not break the answer, whatever the failure; the answer's note says so.
        except Exception:
            log.exception("a message could not be kept")
            return heard, ()
        return replace(heard, index=index), before

    async def _end_of(self, scope: Scope) -> Sequence[Turn]:
        try:
            return await self._engine.history(scope, limit=LOG_TURNS)
        except NotFound:
            return ()

    async def _record(self, asking: Asking, before: Sequence[Turn]) -> int:
        """Each message under a key of its own: one that was recorded before is not recorded again."""
        completion, session = asking.completion, asking.scope.session or ""
        for place in completion.new[:-1]:
            turn = Turn("user", completion.messages[place].text)
            await self._engine.record(asking.scope, [turn], idempotency_key=completion.key(place, session))
        is_anew = is_said_anew(completion, before, asking.names_session)
        key = None if is_anew else completion.key(completion.at, session)
        return (await self._engine.record(asking.scope, [Turn("user", completion.question)], idempotency_key=key)).first

    async def _remember(self, asking: Asking, heard: Heard, before: Sequence[Turn]) -> Remembered:
        if heard.ref is None:
            return Remembered(notes=(NOT_KEPT,))
        if heard.message.intent == "small talk":
            return Remembered()
        query, rewritten = asked(asking, heard, before)
        try:
            return Remembered(await self._engine.context(heard.scope, query), rewritten=rewritten)
        # As above: an answer without memory is better than none.
        except Exception:
            log.exception("memory could not be asked")
            return Remembered(rewritten=rewritten, notes=(NO_MEMORY,))

    async def _streamed(self, exchange: Exchange, answer: UpstreamAnswer) -> AsyncGenerator[bytes, None]:
        """The events as they come. The reply is kept before the client hears of the end, and may ask the next."""
        events, is_kept = Events(), False
        try:
            async with aclosing(listened(events, answer)) as heard:
                async for lines in heard:
                    if events.is_done and not is_kept:
                        is_kept = True
                        await asyncio.shield(self._begin(self._keep(exchange, events.spoken)))
                    yield lines
        finally:
            # The client has left, or the upstream ended without a mark. No waiting here: we may be cancelled.
            if not is_kept:
                self._begin(self._keep(exchange, events.spoken))
            await answer.close()

    async def _keep(self, exchange: Exchange, reply: Spoken) -> bool:
        """The reply goes into the log, with what it rests on; the request's row gets what came of it."""
        heard, said = exchange.heard, exchange.said(reply)
        if heard.ref is None:
            return False
        more = {"tool_calls": reply.calls, "finished": reply.ended}
        turn = Turn("assistant", said.text, data=kept_data(heard.ref, said, exchange.found.use) | more)
        try:
            if said.text:
                await self._engine.record(heard.scope, [turn])
            if request := exchange.found.use.request_id:
                await self._engine.answered(heard.scope, request, Outcome(said.model, said.model_ms, said.error_stage))
        # As above: the answer is there, and goes out.
        except Exception:
            log.exception("a reply could not be kept")
            return False
        return True


def asked(asking: Asking, heard: Heard, before: Sequence[Turn]) -> tuple[Query, str | None]:
    """What memory is asked, and how the question was rewritten, if it was. A client that sends only what is new gets
    the end of its session, too."""
    completion, ref = asking.completion, heard.ref or ""
    logged = [turn.text for turn in before if turn.role == "user" and turn.ref != ref]
    alone = stand_alone(heard.message, completion.earlier or logged)
    recent = None if asking.names_session and completion.is_alone else 0
    query = Query(alone, recent=recent, exclude=excluded(completion, before, ref), **LIMITS)
    return query, None if alone == heard.message.text else alone


def reply_in(status: int, body: bytes) -> Spoken:
    if status < 400:
        return spoken_whole(body)
    return Spoken(error=f"HTTP {status}: {body[:ERROR_CHARS].decode(errors='replace')}")


async def listened(events: Events, answer: UpstreamAnswer) -> AsyncGenerator[bytes, None]:
    """What goes to the client, line by line; a stream that breaks off gets an end that says so."""
    problem = CUT_OFF
    try:
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                if lines := events.feed(piece):
                    yield lines
        if lines := events.last():
            yield lines
    except ReasonerFailed as failure:
        problem = str(failure)
    if not events.spoken.ended and events.spoken.error is None:
        events.spoken.error = problem
        yield events.broken_off(BROKE_OFF)


async def untouched(answer: UpstreamAnswer) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                yield piece
    finally:
        await answer.close()


async def drained(opening: asyncio.Task[Relayed]) -> None:
    """To its end, for nobody but the log."""
    body = (await opening).body
    if not isinstance(body, bytes):
        async for _ in body:
            pass
