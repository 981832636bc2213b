"""A small shop for tests of what memory says about a source: its catalog as it would be read, and its drafted model."""

from __future__ import annotations

from datetime import date

from recollect.sql.catalog import Catalog, Column, ForeignKey, Table
from recollect.sql.draft import draft

TODAY = date(2026, 11, 16)
CUSTOMERS = Table(
    "customers",
    (
        Column("id", "integer"),
        Column("name", "text", is_unique=True),
        Column("tier", "text", values=("basic", "premium"), is_complete=True),
        Column("is_test", "boolean"),
        Column("last_login_at", "datetime"),
        Column("lifetime_value", "number"),
    ),
    ("id",),
)
ORDERS = Table(
    "orders",
    (
        Column("id", "integer"),
        Column("customer_id", "integer"),
        Column("placed_on", "date"),
        Column("total", "number"),
        Column("status", "text", values=("open", "paid"), is_complete=True),
    ),
    ("id",),
    (ForeignKey(("customer_id",), "customers", ("id",)),),
)
CATALOG = Catalog("sqlite", (CUSTOMERS, ORDERS))
MODEL = draft(CATALOG)
