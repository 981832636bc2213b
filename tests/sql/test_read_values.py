"""Words that stand for what is in the data: states, kinds, codes and flags, said as people say them."""

from __future__ import annotations

import pytest
from drafted_places import asked, read

RIGHT: list[tuple[str, list[tuple[object, ...]]]] = [
    ("how many orders are still pending", [(1,)]),  # a status, not a vague word
    ("how many canceled orders are there", [(1,)]),
    ("how many orders were returned", [(1,)]),
    ("how many customers live in California", [(2,)]),
    ("how many Texas customers", [(1,)]),
    ("customers in CA: how many?", [(2,)]),
    ("how many German customers", [(1,)]),
    ("orders from American customers: how many?", [(2,)]),  # the orders, though the customers stand nearer
    ("how many mountain bike orders", [(1,)]),
    ("how many private or business customers", [(3,)]),
    ("how many customers are smokers", [(1,)]),  # "yes" and "no" are a flag
    ("how many orders are no longer approved", [(2,)]),
    ("how many orders were paid by PayPal", [(2,)]),  # the payment method says it
    ("customers who are not VIPs any more: how many?", [(2,)]),
    ("orders from Weber Tools: how many?", [(2,)]),  # without its GmbH; no other is called so
    ("which bikes cost more than 500", [("Ridge 100",), ("Swift",)]),  # all kinds of products are bikes
    ("how many women are there", [(2,)]),
    ("how many customers have grade B-", [(1,)]),  # not those with a plus
    ("units in stock per shelf", [("North", 5), ("South", 1)]),
    ("how many pieces do we have in stock", [(6,)]),
    ("which products are out of stock in North", [("Swift",)]),
]


@pytest.mark.parametrize(("question", "rows"), RIGHT, ids=[question for question, _ in RIGHT])
def test_a_word_for_what_is_in_the_data_is_found_there(question: str, rows: list[tuple[object, ...]]) -> None:
    assert asked(question) == rows


@pytest.mark.parametrize(
    "question",
    [
        "which products are out of stock",  # in one place, or everywhere?
        "how many products are in stock",  # kinds, or pieces?
        "orders from Acme",  # two are called so
    ],
)
def test_what_the_data_has_in_two_ways_is_asked(question: str) -> None:
    assert read(question).frame is None


def test_and_by_another_value_asks_for_that_one() -> None:
    assert asked("how many orders were paid by PayPal", "and by cash?") == [(2,)]


def test_stock_stays_stock_when_it_is_narrowed() -> None:
    assert asked("units in stock per shelf", "only mountain bikes") == [("North", 5), ("South", 1)]
