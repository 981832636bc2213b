"""The store's part for data sources: the databases that a project asks, and how many of its users ask alike."""

from __future__ import annotations

import json
from datetime import datetime

from recollect.model.audit import Deed
from recollect.model.data_source import DataSource
from recollect.model.ids import ScopeId
from recollect.store.database import Database
from recollect.store.memories import audited

MOST_ASKERS = 10


class DataSourceStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def listed(self, project: ScopeId) -> list[DataSource]:
        """All of them, by name, without catalogs and models."""
        [rows] = await self._database.run(project, ("data_source.list", {}))
        return [DataSource(*row) for row in rows]

    async def find(self, project: ScopeId, name: str) -> DataSource | None:
        [rows] = await self._database.run(project, ("data_source.find", {"name": name}))
        return DataSource(*rows[0]) if rows else None

    async def put(self, project: ScopeId, source: DataSource, deed: Deed, now: datetime) -> DataSource:
        row = {
            "name": source.name,
            "dsn": source.dsn,
            "dialect": source.dialect,
            "fingerprint": source.fingerprint,
            "catalog": json.dumps(source.catalog),
            "model": json.dumps(source.model),
            "access": json.dumps(source.access),
            "now": now,
        }
        rows, _ = await self._database.run(project, ("data_source.put", row), audited([deed], now), write=True)
        return DataSource(*rows[0])

    async def drop(self, project: ScopeId, name: str, deed: Deed, now: datetime) -> bool:
        rows, _ = await self._database.run(
            project, ("data_source.drop", {"name": name}), audited([deed], now), write=True
        )
        return bool(rows)

    async def asked(self, project: ScopeId, digest: bytes, asker: ScopeId, now: datetime) -> int:
        """Notes that somebody asked a question of this shape; how many users have, up to a few."""
        who = {"digest": digest, "asker": asker, "most": MOST_ASKERS, "now": now}
        [[(count,)]] = await self._database.run(project, ("shape.ask", who), write=True)
        return int(count)

    async def forget_asker(self, project: ScopeId, asker: ScopeId) -> None:
        await self._database.run(project, ("shape.forget_asker", {"asker": asker}), write=True)
