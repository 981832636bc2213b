"""Which of several joins between the same two tables is meant: by the verb, by "from" and "to", by a word before it;
and what a column named like a function word does to a question. Read against a drafted model, nothing is run."""

from __future__ import annotations

from datetime import date

import pytest

from recollect.sql.catalog import Catalog, Column, ForeignKey, Table
from recollect.sql.draft import draft
from recollect.sql.reading import Reading, read_question

CITIES = ("Bern", "Oslo", "Rome")
STATES = ("approved", "open")


def column(name: str, values: tuple[str, ...] = ()) -> Column:
    return Column(name, "text", values=values, is_complete=bool(values))


def key(name: str, to: str) -> ForeignKey:
    return ForeignKey((name,), to, ("id",))


ID = Column("id", "integer", nullable=False, is_unique=True)
CATALOG = Catalog(
    "sqlite",
    (
        Table("region", (ID, column("region_name")), ("id",)),
        Table(
            "station",
            (ID, column("station_name"), column("city", CITIES), Column("region_id", "integer")),
            ("id",),
            (key("region_id", "region"),),
        ),
        Table("clerk", (ID, column("clerk_name", ("Ann", "Bo"))), ("id",)),
        Table("member", (ID, column("member_name"), column("city", CITIES), Column("since", "date")), ("id",)),
        Table(
            "shipment",
            (
                ID,
                Column("member_id", "integer"),
                Column("origin_station_id", "integer"),
                Column("destination_station_id", "integer"),
                Column("handled_by_clerk_id", "integer"),
                Column("approved_by_clerk_id", "integer"),
                column("status", STATES),
                Column("sent_on", "date", nullable=False),
            ),
            ("id",),
            (
                key("member_id", "member"),
                key("origin_station_id", "station"),
                key("destination_station_id", "station"),
                key("handled_by_clerk_id", "clerk"),
                key("approved_by_clerk_id", "clerk"),
            ),
        ),
    ),
)
TICKETS = Catalog(
    "sqlite",
    (
        Table("ticket_type", (ID, column("label"), Column("price", "number")), ("id",)),
        Table(
            "ticket_sale",
            (ID, Column("ticket_type_id", "integer"), Column("quantity", "integer"), Column("sold_on", "date")),
            ("id",),
            (key("ticket_type_id", "ticket_type"),),
        ),
    ),
)


def read(question: str, catalog: Catalog = CATALOG) -> Reading:
    return read_question(question, draft(catalog), catalog, today=date(2024, 12, 31))


def ways(question: str) -> list[tuple[str, ...]]:
    """The joins that each condition and each group goes through."""
    frame = read(question).frame
    assert frame is not None, read(question)
    return [ref.via for ref in (*(each.of for each in frame.filters), *(each.of for each in frame.groups))]


@pytest.mark.parametrize(
    ("question", "via"),
    [
        ("which clerk handled the most shipments", ["handled_by_clerk_id"]),
        ("how many shipments were approved by Ann", ["approved_by_clerk_id"]),  # and no status besides
        ("how many shipments from Oslo to Rome", ["origin_station_id", "destination_station_id"]),
        ("how many shipments going to Rome", ["destination_station_id"]),  # whoever else lives there
        ("shipments by origin region", ["origin_station_id"]),
        ("shipments handled by clerk", ["handled_by_clerk_id"]),
    ],
)
def test_the_join_that_the_question_names_is_taken(question: str, via: list[str]) -> None:
    assert ways(question) == [(f"shipment.{name}",) for name in via]


@pytest.mark.parametrize("question", ["shipments per clerk", "shipments by region", "how many shipments from Oslo"])
def test_a_join_that_nobody_names_is_asked_about(question: str) -> None:
    assert read(question).frame is None


def test_a_word_of_a_period_is_not_the_column_that_is_called_so() -> None:
    frame = read("members since 2020").frame
    assert frame is not None
    assert [(each.of.column, each.start, each.end) for each in frame.periods] == [("since", "2020-01-01", None)]


def test_a_verb_that_a_join_explains_covers_nothing_that_was_left_beside_it() -> None:
    assert read("which clerk handled the most of the shipments approved").frame is None


def test_of_two_tables_that_begin_with_a_word_the_one_that_sells_it_says_how_many_were_sold() -> None:
    frame = read("how many tickets did we sell in 2024", TICKETS).frame
    assert frame is not None
    assert [(each.aggregate, each.of.expression) for each in frame.metrics] == [("sum", "quantity")]
    assert read("how many tickets are there", TICKETS).frame is None
