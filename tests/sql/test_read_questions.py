"""Questions in, rows out: each question is read, rendered and really run on the invented shop."""

from __future__ import annotations

import pytest
from frame_shop import CATALOG, MODEL, TODAY, answers, read

from recollect.sql.known import DefaultFilter, FoundValue, Known, Target
from recollect.sql.reading import read_question
from recollect.sql.semantic import Definition

RIGHT: list[tuple[str, list[tuple[object, ...]]]] = [
    ("How many buyers do we have?", [(3,)]),
    ("how many buyers are from oslo", [(2,)]),
    ("number of buyers not in Oslo", [(1,)]),
    ("total sales", [(110,)]),
    ("sales in 2023", [(70,)]),
    ("sales in March 2023", [(50,)]),
    ("sales since April 2023", [(30,)]),
    ("sales last month", [(None,)]),
    ("average order total", [(27.5,)]),
    ("sales by town", [("Bern", 80), ("Oslo", 30)]),
    ("sales per year", [("2022", 30), ("2023", 70), ("2024", 10)]),
    ("sales per quarter in 2023", [("2023-Q1", 50), ("2023-Q2", 20)]),
    ("sales by product", [("Desk", 70), ("Chair", 20), ("Lamp", 20)]),
    ("sales for Acme", [(90,)]),
    ("how many orders does Ann Lee have?", [(2,)]),
    ("which maker has the most products", [("Acme", 2)]),
    ("makers with no products", [("Idle",)]),
    ("makers with fewer than 2 products", [("Zorn", 1), ("Idle", 0)]),
    ("buyers with more than 1 order", [("Ann Lee", 2), ("Bo Chan", 2)]),
    ("how many makers have more than 1 product", [(1,)]),
    ("buyers who never ordered", [("Cy Dahl",)]),
    ("how many products were sold", [(9,)]),
    ("the longest product", [("Desk", 300)]),
    ("products longer than 2 minutes", [("Desk",)]),
    ("orders over 25", [(1, "2022-01-05", 30), (2, "2023-03-31", 50)]),
    ("orders between 15 and 35: how many?", [(2,)]),
    ("top 2 buyers by sales", [("Ann Lee", 80), ("Bo Chan", 30)]),
    ("list the names of buyers without a phone", [("Bo Chan",)]),
    ("In which towns do we have buyers?", [("Bern",), ("Oslo",)]),
    ("which products are in the box Large", [("Lamp",), ("Desk",)]),
    ("number of products per box", [("Large", 2), ("Small", 1)]),
    ("how many buyers bought a red product in 2023", [(1,)]),
    ("how many different colors are there", [(2,)]),
    ("average number of products per maker", [(1.5,)]),
    ("average number of seconds by color", [("blue", 300), ("red", 75)]),
    ("who ordered in 2022", [("Ann Lee",)]),
    ("how many loyal buyers are there", [(2,)]),
    ("show products with their maker", [("Lamp", "Acme"), ("Desk", "Acme"), ("Chair", "Zorn")]),
    ("buyers sorted by name descending", [("Cy Dahl",), ("Bo Chan",), ("Ann Lee",)]),
    ("compare sales in Bern and Oslo", [("Bern", 80), ("Oslo", 30)]),
    ("how many byuers are there", [(3,)]),
    ("2023年的销售额", [(70,)]),
    ("按 town 的销售额", [("Bern", 80), ("Oslo", 30)]),
]


@pytest.mark.parametrize(("question", "rows"), RIGHT, ids=[question for question, _ in RIGHT])
def test_a_question_in_plain_words_gets_the_rows_it_asks_for(question: str, rows: list[tuple[object, ...]]) -> None:
    assert answers(question) == rows


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("how many frobnicators are there", ("frobnicators",)),
        ("sales by mood", ("mood",)),
        ("how happy are the buyers", ("how", "happy")),
        ("sales in Atlantis", ("Atlantis",)),
        ('buyers called "Dora Quux"', ("Dora Quux",)),
    ],
)
def test_a_word_that_nobody_knows_is_named_and_no_query_is_guessed(question: str, unknown: tuple[str, ...]) -> None:
    reading = read(question)
    assert reading.frame is None
    assert reading.unknown == unknown
    assert [each.term for each in reading.clarifications] == list(unknown)


@pytest.mark.parametrize(
    ("question", "term", "category"),
    [
        ("recent orders", "recent", "temporal"),
        ("the best buyers", "best", "quantitative"),
        ("top 5 buyers", "top 5", "quantitative"),
        ("active buyers", "active", "state"),
        ("a summary of the orders", "summary", "aggregation"),
        ("how many orders do they have", "they", "entity"),
        ("sales in March", "in March", "temporal"),
        ("the largest products", "largest", "quantitative"),
        ("how many products in 2023", "in 2023", "temporal"),
    ],
)
def test_a_vague_word_is_asked_about_by_its_kind(question: str, term: str, category: str) -> None:
    reading = read(question)
    assert reading.frame is None
    assert [(each.term, each.category) for each in reading.clarifications] == [(term, category)]


@pytest.mark.parametrize(
    "question",
    ["median of sales by town", "buyers who never bought a red product"],
)
def test_what_would_give_a_wrong_number_is_refused_with_a_sentence(question: str) -> None:
    reading = read(question)
    assert reading.frame is None
    assert reading.refused


@pytest.mark.parametrize(
    "question",
    [
        "sales by town and their buyers",
        "the longest and the shortest product",
        "towns with buyers but no makers",
        "buyers and makers",
        "total seconds of all products in miles",
        "price of the product Acme",
        "orders that cost more than a fortune",
    ],
)
def test_what_is_understood_only_in_part_is_asked_back(question: str) -> None:
    reading = read(question)
    assert reading.frame is None
    assert reading.clarifications


def test_a_total_of_an_order_is_never_split_by_what_its_lines_sold() -> None:
    reading = read("average order total by product")
    assert reading.frame is None
    assert reading.clarifications[0].category == "aggregation"


def test_an_unknown_name_becomes_a_value_once_it_was_looked_up() -> None:
    first = read("how many orders does Dora Quux have")
    found = [FoundValue("buyers", "full_name", "Dora Quux")]
    again = read_question("how many orders does Dora Quux have", MODEL, CATALOG, values=found, today=TODAY)
    assert first.lookups[0] == "Dora Quux"
    assert again.frame is not None
    assert again.frame.filters[0].values == ("Dora Quux",)


def test_what_memory_knows_is_used_and_told_with_who_said_so() -> None:
    active = Definition(("active",), "buyers", "phone IS NOT NULL", "project", 0.9, "has a phone")
    known = Known({"patrons": Target("entity", "buyers", name="buyer", source="user", confidence=0.8)}, (active,))
    reading = read("how many active patrons are there", known=known)
    assert reading.frame is not None
    assert ("active", "has a phone", "project", 0.9) in [
        (a.term, a.meaning, a.source, a.confidence) for a in reading.assumptions
    ]


def test_a_definition_that_is_not_sure_enough_is_asked_about() -> None:
    known = Known(definitions=(Definition(("active",), "buyers", "phone IS NOT NULL", "user", 0.5, "has a phone"),))
    reading = read("how many active buyers are there", known=known)
    assert reading.frame is None
    assert reading.clarifications[0].suggestions == ("has a phone",)


def test_a_standing_filter_goes_with_its_table_unless_the_question_filters_the_column_itself() -> None:
    known = Known(default_filters=(DefaultFilter("buyers", "town", "town <> 'Oslo'"),))
    added, own, other = (
        read(q, known=known) for q in ("how many buyers", "how many buyers in Oslo", "how many makers")
    )
    assert added.frame is not None
    assert own.frame is not None
    assert other.frame is not None
    assert [len(each.frame.filters) for each in (added, own, other) if each.frame] == [1, 1, 0]
    assert [len(each.assumptions) for each in (added, own, other)] == [1, 0, 0]


def test_the_period_of_the_session_applies_where_the_question_says_none() -> None:
    known = Known(time_focus="2023")
    without, with_own = read("total sales", known=known).frame, read("total sales in 2022", known=known).frame
    assert without is not None
    assert with_own is not None
    assert (without.periods[0].start, with_own.periods[0].start) == ("2023-01-01", "2022-01-01")


def test_a_habit_decides_only_what_the_question_leaves_open() -> None:
    known = Known(preferences={"time_grain": "month"})
    assert read("sales over time").frame is None
    habitual = read("sales over time", known=known).frame
    assert habitual is not None
    assert habitual.groups[0].grain == "month"
