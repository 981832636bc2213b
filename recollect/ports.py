"""Ports: what we ask of the outside. Adapters are in providers/; wire.py chooses between them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)
