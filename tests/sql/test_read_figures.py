"""Questions that compare two columns of a row, ask for a part of a whole, or for a part of a month."""

from __future__ import annotations

import pytest
from drafted_workshop import asked, read, workshop

from recollect.sql.explain import explained
from recollect.sql.frame import Frame

RIGHT: list[tuple[tuple[str, ...], list[tuple[object, ...]]]] = [
    (("how many orders were shipped after the required date",), [(1,)]),  # at half past nine on the day is in time
    (("how many orders were shipped on time",), [(2,)]),
    (("late orders by shop",), [("Market", 1)]),
    (("how many orders were shipped before their required date",), [(1,)]),
    (("products below their reorder level",), [("Desk",), ("Bulb",)]),
    (("what percentage of orders were shipped late",), [(25.0,)]),
    (("what percentage of orders were shipped late", "by shop"), [("Market", 100.0), ("Harbour", 0.0)]),
    (("what share of revenue comes from Lamps",), [(pytest.approx(100 * 200 / 560),)]),  # and what has no category
    (("what share of revenue comes from Lamps", "and Tables?"), [(pytest.approx(100 * 290 / 560),)]),
    (("what share of orders from Ann were late",), [(50.0,)]),
    (("what percentage of customers never ordered",), [(25.0,)]),
    (("what percentage of customers have more than 1 order",), [(25.0,)]),
    (("what share of orders was placed in March 2024",), [(75.0,)]),
    (("percentage of orders by shop",), [("Harbour", pytest.approx(200 / 3)), ("Market", pytest.approx(100 / 3))]),
    (("percentage of orders by shop", "in the first week of March 2024"), [("Harbour", 100.0)]),
    (("revenue after discount by shop",), [("Harbour", 280.0), ("Market", 200.0)]),
    (("gross revenue by shop",), [("Harbour", 330.0), ("Market", 200.0)]),
    (("total discount given in March 2024",), [(50.0,)]),  # in money; a sum of rates is nothing
    (("revenue by customer, only customers with more than 1 order",), [("Ann", 380.0)]),
    (("which products sold more than 3 units",), [("Bulb", 10), ("Lantern", 5)]),  # sold, not in stock
    (("how many orders in the last week of March 2024",), [(1,)]),
    (("how many orders between 2 and 9 March 2024",), [(2,)]),
]


@pytest.mark.parametrize(("chain", "rows"), RIGHT, ids=[" / ".join(chain) for chain, _ in RIGHT])
def test_a_figure_that_compares_or_divides_is_the_one_that_was_asked_for(
    chain: tuple[str, ...], rows: list[tuple[object, ...]]
) -> None:
    assert asked(*chain) == rows


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("orders in late March 2024", "late"),  # which part of it, not what came late
        ("how many orders in the last week of March", "last"),  # of which year
        ("share of late orders by shop", "Of all of what"),
        ("median list price", "median"),
        ("revenue growth by year", "Growth"),
        ("how much discount did we give in 2024", "rate"),
        ("revenue by customer in 2024, only customers with more than 1 order", "in all"),
        ("who placed the most recent order", "Who of the order"),  # a person, not the order
        ("percentage of orders by shop and city", "Of all of what"),
    ],
)
def test_what_cannot_be_worked_out_is_told_as_what_it_is(question: str, told: str) -> None:
    reading = read(question)
    assert reading.frame is None
    assert told in (reading.refused or " ".join(each.question for each in reading.clarifications))


def test_a_share_is_kept_as_data_and_told_in_words() -> None:
    frame = read("what share of orders from Ann were late").frame
    assert frame is not None
    assert Frame.from_data(frame.to_data()) == frame
    assert explained(frame, *workshop.both()).startswith("The percentage of the number of orders where late")
