"""Statements that people write pass the gate, and what the gate makes of them gives the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from recollect.apps.ask.gate import check_sql
from recollect.apps.ask.sources.mysql import SQL_MODE
from tests.apps.ask.gate.gate_shop import all_tables, duckdb_shop, schema, sqlite_shop, statements
from tests.apps.ask.shop_data import mysql_owner

MANY = 1_000


@pytest.fixture(scope="module")
def postgres(server: str) -> Iterator[psycopg.Connection]:
    """A read-only transaction over the shop, under a schema of its own that is rolled back."""
    with psycopg.connect(server) as connection:
        connection.execute(schema("postgres").encode())
        connection.execute("SET TRANSACTION READ ONLY")
        yield connection
        connection.rollback()


def rows(connection: Any, sql: str | bytes) -> list[tuple[Any, ...]]:
    return [tuple(map(comparable, row)) for row in connection.execute(sql).fetchall()]


def comparable(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else value


def test_sqlite_answers_rendered_statements_as_the_originals() -> None:
    shop = sqlite_shop()
    shop.execute("PRAGMA query_only = ON")
    for sql in statements("gate_legitimate.toml", "sqlite"):
        rendered = check_sql(sql, "sqlite", all_tables("sqlite"), rows=MANY).sql
        assert rows(shop, rendered) == rows(shop, sql), rendered


def test_postgres_answers_rendered_statements_as_the_originals(postgres: psycopg.Connection) -> None:
    for sql in statements("gate_legitimate.toml", "postgres"):
        rendered = check_sql(sql, "postgres", all_tables("postgres"), rows=MANY).sql
        with postgres.transaction(force_rollback=True):
            expected = rows(postgres, sql.encode())
        with postgres.transaction(force_rollback=True):
            assert rows(postgres, rendered.encode()) == expected, rendered


def test_duckdb_answers_rendered_statements_as_the_originals() -> None:
    with duckdb_shop() as shop:
        for sql in statements("gate_legitimate.toml", "duckdb"):
            rendered = check_sql(sql, "duckdb", all_tables("duckdb"), rows=MANY).sql
            assert rows(shop, rendered) == rows(shop, sql), rendered


@pytest.fixture(scope="module")
def mysql_cursor(mysql: str) -> Iterator[Any]:
    with mysql_owner(mysql) as owner:
        cursor = owner.cursor()
        for sql in ("CREATE DATABASE gate CHARACTER SET utf8mb4", "USE gate", "SET sql_mode = 'ANSI_QUOTES'"):
            cursor.execute(sql)
        for sql in schema("mysql").split(";\n"):
            if sql.strip():
                cursor.execute(sql)
        cursor.execute("SET sql_mode = %s", (SQL_MODE,))
        yield cursor
        cursor.execute("DROP DATABASE gate")


def test_mysql_answers_rendered_statements_as_the_originals(mysql_cursor: Any) -> None:
    for sql in statements("gate_legitimate.toml", "mysql"):
        answers = []
        for each in (sql, check_sql(sql, "mysql", all_tables("mysql"), rows=MANY).sql):
            mysql_cursor.execute(each)
            answers.append(mysql_cursor.fetchall())
        assert answers[0] == answers[1], sql
