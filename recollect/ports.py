"""Ports: what we ask of the outside. Adapters are in providers/; wire.py chooses between them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from recollect.model.document import Batch, Failure, Finished


class Embedder(Protocol):
    """Texts to unit vectors. Raises EmbedderFailed when it cannot."""

    @property
    def name(self) -> str:
        """Under this name its vectors are kept; another name means other vectors."""
        ...

    @property
    def is_local(self) -> bool:
        """It costs next to nothing: every turn is embedded as it is recorded."""
        ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Message:
    """What a Reasoner is told, or said itself."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What it answered, and what that cost; no tokens where it does not count them."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0


class Reasoner(Protocol):
    """A language model. Raises ReasonerFailed when it cannot answer."""

    @property
    def name(self) -> str:
        """Kept with what was learned from it."""
        ...

    async def answer(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Reply:
        """With a JSON schema it is asked to answer in that form; the caller still checks."""
        ...

    async def close(self) -> None: ...


class UpstreamAnswer(Protocol):
    """An answer on its way: its head is here, its body is still to be read. Whoever got it closes it."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """By names in small letters."""
        ...

    def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body as it comes. Raises ReasonerFailed where it breaks off."""
        ...

    async def close(self) -> None: ...


class Upstream(Protocol):
    """A server of OpenAI's protocol to which requests are passed on as they are, each once. Raises ReasonerFailed when
    it gives no answer; a refusal is an answer."""

    async def send(self, method: str, path: str, body: bytes | None = None) -> UpstreamAnswer: ...

    async def close(self) -> None: ...


class FileReader(Protocol):
    """Uploaded files in, blocks of text out. Whatever a file contains, the worst it can do is a Failure."""

    def glance(self, head: bytes, name: str) -> Failure | None:
        """What a file's first bytes say for certain: that it cannot be read."""
        ...

    def read(self, path: Path, name: str) -> AsyncGenerator[Batch | Finished | Failure, None]:
        """Batches and one last word; after a Failure, what came before is to be dropped. Raises OSError if the file
        cannot be opened. Whoever stops early closes it."""
        ...


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(slots=True)
class CacheCounts:
    """What a cache was good for since it was opened. Hits and misses count what was asked for, errors what failed."""

    hits: int = 0
    misses: int = 0
    errors: int = 0


class Cache(Protocol):
    """Values of one owner by name, for a while, perhaps. It never raises and never makes anybody wait for long: what it
    cannot do, it has not got. What it gives back may be anything; the caller checks."""

    @property
    def counts(self) -> CacheCounts: ...

    @property
    def is_up(self) -> bool:
        """It answered when it was last asked."""
        ...

    async def read(self, owner: UUID, names: Sequence[str]) -> list[bytes | None]:
        """The value of each name, or None."""
        ...

    def write(self, owner: UUID, values: Mapping[str, bytes]) -> None:
        """Returns at once; they are there soon, or not."""
        ...

    async def drop(self, owner: UUID) -> None:
        """Everything of this owner, and what is about to be written for him from before. While the cache is away, when
        it is back."""
        ...

    async def close(self) -> None: ...
