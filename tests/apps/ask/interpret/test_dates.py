"""Which dates a question means: the year that nobody said, and rows that hardly have a date."""

from __future__ import annotations

import pytest

from tests.apps.ask.interpret.interpret_shop import Shop, open_shop

SCHEMA = """
CREATE TABLE clients (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, discontinued_on DATE);
CREATE TABLE visits (id INTEGER PRIMARY KEY, client_id INTEGER REFERENCES clients(id), planned_for DATE, channel TEXT);
CREATE TABLE sales (id INTEGER PRIMARY KEY, client_id INTEGER REFERENCES clients(id), sold_on DATE);
CREATE TABLE sale_lines (id INTEGER PRIMARY KEY, sale_id INTEGER REFERENCES sales(id),
  item_id INTEGER REFERENCES items(id), quantity INTEGER, unit_price REAL);
INSERT INTO clients VALUES (1,'Ada','Leeds'),(2,'Ben','York');
INSERT INTO items VALUES (1,'Trio','Tandems',NULL),(2,'Duo','Tandems',NULL),(3,'Solo','Racers','2024-06-01');
INSERT INTO visits VALUES (1,1,'2025-02-03','web'),(2,2,'2025-09-01','phone'),(3,2,'2024-09-05','web'),
  (4,1,'2024-09-09','phone');
INSERT INTO sales VALUES (1,1,'2024-05-01'),(2,2,'2025-05-01');
INSERT INTO sale_lines VALUES (1,1,1,1,100),(2,2,2,2,50),(3,2,3,1,70);
"""


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return open_shop(tmp_path_factory.mktemp("club") / "club.sqlite", SCHEMA)


def test_a_month_that_may_be_past_or_planned_is_asked_about(club: Shop) -> None:
    decision = club.ask("how many visits in September")
    assert decision.kind == "choices"
    years = {each.frame.periods[0].text: club.run(each.sql) for each in decision.candidates[:2]}
    assert years == {"September 2024": ((2,),), "September 2025": ((1,),)}


@pytest.mark.parametrize(("question", "count"), [("visits in February", 1), ("visits in September 2025", 1)])
def test_a_month_that_is_clear_is_not_asked_about(club: Shop, question: str, count: int) -> None:
    decision = club.ask(f"how many {question}")
    assert decision.kind != "choices"
    assert club.run(decision.candidates[0].sql) == ((count,),)


def test_what_is_sold_is_dated_by_the_sale(club: Shop) -> None:
    assert club.rows("how much did we sell in tandems in 2025") == [(100.0,)]


def test_a_word_is_no_misspelt_filler(club: Shop) -> None:
    assert "online" in club.ask("how many visits were made online").unexplained


def test_all_rows_after_some_of_them_are_asked_about(club: Shop) -> None:
    some = club.best("visits with channel web").frame
    assert club.ask("planned for dates", last=some).kind == "choices"
