"""Forms of questions: several figures at once, figures of two tables, the first of each group, those who did not."""

from __future__ import annotations

import pytest
from drafted_shop import asked, read

RIGHT: list[tuple[tuple[str, ...], list[tuple[object, ...]]]] = [
    (("min, average and max price by brand",), [("Zorn", 40, 40, 40), ("Acme", 10, 45, 80)]),
    (("highest and lowest price",), [(80, 10)]),
    (("price range of products",), [(10, 80)]),
    (("customers and orders by gender",), [("M", 2, 1), ("F", 1, 2)]),  # who never ordered is one, too
    (("orders and units sold per year",), [("2023", 1, 2), ("2024", 2, 26)]),
    (("orders and units sold by brand",), [("Acme", 2, 27), ("Zorn", 1, 1)]),
    (("number of orders per year", "units sold too"), [("2023", 1, 2), ("2024", 2, 26)]),
    (("most expensive product in each brand",), [("Acme", "Desk", 80), ("Zorn", "Chair", 40)]),
    (("most expensive product per brand", "and the cheapest?"), [("Acme", "Lamp", 10), ("Zorn", "Chair", 40)]),
    (("latest order of each customer",), [("Ann", 2, "2024-02-10"), ("Bo", 3, "2024-12-20")]),
    (("customer with the most orders each year",), [("Ann", "2023", 1), ("Ann", "2024", 1), ("Bo", "2024", 1)]),
    (("top product by units sold in each brand",), [("Desk", "Acme", 26), ("Chair", "Zorn", 1)]),
    (("brand distribution",), [("Acme", 2), ("Zorn", 1)]),
    (("gender distribution of customers",), [("M", 2), ("F", 1)]),
    (("what brands are there and how many products in each",), [("Acme", 2), ("Zorn", 1)]),
    (("average price by brand, cheapest brand first",), [("Zorn", 40), ("Acme", 45)]),
    (("products whose name contains am",), [("Lamp",)]),
    (("products whose name starts with D",), [("Desk",)]),
    (("customers who did not order anything in 2024",), [("Cy",)]),
    (("customers without orders in 2023",), [("Bo",), ("Cy",)]),  # none of then
    (("customers who ordered in 2024 but not in 2023",), [("Bo",)]),
    (("products that were not sold in 2023",), [("Chair",)]),
    (("customers who ordered more than once",), [("Ann", 2)]),
    (("how many customers ordered at least twice",), [(1,)]),
    (("how many products have fewer than 1 review in 2024",), [(2,)]),  # those of then are counted
    (("products whose price is above average",), [("Desk",)]),
    (("how many products are cheaper than average",), [(2,)]),
]


@pytest.mark.parametrize(("chain", "rows"), RIGHT, ids=[" / ".join(chain) for chain, _ in RIGHT])
def test_a_question_of_this_form_gets_the_rows_it_asks_for(
    chain: tuple[str, ...], rows: list[tuple[object, ...]]
) -> None:
    assert asked(*chain) == rows


@pytest.mark.parametrize(
    "question",
    [
        "which products have the highest and lowest price",  # whose it is, not how much
        "orders and reviews per customer",  # each would multiply the other
        "orders and refunds per year",  # each has its own date
        "total amount and units sold per year",  # the amount of an order would come once for each line
        "top 2 customers by number of orders per year",  # of each year, or of all
        "products whose name contains red or blue",
        "Acme products with a price above average",  # of all, or of these
        "orders not shipped in 2024",  # not at all, or not then
    ],
)
def test_figures_that_would_be_wrong_together_are_not_told_so(question: str) -> None:
    assert read(question).frame is None
