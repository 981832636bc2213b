"""Follow-ups change slots of the last frame and keep the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.apps.ask.interpret import Frame, render_frame
from recollect.apps.ask.interpret.explain import describe_change
from tests.apps.ask.interpret.interpret_shop import Shop, names, open_shop


@pytest.fixture
def last(shop: Shop) -> Frame:
    return shop.best("total amount of orders by country in 2024").frame


@pytest.mark.parametrize("question", ["What about 2025?", "and 2025", "那2025年呢"])
def test_period_replaces_the_period(shop: Shop, last: Frame, question: str) -> None:
    frame = shop.best(question, last).frame
    assert frame.metrics == last.metrics
    assert frame.groups == last.groups
    assert [(each.start, each.end) for each in frame.periods] == [("2025-01-01", "2026-01-01")]


def test_year_before_counts_from_the_last_period(shop: Shop, last: Frame) -> None:
    [period] = shop.best("and the year before?", last).frame.periods
    assert period.start == "2023-01-01"


@pytest.mark.parametrize("question", ["by month", "按月"])
def test_grain_keeps_figure_and_period(shop: Shop, last: Frame, question: str) -> None:
    frame = shop.best(question, last).frame
    assert frame.groups[0].grain == "month"
    assert (frame.metrics, frame.periods) == (last.metrics, last.periods)


def test_value_narrows_the_rows(shop: Shop, last: Frame) -> None:
    assert shop.rows("only Germany", last) == [("Germany", 100.0)]


def test_value_replaces_a_value_of_its_column(shop: Shop) -> None:
    last = shop.best("How many customers are from Germany?").frame
    assert shop.rows("and from Spain?", last) == [(1,)]


def test_limit_of_a_ranking(shop: Shop, last: Frame) -> None:
    frame = shop.best("the top 1", last).frame
    assert frame.limit == 1
    assert frame.order[0].is_descending


def test_how_many_counts_the_last_list(shop: Shop) -> None:
    last = shop.best("Which customers have no orders?").frame
    assert shop.rows("how many of them?", last) == [(1,)]


def test_counting_keeps_a_condition_on_figures(shop: Shop) -> None:
    last = shop.best("Which customers have at least 2 orders?").frame
    assert last.having
    assert shop.rows("how many of them?", last) == [(1,)]


@pytest.mark.parametrize("question", ["who are they?", "which ones?", "show them"])
def test_rows_that_were_counted_can_be_listed(shop: Shop, question: str) -> None:
    last = shop.best("How many customers have no orders?").frame
    assert names(shop.rows(question, last)) == {"Dan"}


def test_by_a_figure_ranks_the_same_groups(shop: Shop) -> None:
    last = shop.best("top 2 customers by number of orders").frame
    frame = shop.best("by amount", last).frame
    assert (frame.groups, frame.limit) == (last.groups, 2)
    assert [metric.of.column for metric in frame.metrics] == ["amount"]


def test_chart_wish_is_kept_apart(shop: Shop, last: Frame) -> None:
    best = shop.best("as a pie chart", last)
    assert best.chart == "pie"
    assert best.frame == last


def test_complete_question_is_not_a_follow_up(shop: Shop, last: Frame) -> None:
    assert names(shop.rows("Which customers have no orders?", last)) == {"Dan"}


def test_change_is_described(last: Frame) -> None:
    assert describe_change(["period"], last) == "Kept: figure, grouping. Changed: period."


def test_person_of_two_columns_is_replaced_whole(tmp_path: Path) -> None:
    schema = """
    CREATE TABLE staff (id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT);
    CREATE TABLE visits (id INTEGER PRIMARY KEY, staff_id INTEGER REFERENCES staff(id));
    INSERT INTO staff VALUES (1,'Ida','Berg'),(2,'Tom','Falk');
    INSERT INTO visits VALUES (1,1),(2,2),(3,2);
    """
    clinic = open_shop(tmp_path / "clinic.sqlite", schema)
    last = clinic.best("How many visits does Ida Berg have?").frame
    assert clinic.run(render_frame(last, clinic.index)) == ((1,),)
    assert clinic.rows("and Tom Falk?", last) == [(2,)]


def test_share_of_the_last_figures(shop: Shop, last: Frame) -> None:
    frame = shop.best("as a percentage", last).frame
    assert frame.metrics[0].compute == "share"
    assert frame.groups == last.groups


def test_a_pronoun_means_the_rows_that_a_limit_left(shop: Shop) -> None:
    top = shop.best("top 2 customers by total amount of orders").frame
    assert names(shop.rows("list top 2 customers by total amount of orders")) == {"Ada", "Ben"}
    for question in ("how many of them are from Germany?", "其中有多少来自Germany"):
        assert shop.rows(question, top) == [(1,)]
    assert names(shop.rows("show me their country", top)) <= {"Germany", "France"}


def test_number_is_compared_with_what_the_last_rows_are_worth(shop: Shop) -> None:
    last = shop.best("list the paid orders").frame
    assert names(shop.rows("only above 60", last)) == {"1", "4"}


def test_growth_of_the_last_figures(shop: Shop) -> None:
    last = shop.best("total amount of orders by year").frame
    frame = shop.best("growth", last).frame
    assert [metric.compute for metric in frame.metrics] == ["", "growth"]
    assert frame.groups == last.groups
