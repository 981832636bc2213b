"""What a data source says of itself: its catalog, bounded and discreet, and its values by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from recollect.apps.ask.interpret import SchemaIndex
from recollect.apps.ask.semantic.catalog import Catalog, Column, Table
from recollect.apps.ask.semantic.draft import draft_model
from recollect.apps.ask.sources.catalog_reader import CatalogLimits
from recollect.apps.ask.sources.source import Source
from tests.apps.ask.shop_data import sqlite_shop

Opener = Callable[..., Coroutine[Any, Any, Source]]


def table(catalog: Catalog, name: str) -> Table:
    """Whichever schema it is in."""
    [found] = [each for each in catalog.tables if each.name.rpartition(".")[2] == name]
    return found


def column(catalog: Catalog, place: str) -> Column:
    name, _, own = place.partition(".")
    found = table(catalog, name).column(own)
    assert found is not None
    return found


async def read(opened: Opener, path: Path, sql: str, limits: CatalogLimits | None = None) -> Catalog:
    """The catalog of a SQLite file made of these statements."""
    with sqlite3.connect(path / "made.db") as connection:
        connection.executescript(sql)
    connection.close()
    return await (await opened(f"sqlite:///{path / 'made.db'}")).read_catalog(limits)


async def test_a_catalog_has_tables_keys_views_and_counts(shop: Source) -> None:
    catalog = await shop.read_catalog()
    orders, items = table(catalog, "orders"), table(catalog, "order_items")
    assert (orders.primary_key, orders.rows, orders.is_view) == (("id",), 12, False)
    [key] = orders.foreign_keys
    assert (key.columns, key.table.rpartition(".")[2], key.refers) == (("customer_id",), "customers", ("id",))
    assert (items.primary_key, len(items.foreign_keys)) == (("order_id", "product_id"), 2)
    assert table(catalog, "big_orders").is_view
    assert [each.type for each in orders.columns] == ["integer", "integer", "date", "number", "text"]


async def test_values_of_texts_and_ends_of_numbers_and_dates_are_read(shop: Source) -> None:
    catalog = await shop.read_catalog()
    title, total = column(catalog, "products.title"), column(catalog, "orders.total")
    assert (title.values, title.is_complete, title.is_unique) == (("Cup: blue", "Tea 100%", "Édith"), True, True)
    assert (total.low, total.high) == ("4.1", "14.09")
    day = column(catalog, "orders.ordered_on")
    assert (day.low, day.high) == ("2024-01-31", "2024-02-11")


@pytest.mark.parametrize("place", ["customers.email", "customers.contact", "customers.birth_date"])
async def test_a_sensitive_column_shows_nothing_of_what_it_holds(shop: Source, place: str) -> None:
    found = column(await shop.read_catalog(), place)
    assert found.is_sensitive
    assert (found.values, found.low, found.high, found.is_complete) == ((), None, None, False)


async def test_an_address_among_notes_is_left_out_and_the_notes_stay(shop: Source) -> None:
    note = column(await shop.read_catalog(), "orders.note")
    assert "gift wrap" in note.values
    assert not any("@" in value for value in note.values)
    assert (note.is_sensitive, note.is_complete) == (False, False)


async def test_the_catalog_survives_being_kept(shop: Source) -> None:
    catalog = await shop.read_catalog()
    assert Catalog.from_data(catalog.to_data()) == catalog


async def test_the_fingerprint_changes_with_the_shape_and_not_with_the_rows(opened: Opener, tmp_path: Path) -> None:
    source = await opened(sqlite_shop(tmp_path))
    before = (await source.read_catalog()).fingerprint
    with sqlite3.connect(tmp_path / "shop.db") as owner:
        owner.execute("INSERT INTO products VALUES (4, 'Pot', 20)")
        owner.commit()
        same = (await source.read_catalog()).fingerprint
        owner.execute("ALTER TABLE products ADD COLUMN weight REAL")
        owner.commit()
    owner.close()
    assert same == before
    assert (await source.read_catalog()).fingerprint != before


async def test_more_values_than_the_limit_are_said_to_be_a_part(opened: Opener, tmp_path: Path) -> None:
    made = "CREATE TABLE t (name TEXT);"
    rows = " ".join(f"INSERT INTO t VALUES ('name {n}');" for n in range(30)) + f"INSERT INTO t VALUES ('{'x' * 500}');"
    catalog = await read(opened, tmp_path, made + rows, CatalogLimits(most_values=10))
    name = column(catalog, "t.name")
    assert len(name.values) == 10
    assert not name.is_complete
    whole = column(await (await opened(f"sqlite:///{tmp_path / 'made.db'}")).read_catalog(), "t.name")
    assert (len(whole.values), whole.is_complete) == (30, False)
    assert max(map(len, whole.values)) <= 80


async def test_columns_without_a_type_have_that_of_their_content(opened: Opener, tmp_path: Path) -> None:
    sql = """CREATE TABLE t (a, b REAL); INSERT INTO t VALUES ('x', 1.5), ('y', 2);
             CREATE VIEW v AS SELECT a, sum(b) AS total FROM t GROUP BY a;"""
    catalog = await read(opened, tmp_path, sql)
    assert [column(catalog, place).type for place in ("t.a", "t.b", "v.a", "v.total")] == [
        "text",
        "number",
        "text",
        "number",
    ]


async def test_what_is_no_number_in_a_column_of_numbers_is_no_end_of_them(opened: Opener, tmp_path: Path) -> None:
    catalog = await read(opened, tmp_path, "CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), ('n/a');")
    assert column(catalog, "t.n").high is None


async def test_a_date_that_many_rows_lack_is_not_the_main_one(opened: Opener, tmp_path: Path) -> None:
    rows = ", ".join(f"({n}, '2024-01-0{n} 10:00', {repr('2024-02-01') if n == 1 else 'NULL'})" for n in range(1, 9))
    sql = "CREATE TABLE bookings (id INTEGER PRIMARY KEY, booked_at DATETIME, refunded_on DATE);"
    catalog = await read(opened, tmp_path, f"{sql} INSERT INTO bookings VALUES {rows};")
    assert (column(catalog, "bookings.booked_at").missing, column(catalog, "bookings.refunded_on").missing) == (
        0,
        0.875,
    )
    assert SchemaIndex.build(draft_model(catalog), catalog).tables["bookings"].main_moment == "booked_at"


async def test_a_broken_view_does_not_hide_the_rest(opened: Opener, tmp_path: Path) -> None:
    sql = """CREATE TABLE gone (a TEXT); CREATE VIEW v AS SELECT abs(-9223372036854775808) AS a FROM t;
             CREATE TABLE t (b TEXT); INSERT INTO t VALUES ('x');"""
    catalog = await read(opened, tmp_path, sql)
    assert column(catalog, "t.b").values == ("x",)


async def test_when_the_time_is_up_the_schema_is_there_without_values(shop: Source) -> None:
    catalog = await shop.read_catalog(CatalogLimits(seconds=0.0001))
    assert column(catalog, "products.title").values == ()
    assert replace(catalog, tables=()).dialect == shop.dialect
    assert catalog.fingerprint == (await shop.read_catalog()).fingerprint


async def test_a_table_outside_the_default_schema_bears_its_name(postgres_shop: str, opened: Opener) -> None:
    catalog = await (await opened(postgres_shop)).read_catalog()
    assert catalog.table("shopdata.orders") is not None
    assert not any(each.name.startswith(("recollect.", "pg_", "information_schema")) for each in catalog.tables)


async def test_comments_and_enumerations_are_read(database: str, postgres_shop: str, opened: Opener) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("CREATE TYPE shopdata.mood AS ENUM ('calm', 'angry')")
        owner.execute("ALTER TABLE shopdata.customers ADD COLUMN mood shopdata.mood, ADD COLUMN active boolean")
        owner.execute("COMMENT ON TABLE shopdata.customers IS '客户表'")
        owner.execute("COMMENT ON COLUMN shopdata.customers.city IS 'where they live'")
    catalog = await (await opened(postgres_shop)).read_catalog()
    assert table(catalog, "customers").comment == "客户表"
    assert column(catalog, "customers.city").comment == "where they live"
    mood, active = column(catalog, "customers.mood"), column(catalog, "customers.active")
    assert (mood.type, mood.values, mood.is_complete, active.type) == ("text", ("calm", "angry"), True, "boolean")


async def test_a_role_sees_the_tables_and_columns_that_it_may_read(
    database: str, postgres_shop: str, reader: str, opened: Opener
) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"GRANT SELECT (id, title) ON shopdata.products TO {reader}".encode())
    catalog = await (await opened(f"{postgres_shop}&options=-crole%3D{reader}")).read_catalog()
    assert {each.name for each in catalog.tables} == {
        f"shopdata.{name}" for name in ("customers", "orders", "order_items", "products")
    }
    assert [each.name for each in table(catalog, "products").columns] == ["id", "title"]


async def test_a_large_table_is_described_by_the_servers_statistics(
    database: str, postgres_shop: str, opened: Opener
) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(
            "CREATE TABLE shopdata.big AS SELECT n AS id, 'kind ' || n % 3 AS kind FROM generate_series(1, 5000) n"
        )
        owner.execute("ANALYZE shopdata.big")
        owner.execute("UPDATE pg_class SET reltuples = 3e9 WHERE relname = 'big'")
    catalog = await (await opened(postgres_shop)).read_catalog()
    kind, number = column(catalog, "big.kind"), column(catalog, "big.id")
    assert table(catalog, "big").rows == 3_000_000_000
    assert (kind.values, kind.is_complete) == (("kind 0", "kind 1", "kind 2"), False)
    assert (number.low, number.high) == ("1", "5000")


async def test_names_are_found_however_they_are_capitalised(shop: Source) -> None:
    prefix = "shopdata." if shop.dialect == "postgres" else ""
    refs = [(f"{prefix}customers", "full_name"), (f"{prefix}products", "title")]
    found = await shop.find_values(refs, ["LI WEI", "tea 100%", "nobody", "x' OR '1'='1", "ÉDITH"])
    assert sorted((each.table.removeprefix(prefix), each.column, each.value) for each in found) == [
        ("customers", "full_name", "Li Wei"),
        ("products", "title", "Tea 100%"),
        ("products", "title", "Édith"),
    ]


async def test_a_lookup_that_takes_too_long_finds_nothing(opened: Opener, tmp_path: Path) -> None:
    endless = "CREATE VIEW endless AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c;"
    source = await opened(sqlite_shop(tmp_path, endless))
    assert await source.find_values([("endless", "n"), ("products", "title")], ["tea 100%"], seconds=0.3) == []
