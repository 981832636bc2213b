"""A database of any earlier schema, with data, is upgraded by the first connection and works."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Scope, connect
from recollect.providers.fake import FakeEmbedder
from recollect.store.migrate import migrations
from tests.bounds import IS_LONG
from tests.old_schema import fill_old_schema

ALEX = Scope("alex", "monday")
OLD = [migration.version for migration in migrations()[1:-1]]


@pytest.mark.long
@pytest.mark.parametrize("version", OLD if IS_LONG else [OLD[0], OLD[len(OLD) // 2], OLD[-1]])
async def test_an_older_schema_is_upgraded_with_its_data(version: int, server: str) -> None:
    name = f"upgrade_{version}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    dsn = make_conninfo(server, dbname=name)
    await fill_old_schema(dsn, version, ALEX, "My bicycle is green.")
    async with connect(dsn=dsn, embedder=FakeEmbedder(), worker=False) as memory:
        await memory.record(ALEX, [("user", "My car is red.")])
        await memory.settle(ALEX)

        assert [turn.text for turn in await memory.history(ALEX)] == ["My bicycle is green.", "My car is red."]
        assert "car" in (await memory.recall(ALEX, "what colour is my car?")).hits[0].text
        receipt = await memory.forget(Scope("alex"))
        assert receipt.rows["turn"] == 2
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
