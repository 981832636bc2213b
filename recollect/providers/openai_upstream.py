"""The upstream of the proxy: requests passed on as bytes to a server that speaks OpenAI's protocol, answers as bytes
back. Nothing is tried again, because the client does that; an answer may be silent for no longer than the timeout."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from recollect.errors import ReasonerFailed
from recollect.providers.model_gate import gate_for
from recollect.providers.openai_http import OpenAIServer

if TYPE_CHECKING:
    import httpx2


class OpenAIUpstream:
    def __init__(self, url: str, key: str = "", *, timeout: float = 300.0, slots: int = 1) -> None:
        self._server = OpenAIServer(url, key, timeout, ReasonerFailed)
        self._gate = gate_for(self._server.url, slots)

    async def send(self, method: str, path: str, body: bytes | None = None) -> OpenAIAnswer:
        with ExitStack() as slot:
            slot.enter_context(self._gate.reply())
            response = await self._server.open(method, path, content=body)
            return OpenAIAnswer(self._server, response, slot.pop_all())

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
        """As they come; a refusal in one, without the key that it may quote."""
        import httpx2

        try:
            if self._response.is_error:
                yield self._server.without_key(await self._response.aread())
                return
            async for piece in self._response.aiter_bytes():
                yield piece
        except httpx2.HTTPError as error:
            raise self._server.failure(error) from None

    async def close(self) -> None:
        self._slot.close()
        await self._response.aclose()
