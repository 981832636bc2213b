"""DuckDB, CSV and Parquet files as data sources: read as tables, and nothing else can be reached."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from recollect.apps.ask.gate import Allowed, StatementDenied, check_sql
from recollect.apps.ask.sources import duckdb_files, opening
from recollect.apps.ask.sources.address_rules import LOCAL_RULES, SourceRules
from recollect.apps.ask.sources.source import open_source
from recollect.errors import InvalidInput, QueryFailed, SourceUnavailable
from tests.apps.ask.asking_door import SOURCES, Doors
from tests.apps.ask.conftest import Opener
from tests.apps.ask.gate import gate_shop
from tests.apps.ask.shop_data import duckdb_shop

ORDERS = "id,city,total,ordered_on\n1,London,14.09,2024-01-31\n2,上海,4.10,2024-02-01\n"
OUTSIDE = [
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM '{file}'",
    'SELECT * FROM "{file}"',
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM read_parquet('https://example.com/x.parquet')",
    "ATTACH '{file}' AS other",
    "COPY (SELECT 1) TO '{folder}/written.csv'",
    "EXPORT DATABASE '{folder}/written'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "PRAGMA database_list",
    "CREATE TEMP TABLE mine AS SELECT 1",
    "SELECT 1; DELETE FROM orders",
    "BEGIN; DELETE FROM orders; COMMIT",
    "DELETE FROM orders",
    "DROP TABLE orders",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two CSV files and another file, which is no table."""
    made = tmp_path / "sales"
    made.mkdir()
    (made / "orders.csv").write_text(ORDERS)
    (made / "Customer list.v2.tsv").write_text("name\tvip\nAda\ttrue\nBo\tfalse\n")
    (made / "notes.txt").write_text("secret")
    return made


def write_parquet(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(id, name)) TO '{path}' (FORMAT parquet)"
        )


def list_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def test_each_csv_file_of_a_folder_is_a_table(folder: Path, opened: Opener) -> None:
    source = await opened(f"csv:///{folder}")
    catalog = await source.read_catalog()
    assert source.dialect == catalog.dialect == "duckdb"
    assert {table.name: table.rows for table in catalog.tables} == {"orders": 2, "Customer list_v2": 2}
    orders = catalog.table("orders")
    assert orders is not None
    assert [column.type for column in orders.columns] == ["integer", "text", "number", "date"]
    assert (orders.columns[1].values, orders.columns[3].low) == (("London", "上海"), "2024-01-31")
    assert (await source.run('SELECT name FROM "Customer list_v2" WHERE vip')).rows == (("Ada",),)


async def test_a_single_file_is_a_table(folder: Path, opened: Opener) -> None:
    write_parquet(folder / "people.parquet")
    assert (await (await opened(f"csv:///{folder}/orders.csv")).run("SELECT sum(total) FROM orders")).rows == (
        (18.19,),
    )
    people = await opened(f"parquet:///{folder}/people.parquet")
    assert (await people.run("SELECT * FROM people ORDER BY id")).rows == ((1, "a"), (2, "b"))
    assert [table.name for table in (await people.read_catalog()).tables] == ["people"]


async def test_a_changed_file_is_read_again(folder: Path, opened: Opener) -> None:
    source = await opened(f"csv:///{folder}")
    (folder / "orders.csv").write_text(ORDERS + "3,Oslo,1,2024-02-02\n")
    assert (await source.run("SELECT count(*) FROM orders")).rows == ((3,),)
    (folder / "more.csv").write_text("a\n1\n")
    assert (await source.run("SELECT a FROM more")).rows == ((1,),)


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
async def test_no_statement_reaches_other_files_or_settings(
    folder: Path, tmp_path: Path, opened: Opener, kind: str
) -> None:
    write_parquet(folder / "orders.parquet")
    source = await opened(duckdb_shop(tmp_path) if kind == "duckdb" else f"{kind}:///{folder}")
    before = list_files(tmp_path)
    for sql in OUTSIDE:
        with pytest.raises(QueryFailed):
            await source.run(sql.format(file=folder / "notes.txt", folder=folder))
        assert (await source.run("SELECT count(*) > 0 FROM orders")).rows == ((True,),)
    assert list_files(tmp_path) == before


@pytest.mark.parametrize("kind", ["csv", "parquet"])
async def test_gate_refuses_hostile_statements_on_files(tmp_path: Path, opened: Opener, kind: str) -> None:
    """The tables of the gate's shop as files, without the hidden columns."""
    with gate_shop.duckdb_shop() as shop:
        for name in gate_shop.EVERYTHING:
            shop.execute(f"COPY (SELECT * FROM \"{name}\") TO '{tmp_path / name}.{kind}' (FORMAT {kind})")
    source = await opened(f"{kind}:///{tmp_path}")
    tables = {
        table.name: [column.name for column in table.columns if column.name not in gate_shop.HIDDEN]
        for table in (await source.read_catalog()).tables
    }
    assert tables.keys() == gate_shop.EVERYTHING.keys()
    assert check_sql("SELECT count(*) FROM orders", source.dialect, Allowed(tables)).tables == ("orders",)
    for _, sql in gate_shop.statements("gate_hostile.toml", source.dialect):
        with pytest.raises(StatementDenied):
            check_sql(sql, source.dialect, Allowed(tables))


async def test_each_lock_of_duckdb_holds_by_itself(folder: Path, tmp_path: Path) -> None:
    """The driver without the cursor that takes a SELECT only: the database itself refuses."""
    duckdb_shop(tmp_path)
    loaded = duckdb_files.load_tables([folder / "orders.csv"], "csv")
    for driver in (loaded, duckdb_files.open_database(tmp_path / "shop.duckdb")):
        for sql in OUTSIDE[:13]:
            with pytest.raises(duckdb.Error):
                driver.execute(sql.format(file=folder / "notes.txt", folder=folder))
        driver.execute("BEGIN TRANSACTION READ ONLY")
        with pytest.raises(duckdb.Error, match="read-only"):
            driver.execute("DELETE FROM orders")
        driver.close()


async def test_owner_can_write_a_duckdb_file_between_statements(tmp_path: Path, opened: Opener) -> None:
    source = await opened(duckdb_shop(tmp_path))
    assert (await source.run("SELECT count(*) FROM products")).rows == ((3,),)
    with duckdb.connect(tmp_path / "shop.duckdb") as owner:
        owner.execute("INSERT INTO products VALUES (4, 'Pot', 20)")
    assert (await source.run("SELECT count(*) FROM products")).rows == ((4,),)


async def test_values_are_as_json_has_them(tmp_path: Path, opened: Opener) -> None:
    source = await opened(duckdb_shop(tmp_path))
    sql = """SELECT 10.10::DECIMAL(9, 2), 170141183460469231731687303715884105727, 'NaN'::DOUBLE, DATE '2024-02-29',
             TIMESTAMP '2024-02-29 10:00', TIMESTAMPTZ '2024-02-29 10:00:00+00' IS NOT NULL, '\\x00\\xff'::BLOB,
             [1.5, 2], {'a': [1]}, NULL, true, TIMESTAMPTZ '2024-02-29 10:00:00+00' AT TIME ZONE 'UTC'"""
    [row] = (await source.run(sql)).rows
    assert row == (
        *(10.1, 170141183460469231731687303715884105727, "NaN", "2024-02-29", "2024-02-29 10:00:00", True, "0x00ff"),
        *([1.5, 2], {"a": [1]}, None, True, "2024-02-29 10:00:00"),
    )
    [[zoned]] = (await source.run("SELECT TIMESTAMPTZ '2024-02-29 10:00:00+00'")).rows
    assert zoned.startswith("2024-02-29 ")


async def test_long_values_are_cut_or_refused_in_duckdb(tmp_path: Path, opened: Opener) -> None:
    source = await opened(duckdb_shop(tmp_path))
    [[text]] = (await source.run("SELECT repeat('a', 10000000)")).rows
    assert len(text) == 20_001
    with pytest.raises(QueryFailed, match="longer than 1,000,000 characters"):
        await source.run("SELECT range(1000000)")


def test_csv_files_can_be_added_and_asked_over_http(doors: Doors, folder: Path, sample: Path) -> None:
    door = doors(source_folders=f"{folder}:{sample.parent}")
    added = door.http.post(SOURCES, json={"name": "files", "dsn": f"csv:///{folder}"})
    assert added.status_code in (200, 201), added.text
    written = door.http.post(
        f"{SOURCES}/files/text2sql", json={"question": "How many orders are there in London?"}
    ).json()
    assert written["tables_used"] == ["orders"], written
    assert "'London'" in written["sql"]


# What network callers may open ----------------------------------------------------------------------------------------


async def check_refused(dsn: str, rules: SourceRules) -> str:
    with pytest.raises(SourceUnavailable) as refused:
        await open_source(dsn, rules=rules)
    return str(refused.value).replace(dsn, "*")


async def test_network_callers_reach_files_below_their_folders_only(folder: Path, tmp_path: Path) -> None:
    rules = SourceRules(folders=(folder,))
    source = await open_source(f"csv:///{folder}", rules=rules)
    await source.close()
    (tmp_path / "private.csv").write_text("a\n1\n")
    (folder / "link.csv").symlink_to(tmp_path / "private.csv")
    (folder / "up").symlink_to(tmp_path)
    said = {
        await check_refused(f"csv:///{folder}/link.csv", rules),
        await check_refused(f"csv:///{folder}/up", rules),
        await check_refused(f"csv:///{folder}", rules),  # the link is now one of its files
        await check_refused(f"csv:///{folder}/nothing.csv", rules),
        await check_refused(f"csv:///{folder}/nothing", rules),
        await check_refused(f"parquet:///{folder}/orders.parquet", rules),
        await check_refused(f"duckdb:///{folder}/orders.csv", rules),
    }
    assert len(said) == 1  # one text, which does not tell which files there are


async def test_files_with_too_many_bytes_are_refused(
    folder: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_files, "MOST_BYTES", 10)
    with pytest.raises(SourceUnavailable, match="more than 10 bytes"):
        await opened(f"csv:///{folder}")


async def test_two_files_of_one_name_are_refused(folder: Path, opened: Opener) -> None:
    (folder / "Orders.tsv").write_text("a\n1\n")
    with pytest.raises(SourceUnavailable, match="two files would be the table"):
        await opened(f"csv:///{folder}")


@pytest.mark.parametrize(
    ("dsn", "says"),
    [
        ("duckdb:////x.duckdb", "needs the driver duckdb, which is not installed"),
        ("csv:////x.csv", "pip install 'recollect[duckdb]'"),
        ("parquet:////x.parquet", "needs the driver duckdb, which is not installed"),
        ("mysql://u@h/d", "needs the driver PyMySQL, which is not installed"),
        ("mariadb://u@h/d", "pip install 'recollect[mysql]'"),
    ],
)
async def test_missing_driver_is_named_with_its_extra(dsn: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda module: None)
    with pytest.raises(InvalidInput) as refused:
        await open_source(dsn, rules=LOCAL_RULES)
    assert says in str(refused.value)
