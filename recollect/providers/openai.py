"""The embedder and the language model for every server that speaks OpenAI's protocol.

Servers differ in what they support: JSON schemas, `max_tokens`, temperature. What one refuses is left out or replaced,
and remembered for as long as the adapter lives; the caller checks the answer in any case. A stream is not retried: text
that was sent cannot be taken back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailed, ReasonerConfused, ReasonerFailed
from recollect.ports import Message, Reply
from recollect.providers.model_gate import gate_for
from recollect.providers.openai_http import SAID_CHARS, Answer, OpenAIServer

if TYPE_CHECKING:
    import httpx2

QUIRKS = ("max_completion_tokens", "temperature")
EVENT = "data:"
DONE = "[DONE]"


class OpenAIEmbedder:
    """Embeds texts in batches, each with retries and a time-out."""

    is_local = False

    def __init__(self, url: str, model: str, key: str = "", *, batch: int = 10, timeout: float = 10.0) -> None:
        self.name = f"openai:{model}"
        self._server = OpenAIServer(url, key, timeout, EmbedderFailed)
        self._model = model
        self._batch = batch

    async def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        batches = [texts[i : i + self._batch] for i in range(0, len(texts), self._batch)]
        vectors = np.concatenate([await self._embed_batch(batch) for batch in batches])
        unit: NDArray[Any] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return unit

    async def close(self) -> None:
        await self._server.close()

    async def _embed_batch(self, texts: Sequence[str]) -> NDArray[Any]:
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        answer = self._server.read(await self._server.post("/embeddings", body))
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], np.float32)
        except (KeyError, TypeError, ValueError):
            raise EmbedderFailed("the answer has no embeddings in it") from None
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.size or not np.isfinite(vectors).all():
            count = len(texts)
            raise EmbedderFailed(f"{count} texts were sent, and the answer does not hold {count} vectors")
        return vectors


class OpenAIReasoner:
    """A language model behind `POST /chat/completions`."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        *,
        timeout: float = 300.0,
        first: float | None = None,
        window: int = 0,
        slots: int = 1,
    ) -> None:
        """`timeout` is for a whole answer, `first` until a streamed one begins; `window` is the context window in
        tokens, 0 if the server is to be asked."""
        self.name = f"openai:{model}"
        self._server = OpenAIServer(url, key, timeout, ReasonerFailed, first)
        self._gate = gate_for(self._server.url, slots)
        self._model = model
        self._window = window
        self._first_format = 0  # that the server accepted
        self._quirks = frozenset[str]()

    async def answer(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Reply:
        body = self._make_body(messages, max_tokens, temperature)
        with self._watch():
            answer = await self._gate.run(
                lambda: self._post(body) if schema is None else self._post_formed(body, schema)
            )
            reply, is_cut = parse_reply(self._server.read(answer))
        if is_cut and schema is not None:
            raise ReasonerConfused(f"{self.name} was cut off at {max_tokens} tokens; allow more, or send fewer turns")
        return reply

    async def stream(
        self, messages: Sequence[Message], *, max_tokens: int = 1024, temperature: float = 0.0
    ) -> AsyncGenerator[str, None]:
        """Yield the answer in pieces. Raises ReasonerFailed, perhaps after some."""
        import httpx2

        body = self._make_body(messages, max_tokens, temperature) | {"stream": True}
        with self._watch(), self._gate.reply():
            try:
                async with asyncio.timeout(self._server.timeout), aclosing(self._stream(body)) as pieces:
                    async for piece in pieces:
                        yield piece
            except httpx2.HTTPError as error:
                raise self._server.failure(error) from None
            except TimeoutError:
                raise ReasonerFailed(f"{self._server.url} did not finish within {self._server.timeout:g} s") from None

    def problem(self) -> str:
        """Return why the last call of this process to the server failed; an empty text if it did not."""
        return self._gate.problem

    @contextmanager
    def _watch(self) -> Iterator[None]:
        """Remember whether a call failed. One whose answer cannot be used is none of the server's failures."""
        try:
            yield
        except ReasonerConfused:
            raise
        except ReasonerFailed as error:
            self._gate.problem = str(error)
            raise
        self._gate.problem = ""

    async def window(self) -> int:
        """Return the tokens of the context window, as set, or as the server says; 0 if it does not say."""
        return self._window or await self._server.find_window(self._model)

    async def close(self) -> None:
        await self._server.close()

    def _make_body(self, messages: Sequence[Message], max_tokens: int, temperature: float) -> dict[str, Any]:
        said = [{"role": message.role, "content": message.text} for message in messages]
        return {"model": self._model, "messages": said, "max_tokens": max_tokens, "temperature": temperature}

    async def _post(self, body: dict[str, Any]) -> Answer:
        answer = await self._server.post("/chat/completions", adapt_body(body, self._quirks))
        return await self._post(body) if self._learn_quirks(answer) else answer

    async def _post_formed(self, body: dict[str, Any], schema: Mapping[str, Any]) -> Answer:
        """Post in the strictest format that the server accepts. If it accepts none, the format was not what it
        refused."""
        formats = list_formats(schema)
        for number in range(self._first_format, len(formats)):
            answer = await self._post(body | formats[number])
            if not answer.refuses_form:
                self._first_format = number
                break
        return answer

    def _learn_quirks(self, answer: Answer) -> bool:
        """Return whether a refusal names a parameter that was not known to be refused; then to try again helps."""
        named = frozenset(quirk for quirk in QUIRKS if answer.status == 400 and quirk in answer.text)
        is_new = not named <= self._quirks
        self._quirks |= named
        return is_new

    async def _stream(self, body: dict[str, Any]) -> AsyncGenerator[str, None]:
        while True:
            opened = await self._server.open("POST", "/chat/completions", json=adapt_body(body, self._quirks))
            async with aclosing(opened) as response:
                if response.status_code == 200:
                    async for piece in read_pieces(response):
                        yield piece
                    return
                text = self._server.mask_key(await response.aread()).decode(errors="replace")
                refusal = Answer(response.status_code, text)
            self._server.check_length(refusal)
            if not self._learn_quirks(refusal):
                raise ReasonerFailed(f"{self._server.url}: HTTP {refusal.status}: {refusal.text[:SAID_CHARS]}")


def adapt_body(body: Mapping[str, Any], quirks: frozenset[str]) -> dict[str, Any]:
    made = dict(body)
    if "max_completion_tokens" in quirks:
        made["max_completion_tokens"] = made.pop("max_tokens")
    if "temperature" in quirks:
        del made["temperature"]
    return made


def list_formats(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the ways to ask for an answer of this schema, the strictest first."""
    named = {"name": str(schema.get("title", "answer")), "strict": True, "schema": schema}
    return [
        {"response_format": {"type": "json_schema", "json_schema": named}},
        {"response_format": {"type": "json_object", "schema": schema}},
        {"response_format": {"type": "json_object"}},
        {},  # plain text
    ]


def parse_reply(answer: dict[str, Any]) -> tuple[Reply, bool]:
    """Return the reply, and whether it was cut off before its end."""
    try:
        [choice, *_] = answer["choices"]
        text, why = choice["message"]["content"], choice.get("finish_reason")
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ReasonerFailed("the answer has no message in it") from None
    if not isinstance(text, str):
        raise ReasonerFailed(f"the answer's message has no text in it (finish_reason {why!r})")
    usage = answer.get("usage")
    counts = [usage.get(name) if isinstance(usage, dict) else 0 for name in ("prompt_tokens", "completion_tokens")]
    return Reply(text, *(count if isinstance(count, int) else 0 for count in counts)), why == "length"


async def read_pieces(response: httpx2.Response) -> AsyncGenerator[str, None]:
    """Yield the text of each event. Some servers ignore `stream` and answer whole; one that ends without an end mark
    broke off."""
    ended, whole = False, list[str]()
    async for line in response.aiter_lines():
        if not line.startswith(EVENT):
            whole.append(line)
            continue
        data = line.removeprefix(EVENT).strip()
        if data == DONE:
            return
        piece, is_last = parse_event(data)
        ended = ended or is_last
        if piece:
            yield piece
    if not ended:
        try:
            yield str(json.loads("".join(whole))["choices"][0]["message"]["content"])
        except (ValueError, LookupError, TypeError, RecursionError):
            raise ReasonerFailed("the answer broke off before its end") from None


def parse_event(data: str) -> tuple[str, bool]:
    """Return the text of one event, and whether it is the last with any."""
    try:
        event = json.loads(data)
        if event.get("error"):
            raise ReasonerFailed(f"the server broke off: {str(event['error'])[:SAID_CHARS]}")
        choices = event.get("choices") or [{}]
        return choices[0].get("delta", {}).get("content") or "", choices[0].get("finish_reason") is not None
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError):
        raise ReasonerFailed("the server sent an event that is not JSON in OpenAI's form") from None
