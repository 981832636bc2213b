"""Data sources: kept per project, whole for the host that opens them, without their secrets for everybody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from recollect import Engine, Scope, connect
from recollect.errors import InvalidInput, NotFound
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings
from recollect.values.data_source import DataSource

ALEX = Scope("alex", project="shop")
SHOP = DataSource("shop", "postgresql://reader:s3cret@db/shop?password=x1", "postgres", "f1", {"tables": []}, {"a": 1})


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        yield memory


async def test_a_data_source_is_kept_changed_listed_and_dropped(engine: Engine) -> None:
    kept = await engine.sources.put(ALEX, SHOP)
    changed = await engine.sources.put(ALEX, replace(SHOP, fingerprint="f2"))
    [listed] = await engine.sources.find(ALEX)

    assert (kept.catalog, kept.dsn, kept.fingerprint) == (SHOP.catalog, SHOP.dsn, "f1")
    assert changed.created_at == kept.created_at
    assert (listed.name, listed.fingerprint, listed.catalog) == ("shop", "f2", {})
    assert (await engine.sources.get(ALEX, "shop")).model == {"a": 1}

    await engine.sources.drop(ALEX, "shop")
    assert await engine.sources.find(ALEX) == []
    assert [row.action for row in await engine.audit(ALEX, owner="project")].count("connected") == 2


async def test_another_project_has_other_data_sources(engine: Engine) -> None:
    await engine.sources.put(ALEX, SHOP)
    other = Scope("alex", project="farm")

    assert await engine.sources.find(other) == []
    for ask in (engine.sources.get(other, "shop"), engine.sources.drop(other, "shop")):
        with pytest.raises(NotFound, match="'farm' has no data source 'shop'"):
            await ask


def test_a_data_source_never_shows_its_password() -> None:
    assert SHOP.masked_dsn == "postgresql://reader:***@db/shop?password=***"
    assert "s3cret" not in repr(SHOP)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (replace(SHOP, name=""), "name"),
        (replace(SHOP, name="a/b"), "name"),
        (replace(SHOP, dsn=""), "dsn"),
        (replace(SHOP, catalog=[1]), "catalog"),  # type: ignore[arg-type]
        (replace(SHOP, model={"x": {1}}), "model"),
    ],
)
async def test_a_wrong_data_source_is_refused_by_field(engine: Engine, wrong: DataSource, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await engine.sources.put(ALEX, wrong)
    assert refused.value.field == field


async def test_askers_of_a_shape_are_counted_once_each_and_forgotten_with_them(engine: Engine) -> None:
    blake = Scope("blake", project="shop")
    assert [await engine.sources.count_askers(each, "sales by ?") for each in (ALEX, ALEX, blake)] == [1, 1, 2]
    assert await engine.sources.count_askers(ALEX, "sales in ?") == 1

    await engine.forget(blake)

    assert await engine.sources.count_askers(ALEX, "sales by ?") == 1
