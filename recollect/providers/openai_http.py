"""Posting to a server that speaks OpenAI's protocol: tried again where that helps, bounded in time, the key kept back.

The embedder (openai.py), the reasoner (openai_chat.py, openai_stream.py) and the upstream of the proxy
(openai_upstream.py) differ in what they send and read; this is what they share.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recollect.errors import PromptTooLong, RecollectError

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


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str
    wait: float = 0.0  # seconds, as Retry-After asks

    @property
    def refuses_form(self) -> bool:
        """It may: many servers do not know every response_format. llama-cpp-python says so with a 500."""
        refuses = self.status in (400, 422) or (self.status != 200 and "response_format" in self.text)
        return refuses and not self.is_too_long

    @property
    def is_too_long(self) -> bool:
        """Whether it refuses the prompt for its length: servers say so with several codes."""
        return self.status in (400, 413, 422, 500) and TOO_LONG.search(self.text) is not None

    @property
    def is_final(self) -> bool:
        return self.status not in WORTH_REPEATING or self.refuses_form or self.is_too_long


class OpenAIServer:
    """`failed` is the error that its caller's callers know."""

    def __init__(
        self, url: str, key: str, timeout: float, failed: type[RecollectError], first: float | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._key = key
        self._first = first or timeout  # seconds of silence in a stream
        self._failed = failed

    async def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Return the server's last answer, perhaps a refusal. All tries together take no longer than the timeout."""
        try:
            async with asyncio.timeout(self.timeout) as limit:
                return await self._post(path, body, limit.when() or 0.0)
        except TimeoutError:
            raise self._failed(f"{self.url} did not answer within {self.timeout:g} s per call") from None

    def read(self, answer: Answer) -> dict[str, Any]:
        """The JSON object in an answer."""
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
        """An answer of which the head has come, asked for once; the caller reads and closes it."""
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

    async def get(self, path: str) -> dict[str, Any]:
        """Return the JSON object that the server has there; an empty one if it does not say."""
        import httpx2

        try:
            response = await self._client.get(self.url + path, timeout=GET_SECONDS)
            return dict(response.json()) if response.is_success else {}
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError):
            return {}

    def failure(self, error: Exception) -> RecollectError:
        """What went wrong on the way, as our callers know it."""
        return self._failed(f"{self.url}: {type(error).__name__} {error}".strip())

    def without_key(self, said: bytes) -> bytes:
        """Some servers quote the key that they refuse."""
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
        """One answer, or why there was none."""
        import httpx2

        try:
            response = await self._client.post(self.url + path, json=body)
        except httpx2.HTTPError as error:
            return f"{type(error).__name__} {error}".strip()
        text = self.without_key(response.content).decode(response.encoding or "utf-8", errors="replace")
        return Answer(response.status_code, text, seconds(response.headers.get("retry-after", "")))

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return httpx2.AsyncClient(timeout=self.timeout, headers=headers)


def seconds(retry_after: str) -> float:
    """Of a Retry-After header, which is a number or a date; 0 for anything else."""
    if retry_after.isdecimal():
        return float(retry_after[:9])
    try:
        at = parsedate_to_datetime(retry_after)
    except ValueError:
        return 0.0
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
