"""A checked statement runs, and whatever slips past the gate still cannot write, run on, or fill the memory."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Coroutine
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from recollect.apps.ask.sources.address_rules import LOCAL_RULES
from recollect.apps.ask.sources.opening import authorize
from recollect.apps.ask.sources.running import convert_value
from recollect.apps.ask.sources.source import Source, open_source
from recollect.errors import InvalidInput, QueryFailed, RecollectError, SourceUnavailable
from recollect.values.data_source import mask_dsn as masked
from tests.apps.ask.shop_data import sqlite_shop

Opener = Callable[..., Coroutine[Any, Any, Source]]

SLOW = {
    "sqlite": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c",
    "postgres": "SELECT pg_sleep(600)",
    "duckdb": "SELECT count(*) FROM range(1000000000000) WHERE range % 7 = 3",
    "mysql": "SELECT sleep(600)",
}
MANY = {
    "sqlite": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c",
    "postgres": "SELECT generate_series(1, 2000000000) AS n",
    "duckdb": "SELECT range AS n FROM range(1, 2000000000)",
    "mysql": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000) SELECT n FROM c",
}
WRITES = [
    "DELETE FROM {p}orders",
    "UPDATE {p}orders SET total = 0",
    "INSERT INTO {p}products VALUES (9, 'x', 1)",
    "DROP TABLE {p}order_items",
    "CREATE TABLE {p}mine AS SELECT 1",
    "SELECT 1; DELETE FROM {p}orders",
    "COMMIT; DELETE FROM {p}orders",
]


def named(source: Source, sql: str) -> str:
    return sql.format(p="shopdata." if source.dialect == "postgres" else "")


def asleep(database: str) -> int:
    """How many statements of this database the server has asleep."""
    with psycopg.connect(database) as owner:
        row = owner.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
        ).fetchone()
    assert row is not None
    return int(row[0])


async def until(happened: Callable[[], bool]) -> None:
    for _ in range(500):
        if await asyncio.to_thread(happened):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen")


async def test_a_statement_gives_its_rows_with_marks_as_they_are_written(shop: Source) -> None:
    sql = "SELECT title, price, ':name' AS a, '%s %% 100%' AS b FROM {p}products WHERE title LIKE '%!%' ESCAPE '!'"
    found = await shop.run(named(shop, sql))
    assert found.columns == ("title", "price", "a", "b")
    assert found.rows == (("Tea 100%", 4.1, ":name", "%s %% 100%"),)
    assert not found.is_truncated


@pytest.mark.parametrize("sql", WRITES)
async def test_what_slips_past_the_gate_cannot_write(shop: Source, sql: str) -> None:
    with pytest.raises(QueryFailed):
        await shop.run(named(shop, sql))
    kept = await shop.run(named(shop, "SELECT count(*), sum(total) FROM {p}orders"))
    assert kept.rows == ((12, 59.19),)


@pytest.mark.parametrize(
    "sql",
    ["ATTACH 'other.db' AS o", "PRAGMA query_only = off", "PRAGMA writable_schema = on", "SELECT load_extension('x')"],
)
async def test_sqlite_only_lets_reading_through(opened: Opener, tmp_path: Path, sql: str) -> None:
    source = await opened(sqlite_shop(tmp_path))
    with pytest.raises(QueryFailed, match=r"not authorized|prohibited"):
        await source.run(sql)


def test_each_lock_of_sqlite_holds_by_itself(tmp_path: Path) -> None:
    path = sqlite_shop(tmp_path).removeprefix("sqlite:///")
    read_only = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    query_only, authorized = sqlite3.connect(path), sqlite3.connect(path)
    query_only.execute("PRAGMA query_only = on")
    authorized.set_authorizer(authorize)
    for connection in (read_only, query_only, authorized):
        with pytest.raises(sqlite3.DatabaseError, match=r"readonly|read-only|not authorized"):
            connection.execute("DELETE FROM orders")
        connection.close()


async def test_an_account_reads_what_it_may_read_only(postgres_shop: str, reader: str, opened: Opener) -> None:
    source = await opened(f"{postgres_shop}&options=-crole%3D{reader}")
    assert (await source.run("SELECT current_user::text")).rows == ((reader,),)
    with pytest.raises(QueryFailed, match="permission denied"):
        await source.run("SELECT * FROM shopdata.products")


async def test_the_transaction_is_read_only_even_for_a_function_that_writes(
    database: str, postgres_shop: str, opened: Opener
) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(
            "CREATE FUNCTION shopdata.wipe() RETURNS int LANGUAGE sql AS 'DELETE FROM shopdata.orders; SELECT 1'"
        )
    with pytest.raises(QueryFailed, match="read-only transaction"):
        await (await opened(postgres_shop)).run("SELECT shopdata.wipe()")


async def test_a_slow_statement_ends_when_its_time_is_up(shop: Source) -> None:
    with pytest.raises(QueryFailed, match=r"took longer than 0\.3 s"):
        await shop.run(SLOW[shop.dialect], timeout=0.3)
    assert (await shop.run("SELECT 1")).rows == ((1,),)


async def test_a_cancelled_task_ends_its_statement_on_the_server(
    database: str, postgres_shop: str, opened: Opener
) -> None:
    source = await opened(postgres_shop)
    task = asyncio.create_task(source.run(SLOW["postgres"], timeout=500))
    await until(lambda: asleep(database) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: asleep(database) == 0)
    assert (await source.run("SELECT 1")).rows == ((1,),)


async def test_a_cancelled_task_ends_its_statement_in_sqlite(opened: Opener, tmp_path: Path) -> None:
    source = await opened(sqlite_shop(tmp_path))
    tasks = [asyncio.create_task(source.run(SLOW["sqlite"], timeout=500)) for _ in range(8)]
    await asyncio.sleep(0.2)
    for task in tasks:
        task.cancel()
    assert all(isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*tasks, return_exceptions=True))
    assert (await source.run("SELECT 1")).rows == ((1,),)


async def test_a_result_without_end_is_cut_at_the_rows_asked_for(shop: Source) -> None:
    found = await shop.run(MANY[shop.dialect], rows=50)
    assert (len(found.rows), found.rows[-1], found.is_truncated) == (50, (50,), True)


async def test_a_result_too_large_is_cut_at_its_size(shop: Source) -> None:
    wide = "printf('%.*c', 15000, 'x')" if shop.dialect == "sqlite" else "repeat('x', 15000)"
    found = await shop.run(f"SELECT {wide} FROM ({MANY[shop.dialect]}) AS many", rows=100_000)
    assert found.is_truncated
    assert 300 < len(found.rows) < 400


async def test_values_are_as_json_has_them(postgres_shop: str, opened: Opener) -> None:
    source = await opened(postgres_shop)
    sql = """SELECT 10.10::numeric, 12345678901234567890.12::numeric, 'NaN'::float8, 'Infinity'::numeric,
             DATE '2024-02-29', TIMESTAMP '2024-02-29 10:00', decode('00ff', 'hex'), ARRAY[1.5, 2],
             '{"a": [1]}'::jsonb, NULL, true,
             '5b1d3c0e-8f2d-4a53-9d8e-0f5b6c7d8e9f'::uuid, INTERVAL '90 minutes', 'infinity'::date"""
    [row] = (await source.run(sql)).rows
    assert json.loads(json.dumps(row, allow_nan=False)) == [
        *(10.1, "12345678901234567890.12", "NaN", "Infinity", "2024-02-29", "2024-02-29 10:00:00", "0x00ff"),
        *([1.5, 2], {"a": [1]}, None, True, "5b1d3c0e-8f2d-4a53-9d8e-0f5b6c7d8e9f", "1:30:00", "infinity"),
    ]


async def test_sums_of_cents_have_no_noise(opened: Opener, tmp_path: Path) -> None:
    source = await opened(sqlite_shop(tmp_path))
    found = await source.run("SELECT 0.1 + 0.2, 1.0 / 3, 523.0600000000003, 1e300 * 1e300, x'00ff', NULL")
    assert found.rows == ((0.3, 1 / 3, 523.06, "Infinity", "0x00ff", None),)


async def test_text_that_is_not_utf_8_is_still_shown(opened: Opener, tmp_path: Path) -> None:
    source = await opened(sqlite_shop(tmp_path, "INSERT INTO products VALUES (5, CAST(x'4aff' AS TEXT), 1);"))
    assert (await source.run("SELECT title FROM products WHERE id = 5")).rows == (("J\ufffd",),)


async def test_an_error_of_the_database_says_what_it_said(shop: Source) -> None:
    with pytest.raises(QueryFailed, match="nothing_like_it"):
        await shop.run("SELECT nothing_like_it")


@pytest.mark.parametrize(
    ("dsn", "error", "says"),
    [
        ("sqlite:////nowhere/at/all.db", InvalidInput, "there is no file /nowhere/at/all.db"),
        ("sqlite://", InvalidInput, "a SQLite source is a file"),
        ("not a dsn", InvalidInput, "is not a database URL"),
        ("nosuch://u:geheim@host/db", InvalidInput, "not a database that SQLAlchemy knows"),
        ("oracle+oracledb://u:geheim@host/db", InvalidInput, "needs a driver that is not installed"),
        ("postgresql://u:${SHOP_PASSWORD}@host/db", InvalidInput, "${SHOP_PASSWORD}, which is not set"),
        ("postgresql://u:geheim@127.0.0.1:1/db", SourceUnavailable, "cannot open postgresql://u:***@127.0.0.1:1/db"),
    ],
)
async def test_a_wrong_address_is_refused_with_its_reason_and_without_its_password(
    dsn: str, error: type[RecollectError], says: str
) -> None:
    with pytest.raises(error) as refused:
        await open_source(dsn, rules=LOCAL_RULES)
    assert says in str(refused.value)
    assert "geheim" not in str(refused.value)


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("This is a letter, and a rather long one. " * 50)
    with pytest.raises(SourceUnavailable, match="not a database"):
        await open_source(f"sqlite:///{tmp_path / 'x.db'}", rules=LOCAL_RULES)


async def test_an_account_that_is_refused_does_not_show_its_password(postgres_shop: str, reader: str) -> None:
    head, _, tail = postgres_shop.partition("://")
    host = tail.rpartition("@")[2]
    with pytest.raises(SourceUnavailable, match=r"cannot open.*not permitted to log in") as refused:
        await open_source(f"{head}://{reader}:geheim@{host}", rules=LOCAL_RULES)
    assert "geheim" not in str(refused.value)


async def test_a_dsn_takes_its_parts_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_FILE", sqlite_shop(tmp_path).removeprefix("sqlite:///"))
    source = await open_source("sqlite:///${SHOP_FILE}", rules=LOCAL_RULES)
    assert source.address == "sqlite:///${SHOP_FILE}"
    await source.close()


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        ("postgresql://u:p@ss@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u@h/d?password=x&sslmode=require", "postgresql://u@h/d?password=***&sslmode=require"),
        ("sqlite:///a.db", "sqlite:///a.db"),
    ],
)
def test_a_masked_dsn_has_no_password(dsn: str, shown: str) -> None:
    assert masked(dsn) == shown


async def test_closing_leaves_no_connection_behind(database: str, postgres_shop: str) -> None:
    def open_ones() -> int:
        with psycopg.connect(database) as owner:
            row = owner.execute(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name = 'recollect'"
            ).fetchone()
        assert row is not None
        return int(row[0])

    source = await open_source(postgres_shop, rules=LOCAL_RULES)
    await asyncio.gather(*(source.run("SELECT 1") for _ in range(10)))
    assert open_ones() > 0
    await source.close()
    await until(lambda: open_ones() == 0)


async def test_a_long_text_is_cut_before_it_leaves_the_server(
    postgres_shop: str, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver reads whole rows: without the cut, these would be 100 MB each, the first one included."""
    source, sizes = await opened(postgres_shop), list[int]()
    fetch = psycopg.ServerCursor.fetchmany

    def watched(cursor: Any, size: int = 0) -> list[Any]:
        rows: list[Any] = fetch(cursor, size)
        sizes.extend(len(value) for row in rows for value in row if isinstance(value, str))
        return rows

    monkeypatch.setattr(psycopg.ServerCursor, "fetchmany", watched)
    found = await source.run("SELECT repeat('a', 100000000) AS a, 1 AS a FROM generate_series(1, 3)")

    assert found.columns == ("a", "a")
    assert [(len(text), one) for text, one in found.rows] == [(20_001, 1)] * 3
    assert sizes == [20_001] * 3


async def test_a_value_that_cannot_be_cut_is_refused(postgres_shop: str, opened: Opener) -> None:
    source = await opened(postgres_shop)
    wide = "SELECT {} FROM (SELECT array_agg(n) AS n FROM generate_series(1, {}) n) one"
    assert (await source.run(wide.format("to_json(n)", 3))).rows == (([1, 2, 3],),)

    for shown in ("n", "to_json(n)", "to_jsonb(n)"):
        with pytest.raises(QueryFailed, match="longer than 1,000,000 characters"):
            await source.run(wide.format(shown, 1_000_000))


async def test_sqlite_refuses_a_value_that_fills_the_memory(opened: Opener, tmp_path: Path) -> None:
    source = await opened(sqlite_shop(tmp_path))
    with pytest.raises(QueryFailed, match="too big"):
        await source.run("SELECT zeroblob(50000000)")


async def test_slow_statements_of_one_user_leave_room_for_others(shop: Source) -> None:
    slow = [asyncio.create_task(shop.run(SLOW[shop.dialect], timeout=200, user="alex")) for _ in range(6)]
    await asyncio.sleep(0.05)
    try:
        for _ in range(3):
            assert (await shop.run("SELECT 1", user="blake")).rows == ((1,),)
        assert not any(task.done() for task in slow)
    finally:
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
    assert (await shop.run("SELECT 1", user="alex")).rows == ((1,),)


@pytest.mark.parametrize("value", [Decimal("1E+5000"), Decimal("-1E+5000"), Decimal("1E+400") / 3])
def test_number_of_many_digits_is_text(value: Decimal) -> None:
    assert json.loads(json.dumps(convert_value(value))) == f"{value:f}"
    assert convert_value(Decimal("1E+30")) == 10**30


async def test_a_file_that_was_replaced_or_removed_is_not_read_any_more(tmp_path: Path) -> None:
    now, later = tmp_path / "shop.db", tmp_path / "later.db"
    for path, names in ((now, ["Ada"]), (later, ["Ben", "Cleo"])):
        with sqlite3.connect(path) as made:
            made.execute("CREATE TABLE customers (name TEXT)")
            made.executemany("INSERT INTO customers VALUES (?)", [(name,) for name in names])
        made.close()
    source = await open_source(f"sqlite:///{now}", rules=LOCAL_RULES)
    try:
        assert (await source.run("SELECT name FROM customers")).rows == (("Ada",),)
        later.replace(now)
        assert (await source.run("SELECT name FROM customers")).rows == (("Ben",), ("Cleo",))
        now.unlink()
        with pytest.raises(SourceUnavailable):
            await source.run("SELECT name FROM customers")
    finally:
        await source.close()
