"""Follow-ups: a piece of a question changes the last frame, and says what it kept."""

from __future__ import annotations

import pytest
from frame_shop import answers, framed, read

CHAINS: list[tuple[tuple[str, ...], list[tuple[object, ...]]]] = [
    (("sales in 2022", "What about 2023?"), [(70,)]),
    (("sales in 2023", "and the year before?"), [(30,)]),
    (("sales in March 2023", "April?"), [(20,)]),
    (("sales in 2023", "all years"), [(110,)]),
    (("sales by town", "only Oslo"), [("Oslo", 30)]),
    (("sales in Bern", "and in Oslo?"), [(30,)]),
    (("sales by town", "without Oslo"), [("Bern", 80)]),
    (("sales by town", "by year instead"), [("2022", 30), ("2023", 70), ("2024", 10)]),
    (("total sales", "break that down by product"), [("Desk", 70), ("Chair", 20), ("Lamp", 20)]),
    (
        ("sales by town", "also per year"),
        [("Bern", "2022", 30), ("Bern", "2023", 50), ("Oslo", "2023", 20), ("Oslo", "2024", 10)],
    ),
    (("total sales by town", "average instead"), [("Bern", 40), ("Oslo", 15)]),
    (("total sales by town", "number of orders instead"), [("Bern", 2), ("Oslo", 2)]),
    (("sales by product", "lowest first"), [("Chair", 20), ("Lamp", 20), ("Desk", 70)]),
    (("sales by product", "top 1 only"), [("Desk", 70)]),
    (("sales by product", "sort by name"), [("Chair", 20), ("Desk", 70), ("Lamp", 20)]),
    (("sales in Oslo in 2023", "drop the town filter"), [(70,)]),
    (("orders over 15", "over 40"), [(2, "2023-03-31", 50)]),
    (("sales by product", "only those with more than 50"), [("Desk", 70)]),
    (("makers with no products", "how many are there?"), [(1,)]),
    (("how many buyers are in Oslo", "show them"), [("Bo Chan",), ("Cy Dahl",)]),
    (("sales by product", "sort them from fewest to most"), [("Chair", 20), ("Lamp", 20), ("Desk", 70)]),
    (("sales by town", "now by product"), [("Desk", 70), ("Chair", 20), ("Lamp", 20)]),
    (("sales per year", "from 2023 on"), [("2023", 70), ("2024", 10)]),
    (("sales per year", "before 2024"), [("2022", 30), ("2023", 70)]),
    (("sales per year", "just 2023 and 2024"), [("2023", 70), ("2024", 10)]),
    (("sales per year", "just 2022 and 2024"), [("2022", 30), ("2024", 10)]),
    (("sales in Bern", "just 2022 and 2024"), [(30,)]),
    (("sales per year", "after 2022 and before 2024"), [("2023", 70)]),
    (("how many products are red", "list their names"), [("Lamp",), ("Chair",)]),
    (("how many orders are between 15 and 25", "and above 25?"), [(2,)]),
    (("sales in Oslo", "add the product"), [("Chair", 20), ("Lamp", 10)]),
    (("sales by product", "only buyers in Oslo"), [("Chair", 20), ("Lamp", 10)]),
    (("how many orders are there in 2023", "what do they add up to?"), [(70,)]),
    (("how many orders are there in 2023", "what's the total?"), [(70,)]),
    (("how many orders over 15", "what were they worth?"), [(100,)]),
    (("how many products are red", "which are not?"), [("Desk",)]),
    (("how many buyers have a phone", "and without?"), [(1,)]),
    (("total sales by town", "the maximum too"), [("Bern", 80, 50), ("Oslo", 30, 20)]),
    (("total sales by town", "number of orders as well"), [("Bern", 80, 2), ("Oslo", 30, 2)]),
    (("sales by product", "sorted alphabetically"), [("Chair", 20), ("Desk", 70), ("Lamp", 20)]),
    (("sales by product", "reverse the order"), [("Chair", 20), ("Lamp", 20), ("Desk", 70)]),
    (("sales in the first quarter of 2023", "and the quarter after?"), [(20,)]),
    (("sales in March 2023", "and the same month a year earlier?"), [(None,)]),
    (("orders over 15", "under 15"), [(4, "2024-05-02", 10)]),
    (("number of orders by town", "the average total of each"), [("Bern", 40), ("Oslo", 15)]),
    (("sales by product", "lowest first", "just the first 2"), [("Chair", 20), ("Lamp", 20)]),
    (("how many products are red", "which ones?"), [("Lamp",), ("Chair",)]),
    (("how many products are red", "as a list"), [("Lamp",), ("Chair",)]),
    (("number of orders per year", "only years with more than one order"), [("2023", 2)]),
    (("sales in April 2023", "and in May of the year after?"), [(10,)]),
    (("sales by product", "only red products"), [("Chair", 20), ("Lamp", 20)]),
    (("number of products by color", "and maker"), [("blue", "Acme", 1), ("red", "Acme", 1), ("red", "Zorn", 1)]),
    (("top 1 town by sales", "and by number of orders"), [("Bern", 2)]),
    (("2023年的销售额", "2022年呢"), [(30,)]),
    (("total sales by town", "只看 Oslo"), [("Oslo", 30)]),
]


@pytest.mark.parametrize(("chain", "rows"), CHAINS, ids=[" / ".join(chain) for chain, _ in CHAINS])
def test_a_follow_up_changes_the_last_question(chain: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    assert answers(*chain) == rows


def test_a_question_with_its_own_measure_and_no_opener_replaces_the_last() -> None:
    reading = read("how many makers are there", framed("sales in Oslo in 2023"))
    assert not reading.is_followup
    assert reading.frame is not None
    assert (reading.frame.subject, reading.frame.filters, reading.frame.periods) == ("makers", (), ())


def test_a_follow_up_tells_what_it_kept_and_what_it_changed() -> None:
    reading = read("What about 2023?", framed("sales by town in 2022"))
    assert reading.is_followup
    assert reading.kept == ("the figure", "the grouping")
    assert reading.changed == ("the period",)


def test_a_piece_of_a_question_without_a_last_one_is_asked_back() -> None:
    reading = read("What about 2023?")
    assert reading.frame is None
    assert reading.clarifications


@pytest.mark.parametrize(
    ("before", "then"),
    [
        ("sales in 2023", "and the month before?"),  # before which month?
        ("the 2 products with the lowest sales", "top 3"),  # the lowest, or the highest?
        ("top 2 products by sales", "reverse the order"),  # the same two, or those at the other end?
        ("how many orders are there in 2023", "what is the average total?"),  # of those, or of all?
        ("buyers in Oslo", "how many orders do they have?"),  # each of them, or all together?
        ("top 2 towns by sales", "how many buyers do they have?"),  # kept elsewhere than what chose them
        ("orders over 15", "and under 40?"),  # both conditions, or the second alone?
        ("orders over 15", "who are the buyers?"),  # theirs, or all?
        ("sales in 2022", "only the last quarter"),  # of 2022, or seen from today?
    ],
)
def test_a_follow_up_that_may_mean_two_things_is_asked_back(before: str, then: str) -> None:
    reading = read(then, framed(before))
    assert reading.frame is None
    assert reading.clarifications


def test_a_share_of_the_last_answer_is_refused() -> None:
    reading = read("as a percentage of the total", framed("sales by town"))
    assert reading.frame is None
    assert reading.refused


def test_an_unknown_word_in_a_follow_up_changes_nothing() -> None:
    reading = read("only the frobnicated ones", framed("sales by town"))
    assert reading.frame is None
    assert reading.unknown == ("frobnicated",)
