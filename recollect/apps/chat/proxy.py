"""The proxy: chat completions passed on to another server, with memory added. The user's message is recorded, memory is
searched, the request is sent with the memories, and the reply is recorded on its way back.

Order and failures are as in assistant.py. If memory fails, the request goes on without it, and a note says so. A
model's failure is passed to the client and logged. If a client leaves a stream, the text so far is recorded and the
upstream is closed; a request without an answer yet is finished. bootstrap.py makes a Proxy and closes it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

from recollect.apps.background_tasks import BackgroundTasks, leave
from recollect.apps.chat.assistant import (
    BUDGET,
    LIMITS,
    MESSAGE_NOT_RECORDED,
    NO_MEMORY,
    RecalledContext,
    ReceivedMessage,
    reply_data,
)
from recollect.apps.chat.completions import (
    Completion,
    Events,
    UpstreamReply,
    find_recorded_question,
    is_repeated_on_purpose,
    list_excluded,
    read_reply,
)
from recollect.apps.chat.message import ChatReply, read_message
from recollect.apps.chat.model_reply import LEAST_REPLY, count_left, render_memory, strip_thinking
from recollect.apps.chat.phrases import phrases_for
from recollect.engine import Engine
from recollect.errors import NotFound, ReasonerFailed
from recollect.learning.rules import rulebooks
from recollect.ports import Upstream, UpstreamAnswer
from recollect.recall.followup import make_standalone
from recollect.values.audit import Outcome
from recollect.values.conversation import Turn
from recollect.values.query import MAX_QUERY_CHARS, Query
from recollect.values.scope import RequestId, Scope
from recollect.values.sensitive_data import find_sensitive_pieces, mask_pieces, mask_text

log = logging.getLogger("recollect.chat")

COMPLETIONS = "/chat/completions"
EVENTS = "text/event-stream"
LOG_TURNS = 40  # at the end of a session, searched for a message that came before
ERROR_CHARS = 300
NO_ANSWER = "the language model's server gave no answer; the message is recorded, try again"
CUT_OFF = "the answer broke off before its end"
BROKE_OFF = {"message": CUT_OFF, "type": "server_error", "param": None, "code": "upstream_broke_off"}
State = Literal["used", "empty", "failed", "off", "no-user", "unreadable"]


@dataclass(frozen=True, slots=True)
class Asking:
    """A user's request, with its session in the scope. `names_session`: the client named the session; `is_retry`: the
    client marked it as a retry."""

    scope: Scope
    completion: Completion
    names_session: bool = False
    is_retry: bool = False
    pieces: frozenset[str] = frozenset()  # of sensitive data in it, masked in the recorded reply


@dataclass(frozen=True, slots=True)
class Note:
    """What memory did for an answer. `request_id` is for `explain`."""

    state: State
    request_id: RequestId | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Relayed:
    """An answer as the upstream gave it. The receiver of a stream must close it."""

    status: int
    headers: Mapping[str, str]
    body: bytes | AsyncGenerator[bytes, None]
    note: Note


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request on its way to the upstream."""

    asking: Asking
    heard: ReceivedMessage
    found: RecalledContext
    started: float

    @property
    def body(self) -> bytes:
        context = self.found.context
        return self.asking.completion.with_memory(render_memory(context)) if context and context.text else self.plain

    @property
    def plain(self) -> bytes:
        return self.asking.completion.body

    def note(self, kept: bool = True) -> Note:
        context = self.found.context
        failed = self.heard.index is None or NO_MEMORY in self.found.notes or not kept
        state: State = "failed" if failed else "used" if context and context.text else "empty"
        return Note(state, context.request_id if context else None, self.heard.scope.session)

    def said(self, reply: UpstreamReply) -> ChatReply:
        """Return the reply as it is recorded; without text nothing is recorded."""
        taken = round((time.perf_counter() - self.started) * 1000)
        model = f"openai:{reply.model or self.asking.completion.model or 'unnamed'}"
        text, words = strip_thinking(reply.text).rstrip(), self.heard.words
        text = mask_pieces(text, self.asking.pieces)
        if reply.error is None:
            return ChatReply(text, model=model, model_ms=taken)
        text = f"{text}\n{words.broke_off}" if text else words.model_failed
        error = mask_pieces(reply.error[:ERROR_CHARS], self.asking.pieces)
        return ChatReply(text, (), model, taken, "llm_reply", error)


class Proxy:
    """Adds memory to completions. Without an `upstream` it cannot be used; see `is_open`."""

    def __init__(self, engine: Engine, upstream: Upstream | None, *, masks: bool = False) -> None:
        self._masks = masks
        self._engine = engine
        self._upstream = upstream
        self._tasks = BackgroundTasks()

    @property
    def is_open(self) -> bool:
        return self._upstream is not None

    async def plain(self, method: str, path: str, body: bytes | None = None, state: State = "off") -> Relayed:
        """Pass a request on without memory."""
        answer = await self._send(method, path, body)
        return Relayed(answer.status, answer.headers, relay_bytes(answer), Note(state))

    async def complete(self, asking: Asking) -> Relayed:
        """Pass a completion on with memory. It is finished even if the client disconnects before the answer begins."""
        opening = self._tasks.start(self._open(mask_request(asking) if self._masks else asking))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            leave(self._tasks.start(drain(opening)))
            raise

    async def close(self) -> None:
        """Wait for running requests. Call this before the engine is closed."""
        await self._tasks.close()

    async def _open(self, asking: Asking) -> Relayed:
        heard, said = await self._record_message(asking)
        found = await self._recall(asking, heard, said)
        exchange = Exchange(asking, heard, found, time.perf_counter())
        try:
            answer = await self._send("POST", COMPLETIONS, exchange.body)
            if answer.status < 400 and answer.headers.get("content-type", "").startswith(EVENTS):
                return Relayed(answer.status, answer.headers, self._relay_stream(exchange, answer), exchange.note())
            body = b"".join([piece async for piece in relay_bytes(answer)])
        except ReasonerFailed as failure:
            await self._record_reply(exchange, UpstreamReply(error=str(failure)))
            raise ReasonerFailed(NO_ANSWER) from failure
        kept = await self._record_reply(exchange, read_upstream_reply(answer.status, body))
        return Relayed(answer.status, answer.headers, body, exchange.note(kept))

    async def _send(self, method: str, path: str, body: bytes | None) -> UpstreamAnswer:
        assert self._upstream is not None, "callers check is_open first"
        return await self._upstream.send(method, path, body)

    async def _record_message(self, asking: Asking) -> tuple[ReceivedMessage, Sequence[Turn]]:
        """Record the user's message, or find it in the log; return it with the end of the session before it."""
        text = asking.completion.question
        message = read_message(text[:MAX_QUERY_CHARS], rulebooks())
        heard = ReceivedMessage(asking.scope, message, phrases_for(text))
        try:
            before = await self._load_session_end(asking.scope)
            said = find_recorded_question(asking.completion, before, asking.is_retry)
            index = await self._record(asking, before) if said is None else said.index
        # A failure of memory must not break the answer; the note reports it.
        except Exception:
            log.exception("a message could not be recorded")
            return heard, ()
        return replace(heard, index=index), before

    async def _load_session_end(self, scope: Scope) -> Sequence[Turn]:
        try:
            return await self._engine.history(scope, limit=LOG_TURNS)
        except NotFound:
            return ()

    async def _record(self, asking: Asking, before: Sequence[Turn]) -> int:
        """Record each message under a key of its own, so that none is recorded twice."""
        completion, session = asking.completion, asking.scope.session or ""
        for place in completion.new[:-1]:
            turn = Turn("user", completion.messages[place].text)
            await self._engine.record(asking.scope, [turn], idempotency_key=completion.key(place, session))
        is_anew = is_repeated_on_purpose(completion, before, asking.names_session)
        key = None if is_anew else completion.key(completion.at, session)
        return (await self._engine.record(asking.scope, [Turn("user", completion.question)], idempotency_key=key)).first

    async def _recall(self, asking: Asking, heard: ReceivedMessage, before: Sequence[Turn]) -> RecalledContext:
        if heard.ref is None:
            return RecalledContext(notes=(MESSAGE_NOT_RECORDED,))
        if heard.message.intent == "small talk":
            return RecalledContext()
        query, rewritten = build_query(asking, heard, before, await self._find_budget(asking.completion))
        try:
            return RecalledContext(await self._engine.context(heard.scope, query), rewritten=rewritten)
        # As above: an answer without memory is better than none.
        except Exception:
            log.exception("memory could not be searched")
            return RecalledContext(rewritten=rewritten, notes=(NO_MEMORY,))

    async def _find_budget(self, completion: Completion) -> int:
        """Return the tokens of memory that fit the model's window beside the client's messages and a reply."""
        window = await self._upstream.window(completion.model or "") if self._upstream else 0
        if not window:
            return BUDGET
        left = count_left(window, [message.text for message in completion.messages]) - LEAST_REPLY
        return max(min(left, BUDGET), 1)

    async def _relay_stream(self, exchange: Exchange, answer: UpstreamAnswer) -> AsyncGenerator[bytes, None]:
        """Yield the events as they come. The reply is recorded before the client sees the end and may ask again."""
        events, is_kept = Events(), False
        try:
            async with aclosing(relay_events(events, answer)) as heard:
                async for lines in heard:
                    if events.is_done and not is_kept:
                        is_kept = True
                        await self._tasks.finish(self._record_reply(exchange, events.spoken))
                    yield lines
        finally:
            # The client has left, or the upstream ended without a mark. Do not wait here: this may be cancelled.
            if not is_kept:
                leave(self._tasks.start(self._record_reply(exchange, events.spoken)))
            await answer.close()

    async def _record_reply(self, exchange: Exchange, reply: UpstreamReply) -> bool:
        """Record the reply with its sources, and add the outcome to the request's row."""
        heard, said = exchange.heard, exchange.said(reply)
        if heard.ref is None:
            return False
        more = {"tool_calls": reply.calls, "finished": reply.ended}
        turn = Turn("assistant", said.text, data=reply_data(heard.ref, said, exchange.found.use) | more)
        try:
            if said.text:
                await self._engine.record(heard.scope, [turn])
            outcome = Outcome(said.model, said.model_ms, said.error_stage)
            if request := exchange.found.use.request_id:
                await self._engine.runtime.record_outcome(heard.scope, request, outcome)
            else:
                await self._engine.runtime.record_message(heard.scope, heard.message.text, outcome)
        # As above: the answer exists and is returned.
        except Exception:
            log.exception("a reply could not be recorded")
            return False
        return True


def mask_request(asking: Asking) -> Asking:
    """Return the request with sensitive data masked, for memory. The upstream gets the original, so the reply may
    repeat parts of it, which are masked when it is recorded."""
    completion = asking.completion
    texts = [message.text for message in completion.messages]
    messages = [replace(message, text=mask_text(message.text)) for message in completion.messages]
    return replace(asking, completion=replace(completion, messages=messages), pieces=find_sensitive_pieces(texts))


def build_query(
    asking: Asking, heard: ReceivedMessage, before: Sequence[Turn], budget: int
) -> tuple[Query, str | None]:
    """Return the query for memory, and the rewritten question if it differs. A client that sends only new messages also
    gets the end of its session."""
    completion, ref = asking.completion, heard.ref or ""
    logged = [turn.text for turn in before if turn.role == "user" and turn.ref != ref]
    alone = heard.message.text[:MAX_QUERY_CHARS]
    if heard.message.intent in ("question", "statement"):
        # By rules only: a call to a model would delay every reply.
        alone = make_standalone(heard.message.text, completion.earlier or logged)[:MAX_QUERY_CHARS]
    recent = None if asking.names_session and completion.is_alone else 0
    query = Query(alone, recent=recent, exclude=list_excluded(completion, before, ref), **LIMITS | {"budget": budget})
    return query, None if alone == heard.message.text else alone


def read_upstream_reply(status: int, body: bytes) -> UpstreamReply:
    if status < 400:
        return read_reply(body)
    return UpstreamReply(error=f"HTTP {status}: {body[:ERROR_CHARS].decode(errors='replace')}")


async def relay_events(events: Events, answer: UpstreamAnswer) -> AsyncGenerator[bytes, None]:
    """Yield what goes to the client, line by line. A stream that breaks off gets an end that says so."""
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


async def relay_bytes(answer: UpstreamAnswer) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                yield piece
    finally:
        await answer.close()


async def drain(opening: asyncio.Task[Relayed]) -> None:
    """Read a response to its end so that the reply is recorded."""
    body = (await opening).body
    if not isinstance(body, bytes):
        async for _ in body:
            pass
