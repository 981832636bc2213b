"""Voice: a language model's reply, piece by piece where its adapter can, else in one. Whatever goes wrong becomes a
reply that says so, with the stage: a chat never raises because of a model."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol, runtime_checkable

from recollect.errors import ReasonerFailed, RecollectError
from recollect.hosts.chat.phrases import Phrases
from recollect.hosts.chat.prompt import spoken
from recollect.model.chat import Said
from recollect.ports import Message, Reasoner

log = logging.getLogger("recollect.chat")
Say = Callable[[str], None]

REPLY_TOKENS = 2000
TEMPERATURE = 0.3
ERROR_CHARS = 300


@runtime_checkable
class Streaming(Protocol):
    """A Reasoner that can also say its answer while it is made."""

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int = 1024, temperature: float = 0.0
    ) -> AsyncIterator[str]: ...


async def voiced(reasoner: Reasoner, messages: Sequence[Message], words: Phrases, say: Say) -> Said:
    """The reply; `say` gets each piece of it as it comes."""
    started, shown = time.perf_counter(), ""
    error: str | None = None
    try:
        async for text in so_far(reasoner, messages):
            if len(text) > len(shown):
                say(text[len(shown) :])
                shown = text
        if not shown.strip():
            raise ReasonerFailed(f"{reasoner.name} answered nothing")
    except RecollectError as failure:
        error = str(failure)
    # An adapter of somebody else's may fail in any way; the user still gets an answer, and the log the reason.
    except Exception as failure:
        log.exception("the language model failed")
        error = type(failure).__name__
    taken = round((time.perf_counter() - started) * 1000)
    if error is None:
        return Said(shown.rstrip(), model=reasoner.name, model_ms=taken)
    apology = f"\n{words.broke_off}" if shown.strip() else words.model_failed
    say(apology)
    failed = f"{shown.rstrip()}{apology}"
    return Said(failed, (), reasoner.name, taken, "llm_reply", error[:ERROR_CHARS])


async def so_far(reasoner: Reasoner, messages: Sequence[Message]) -> AsyncIterator[str]:
    """All that was said up to now, again and again, longer each time."""
    if not isinstance(reasoner, Streaming):
        reply = await reasoner.answer(messages, max_tokens=REPLY_TOKENS, temperature=TEMPERATURE)
        yield spoken(reply.text)
        return
    whole = ""
    async for piece in reasoner.stream(messages, max_tokens=REPLY_TOKENS, temperature=TEMPERATURE):
        whole += piece
        yield spoken(whole)
