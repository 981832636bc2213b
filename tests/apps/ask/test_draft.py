"""The drafted model of a database: which date says when a row happened, and which total is the sales."""

from __future__ import annotations

import pytest

from recollect.apps.ask.semantic.catalog import Catalog, Column, Table
from recollect.apps.ask.semantic.draft import draft_model, list_moments

NEVER, OFTEN, MOSTLY = 0.0, 0.3, 0.9


@pytest.mark.parametrize(
    ("table", "dates", "main"),
    [
        ("payments", {"due_on": NEVER, "paid_on": OFTEN}, ["paid_on"]),
        ("bookings", {"booked_at": NEVER, "refunded_on": OFTEN}, ["booked_at"]),
        ("deliveries", {"planned_on": NEVER, "delivered_on": OFTEN}, ["delivered_on", "planned_on"]),
        ("invoices", {"due_on": NEVER, "paid_on": OFTEN}, ["due_on"]),
        ("products", {"discontinued_on": MOSTLY}, ["discontinued_on"]),
    ],
)
def test_the_date_of_a_row_is_named_like_its_table_or_hardly_ever_missing(
    table: str, dates: dict[str, float], main: list[str]
) -> None:
    columns = tuple(Column(name, "date", missing=missing) for name, missing in dates.items())
    assert list_moments(Table(table, columns)) == main


def lines(name: str) -> Table:
    return Table(name, (Column("quantity", "integer"), Column("unit_price", "number")))


@pytest.mark.parametrize(
    ("tables", "sales"),
    [
        ([lines("sale_items"), lines("repair_parts"), Table("sales", ())], ["sale_items"]),
        ([lines("order_lines"), Table("orders", ())], ["order_lines"]),
        ([lines("order_lines"), Table("sales", (Column("amount", "number"), Column("sold_at", "date")))], []),
    ],
)
def test_lines_are_the_sales_where_nothing_else_is(tables: list[Table], sales: list[str]) -> None:
    measures = draft_model(Catalog("sqlite", tuple(tables))).measures
    assert [each.table for each in measures if "sales" in each.names and "*" in each.expression] == sales
