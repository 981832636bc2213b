"""Questions to a database whose model nobody has touched: read against the draft, rendered and run. One line for each
kind of mistake that was made on databases not seen before."""

from __future__ import annotations

from datetime import date

import pytest
from drafted import Drafted
from drafted_shop import asked, read

RIGHT: list[tuple[str, list[tuple[object, ...]]]] = [
    ("customers who bought Acme", [("Ann",)]),  # not who reviewed it, though that is nearer
    ("how many customers bought Zorn in 2024", [(1,)]),  # the order has the date, not the signup
    ("customers with refunds in 2024", [("Ann",), ("Bo",)]),
    ("how many orders were shipped in 2024", [(2,)]),
    ("how many orders were shipped", [(2,)]),
    ("how many orders have not been shipped yet", [(1,)]),
    ("revenue from customers in Oslo", [(40,)]),  # where the customers are, not where it was sent
    ("total refunds", [(35,)]),
    ("average order value", [(710,)]),
    ("orders over 1.5k: how many?", [(1,)]),
    ("how many orders within 30 days", [(1,)]),
    ("oldest customer", [("Bo", "1970-01-01")]),
    ("how many male customers do we have", [(2,)]),
    ("which products are out of stock", [("Lamp",)]),
    ("inactive products", [("Chair",)]),
    ("how many people are from Oslo", [(2,)]),
    ("latest order", [(3, "2024-12-20")]),
    ("when was the first order", [("2023-12-30",)]),
    ("how many 5 star reviews are there", [(1,)]),
    ("signups per year", [("2022", 1), ("2023", 1), ("2024", 1)]),
    ("how many bikes are there", [(2,)]),
    ("average duration of the rides", [(60,)]),
    ("rides longer than 1 hour: how many?", [(1,)]),
    ("brands with more than 100 in sales", [("Acme", 2090)]),
    ("products reviewed in 2024", [("Lamp",)]),
    ("customers who ordered Chair", [("Bo",)]),
    ("customers who ordered in 2023", [("Ann",)]),
    ("reviews by customers from Oslo", [(1, "2024-01-01", 5)]),  # whose they are, no row for each
    ("how many reviews by customers from Oslo", [(1,)]),
    ("revenue by ship city", [("Bern", 2000), ("Oslo", 130)]),
    ("how many new customers in 2024", [(1,)]),
    ("orders not shipped yet", [(2, "2024-02-10", None, 2000, 5)]),  # not those that were
    ("unshipped orders", [(2, "2024-02-10", None, 2000, 5)]),
    ("orders shipped per month", [("2024-01", 1), ("2024-12", 1)]),  # what was not shipped is of no month
    ("what percentage of orders are cancelled", [(pytest.approx(100 / 3),)]),
    ("average ride duration in hours", [(pytest.approx(1),)]),
    ("most common brand", [("Acme", 2)]),
    ("customers who bought Lamp or Desk", [("Ann",)]),
    ("highest order", [(2000,)]),
    ("how many orders were there per weekday", [("5", 1), ("6", 2)]),
    ("total refunded", [(35,)]),
    ("value of the stock", [(680,)]),
    ("revenue by brand and year", [("Acme", "2023", 90), ("Acme", "2024", 2000), ("Zorn", "2024", 40)]),
    ("how long does it take to ship an order", [(2.5,)]),
    ("how many hours does it take on average to ship an order", [(60,)]),  # in what was asked for
    ("average number of days between order and shipment", [(2.5,)]),
    ("biggest order by value", [(2, 2000)]),  # no "order by"
    ("the value of cancelled orders", [(2000,)]),
    ("how many cancellations were there in 2024", [(1,)]),
    ("how many customers are 50 or older", [(1,)]),
    ("customers younger than 40", [("Ann",)]),
    ("how quickly do we ship orders", [(2.5,)]),
    ("products ranked by price", [("Desk", 80), ("Chair", 40), ("Lamp", 10)]),
]


@pytest.mark.parametrize(("question", "rows"), RIGHT, ids=[question for question, _ in RIGHT])
def test_a_question_to_a_drafted_model_gets_the_rows_it_asks_for(question: str, rows: list[tuple[object, ...]]) -> None:
    assert asked(question) == rows


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("active customers", "active"),  # only products are
        ("cancelled customers", "cancelled"),  # only orders are
        ("customers per brand", "brand"),  # who bought or who reviewed
        ("customers with orders over 1000", "over 1000"),  # one of them, or together
        ("orders from Oslo", "Oslo"),  # where the customer is, or where it was sent
        ("orders with a rating", "rating"),  # of how much
        ("who bought the most", "bought the most"),  # pieces or money
        ("duration per bike", "duration"),  # total or average
        ("how long does it take UPS to ship an order", "it"),  # whose they are is not left out
        ("average shipping time in months", "months"),
        ("orders 50 years or older", "50"),  # not the customers
        ("customers older than 50", "than"),  # from 50 or from 51 on
        ("orders shipped within 3 days", "3"),  # a time between two dates
        ("shipped orders in 2024", "shipped"),  # the status or the date
        ("revenue by city", "city"),  # where it was sent, or where the customer is
        ("most popular product", "most popular"),
        ("customers who bought Lamp and Desk", "Lamp and Desk"),  # each, or one of them
        ("most expensive product on our price list", "list"),
        ("the cheapest product of Acme with more than 1 review", "cheapest"),
        ("active and inactive products", "inactive"),  # nothing is both
        ("orders not yet cancelled", "not yet cancelled"),
        ("orders shipped within a day", "a day"),
    ],
)
def test_what_two_people_would_read_in_two_ways_is_asked_back(question: str, term: str) -> None:
    reading = read(question)
    assert reading.frame is None
    assert term in [each.term for each in reading.clarifications]


FOLLOWED: list[tuple[tuple[str, ...], list[tuple[object, ...]]]] = [
    (("top 2 customers by revenue", "only customers from Oslo"), [("Bo", 40)]),
    (("how many products are active", "inactive?"), [(1,)]),
    (("revenue by brand", "by quantity instead"), [("Acme", 27), ("Zorn", 1)]),
    (("how many orders in 2024", "shipped in 2024"), [(2,)]),
    (("how many orders are cancelled", "total amount of those"), [(2000,)]),
    (("how many products are active", "which of them are Acme"), [("Lamp",), ("Desk",)]),
    (("orders per customer", "only over 100 dollars"), [("Ann", 1)]),  # each order, not how many of them
    (("revenue by brand", "how many customers from Oslo"), [(2,)]),
    (("how many cancelled orders per ship city", "shipped orders?"), [("Oslo", 2)]),
]


@pytest.mark.parametrize(("chain", "rows"), FOLLOWED, ids=[" / ".join(chain) for chain, _ in FOLLOWED])
def test_a_follow_up_keeps_what_it_does_not_speak_of(chain: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    assert asked(*chain) == rows


def test_a_bare_count_after_a_condition_is_asked_whether_it_still_holds() -> None:
    first = read("how many orders in Oslo")
    assert first.frame is not None
    second = read("how many products?", first.frame)
    assert second.frame is None
    assert "of all" in second.clarifications[0].question


def test_a_column_that_a_follow_up_names_and_nothing_uses_is_asked_about() -> None:
    first = read("how many orders were shipped")
    assert first.frame is not None
    assert read("and the birth date", first.frame).frame is None


def test_all_that_may_be_seen_of_a_thing_is_listed_without_what_is_personal() -> None:
    reading = read("show me customer details")
    assert reading.frame is not None
    assert [ref.column for ref in reading.frame.columns] == ["id", "name", "gender", "city", "signup_date"]


def test_two_guessed_words_are_one_too_many() -> None:
    assert read("how many custmers are there").frame is not None
    assert read("how many custmers by revview").frame is None


def test_the_most_common_of_rows_that_no_list_names_is_told_by_their_label() -> None:
    ward = Drafted(
        "CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT);"
        "CREATE TABLE diagnoses (id INTEGER PRIMARY KEY, patient_id INTEGER REFERENCES patients, description TEXT);"
        "INSERT INTO patients VALUES (1, 'Ann'), (2, 'Bo');"
        "INSERT INTO diagnoses VALUES (1, 1, 'Flu'), (2, 2, 'Flu'), (3, 2, 'Asthma');",
        date(2024, 12, 31),
    )
    assert ward.asked("most common diagnosis") == [("Flu", 2)]
