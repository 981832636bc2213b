"""Engines as users of other people's shapes open them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect import SyncEngine, connect_sync
from recollect.settings import Settings


@pytest.fixture
def plain(settings: Settings) -> Iterator[SyncEngine]:
    """An engine for code that does not await, with the local embedder and no worker."""
    with connect_sync(settings, worker=False) as engine:
        yield engine
