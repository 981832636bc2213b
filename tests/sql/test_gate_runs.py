"""Statements that people write pass the gate, and what the gate makes of them gives the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from gate_shop import all_tables, data, schema, sqlite_shop

from recollect.sql.gate import passed

LEGITIMATE = data("gate_legitimate.toml")
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


@pytest.mark.parametrize("sql", LEGITIMATE["both"] + LEGITIMATE["sqlite"])
def test_sqlite_answers_the_rendered_statement_as_the_original(sql: str) -> None:
    shop = sqlite_shop()
    rendered = passed(sql, "sqlite", all_tables("sqlite"), rows=MANY).sql
    shop.execute("PRAGMA query_only = ON")
    assert rows(shop, rendered) == rows(shop, sql), rendered


@pytest.mark.parametrize("sql", LEGITIMATE["both"] + LEGITIMATE["postgres"])
def test_postgres_answers_the_rendered_statement_as_the_original(sql: str, postgres: psycopg.Connection) -> None:
    rendered = passed(sql, "postgres", all_tables("postgres"), rows=MANY).sql
    with postgres.transaction(force_rollback=True):
        expected = rows(postgres, sql.encode())
    with postgres.transaction(force_rollback=True):
        assert rows(postgres, rendered.encode()) == expected, rendered
