"""Row counts: a result that was cut says so, and how many rows there are where counting is cheap."""

from __future__ import annotations

import pytest

from recollect.apps.ask import source_registry
from recollect.apps.ask.semantic.access import EVERYTHING, Access
from recollect.apps.ask.semantic.draft import draft_model
from recollect.apps.ask.source_registry import View, fetch_rows
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sources.source import Source
from tests.apps.ask.conftest import Opener

NUMBERS = """WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {})
SELECT n, n AS again FROM numbers"""


async def fetch(source: Source, sql: str, limit: int, access: Access = EVERYTHING) -> Rows:
    catalog = await source.read_catalog()
    view = View(catalog, draft_model(catalog), access)
    return await fetch_rows(source, view, sql, limit, None)


@pytest.mark.parametrize(("limit", "count", "is_truncated"), [(49, 49, True), (50, 50, False), (51, 50, False)])
async def test_full_result_is_counted(shop: Source, limit: int, count: int, is_truncated: bool) -> None:
    found = await fetch(shop, NUMBERS.format(50), limit)
    assert (len(found.rows), found.is_truncated) == (count, is_truncated)
    assert found.total in (50, None if limit == 51 else 50)


async def test_limit_of_the_statement_is_not_a_cut(shop: Source) -> None:
    found = await fetch(shop, NUMBERS.format(50) + " LIMIT 7", 7)
    assert (len(found.rows), found.is_truncated) == (7, False)
    cut = await fetch(shop, NUMBERS.format(50) + " LIMIT 20", 7)
    assert (len(cut.rows), cut.is_truncated, cut.total) == (7, True, 20)


async def test_rows_that_cannot_be_counted_are_still_known_to_be_more(
    shop: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_registry, "COUNT_SECONDS", 0.0)
    found = await fetch(shop, NUMBERS.format(50), 7)
    assert (len(found.rows), found.is_truncated, found.total) == (7, True, None)
    whole = await fetch(shop, NUMBERS.format(7), 7)
    assert (len(whole.rows), whole.is_truncated) == (7, False)


async def test_counting_has_an_end(shop: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_registry, "MAX_COUNT", 30)
    found = await fetch(shop, NUMBERS.format(50), 7)
    assert (len(found.rows), found.is_truncated, found.total) == (7, True, None)


async def test_only_rows_that_the_role_may_see_are_counted(opened: Opener, sample: str) -> None:
    source = await opened(f"sqlite:///{sample}")
    sql, north = "SELECT name FROM customers", Access(rows={"customers": "region_id = 1"})
    everything, own = await fetch(source, sql, 5), await fetch(source, sql, 5, north)
    assert everything.total == 208
    assert own.total is not None
    assert 5 < own.total < 208
