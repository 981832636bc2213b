"""A model's statement is fitted to the data without asking the model again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from recollect.apps.ask.gate import check_sql
from recollect.apps.ask.llm.agreement import Vote, get_lead, group_votes, have_same_rows, weigh
from recollect.apps.ask.llm.fitting import fit_to_data
from recollect.apps.ask.semantic.access import EVERYTHING
from recollect.apps.ask.semantic.draft import draft_model
from recollect.apps.ask.source_registry import View
from recollect.apps.ask.sources.address_rules import LOCAL_RULES
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sources.source import open_source

SCRIPT = """
CREATE TABLE town (id INTEGER PRIMARY KEY, name TEXT, land TEXT);
CREATE TABLE shop (id INTEGER PRIMARY KEY, title TEXT, town_id INTEGER REFERENCES town(id));
INSERT INTO town VALUES (1, 'Oslo', ' Norway'), (2, 'Bergen', 'Norway '), (3, 'Lund', 'Sweden');
INSERT INTO shop VALUES (1, 'Books', 1), (2, 'Bikes', 1), (3, 'Bread', 2), (4, 'Boats', 3);
"""
VALUES = (("town", "name", "Oslo"), ("town", "land", "Norway"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "towns.sqlite"
    with sqlite3.connect(made) as con:
        con.executescript(SCRIPT)
    return made


async def run_fitted(path: Path, sql: str) -> list[tuple[object, ...]]:
    source = await open_source(f"sqlite:///{path}", rules=LOCAL_RULES)
    catalog = await source.read_catalog()
    await source.close()
    view = View(catalog, draft_model(catalog), EVERYTHING)
    fitted = fit_to_data(check_sql(sql, "sqlite", view.allowed).full_sql, view, VALUES)
    with sqlite3.connect(path) as con:
        return sorted(con.execute(check_sql(fitted, "sqlite", view.allowed).full_sql).fetchall())


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT name FROM town WHERE land = 'Norway'", [("Bergen",), ("Oslo",)]),
        ("SELECT land, COUNT(*) FROM town GROUP BY land", [("Norway", 2), ("Sweden", 1)]),
        ("SELECT id FROM town WHERE name = 'OSLO'", [(1,)]),
        ("SELECT title FROM shop WHERE town_id = 'Oslo'", [("Bikes",), ("Books",)]),
        ("SELECT title FROM shop WHERE town_id = (SELECT id FROM town WHERE land = 'Norway')",
         [("Bikes",), ("Books",), ("Bread",)]),
        ("SELECT t.name FROM town t JOIN shop s ON s.town_id = t.id WHERE t.land = 'Norway'", [("Bergen",), ("Oslo",)]),
        ("SELECT t.land FROM shop s JOIN town t ON s.town_id = t.id WHERE s.id < 3", [("Norway",), ("Norway",)]),
        ("SELECT title FROM shop WHERE town_id IN (SELECT id FROM town WHERE land = 'Sweden')", [("Boats",)]),
        ("WITH each_shop AS (SELECT t.name AS town FROM town t JOIN shop s ON s.town_id = t.id) "
         "SELECT COUNT(*) FROM each_shop", [(4,)]),
        ("SELECT s.title FROM shop s JOIN town t ON s.town_id = t.id WHERE t.name = 'Lund'", [("Boats",)]),
    ],
)  # fmt: skip
async def test_a_statement_is_fitted_to_the_data(path: Path, sql: str, rows: list[tuple[object, ...]]) -> None:
    if "JOIN town t" in sql and "t.land" in sql:
        rows = rows[:1]  # a land is shown once
    assert await run_fitted(path, sql) == rows


def make_vote(*rows: tuple[object, ...], weight: float = 1.0) -> Vote:
    return Vote("", Rows(tuple(map(str, range(len(rows[0])))), rows), weight)


def test_results_agree_if_one_has_further_columns() -> None:
    names, counted = [("Oslo",), ("Lund",)], [(2, "Lund"), (3, "Oslo")]
    assert have_same_rows(names, counted)
    assert not have_same_rows(names, [(2, "Lund"), (3, "Bergen")])
    assert not have_same_rows(names, [(2, "Lund")])
    groups = group_votes([make_vote(*names), make_vote((1,)), make_vote(*counted, weight=0.5)])
    assert [len(each.votes) for each in groups] == [2, 1]
    assert get_lead(groups) == 0.5


def test_sure_rules_outweigh_one_statement_but_not_two() -> None:
    assert weigh(0.5) < 1 < weigh(0.85) < weigh(0.95) < 2
