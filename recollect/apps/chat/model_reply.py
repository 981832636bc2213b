"""The prompt of a chat message and the streamed reply of a model. assistant.py and proxy.py call this.

Memories go into the system message as data, between marks that they cannot contain (recollect/prompts). The session's
last turns follow in their own roles, then the message. Failed replies are left out.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from datetime import datetime

from recollect.apps.chat.message import ChatReply
from recollect.apps.chat.phrases import Phrases
from recollect.errors import ReasonerFailed, RecollectError
from recollect.ports import Message, Reasoner, StreamingReasoner
from recollect.prompts import mark_data, render_prompt
from recollect.recall.lexemes import count_tokens
from recollect.values.conversation import Turn
from recollect.values.query import Context

log = logging.getLogger("recollect.chat")
OnText = Callable[[str], None]

HISTORY_TOKENS = 2000
HISTORY_CHARS = 4000  # per turn
LINE_NUMBER = re.compile(r"^\[\d+\] ", re.MULTILINE)
NO_MEMORIES = "(No memory is relevant to this.)"
REPLY_TOKENS = 2000
TEMPERATURE = 0.0  # answers about memory are to be the same each time
ERROR_CHARS = 300


def build_messages(text: str, context: Context | None, history: Sequence[Turn], now: datetime | None) -> list[Message]:
    # Without the numbers of the lines, which small models answer instead of a sentence.
    known = LINE_NUMBER.sub("- ", context.text) if context and context.text else NO_MEMORIES
    date = f"{now:%A, %d %B %Y}" if now else "not known"
    system = render_prompt("chat", date=date, memory=mark_data("memory", known))
    before = [
        Message("user" if turn.role == "user" else "assistant", truncate(turn.text))
        for turn in select_recent_turns(history)
    ]
    return [Message("system", system), *before, Message("user", text)]


def render_memory(context: Context) -> str:
    """Return memories as data to put in front of a question in somebody else's conversation."""
    return render_prompt("remembered", memory=mark_data("memory", context.text))


def select_recent_turns(history: Sequence[Turn]) -> list[Turn]:
    """Return the last turns that fit, oldest first."""
    chosen: list[Turn] = []
    room = HISTORY_TOKENS
    for turn in reversed(history):
        if turn.role not in ("user", "assistant") or (turn.data or {}).get("error_stage"):
            continue
        room -= count_tokens(truncate(turn.text))
        if room < 0:
            break
        chosen.append(turn)
    return chosen[::-1]


def truncate(text: str) -> str:
    return text if len(text) <= HISTORY_CHARS else text[:HISTORY_CHARS] + " …"


def strip_thinking(text: str) -> str:
    """Return a model's text so far without its thinking at the beginning; nothing while it may still be thinking."""
    begun = text.lstrip()
    if begun.startswith("<think>"):
        return begun.partition("</think>")[2].lstrip()
    return "" if "<think>".startswith(begun) else begun


async def stream_reply(
    reasoner: Reasoner,
    messages: Sequence[Message],
    words: Phrases,
    on_text: OnText,
    left: asyncio.Event | None = None,
) -> ChatReply:
    """Return the reply; `on_text` gets each piece as it comes. A model's failure becomes a reply that reports it: this
    never raises because of a model. When the client has `left`, the call is ended."""
    started, shown = time.perf_counter(), ""
    error: str | None = None
    try:
        async with aclosing(until_left(stream_text(reasoner, messages), left)) as texts:
            async for text in texts:
                if len(text) > len(shown):
                    on_text(text[len(shown) :])
                    shown = text
        if not shown.strip():
            raise ReasonerFailed(f"{reasoner.name} answered nothing")
    except RecollectError as failure:
        error = str(failure)
    # A third-party adapter may fail in any way; the user still gets an answer, and the log has the reason.
    except Exception as failure:
        log.exception("the language model failed")
        error = type(failure).__name__
    taken = round((time.perf_counter() - started) * 1000)
    if error is None:
        return ChatReply(shown.rstrip(), model=reasoner.name, model_ms=taken)
    apology = f"\n{words.broke_off}" if shown.strip() else words.model_failed
    on_text(apology)
    failed = f"{shown.rstrip()}{apology}"
    return ChatReply(failed, (), reasoner.name, taken, "llm_reply", error[:ERROR_CHARS])


async def until_left(texts: AsyncGenerator[str, None], left: asyncio.Event | None) -> AsyncGenerator[str, None]:
    """Yield the texts. Raises ReasonerFailed as soon as the client has left, which ends the call."""
    leaving = asyncio.ensure_future((left or asyncio.Event()).wait())
    async with aclosing(texts):
        try:
            while True:
                coming = asyncio.ensure_future(anext(texts, None))
                await asyncio.wait({coming, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    await asyncio.wait({coming})
                    raise ReasonerFailed("the client left before the answer was complete")
                if (text := coming.result()) is None:
                    return
                yield text
        finally:
            leaving.cancel()


async def stream_text(reasoner: Reasoner, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
    """Yield the text so far, longer each time."""
    if not isinstance(reasoner, StreamingReasoner):
        reply = await reasoner.answer(messages, max_tokens=REPLY_TOKENS, temperature=TEMPERATURE)
        yield strip_thinking(reply.text)
        return
    whole = ""
    async for piece in reasoner.stream(messages, max_tokens=REPLY_TOKENS, temperature=TEMPERATURE):
        whole += piece
        yield strip_thinking(whole)
