"""Composing and rendering: what a question over an unknown schema becomes, by mechanism."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.apps.ask.interpret import Frame, candidate_from, render_frame
from recollect.apps.ask.interpret.frame import Existence, Filter, Metric, Order, Ref
from tests.apps.ask.interpret.interpret_shop import Shop, names
from tests.bounds import bound


def test_values_are_found_without_naming_their_column(shop: Shop) -> None:
    assert shop.rows("How many customers are from Germany?") == [(2,)]


def test_values_are_trimmed_and_keys_too(shop: Shop) -> None:
    assert shop.rows("How many flights depart from Aberdeen?") == [(2,)]


def test_role_words_choose_between_parallel_keys(shop: Shop) -> None:
    assert shop.rows("How many flights arrive in Aberdeen?") == [(1,)]


def test_superlative_keeps_all_ties(shop: Shop) -> None:
    assert names(shop.rows("Which orders have the highest amount?")) == {"1", "3"}


def test_negation_becomes_absence_of_rows(shop: Shop) -> None:
    assert names(shop.rows("Which customers have no orders?")) == {"Dan"}


def test_absence_in_a_period_keeps_the_period_inside(shop: Shop) -> None:
    assert names(shop.rows("customers without orders in 2025")) == {"Ben", "Dan"}


def test_one_period_with_and_another_without_rows(shop: Shop) -> None:
    assert names(shop.rows("customers who ordered in 2024 but not in 2025")) == {"Ben"}


def test_period_before_an_absence_belongs_to_it(shop: Shop) -> None:
    assert names(shop.rows("in 2025, which customers did not order?")) == {"Ben", "Dan"}


def test_how_often_counts_what_was_done(shop: Shop) -> None:
    assert shop.rows("how many customers ordered more than once?") == [(1,)]


def test_single_capital_is_a_name(shop: Shop) -> None:
    assert shop.best("how many A customers are there?").unexplained == ("A",)


def test_quarters_share_the_only_year(shop: Shop) -> None:
    [period] = shop.best("compare the total amount of orders in Q1 and Q3 2024").frame.periods
    assert [start for start, _ in period.ranges] == ["2024-01-01", "2024-07-01"]


def test_table_before_its_column_is_one_name(shop: Shop) -> None:
    assert shop.rows("average unit price by product category") == [("Office", 51.0), ("Sport", 10.0)]


def test_count_and_amount_are_two_figures(shop: Shop) -> None:
    assert shop.rows("orders by status, count and amount") == [("open", 1, 100.0), ("paid", 3, 220.0)]


def test_extreme_first_orders_and_limits_nothing(shop: Shop) -> None:
    frame = shop.best("total amount by status, smallest first").frame
    assert (frame.order[0].is_descending, frame.limit) == (False, None)


def test_month_before_counts_from_the_period_named_first(shop: Shop) -> None:
    [period] = shop.best("compare the total amount of orders last month with the month before").frame.periods
    assert [start for start, _ in period.ranges] == ["2025-05-01", "2025-04-01"]


def test_no_choice_leaves_out_a_negation(shop: Shop) -> None:
    ordered = [each for each in shop.ask("customers without orders in 2025").candidates if not each.unexplained]
    assert all("Ada" not in names(shop.run(each.sql)) for each in ordered)


def test_count_condition_on_related_rows(shop: Shop) -> None:
    assert names(shop.rows("Which customers have at least 2 orders?")) == {"Ada"}


def test_group_by_two_dimensions(shop: Shop) -> None:
    frame = shop.best("number of orders by country and status").frame
    assert [group.of.column for group in frame.groups] == ["country", "status"]


def test_years_are_half_open_ranges(shop: Shop) -> None:
    [period] = shop.best("total amount of orders in 2024").frame.periods
    assert (period.start, period.end) == ("2024-01-01", "2025-01-01")
    assert shop.rows("total amount of orders in 2024") == [(200.0,)]


def test_top_n_ranks_groups_by_a_sum(shop: Shop) -> None:
    assert [row[0] for row in shop.run(shop.best("top 2 customers by total amount").sql)] == ["Ada", "Ben"]


def test_top_n_of_each_group(shop: Shop) -> None:
    best = shop.best("top customer by total amount in each country")
    assert [row[:2] for row in shop.run(best.sql)] == [("France", "Ben"), ("Germany", "Ada")]
    assert best.label == "Customer with the highest total order amount, for each country"
    assert len(shop.rows("top 2 customers by total amount per country")) == 3
    assert shop.best("by month instead", best.frame).frame.within == 0


def test_share_of_total_adds_up(shop: Shop) -> None:
    shares = [row[-1] for row in shop.rows("share of total amount by country")]
    assert sum(shares) == pytest.approx(100, abs=0.1)


def test_condition_on_many_rows_does_not_multiply_a_sum(shop: Shop) -> None:
    """Order 1 has two office lines; its amount counts once."""
    condition = Existence("order_lines", filters=(Filter(Ref("products", "category"), "=", ("Office",)),))
    frame = Frame("orders", (Metric("sum", Ref("orders", "amount")),), existence=(condition,))
    assert shop.run(render_frame(frame, shop.index)) == ((220.0,),)


def test_chinese_question_over_the_same_schema(shop: Shop) -> None:
    assert shop.rows("每个国家有多少客户？") == [("France", 1), ("Germany", 2), ("Spain", 1)]


def test_frames_survive_json(shop: Shop) -> None:
    for question in (
        "customers without orders in 2025", "top 2 customers per country by amount", "orders above 60 by month",
    ):  # fmt: skip
        for candidate in shop.candidates(question):
            again = candidate_from(candidate.to_data())
            assert again is not None
            assert again.frame == candidate.frame
            assert render_frame(again.frame, shop.index) == candidate.sql


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("what percentage of orders is paid", [(75.0,)]),
        ("average number of orders per customer", [(4 / 3,)]),
        ("average order value per year", [("2024", 100.0), ("2025", 60.0)]),
        ("orders older than 10 months", [(1,)]),
        ("how many active customers", [(3,)]),
    ],
)
def test_manager_questions(shop: Shop, question: str, rows: list[tuple[float, ...]]) -> None:
    found = shop.rows(question)
    assert [row[: len(rows[0])] for row in found] == [pytest.approx(row) for row in rows] or found == rows


def test_threshold_shows_what_was_summed(shop: Shop) -> None:
    assert shop.rows("customers who spent more than 120") == [("Ada", 1, 150.0)]


def test_customers_that_have_not_ordered_lately(shop: Shop) -> None:
    assert names(shop.rows("customers who haven't ordered in 5 months")) == {"Ben", "Cleo", "Dan"}


def test_frames_of_another_version_are_ignored() -> None:
    assert Frame.from_data({**Frame("orders").to_data(), "version": 1}) is None


def test_same_question_gives_the_same_candidates(shop: Shop) -> None:
    first, second = (shop.candidates("orders per customer in 2024") for _ in range(2))
    assert [(each.id, each.score) for each in first] == [(each.id, each.score) for each in second]


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "mysql", "duckdb"])
def test_every_candidate_parses_in_each_dialect(shop: Shop, dialect: str) -> None:
    from dataclasses import replace

    from sqlglot import parse_one

    index = replace(shop.index, catalog=replace(shop.catalog, dialect=dialect))
    for question in (
        "orders by quarter in 2024", "share of total amount by country", "customers with the most orders",
        "best customer in each country",
    ):  # fmt: skip
        for candidate in shop.candidates(question):
            assert parse_one(render_frame(candidate.frame, index), dialect=dialect)


@settings(max_examples=bound(20, 500), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_arbitrary_text_never_raises(shop: Shop, text: str) -> None:
    shop.ask(text)


WORDS = st.sampled_from(
    [
        "orders",
        "customers",
        "Germany",
        "2024",
        "not",
        "most",
        "by",
        "each",
        "total",
        "amount",
        "above",
        "10",
        "between",
        "and",
        "or",
        "last",
        "month",
        "without",
        "name",
        "how",
        "many",
        "top",
        "5",
        "the",
        "of",
        "in",
        "from",
        "Aberdeen",
        "'Pen'",
        "average",
        "每个",
        "客户",
        "最高",
        "never",
        "before",
        "since",
        "share",
        "growth",
        "first",
        "half",
        "rate",
        "new",
        "active",
        "more",
        "than",
        "days",
        "count",
        "sorted",
        "only",
        "instead",
        "them",
        "what about",
    ]
)


@settings(max_examples=bound(20, 500), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(WORDS, max_size=10))
def test_every_candidate_of_jumbled_words_runs(shop: Shop, words: list[str]) -> None:
    for candidate in shop.candidates(" ".join(words)):
        shop.run(candidate.sql)
        assert candidate.label


@settings(max_examples=bound(10, 300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(questions=st.lists(st.lists(WORDS, min_size=1, max_size=8), min_size=2, max_size=4), place=st.integers(0, 3))
def test_any_question_may_follow_any_other(shop: Shop, questions: list[list[str]], place: int) -> None:
    last: Frame | None = None
    for words in questions:
        candidates = shop.candidates(" ".join(words), last)
        for candidate in candidates:
            shop.run(candidate.sql)
            assert Frame.from_data(json.loads(json.dumps(candidate.frame.to_data()))) == candidate.frame
        last = candidates[place % len(candidates)].frame if candidates else last


def test_count_is_asked_for_beside_an_order_without_a_figure(shop: Shop) -> None:
    assert shop.rows("amount count and sorted list")


def test_rows_are_ranked_by_an_expression_that_they_show(shop: Shop) -> None:
    doubled = Ref("orders", expression="amount * 2")
    order = Order("column", is_descending=True, of=doubled)
    frame = Frame("orders", columns=(doubled, doubled), order=(order,), limit=1, with_ties=True)

    assert shop.run(render_frame(frame, shop.index)) == ((200.0, 200.0),)
