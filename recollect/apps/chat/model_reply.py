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
from dataclasses import dataclass
from datetime import datetime

from recollect.apps.chat.message import ChatReply
from recollect.apps.chat.phrases import Phrases
from recollect.errors import ReasonerFailed, RecollectError
from recollect.ports import Message, Reasoner, StreamingReasoner, WindowedReasoner
from recollect.prompts import mark_data, render_prompt
from recollect.recall.lexemes import count_tokens, lexemes
from recollect.values.conversation import Turn
from recollect.values.query import Context

log = logging.getLogger("recollect.chat")
OnText = Callable[[str], None]

MEMORY_TOKENS = 2000
HISTORY_TOKENS = 2000
HISTORY_CHARS = 4000  # per turn
LINE_NUMBER = re.compile(r"^\[\d+\] ", re.MULTILINE)
NO_MEMORIES = "(No memory is relevant to this.)"
REPLY_TOKENS = 2000
LEAST_REPLY = 256
TASK_TOKENS = 400  # of the instructions
MARGIN = 1.15  # tokens are counted roughly
TEMPERATURE = 0.0  # answers about memory are to be the same each time
ERROR_CHARS = 300


def build_messages(
    text: str, context: Context | None, history: Sequence[Turn], now: datetime | None, room: PromptRoom
) -> list[Message]:
    # Without the numbers of the lines, which small models answer instead of a sentence.
    known = LINE_NUMBER.sub("- ", context.text) if context and context.text else NO_MEMORIES
    date = f"{now:%A, %d %B %Y}" if now else "not known"
    system = render_prompt("chat", date=date, memory=mark_data("memory", known))
    before = [
        Message("user" if turn.role == "user" else "assistant", truncate(turn.text))
        for turn in select_recent_turns(history, room.history)
    ]
    return [Message("system", system), *before, Message("user", text)]


def count_left(window: int, texts: Sequence[str]) -> int:
    """Return the tokens that a window has beside the instructions and these texts."""
    return int(window / MARGIN) - TASK_TOKENS - sum(map(count_tokens, texts))


def rank_sources(reply: str, question: str, context: Context) -> tuple[str, ...]:
    """Return the sources of a context, first those whose lines have the most of a reply's words beyond the
    question's."""
    said = lexemes(reply).keys() - lexemes(question).keys()
    return tuple(line.source for line in sorted(context.lines, key=lambda line: -len(said & lexemes(line.text).keys())))


@dataclass(frozen=True, slots=True)
class PromptRoom:
    """Tokens for the parts of a prompt and for its reply."""

    memory: int = MEMORY_TOKENS
    history: int = HISTORY_TOKENS
    reply: int = REPLY_TOKENS


async def find_room(reasoner: Reasoner, text: str) -> PromptRoom:
    """Return what fits the model's context window beside the instructions and the message, in equal shares."""
    window = await reasoner.window() if isinstance(reasoner, WindowedReasoner) else 0
    return divide_window(window, text) if window else PromptRoom()


def divide_window(window: int, text: str) -> PromptRoom:
    share = max(count_left(window, [text]), 0) // 3
    most = PromptRoom()
    reply = min(max(share, LEAST_REPLY), most.reply)
    return PromptRoom(min(share, most.memory), min(share, most.history), reply)


def render_memory(context: Context) -> str:
    """Return memories as data to put in front of a question in somebody else's conversation."""
    return render_prompt("remembered", memory=mark_data("memory", context.text))


def select_recent_turns(history: Sequence[Turn], room: int = HISTORY_TOKENS) -> list[Turn]:
    """Return the last turns that fit, oldest first."""
    chosen: list[Turn] = []
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
    max_tokens: int = REPLY_TOKENS,
) -> ChatReply:
    """Return the reply; `on_text` gets each piece as it comes. A model's failure becomes a reply that reports it: this
    never raises because of a model. When the client has `left`, the call is ended."""
    started, shown = time.perf_counter(), ""
    error: str | None = None
    try:
        async with aclosing(until_left(stream_text(reasoner, messages, max_tokens), left)) as texts:
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


async def stream_text(reasoner: Reasoner, messages: Sequence[Message], max_tokens: int) -> AsyncGenerator[str, None]:
    """Yield the text so far, longer each time."""
    if not isinstance(reasoner, StreamingReasoner):
        reply = await reasoner.answer(messages, max_tokens=max_tokens, temperature=TEMPERATURE)
        yield strip_thinking(reply.text)
        return
    whole = ""
    async for piece in reasoner.stream(messages, max_tokens=max_tokens, temperature=TEMPERATURE):
        whole += piece
        yield strip_thinking(whole)
