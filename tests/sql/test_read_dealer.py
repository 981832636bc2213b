"""Questions to a dealer: which of two amounts, dates or meanings is taken where both are at hand, and what is asked
back. One line for each kind of mistake that was made on databases not seen before."""

from __future__ import annotations

import pytest
from drafted_dealer import asked, read

RIGHT: list[tuple[tuple[str, ...], list[tuple[object, ...]]]] = [
    (("which month of 2024 had the most sales?",), [("2024-03", 36)]),
    (("best year for revenue",), [("2024", 41)]),
    (("our 2 best customers by revenue",), [("Bo", 35), ("Ann", 26)]),
    (("revenue by sales rep",), [("Ina", 61)]),  # the role, although a job is called so
    (("customers without a sales rep",), [("Cy",)]),
    (("how much did Bo pay in 2024",), [(30,)]),
    (("how much did Bo spend in 2024",), [(35,)]),  # what was sold to him, not what he paid
    (("how much money came in this year",), [(40,)]),
    (("how much did we spend in 2024",), [(12,)]),  # never the revenue
    (("how many customers are in the US",), [(2,)]),  # no pronoun
    (("list the sales that are on hold",), [(2, "2024-03-01", 6)]),
    (("how many used cars are there",), [(2,)]),
    (("how many cars did we sell in 2024",), [(3,)]),  # as many as there are sales
    (("how many cars were built between 2012 and 2022",), [(2,)]),
    (("most expensive car",), [("Cat", 30)]),
    (("which line brings in the most revenue",), [("City", 31)]),
    (("sales in the last quarter of 2024",), [(5,)]),
    (("revenue this year compared to last year",), [("2023", 20), ("2024", 41)]),
    (("test drives in January 2025",), [(1, "2024-12-01", "2025-01-04")]),  # when they take place
    (("payments by method",), [("card", 1), ("cash", 1)]),
    (("revenue of customer 2",), [(35,)]),  # by its number
    (("who earns the most",), [("Kim", 90)]),
    (("the 2 latest sales",), [(4, "2024-11-30"), (3, "2024-03-09")]),
    (("cars under 25, cheapest first",), [("Bee",), ("Ant",)]),
]


@pytest.mark.parametrize(("chain", "rows"), RIGHT, ids=[" / ".join(chain) for chain, _ in RIGHT])
def test_a_question_gets_the_rows_it_asks_for(chain: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    assert asked(*chain) == rows


@pytest.mark.parametrize(
    "question",
    [
        "show me the numbers",  # of what
        "in which quarter did we sell the most",  # pieces, or money
        "which months had the most sales",  # how many of them
        "which one brings in the most revenue",  # of what
        "how much have they paid",  # who
        "customers in US states",  # nothing here says so
    ],
)
def test_what_cannot_be_told_is_asked_back(question: str) -> None:
    assert read(question).frame is None


def test_that_payments_were_counted_and_not_added_up_is_told() -> None:
    told = read("payments by method").assumptions
    assert ("payments", "the number of payments") in [(each.term, each.meaning) for each in told]
