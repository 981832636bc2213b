"""Health: asks the database how far the work has come. Never raises: a database that is away is an answer too."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from recollect.errors import RecollectError
from recollect.flows.parts import Parts
from recollect.model.health import Health, complaints

PATIENCE = 5.0  # seconds; whoever asks for health cannot wait as long as a request
MOST_TROUBLES = 5


async def health(parts: Parts) -> Health:
    embedder = parts.embedding.embedder.name if parts.embedding.embedder else None
    model = parts.reasoner.name if parts.reasoner else None
    try:
        async with asyncio.timeout(PATIENCE):
            work = await parts.store.work.status(parts.clock.now(), MOST_TROUBLES)
    except RecollectError as error:
        return Health(False, str(error), embedder=embedder, model=model)
    except TimeoutError:
        silent = f"PostgreSQL did not answer within {PATIENCE:g} seconds"
        return Health(False, silent, embedder=embedder, model=model)
    wrong = complaints(work)
    cache = None if parts.cache is None else asdict(parts.cache.counts)
    return Health(not wrong, "ok", work, embedder, model, wrong, cache)
