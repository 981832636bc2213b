"""The shop that the gate's tests ask: its tables in each database, and who may see what of it."""

from __future__ import annotations

import sqlite3
import tomllib
from pathlib import Path
from typing import Any

import duckdb

from recollect.apps.ask.gate import Allowed

HERE = Path(__file__).parent
EVERYTHING: dict[str, tuple[str, ...]] = {
    "customers": ("id", "name", "region", "email", "tags", "created_at"),
    "orders": ("id", "customer_id", "amount", "status", "created_at", "data"),
    "products": ("id", "name", "price", "category"),
    "order_items": ("order_id", "product_id", "quantity", "price"),
    "employees": ("id", "name", "manager_id", "department", "salary", "hired_on"),
    "Invoices": ("Id", "orderId", "Total Sum"),
}
HIDDEN = {"email", "salary"}
TYPES = {
    "postgres": {"json": "jsonb", "time": "timestamp", "number": "numeric"},
    "sqlite": {"json": "text", "time": "text", "number": "numeric"},
    "duckdb": {"json": "json", "time": "timestamp", "number": "decimal(10, 2)"},
    "mysql": {"json": "json", "time": "datetime", "number": "decimal(10, 2)"},
}
SCHEMA = {"postgres": "public"}
DIALECTS = tuple(TYPES)
# Groups of statements that are meant for more than one dialect. In MySQL "x" is a text and || means OR.
GROUPS = {"every": DIALECTS, "standard": ("postgres", "sqlite", "duckdb")}


def data(name: str) -> dict[str, list[Any]]:
    return tomllib.loads((HERE / name).read_text("utf-8"))


def statements(name: str, dialect: str) -> list[Any]:
    """What a file has for a dialect: its own statements, and those of the groups that it belongs to."""
    groups = data(name)
    return [each for group, found in groups.items() if dialect in GROUPS.get(group, (group,)) for each in found]


def schema(dialect: str) -> str:
    return (HERE / "gate_schema.sql").read_text("utf-8").format(**TYPES[dialect])


def all_tables(dialect: str) -> Allowed:
    """The shop without its secrets."""
    return Allowed(EVERYTHING, SCHEMA.get(dialect))


def some_columns(dialect: str) -> Allowed:
    """The same without the columns that are to be hidden."""
    tables = {name: [each for each in columns if each not in HIDDEN] for name, columns in EVERYTHING.items()}
    return Allowed(tables, SCHEMA.get(dialect))


def sqlite_shop() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(schema("sqlite"))
    # SQLite declares its table functions when they are first used, and asks its authorizer for that as for a write.
    for function in ("json_each", "json_tree"):
        connection.execute(f"SELECT 1 FROM {function}('[]')")
    return connection


def duckdb_shop(*hidden: str) -> duckdb.DuckDBPyConnection:
    """The shop in memory, without these tables and columns."""
    connection = duckdb.connect(":memory:")
    connection.execute(schema("duckdb"))
    for place in hidden:
        table, _, column = place.partition(".")
        connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}" if column else f"DROP TABLE {table}")
    return connection
