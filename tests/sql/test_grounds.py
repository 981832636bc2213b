"""Grounds: an answer that rests on a word nobody used, or on a choice nobody made, is asked back."""

from __future__ import annotations

from datetime import date

import pytest

from recollect.sql.catalog import Catalog, Column, ForeignKey, Table
from recollect.sql.draft import draft
from recollect.sql.reading import Reading, read_question

CATALOG = Catalog(
    "sqlite",
    (
        Table(
            "vehicles",
            (
                Column("vehicle_id", "integer", is_unique=True),
                Column("plate", "text", is_unique=True),
                Column("year_built", "integer", low="2010", high="2024"),
                Column("purchased_on", "date", low="2012-01-01", high="2024-01-01"),
                Column("is_electric", "integer", values=("0", "1"), is_complete=True, low="0", high="1"),
            ),
            ("vehicle_id",),
            rows=100,
        ),
        Table(
            "rentals",
            (
                Column("rental_id", "integer", is_unique=True),
                Column("vehicle_id", "integer"),
                Column("booked_on", "date", low="2020-01-01", high="2024-01-01"),
                Column("pickup_date", "date", low="2020-01-01", high="2024-01-01"),
                Column("total_price", "number", low="10", high="900"),
            ),
            ("rental_id",),
            (ForeignKey(("vehicle_id",), "vehicles", ("vehicle_id",)),),
            rows=1000,
        ),
    ),
)
MODEL = draft(CATALOG)


def read(question: str, before: str = "", unanswered: str = "") -> Reading:
    last = read(before).frame if before else None
    return read_question(question, MODEL, CATALOG, last=last, unanswered=unanswered, today=date(2025, 6, 15))


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("how many rentals were there in 2023", "booked on or pickup"),
        ("vehicles built before 2018", "purchased on or year built"),
        ("oldest vehicle", "year built"),
        ("and the vehicles", "a question of its own"),
    ],
)
def test_a_choice_that_nobody_made_is_asked_about(question: str, asked: str) -> None:
    reading = read(question)
    assert reading.frame is None
    assert asked in reading.clarifications[0].question


@pytest.mark.parametrize(
    "question",
    [
        "how many rentals were booked in 2023",
        "vehicles purchased before 2018",
        "how many vehicles are electric",
        "how many vehicles are there",
        "total price of rentals per vehicle",
    ],
)
def test_what_is_said_in_words_is_answered(question: str) -> None:
    assert read(question).frame is not None


def test_what_goes_on_from_a_question_without_an_answer_is_asked_about() -> None:
    assert read("only electric ones", before="how many vehicles are there").frame is not None
    reading = read("only electric ones", unanswered="vehicles by colour?")
    assert reading.frame is None
    assert "“vehicles by colour?” has no answer yet" in reading.clarifications[0].question
    assert reading.clarifications[0].suggestions == ("vehicles by colour only electric ones",)


SHOP = Catalog(
    "sqlite",
    (
        Table("bikes", (Column("id", "integer"), Column("name", "text", is_unique=True)), ("id",), rows=60),
        Table(
            "orders",
            (Column("id", "integer"), Column("ordered_on", "date", low="2022-01-01", high="2025-01-01")),
            ("id",),
            rows=900,
        ),
        Table(
            "order_items",
            (
                Column("order_id", "integer"),
                Column("bike_id", "integer"),
                Column("quantity", "integer", low="1", high="9"),
                Column("list_price", "number", low="90", high="900"),
                Column("discount", "number", low="0", high="0.3"),
            ),
            (),
            (ForeignKey(("order_id",), "orders", ("id",)), ForeignKey(("bike_id",), "bikes", ("id",))),
            rows=2000,
        ),
        Table(
            "stock",
            (Column("bike_id", "integer"), Column("quantity", "integer", low="0", high="40")),
            ("bike_id",),
            (ForeignKey(("bike_id",), "bikes", ("id",)),),
            rows=60,
        ),
    ),
)
SHOP_MODEL = draft(SHOP)


def in_shop(question: str) -> Reading:
    return read_question(question, SHOP_MODEL, SHOP, today=date(2025, 6, 15))


def test_what_was_sold_is_counted_in_pieces_and_what_never_was_in_kinds() -> None:
    for question, table, aggregate in (("bikes were sold in 2024", "order_items", "sum"),
                                       ("bikes have never been sold", "bikes", "count")):  # fmt: skip
        frame = in_shop(f"How many {question}?").frame
        assert frame is not None
        assert (frame.metrics[0].of.table, frame.metrics[0].aggregate) == (table, aggregate)


def test_units_are_those_of_the_orders_and_revenue_is_what_was_paid() -> None:
    units = in_shop("units sold by bike").frame
    assert units is not None
    assert units.metrics[0].of.table == "order_items"
    revenue = in_shop("revenue in 2024").frame
    assert revenue is not None
    assert "discount" in revenue.metrics[0].of.expression
