"""The library: what the ontology tells of a source is what every role may see, and goes with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from recollect import Engine, Scope, connect
from recollect.hosts.sql.library import Library
from recollect.hosts.sql.sample import make_sample
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings

DANA = Scope("dana", project="company")


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        yield memory


@pytest.fixture
async def library(engine: Engine, tmp_path: Path) -> AsyncIterator[Library]:
    make_sample(tmp_path / "shop.db")
    one = Library(engine)
    await one.add(DANA, "shop", f"sqlite:///{tmp_path / 'shop.db'}")
    yield one
    await one.close()


async def told(engine: Engine) -> set[str]:
    return {term.name for term in await engine.terms(DANA, kind="table", limit=1000)}


async def test_the_ontology_tells_nobody_of_a_table_that_some_may_not_see(engine: Engine, library: Library) -> None:
    assert "employees" in await told(engine)

    await library.edit(DANA, "shop", access={"user": {"tables": ["sales", "regions"]}, "data": {}})

    assert await told(engine) == {"sales", "regions"}
    assert not (await engine.resolve(DANA, "employees")).is_resolved


async def test_a_source_that_is_dropped_takes_its_terms_along(engine: Engine, library: Library) -> None:
    await library.drop(DANA, "shop")

    assert await told(engine) == set()
    assert await library.listed(DANA) == []


async def test_hidden_columns_are_not_told_either(engine: Engine, library: Library) -> None:
    await library.edit(DANA, "shop", access={"user": {"hidden": {"employees": ["salary"]}}})
    columns = {term.name for term in await engine.terms(DANA, kind="column", limit=5000)}
    assert "employees.title" in columns
    assert "employees.salary" not in columns
