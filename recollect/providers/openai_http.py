"""HTTP to a server that speaks OpenAI's protocol: `OpenAIServer` retries where that helps, keeps to a time-out and
never repeats the key. The embedder and the language model (openai.py) use it.

`OpenAIUpstream` is the upstream of the proxy: it passes requests on as bytes and returns answers as bytes. It retries
nothing, because the client does that; an answer may be silent for no longer than the time-out.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recollect.errors import PromptTooLong, ReasonerFailed, RecollectError
from recollect.providers.model_gate import gate_for

if TYPE_CHECKING:
    import httpx2

TRIES = 3
GET_SECONDS = 5.0
WAIT = 0.2  # seconds before the second try; doubled before the third
WORTH_REPEATING = (408, 409, 425, 429, 500, 502, 503, 504)
TOO_LONG = re.compile(
    r"context.{0,20}(?:length|size|window)|exceed\w*.{0,40}(?:context|tokens)"
    r"|(?:prompt|input|request) is too (?:long|large)",
    re.IGNORECASE,
)
SAID_CHARS = 200  # of a refusal, in our error
# How servers name the context: llama.cpp, vLLM, LM Studio, OpenRouter and others.
WINDOWS = ("n_ctx", "max_model_len", "loaded_context_length", "context_length", "max_context_length")


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str
    wait: float = 0.0  # seconds, as Retry-After asks

    @property
    def refuses_form(self) -> bool:
        """Whether it may refuse the response_format: many servers do not support all. llama-cpp-python answers 500."""
        refuses = self.status in (400, 422) or (self.status != 200 and "response_format" in self.text)
        return refuses and not self.is_too_long

    @property
    def is_too_long(self) -> bool:
        """Whether it refuses the prompt for its length, for which servers use several codes."""
        return self.status in (400, 413, 422, 500) and TOO_LONG.search(self.text) is not None

    @property
    def is_final(self) -> bool:
        return self.status not in WORTH_REPEATING or self.refuses_form or self.is_too_long


class OpenAIServer:
    """A server; `failed` is the error to raise."""

    def __init__(
        self, url: str, key: str, timeout: float, failed: type[RecollectError], first: float | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._key = key
        self._first = first or timeout  # seconds of silence in a stream
        self._failed = failed
        self._windows: dict[str, int] = {}  # by model

    async def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Return the server's last answer, perhaps a refusal. All tries together take no longer than the timeout."""
        try:
            async with asyncio.timeout(self.timeout) as limit:
                return await self._post(path, body, limit.when() or 0.0)
        except TimeoutError:
            raise self._failed(f"{self.url} did not answer within {self.timeout:g} s per call") from None

    def read(self, answer: Answer) -> dict[str, Any]:
        """Return the JSON object in an answer."""
        self.check_length(answer)
        if answer.status != 200:
            raise self._failed(f"{self.url}: HTTP {answer.status}: {answer.text[:SAID_CHARS]}")
        try:
            return dict(json.loads(answer.text))
        except (ValueError, TypeError, RecursionError):
            raise self._failed(f"{self.url} answered something that is not JSON") from None

    def check_length(self, answer: Answer) -> None:
        """Raise PromptTooLong if the server refuses the prompt for its length."""
        if answer.is_too_long:
            raise PromptTooLong(f"{self.url}: HTTP {answer.status}: {answer.text[:SAID_CHARS]}")

    async def open(
        self, method: str, path: str, *, json: dict[str, Any] | None = None, content: bytes | None = None
    ) -> httpx2.Response:
        """Return an answer whose head has arrived. It is asked for once; the caller reads and closes it."""
        import httpx2

        try:
            # Bytes that are passed on are passed on as they are, so none are to be packed.
            plain = {"Accept-Encoding": "identity"} | ({"Content-Type": "application/json"} if content else {})
            request = self._client.build_request(
                method, self.url + path, json=json, content=content, headers=plain, timeout=self._first
            )
            return await self._client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self.failure(error) from None

    async def find_window(self, model: str) -> int:
        """Return the tokens of a model's context window; 0 if the server does not say. It is asked until it answers."""
        import httpx2

        if model not in self._windows:
            try:
                response = await self._client.get(self.url + "/models", timeout=GET_SECONDS)
                models = dict(response.json()) if response.is_success else {}
            except (httpx2.HTTPError, httpx2.InvalidURL):
                return 0
            except (ValueError, TypeError):
                models = {}
            self._windows[model] = read_window(models, model)
        return self._windows[model]

    def failure(self, error: Exception) -> RecollectError:
        """Return a transport error as the error that callers know."""
        return self._failed(f"{self.url}: {type(error).__name__} {error}".strip())

    def mask_key(self, said: bytes) -> bytes:
        """Return text of the server without the key: some servers quote the key that they refuse."""
        return said.replace(self._key.encode(), b"***") if self._key else said

    async def close(self) -> None:
        if "_client" in self.__dict__:
            await self._client.aclose()

    async def _post(self, path: str, body: dict[str, Any], until: float) -> Answer:
        problem = ""
        for attempt in range(TRIES):
            answer = await self._try(path, body)
            if isinstance(answer, Answer) and answer.is_final:
                return answer
            problem, asked = (answer, 0.0) if isinstance(answer, str) else (f"HTTP {answer.status}", answer.wait)
            if asyncio.get_running_loop().time() + asked > until:
                raise self._failed(f"{self.url}: {problem}, and asks to wait {asked:g} s; try again after that")
            if attempt < TRIES - 1:
                await asyncio.sleep(max(WAIT * 2**attempt, asked))
        raise self._failed(f"{self.url}: {problem}")

    async def _try(self, path: str, body: dict[str, Any]) -> Answer | str:
        """Return one answer, or why there was none."""
        import httpx2

        try:
            response = await self._client.post(self.url + path, json=body)
        except httpx2.HTTPError as error:
            return f"{type(error).__name__} {error}".strip()
        text = self.mask_key(response.content).decode(response.encoding or "utf-8", errors="replace")
        return Answer(response.status_code, text, parse_retry_after(response.headers.get("retry-after", "")))

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return httpx2.AsyncClient(timeout=self.timeout, headers=headers)


def parse_retry_after(text: str) -> float:
    """Return the seconds of a Retry-After header, which is a number or a date; 0 for anything else."""
    if text.isdecimal():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def read_window(models: Mapping[str, Any], name: str) -> int:
    """Return the context window in a list of models: llama.cpp, vLLM and others name it differently; 0 if none does."""
    listed = [each for each in models.get("data") or () if isinstance(each, dict)]
    model = max(listed, key=lambda each: each.get("id") == name, default={})  # the named one, or else the first
    sizes = map({**model, **(model.get("meta") or {})}.get, WINDOWS)
    return next((size for size in sizes if isinstance(size, int) and size > 0), 0)


class OpenAIUpstream:
    def __init__(self, url: str, key: str = "", *, timeout: float = 300.0, slots: int = 1, window: int = 0) -> None:
        self._window = window
        self._server = OpenAIServer(url, key, timeout, ReasonerFailed)
        self._gate = gate_for(self._server.url, slots)

    async def send(self, method: str, path: str, body: bytes | None = None) -> OpenAIAnswer:
        with ExitStack() as slot:
            slot.enter_context(self._gate.reply())
            response = await self._server.open(method, path, content=body)
            return OpenAIAnswer(self._server, response, slot.pop_all())

    async def window(self, model: str) -> int:
        return self._window or await self._server.find_window(model)

    async def close(self) -> None:
        await self._server.close()


class OpenAIAnswer:
    def __init__(self, server: OpenAIServer, response: httpx2.Response, slot: ExitStack) -> None:
        self._server = server
        self._response = response
        self._slot = slot  # held until the answer is closed

    @property
    def status(self) -> int:
        return self._response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        return dict(self._response.headers)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives; a refusal in one piece, without the key that it may quote."""
        import httpx2

        try:
            if self._response.is_error:
                yield self._server.mask_key(await self._response.aread())
                return
            async for piece in self._response.aiter_bytes():
                yield piece
        except httpx2.HTTPError as error:
            raise self._server.failure(error) from None

    async def close(self) -> None:
        self._slot.close()
        await self._response.aclose()
