"""The shop that the gate's tests ask: its tables in both databases, and who may see what of it."""

from __future__ import annotations

import sqlite3
import tomllib
from pathlib import Path
from typing import Any

from recollect.sql.gate import Allowed

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
TYPES = {"postgres": {"json": "jsonb", "time": "timestamp"}, "sqlite": {"json": "text", "time": "text"}}
SCHEMA = {"postgres": "public", "sqlite": None}


def data(name: str) -> dict[str, list[Any]]:
    return tomllib.loads((HERE / name).read_text("utf-8"))


def schema(dialect: str) -> str:
    return (HERE / "gate_schema.sql").read_text("utf-8").format(**TYPES[dialect])


def all_tables(dialect: str) -> Allowed:
    """The shop without its secrets."""
    return Allowed(EVERYTHING, SCHEMA[dialect])


def some_columns(dialect: str) -> Allowed:
    """The same without the columns that are to be hidden."""
    tables = {name: [each for each in columns if each not in HIDDEN] for name, columns in EVERYTHING.items()}
    return Allowed(tables, SCHEMA[dialect])


def sqlite_shop() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(schema("sqlite"))
    # SQLite declares its table functions when they are first used, and asks its authorizer for that as for a write.
    for function in ("json_each", "json_tree"):
        connection.execute(f"SELECT 1 FROM {function}('[]')")
    return connection
