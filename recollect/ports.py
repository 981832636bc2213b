"""Ports: interfaces to outside services. Adapters are in providers/; bootstrap.py chooses between them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable
from uuid import UUID

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Converts texts to unit vectors. Raises EmbedderFailed."""

    @property
    def name(self) -> str:
        """The name under which its vectors are stored; another name means other vectors."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether it costs next to nothing: then every turn is embedded when it is recorded."""
        ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Message:
    """A message to a Reasoner, or one of its earlier replies."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply and its token counts; 0 if the server does not count."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0


class Reasoner(Protocol):
    """A language model. Raises ReasonerFailed."""

    @property
    def name(self) -> str:
        """Stored with what was learned from it."""
        ...

    async def answer(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Reply:
        """Return the reply; with a JSON schema the model is asked for that form, and the caller still checks it."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class StreamingReasoner(Protocol):
    """A Reasoner that can also stream its answer. Raises ReasonerFailed, perhaps after some pieces."""

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int = 1024, temperature: float = 0.0
    ) -> AsyncIterator[str]: ...


@runtime_checkable
class WindowedReasoner(Protocol):
    """A Reasoner that knows how much it can read."""

    async def window(self) -> int:
        """Return the tokens of prompt and reply together; 0 if that is not known."""
        ...


@runtime_checkable
class WatchedReasoner(Protocol):
    """A Reasoner that knows whether it works."""

    def problem(self) -> str:
        """Return why the last call failed; an empty text if it did not."""
        ...


class UpstreamAnswer(Protocol):
    """A response whose head has arrived and whose body is still to be read. The receiver closes it."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers by lower-case name."""
        ...

    def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives. Raises ReasonerFailed if it breaks off."""
        ...

    async def close(self) -> None: ...


class Upstream(Protocol):
    """A server of OpenAI's protocol that requests are forwarded to unchanged, each once. Raises ReasonerFailed if it
    does not answer; an error status is an answer."""

    async def send(self, method: str, path: str, body: bytes | None = None) -> UpstreamAnswer: ...

    async def window(self, model: str) -> int:
        """Return the tokens of a model's prompt and reply together; 0 if that is not known."""
        ...

    async def close(self) -> None: ...


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(slots=True)
class CacheCounts:
    """Hits, misses and errors of a cache since it was opened."""

    hits: int = 0
    misses: int = 0
    errors: int = 0


class Cache(Protocol):
    """A best-effort store of one owner's values by name. It never raises and never blocks for long; a failure counts as
    a miss. The caller validates what it returns."""

    @property
    def counts(self) -> CacheCounts: ...

    @property
    def is_up(self) -> bool:
        """Whether it answered the last request."""
        ...

    async def read(self, owner: UUID, names: Sequence[str]) -> list[bytes | None]:
        """Return the value of each name, or None."""
        ...

    def write(self, owner: UUID, values: Mapping[str, bytes]) -> None:
        """Write values in the background; returns at once, and a write may be lost."""
        ...

    async def drop(self, owner: UUID) -> None:
        """Remove everything of this owner, including pending writes. If the cache is down, do so when it is back."""
        ...

    async def close(self) -> None: ...
