"""Data sources: the databases that a project asks, kept and given back; and which questions its users share. Who
may, is for the door to say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from recollect.errors import NotFound
from recollect.flows.parts import Parts
from recollect.model.audit import Deed
from recollect.model.data_source import DataSource, checked_data_source
from recollect.model.ids import MemoryId
from recollect.model.scope import Scope


async def data_sources(parts: Parts, scope: Scope) -> list[DataSource]:
    return await parts.store.data_sources.listed(scope.project_id)


async def data_source(parts: Parts, scope: Scope, name: str) -> DataSource:
    found = await parts.store.data_sources.find(scope.project_id, name)
    if found is None:
        raise NotFound(f"project {scope.project!r} has no data source {name!r}")
    return found


async def put_data_source(parts: Parts, scope: Scope, source: DataSource) -> DataSource:
    source = checked_data_source(source)
    deed = Deed(scope.user, "connected", f"data source:{source.name}", {"fingerprint": source.fingerprint})
    return await parts.store.data_sources.put(scope.project_id, source, deed, parts.clock.now())


async def drop_data_source(parts: Parts, scope: Scope, name: str) -> None:
    await data_source(parts, scope, name)
    deed = Deed(scope.user, "disconnected", f"data source:{name}", {})
    await parts.store.data_sources.drop(scope.project_id, name, deed, parts.clock.now())


async def asked(parts: Parts, scope: Scope, shape: str) -> int:
    """Only a digest of it is kept."""
    digest = hashlib.sha256(shape.encode()).digest()
    return await parts.store.data_sources.asked(scope.project_id, digest, scope.id, parts.clock.now())


def used(parts: Parts, scope: Scope, memories: Iterable[MemoryId]) -> None:
    """An id is of one of the two; the other counts nothing."""
    noted = list(memories)
    for holder in (scope.id, scope.project_id):
        parts.usage.note(holder, noted)
