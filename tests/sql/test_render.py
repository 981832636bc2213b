"""The SQL of frames: it runs on SQLite and on PostgreSQL with the same rows, passes the gate, and is one SELECT
whatever the question was."""

from __future__ import annotations

from decimal import Decimal

import psycopg
import pytest
import sqlglot
from frame_shop import CATALOG, DATA, MODEL, TODAY, catalog, framed, opened
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from recollect.sql.explain import explained
from recollect.sql.frame import Frame
from recollect.sql.gate import Allowed, Passed, passed
from recollect.sql.phrases import chinese, phrases
from recollect.sql.reading import read_question
from recollect.sql.render import sql_of

QUESTIONS = (
    "sales by product",
    "sales by town and year",
    "sales per quarter",
    "sales per week in 2023",
    "sales by day",
    "monthly sales",
    "makers with fewer than 2 products",
    "makers with no products",
    "buyers with more than 1 order",
    "products in the box Large",
    "how many buyers bought a red product in 2023",
    "how many makers have at least 2 products",
    "the longest product",
    "how many loyal buyers in Oslo",
    "number of products per box",
    "average number of products per maker",
    "buyers without a phone",
    "how many different colors are there",
    "products longer than 1 minute",
    "orders between 15 and 35",
    "show products with their maker",
)


def plain(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [tuple(float(c) if isinstance(c, Decimal | int | float) else str(c) for c in row) for row in rows]


@pytest.fixture
def shop(database: str) -> str:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA shop")
        connection.execute("SET search_path TO shop")
        connection.execute(DATA)
    return database


def test_the_rows_are_the_same_on_sqlite_and_on_postgresql(shop: str) -> None:
    postgres, lite = catalog("postgres"), opened()
    with psycopg.connect(shop, autocommit=True, options="-c search_path=shop") as connection:
        for question in QUESTIONS:
            reading = read_question(question, MODEL, postgres, today=TODAY)
            assert reading.frame is not None, question
            there = connection.execute(sql_of(reading.frame, MODEL, postgres)).fetchall()
            here = lite.execute(sql_of(framed(question), MODEL, CATALOG)).fetchall()
            assert plain(there) == plain(here), question
    lite.close()


def test_every_query_of_a_frame_passes_the_gate() -> None:
    allowed = Allowed({table.name: frozenset(column.name for column in table.columns) for table in CATALOG.tables})
    for question in QUESTIONS:
        found = passed(sql_of(framed(question), MODEL, CATALOG), CATALOG.dialect, allowed)
        assert isinstance(found, Passed), question


def test_a_frame_survives_its_way_through_json_and_another_version_is_forgotten() -> None:
    for question in QUESTIONS:
        frame = framed(question)
        assert Frame.from_data(frame.to_data()) == frame
    assert Frame.from_data({**framed("total sales").to_data(), "version": 0}) is None


def test_a_value_that_is_written_like_sql_is_only_a_text() -> None:
    frame = framed("sales in Oslo")
    hostile = Frame.from_data(
        {**frame.to_data(), "filters": [{**frame.to_data()["filters"][0], "values": ["x'; DROP TABLE orders; --"]}]}
    )
    assert hostile is not None
    connection = opened()
    assert connection.execute(sql_of(hostile, MODEL, CATALOG)).fetchall() == [(None,)]
    connection.close()


def test_the_explanation_names_the_figure_the_split_the_filter_and_the_period() -> None:
    said = explained(framed("sales by product in 2023 for Oslo"), MODEL, CATALOG)
    assert said == (
        "The total of order line amount by product, where buyer town is Oslo, "
        "order date from 2023-01-01 until before 2024-01-01."
    )


WORDS = (
    [" ".join(key) for key in phrases().words]
    + list(chinese().phrases)
    + [
        "buyers",
        "makers",
        "products",
        "orders",
        "town",
        "color",
        "sales",
        "quantity",
        "total",
        "Oslo",
        "Acme",
        "red",
        "Lamp",
        "5",
        "2023",
        "March",
        "last month",
        "0.99",
        "minutes",
        "?",
        ",",
        "'",
        '"',
        "loyal",
        "frob",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=9), st.lists(st.sampled_from(WORDS), max_size=6))
def test_any_words_in_any_order_give_a_select_or_a_question_back(first: list[str], second: list[str]) -> None:
    last: Frame | None = None
    connection = opened()
    for words in (first, second):
        reading = read_question(" ".join(words), MODEL, CATALOG, last=last, today=TODAY)
        if reading.frame is None:
            assert reading.clarifications or reading.refused
            continue
        sql = sql_of(reading.frame, MODEL, CATALOG)
        assert isinstance(sqlglot.parse_one(sql, dialect="sqlite"), exp.Select)
        connection.execute(sql).fetchall()
        assert explained(reading.frame, MODEL, CATALOG)
        last = reading.frame
    connection.close()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_at_all_is_read_without_an_error(text: str) -> None:
    reading = read_question(text, MODEL, CATALOG, last=framed("sales by town"), today=TODAY)
    assert reading.frame is not None or reading.clarifications or reading.refused
