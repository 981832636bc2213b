"""What managers ask first, over HTTP on the sample, without a language model: answered at once and about the right
figure."""

from __future__ import annotations

import sqlite3
from datetime import date
from pathlib import Path

import pytest

from recollect.apps.ask.sample import make_sample
from tests.apps.ask.asking_door import Door

SOLD = "FROM order_lines l JOIN orders o ON o.id = l.order_id WHERE o.status <> 'cancelled' AND o.ordered_at LIKE"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sample") / "sample.db"
    make_sample(path)
    return path


@pytest.mark.parametrize("question", ["top 5 products by revenue", "revenue by category", "which products sell best?"])
def test_revenue_is_split_by_the_rows_that_record_it(door: Door, question: str) -> None:
    assert '"order_lines"."unit_price" * "order_lines"."quantity"' in door.ask(question)["sql_query"]


def test_how_many_were_sold_are_pieces(door: Door, sample: Path) -> None:
    year = date.today().year - 1
    with sqlite3.connect(sample) as connection:
        [(pieces,)] = connection.execute(f"SELECT SUM(l.quantity) {SOLD} '{year}%'").fetchall()
    assert door.figure(f"how many products did we sell in {year}?") == pieces


def test_another_group_keeps_compared_periods_apart(door: Door) -> None:
    door.ask("compare sales this year and last year by region", session_id="one")
    answer = door.ask("and by channel instead", session_id="one")
    assert {"channel", "year"} <= set(answer["execution_result"]["full"][0])


def test_growth_since_last_year_compares_the_groups(door: Door) -> None:
    rows = door.ask("growth vs last year by region")["execution_result"]["full"]
    assert len(rows) == 4
    assert not {"month", "year"} & set(rows[0])


def test_count_and_amount_stay_two_figures(door: Door) -> None:
    [first, *_] = door.ask("number of orders and total sales by channel")["execution_result"]["full"]
    assert len(first) == 3
