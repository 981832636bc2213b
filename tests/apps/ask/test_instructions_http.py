"""Instructions in a conversation over HTTP: forgetting, undoing, and filters that always hold."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from recollect.apps.ask.memories.instructions import find_retraction
from recollect.apps.ask.sample import make_sample
from tests.apps.ask.asking_door import Door

ACTIVE = "How many active customers are there?"
CUSTOMERS = "How many customers do we have?"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sample") / "sample.db"
    make_sample(path)
    return path


def count(sample: Path, sql: str) -> int:
    with sqlite3.connect(sample) as connection:
        return int(connection.execute(sql).fetchone()[0])


@pytest.mark.parametrize(
    ("message", "term"),
    [
        ("undo that", ""),
        ("please forget it", ""),
        ("forget what I said about active", "active"),
        ("forget the definition of big spenders", "big spenders"),
        ("how many customers did we forget", None),
    ],
)
def test_retraction_names_its_term(message: str, term: str | None) -> None:
    assert find_retraction(message) == term


def test_undo_restores_the_meaning_before(door: Door) -> None:
    door.ask("active means logged in within 30 days")
    first = door.figure(ACTIVE)
    [learned] = door.ask("active now means 60 days")["learned"]
    assert learned["meaning"] == "logged in within 60 days"
    assert learned["replaces"] == "logged in within 30 days"
    assert door.figure(ACTIVE) != first
    assert "within 30 days" in door.ask("undo that")["answer"]
    assert door.figure(ACTIVE) == first


def test_forget_finds_the_term_in_what_is_said(door: Door) -> None:
    door.ask("active means logged in within 30 days")
    assert '"active"' in door.ask("could you forget what active means, please")["answer"]
    assert not door.ask(ACTIVE)["sql_query"]


def test_polite_messages_teach(door: Door) -> None:
    door.ask("Call our customers clients, please.")
    door.ask("please call the regions territories thanks")
    assert door.figure("how many clients are there") == door.figure("how many customers are there")
    assert '"regions"' in door.ask("total sales by territory for 2024")["sql_query"]


def test_forget_ends_the_meaning_of_a_term(door: Door) -> None:
    door.ask("active means logged in within 30 days")
    assert '"active"' in door.ask("forget what I said about active")["answer"]
    assert not door.ask(ACTIVE)["sql_query"]
    assert "nothing about" in door.ask("forget active")["answer"]


def test_standing_filter_holds_until_it_is_forgotten(door: Door, sample: Path) -> None:
    door.ask("always exclude test customers")
    assert int(door.figure(CUSTOMERS)) == count(sample, "SELECT COUNT(*) FROM customers WHERE NOT is_test")
    assert [each["term"] for each in door.ask(CUSTOMERS)["assumptions"]] == ["customers.is_test"]
    door.ask("forget what I said about test customers")
    assert int(door.figure(CUSTOMERS)) == count(sample, "SELECT COUNT(*) FROM customers")


def test_product_of_columns_is_a_total(door: Door, sample: Path) -> None:
    door.ask("turnover is quantity times unit price")
    total = door.figure("total turnover")
    assert int(total) == count(sample, "SELECT SUM(quantity * unit_price) FROM order_lines")


def test_weekdays_are_named_and_running_months_noted(door: Door) -> None:
    assert "| Monday |" in door.ask("total sales by weekday")["answer"]
    assert any("not over yet" in note for note in door.ask("total sales per year")["notes"])


def test_plural_superlative_lists_several_rows(door: Door) -> None:
    lines = door.ask("show me the biggest customers by sales")["answer"].splitlines()
    assert sum(line.startswith("| ") for line in lines) == 2 + 5
