"""The registry: what the ontology tells of a source is what every role may see, and goes with it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from recollect import Engine, Scope, connect
from recollect.apps.ask.sample import make_sample
from recollect.apps.ask.source_registry import SourceRegistry
from recollect.apps.ask.sources.address_rules import read_rules
from recollect.errors import InvalidInput, RecollectError
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings

DANA = Scope("dana", project="company")


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        yield memory


@pytest.fixture
async def registry(engine: Engine, settings: Settings, tmp_path: Path) -> AsyncIterator[SourceRegistry]:
    make_sample(tmp_path / "shop.db")
    one = SourceRegistry(engine, settings, read_rules(settings, tmp_path))
    await one.add(DANA, "shop", f"sqlite:///{tmp_path / 'shop.db'}")
    yield one
    await one.close()


async def told(engine: Engine) -> set[str]:
    return {term.name for term in await engine.terms.find(DANA, kind="table", limit=1000)}


async def test_the_ontology_tells_nobody_of_a_table_that_some_may_not_see(
    engine: Engine, registry: SourceRegistry
) -> None:
    assert "employees" in await told(engine)

    await registry.edit(DANA, "shop", access={"user": {"tables": ["sales", "regions"]}, "data": {}})

    assert await told(engine) == {"sales", "regions"}
    assert not (await engine.resolve(DANA, "employees")).is_resolved


async def test_a_source_that_is_dropped_takes_its_terms_along(engine: Engine, registry: SourceRegistry) -> None:
    await registry.drop(DANA, "shop")

    assert await told(engine) == set()
    assert await registry.find_all(DANA) == []


async def test_hidden_columns_are_not_told_either(engine: Engine, registry: SourceRegistry) -> None:
    await registry.edit(DANA, "shop", access={"user": {"hidden": {"employees": ["salary"]}}})
    columns = {term.name for term in await engine.terms.find(DANA, kind="column", limit=5000)}
    assert "employees.title" in columns
    assert "employees.salary" not in columns


def make_islands(path: Path, *names: str) -> str:
    """The DSN of a new SQLite file with a table of islands."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE islands (id INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO islands (name) VALUES (?)", [(name,) for name in names])
    connection.close()
    return f"sqlite:///{path}"


async def test_values_that_differ_in_blanks_can_be_added(
    engine: Engine, registry: SourceRegistry, tmp_path: Path
) -> None:
    dsn = make_islands(tmp_path / "blanks.db", "North", "North ", " North", "North\n", "\u3000", "South")

    shelf = await registry.add(DANA, "blanks", dsn)

    values = {term.name for term in await engine.terms.find(DANA, search="islands.name", kind="value", limit=100)}
    assert {"islands.name=North", "islands.name=South"} <= values
    column = shelf.catalog.table("islands")
    assert column is not None
    assert "North " in column.columns[1].values


async def test_adding_that_fails_leaves_nothing_behind(
    engine: Engine, registry: SourceRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terms are written with the source or not at all, also where the ontology has no room left."""
    monkeypatch.setattr("recollect.values.term.MAX_TERMS", len(await engine.terms.find(DANA, limit=20_000)) + 1)
    dsn = make_islands(tmp_path / "more.db", "Skye", "Mull")
    before = await told(engine)

    with pytest.raises(InvalidInput, match="more than"):
        await registry.add(DANA, "more", dsn)

    assert [source.name for source in await registry.find_all(DANA)] == ["shop"]
    assert await told(engine) == before


async def test_a_failed_write_of_terms_keeps_no_source(
    engine: Engine, registry: SourceRegistry, tmp_path: Path, database: str
) -> None:
    """The database itself refuses the terms: the source that was sent in the same transaction is gone too."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("ALTER TABLE recollect.term ADD CONSTRAINT no_skye CHECK (name NOT LIKE '%Skye%')")
    dsn = make_islands(tmp_path / "more.db", "Skye", "Mull")

    with pytest.raises(RecollectError, match="no_skye"):
        await registry.add(DANA, "more", dsn)

    assert [source.name for source in await registry.find_all(DANA)] == ["shop"]
