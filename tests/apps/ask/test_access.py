"""Access: what a role may not see is not there: tables, columns, rows; whatever the statement does to reach them."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from recollect.apps.ask.semantic.access import Access, check_access, read_access, restrict_catalog, restrict_sql
from recollect.apps.ask.semantic.catalog import Catalog, Column, ForeignKey, Table
from recollect.errors import InvalidInput

SALES = Table(
    "sales",
    (Column("id", "integer"), Column("region_id", "integer"), Column("amount", "number"), Column("note", "text")),
    ("id",),
    (ForeignKey(("region_id",), "regions", ("id",)),),
)
CATALOG = Catalog("sqlite", (SALES, Table("regions", (Column("id", "integer"), Column("name", "text")))))
RULES = {"user": {"tables": ["Sales"], "hidden": {"sales": ["NOTE"]}, "rows": {"SALES": "region_id = 1"}}}


@pytest.fixture
def shop() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    made.execute("CREATE TABLE sales (id INTEGER, region_id INTEGER, amount INTEGER, note TEXT)")
    made.executemany("INSERT INTO sales VALUES (?, ?, ?, 'x')", [(1, 1, 10), (2, 1, 20), (3, 2, 400)])
    return made


def test_a_role_sees_its_tables_and_columns_and_one_that_is_not_named_sees_all() -> None:
    mine = restrict_catalog(CATALOG, read_access(RULES, "user"))

    assert [table.name for table in mine.tables] == ["sales"]
    assert [column.name for column in mine.tables[0].columns] == ["id", "region_id", "amount"]
    assert restrict_catalog(CATALOG, read_access(RULES, "admin")) == CATALOG
    assert restrict_catalog(CATALOG, Access(hidden={"sales": ("region_id",)})).tables[0].foreign_keys == ()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT sum(amount) FROM sales",
        'SELECT sum(amount) FROM "SALES"',
        "SELECT sum(amount) FROM main.sales",
        "SELECT sum(s.amount) FROM sales AS s",
        "SELECT sum(amount) FROM (SELECT * FROM sales)",
        "WITH s AS (SELECT * FROM sales) SELECT sum(amount) FROM s",
        "SELECT (SELECT sum(amount) FROM sales)",
        "SELECT sum(amount) FROM sales WHERE id IN (SELECT id FROM sales)",
        "SELECT sum(amount) FROM (SELECT amount FROM sales UNION ALL SELECT 0 FROM sales)",
    ],
)
def test_rows_that_a_role_may_not_see_are_not_counted(shop: sqlite3.Connection, statement: str) -> None:
    mine = restrict_sql(statement, "sqlite", read_access(RULES, "user"))

    assert shop.execute(mine).fetchall() == [(30,)]
    assert restrict_sql(statement, "sqlite", read_access(RULES, "admin")) == statement


@pytest.mark.parametrize(
    "statement",
    [
        "WITH sales AS (SELECT * FROM sales) SELECT * FROM sales",
        "WITH x AS (WITH Sales AS (SELECT 1) SELECT * FROM Sales) SELECT * FROM sales",
    ],
)
def test_a_part_named_like_a_table_cannot_pass_for_it(statement: str) -> None:
    with pytest.raises(InvalidInput, match="name it otherwise"):
        restrict_sql(statement, "sqlite", read_access(RULES, "user"))


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([], "mapping of roles"),
        ({"user": {"table": []}}, "give `tables`"),
        ({"user": {"tables": ["nowhere"]}}, "no table 'nowhere'"),
        ({"user": {"hidden": {"sales": ["nothing"]}}}, "no column 'nothing'"),
        ({"user": {"rows": {"sales": "region_id ="}}}, "not a condition"),
        ({"user": {"rows": {"sales": "id IN (SELECT id FROM regions)"}}}, "own columns"),
    ],
)
def test_rules_that_make_no_sense_are_refused(rules: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        check_access(rules, CATALOG)


def test_rules_that_make_sense_are_taken_as_they_are() -> None:
    assert check_access(RULES, CATALOG) is RULES
