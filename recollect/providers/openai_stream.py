"""The reasoner that also says its answer while it is made: `POST /chat/completions` with `stream`, read line by line.

Everything else it does as OpenAIReasoner does. A stream is not tried again: what was said cannot be taken back. It may
be silent for no longer than the first time-out, and takes no longer than the whole one. Closing it ends the call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from recollect.errors import ReasonerFailed
from recollect.ports import Message
from recollect.providers.openai_chat import QUIRKS, OpenAIReasoner, adapted
from recollect.providers.openai_http import SAID_CHARS, Answer

if TYPE_CHECKING:
    import httpx2

EVENT = "data:"
DONE = "[DONE]"
STREAM = {"stream": True}


class StreamingReasoner(OpenAIReasoner):
    async def stream(
        self, messages: Sequence[Message], *, max_tokens: int = 1024, temperature: float = 0.0
    ) -> AsyncGenerator[str, None]:
        """The answer in pieces. Raises ReasonerFailed, perhaps after some."""
        import httpx2

        said = [{"role": message.role, "content": message.text} for message in messages]
        body = {"model": self._model, "messages": said, "max_tokens": max_tokens, "temperature": temperature}
        try:
            with self._gate.reply():
                async with asyncio.timeout(self._server.timeout), aclosing(self._pieces(body | STREAM)) as pieces:
                    async for piece in pieces:
                        yield piece
        except httpx2.HTTPError as error:
            raise self._server.failure(error) from None
        except TimeoutError:
            raise ReasonerFailed(f"{self._server.url} did not finish within {self._server.timeout:g} s") from None

    async def _pieces(self, body: dict[str, Any]) -> AsyncGenerator[str, None]:
        """A server that names a parameter it does not take is asked again in its way."""
        refusal = ""
        for _ in range(len(QUIRKS) + 1):
            opened = await self._server.open("POST", "/chat/completions", json=adapted(body, self._quirks))
            async with aclosing(opened) as response:
                if response.status_code == 200:
                    async for piece in self._heard(response):
                        yield piece
                    return
                refusal = self._server.without_key(await response.aread()).decode(errors="replace")
                status = response.status_code
            self._server.check_length(Answer(status, refusal))
            named = frozenset(quirk for quirk in QUIRKS if status == 400 and quirk in refusal)
            if named <= self._quirks:
                break
            self._quirks |= named
        raise ReasonerFailed(f"{self._server.url}: HTTP {status}: {refusal[:SAID_CHARS]}")

    async def _heard(self, response: httpx2.Response) -> AsyncGenerator[str, None]:
        """Some servers do not know `stream` and answer whole; some end without saying so, which is no end."""
        ended, whole = False, list[str]()
        async for line in response.aiter_lines():
            if not line.startswith(EVENT):
                whole.append(line)
                continue
            data = line.removeprefix(EVENT).strip()
            if data == DONE:
                return
            piece, is_last = piece_in(data)
            ended = ended or is_last
            if piece:
                yield piece
        if not ended:
            yield whole_in("".join(whole))


def piece_in(data: str) -> tuple[str, bool]:
    """The text of one event, and whether it is the last with any."""
    try:
        event = json.loads(data)
        if event.get("error"):
            raise ReasonerFailed(f"the server broke off: {str(event['error'])[:SAID_CHARS]}")
        choices = event.get("choices") or [{}]
        return choices[0].get("delta", {}).get("content") or "", choices[0].get("finish_reason") is not None
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError):
        raise ReasonerFailed("the server sent an event that is not JSON in OpenAI's form") from None


def whole_in(text: str) -> str:
    try:
        return str(json.loads(text)["choices"][0]["message"]["content"])
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ReasonerFailed("the answer broke off before its end") from None
