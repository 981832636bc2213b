"""What memory and the session say, as the parser can use it; what it cannot use is not lost, but asked about."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from told_shop import CATALOG, MODEL, TODAY

from recollect.model.ids import MemoryId, uuid7
from recollect.model.known import Tier
from recollect.model.memory import Memory
from recollect.model.resolution import Resolution
from recollect.sql.known import DefaultFilter, Target
from recollect.sql.session_context import SessionContext
from recollect.sql.told import Told, phrases, told


def says(term: str, meaning: str, *, tier: Tier = "user", sql: str | None = None, sure: float = 0.9) -> Resolution:
    return Resolution(term, meaning, tier, sure, f"memory:{term}", sql=sql)


def prefers(key: str, value: str, sure: float = 0.7) -> Memory:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    return Memory(
        MemoryId(uuid7()), "preference", key, value, sure, 0.6, "correction", "person", "active", valid_from=now
    )


def heard(
    *said: Resolution,
    question: str = "how many customers are there?",
    habits: tuple[tuple[str, Memory], ...] = (),
    context: SessionContext | None = None,
) -> Told:
    return told(question, said, habits, context or SessionContext(), MODEL, CATALOG, TODAY)


@pytest.mark.parametrize(
    "meaning",
    ["refers to customers table", "customers", "means the customers table.", "the CUSTOMERS", "our customers"],
)
def test_a_word_that_refers_to_a_table_stands_for_it(meaning: str) -> None:
    found = heard(says("clients", meaning)).known.synonyms["clients"]
    assert (found.kind, found.table, found.source, found.confidence) == ("entity", "customers", "user", 0.9)


@pytest.mark.parametrize("term", ["clients", "client", "Clients"])
def test_a_wish_how_to_call_something_says_what_the_word_stands_for(term: str) -> None:
    found = heard(says(term, "Call our customers clients")).known.synonyms[term.casefold()]
    assert (found.kind, found.table) == ("entity", "customers")


@pytest.mark.parametrize("meaning", ["customer lifetime value", "Customer  lifetime value"])
def test_a_word_may_stand_for_a_figure_as_a_question_back_offered_it(meaning: str) -> None:
    found = heard(says("worth", meaning)).known.synonyms["worth"]
    assert (found.kind, found.table, found.expression) == ("measure", "customers", "lifetime_value")


def test_what_a_definition_is_said_of_is_no_part_of_its_name() -> None:
    said = says("big paying customers", "…", sql="lifetime_value > 9", tier="ontology")
    [found] = heard(said).known.definitions
    assert found.names == ("big paying",)


def test_words_are_understood_with_other_words_for_the_same() -> None:
    said = (says("active", "logged in within the last 30 days"), says("clients", "Call our customers clients"))
    found = heard(*said, question="How many active clients are there?")
    assert [each.table for each in found.known.definitions] == ["customers"]


def test_phrases_are_told_in_the_question_s_own_words() -> None:
    found = phrases("How many high-value customers (in Rome) are active?", 100)
    assert {"high-value customers", "customers", "Rome", "active"} <= set(found)
    assert "大客户" in phrases("有多少大客户", 100)


@pytest.mark.parametrize(
    ("meaning", "target"),
    [
        ("refers to orders.total", Target("measure", "orders", expression="total")),
        ("refers to customers.tier", Target("dimension", "customers", "tier")),
        ("customers.last_login_at", Target("moment", "customers", "last_login_at")),
    ],
)
def test_a_word_that_refers_to_a_column_stands_for_what_the_column_is(meaning: str, target: Target) -> None:
    found = heard(says("it", meaning)).known.synonyms["it"]
    assert (found.kind, found.table, found.column) == (target.kind, target.table, target.column)
    assert found.expression.casefold().strip('"') == target.expression


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        (says("active", "…", sql="last_login_at > NOW() - INTERVAL '30 days'"), "last_login_at > '2026-10-17'"),
        (says("active", "customers.lifetime_value > 0"), "lifetime_value > 0"),
        (says("active", "logged in within the last 30 days"), "\"last_login_at\" >= '2026-10-18'"),
        (says("active", "lifetime value over 10000", tier="project"), '"lifetime_value" > 10000'),
    ],
)
def test_a_condition_defines_a_word_in_sql_or_in_plain_words(said: Resolution, condition: str) -> None:
    [found] = heard(said).known.definitions
    assert (found.names, found.table, found.source) == (("active",), "customers", said.tier)
    assert condition in found.condition


def test_a_figure_defines_a_measure() -> None:
    found = heard(says("turnover", "what we sold", sql="SUM(orders.total)")).known.synonyms["turnover"]
    assert (found.kind, found.table, found.aggregate) == ("measure", "orders", "sum")


@pytest.mark.parametrize(
    "said",
    [
        says("active", "whoever the boss likes"),
        says("active", "…", sql="nowhere > 3"),
        says("active", "…", sql="id IN (SELECT id FROM customers)"),
        says("active", "…", sql="DROP TABLE customers"),
    ],
)
def test_what_cannot_be_asked_of_the_source_stays_open(said: Resolution) -> None:
    found = heard(said)
    assert (found.known.synonyms, found.known.definitions) == ({}, ())
    assert [each.term for each in found.open] == ["active"]


def test_what_the_ontology_says_of_tables_is_in_the_model_already() -> None:
    assert heard(says("orders", "the table orders", tier="ontology")) == heard()


def test_standing_filters_fit_their_table_and_the_user_s_own_comes_first() -> None:
    mine = prefers("default_filter:orders.status", "orders.status = 'paid'")
    ours = prefers("default_filter:orders.status", "status = 'open'")
    other = prefers("default_filter:elsewhere.status", "status = 'open'")
    loose = prefers("default_filter", "is_test = false")

    found = heard(habits=(("user", mine), ("project", ours), ("project", other), ("project", loose)))

    assert found.known.default_filters == (
        DefaultFilter("orders", "status", "status = 'paid'", "user", 0.7),
        DefaultFilter("customers", "is_test", "is_test = FALSE", "project", 0.7),
    )


def test_habits_are_kept_by_name() -> None:
    habits = (("user", prefers("time_grain", "week")), ("project", prefers("time_grain", "day")))
    assert heard(habits=habits).known.preferences == {"time_grain": "week"}


@pytest.mark.parametrize(
    ("given", "filters", "notes"),
    [
        ({"exclude_test": True}, {("customers", "is_test", 'NOT "is_test"')}, 0),
        ({"user_segment": "Premium"}, {("customers", "tier", "\"tier\" = 'premium'")}, 0),
        ({"user_segment": "nobody"}, set(), 1),
        ({"custom_filters": {"orders.status": "paid"}}, {("orders", "status", "\"status\" = 'paid'")}, 0),
        ({"custom_filters": {"total": 5, "nothing": "x'y"}}, {("orders", "total", '"total" = 5')}, 1),
        ({"custom_filters": {"name": "O'Hara"}}, {("customers", "name", "\"name\" = 'O''Hara'")}, 0),
    ],
)
def test_a_session_s_filters_hold_and_what_does_not_fit_is_told(
    given: Mapping[str, Any], filters: set[tuple[str, str, str]], notes: int
) -> None:
    found = heard(context=SessionContext(**given))
    assert {(each.table, each.column, each.condition) for each in found.known.default_filters} == filters
    assert len(found.notes) == notes
    assert all(each.source == "session" for each in found.known.default_filters)
