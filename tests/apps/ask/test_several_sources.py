"""Several sources in one project: words, values and terms of one never change how another is read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.apps.ask.asking_door import BY_REGION, SALES, SOURCES, Door

QUESTIONS = (
    BY_REGION,
    "How many customers are there?",
    "How many gold customers are there?",
    "Top 5 products by price",
)
CLINIC = """
    CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT, region TEXT, tier TEXT, gold BOOLEAN);
    INSERT INTO patients VALUES (1, 'sales', 'customers', 'North', 1), (2, 'products', 'gold', 'South', 0);
"""
FLEET = """
    CREATE TABLE customers (id INTEGER PRIMARY KEY, truck TEXT, price REAL, sales REAL, status TEXT);
    INSERT INTO customers VALUES (1, 'region', 3.5, 10, 'gold'), (2, 'total', 7.5, 20, 'North');
"""


def test_two_more_databases_leave_the_first_as_it_was(door: Door, tmp_path: Path) -> None:
    before = [(each["sql"], each["rows"]) for each in map(door.sql, QUESTIONS)]
    for name, script in (("clinic", CLINIC), ("fleet", FLEET)):
        with closing(sqlite3.connect(tmp_path / name)) as made:
            made.executescript(script)
        door.post(SOURCES, name=name, dsn=f"sqlite:///{tmp_path / name}")
    assert [(each["sql"], each["rows"]) for each in map(door.sql, QUESTIONS)] == before


def test_a_meaning_that_is_taught_is_read_as_it_resolves(door: Door) -> None:
    taught = {"term": "active", "answer": "I mean tier = 'gold'", "question": "How many active customers are there?"}
    answer = door.post(f"{SALES}/text2sql/clarify", **taught, user_id="john")
    found = door.post("/v1/resolve", 200, user="john", terms=["active"])
    assert "tier = 'gold'" in str(found)
    assert "'gold'" in answer["sql"]
    assert "is_active" not in answer["sql"]
