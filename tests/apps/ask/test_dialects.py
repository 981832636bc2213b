"""The same questions, row rules and taught conditions in each kind of database, with the same answers."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from recollect.apps.ask.gate import Allowed, check_sql
from recollect.apps.ask.interpret import Result, SchemaIndex, decide, link_question, propose, render_frame
from recollect.apps.ask.interpret.frame import Frame, Group, Metric, Ref
from recollect.apps.ask.semantic.access import Access, restrict_sql
from recollect.apps.ask.semantic.catalog import Catalog
from recollect.apps.ask.semantic.draft import draft_model
from recollect.apps.ask.sources.source import Source
from recollect.apps.ask.sql_text import ground_condition
from recollect.errors import QueryFailed
from tests.apps.ask.conftest import Opener, as_url
from tests.apps.ask.interpret.interpret_shop import SCHEMA, TODAY
from tests.apps.ask.shop_data import mysql_owner, sqlite_file

# Without the airports: their keys have stray blanks, which only SQLite accepts.
STATEMENTS = [each for each in SCHEMA.split(";\n") if each.strip() and "airport" not in each and "flights" not in each]


@pytest.fixture(params=["sqlite", "postgres", "duckdb", "mysql"])
def dsn(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The shop of the interpretation's tests."""
    if request.param == "sqlite":
        return sqlite_file(tmp_path / "shop.db", ";\n".join(STATEMENTS))
    if request.param == "duckdb":
        with duckdb.connect(tmp_path / "shop.duckdb") as connection:
            for sql in STATEMENTS:
                connection.execute(sql)
        return f"duckdb:///{tmp_path / 'shop.duckdb'}"
    if request.param == "mysql":
        server = str(request.getfixturevalue("mysql"))
        with mysql_owner(server) as owner:
            for sql in ("DROP DATABASE IF EXISTS dialects", "CREATE DATABASE dialects", "USE dialects", *STATEMENTS):
                owner.cursor().execute(sql)
        return f"{server}dialects"
    database = str(request.getfixturevalue("database"))
    with psycopg.connect(database, autocommit=True) as server_connection:
        for sql in STATEMENTS:
            server_connection.execute(sql.encode())
    return as_url(database)


@pytest.fixture
async def source(dsn: str, opened: Opener) -> Source:
    return await opened(dsn)


async def run(source: Source, catalog: Catalog, sql: str) -> list[tuple[Any, ...]]:
    """Pass the gate, then run."""
    tables = {table.name: [column.name for column in table.columns] for table in catalog.tables}
    checked = check_sql(sql, source.dialect, Allowed(tables), rows=100)
    return sorted((await source.run(checked.sql)).rows, key=repr)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many customers are from Germany?", [(2,)]),
        ("total amount of orders in 2024", [(200.0,)]),
        ("Which customers have no orders?", [("Dan",)]),
        ("customers without orders in 2025", [("Ben",), ("Dan",)]),
        ("number of orders by month", [("2024-03", 1), ("2024-12", 1), ("2025-01", 1), ("2025-02", 1)]),
        ("number of orders by quarter", [("2024-Q1", 1), ("2024-Q4", 1), ("2025-Q1", 2)]),
        ("total amount by year", [("2024", 200.0), ("2025", 120.0)]),
        ("share of total amount by country", [("France", 31.25), ("Germany", 68.75)]),
        ("top 1 customers by total amount", [("Ada", 150.0)]),
    ],
)
async def test_questions_have_the_same_answer_in_each_dialect(
    source: Source, question: str, rows: list[tuple[Any, ...]]
) -> None:
    catalog = await source.read_catalog()
    index = SchemaIndex.build(draft_model(catalog), catalog)
    candidates = propose(link_question(question, index, today=TODAY))
    results = {}
    for each in candidates:
        try:
            results[each.id] = Result(tuple(await run(source, catalog, each.sql)))
        except QueryFailed as error:
            results[each.id] = Result(error=str(error))
    best = decide(candidates, results).candidates[0]
    found = await run(source, catalog, best.sql)
    assert [row[: len(rows[0])] for row in found] == rows, best.sql


@pytest.mark.parametrize("grain", ["year", "quarter", "month", "week", "weekday", "day", "hour"])
async def test_grains_group_the_same_days_together(source: Source, grain: str) -> None:
    catalog = await source.read_catalog()
    index = SchemaIndex.build(draft_model(catalog), catalog)
    frame = Frame(
        subject="orders",
        metrics=(Metric("count", Ref("orders")),),
        groups=(Group(Ref("orders", "order_date"), grain=grain),),  # type: ignore[arg-type]
    )
    rows = await run(source, catalog, render_frame(frame, index))
    whole_weeks = [1, 1, 1, 1] if source.dialect == "sqlite" else [1, 1, 2]  # one week has the end of a year in it
    counts = {"year": [2, 2], "quarter": [1, 1, 2], "week": whole_weeks}.get(grain, [1, 1, 1, 1])
    if grain == "weekday":  # 2024-03-05 and 2024-12-31 are Tuesdays
        assert rows == [("2", 2), ("3", 1), ("6", 1)]
    else:
        assert sorted(row[1] for row in rows) == counts


async def test_row_rules_hold_in_each_dialect(source: Source) -> None:
    """A condition of the statement never runs on hidden rows: its error would tell of them."""
    access = Access(rows={"customers": "country = 'Germany'"})
    count = restrict_sql("SELECT count(*) FROM customers", source.dialect, access)
    assert (await source.run(count)).rows == ((2,),)
    found = await source.find_values([("customers", "name")], ["ada", "ben"], rules=access.rows)
    assert [each.value for each in found] == ["Ada"]
    cast = {"mysql": "CAST(NULL AS SIGNED)", "sqlite": "NULL"}.get(source.dialect, "CAST('x' || name AS INTEGER)")
    trap = f"SELECT count(*) FROM customers WHERE CASE WHEN name = 'Ben' THEN {cast} ELSE 1 END = 1"
    assert (await source.run(restrict_sql(trap, source.dialect, access))).rows == ((2,),)
    if source.dialect in ("postgres", "duckdb"):
        with pytest.raises(QueryFailed):  # without the rule it does run on them
            await source.run(trap)


@pytest.mark.parametrize(
    "condition",
    [
        "last_login > NOW() - INTERVAL '30 days'",
        "last_login > NOW() - INTERVAL 30 DAY",
        "last_login > CURRENT_DATE - 30",
        "last_login >= CURRENT_DATE - INTERVAL '1' MONTH",
    ],
)
async def test_taught_conditions_run_in_each_dialect(source: Source, condition: str) -> None:
    grounded = ground_condition(condition, source.dialect, date(2025, 6, 15))
    catalog = await source.read_catalog()
    found = await run(source, catalog, f"SELECT name FROM customers WHERE {grounded}")
    assert found == [("Ada",), ("Ben",)]


def test_mysql_intervals_become_dates() -> None:
    grounded = ground_condition("d >= DATE_SUB(CURDATE(), INTERVAL 30 DAY)", "mysql", date(2024, 6, 30))
    assert grounded == "d >= '2024-05-31'"
    assert ground_condition("name ~ '^a'", "mysql", date(2024, 6, 30)) == "name REGEXP '^a'"
