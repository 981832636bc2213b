"""The header X-Session-Context: what it may say, and what is said of it when it makes no sense."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recollect.apps.ask.question import SessionContext, read_session_context
from recollect.errors import InvalidInput
from tests.apps.ask.asking_door import SALES, Door


def test_it_is_read_whole_and_unknown_fields_are_left_alone() -> None:
    text = '{"time_focus": "Q4 2024", "exclude_test": true, "definitions": {"big": "total > 9"}, "other": [1]}'
    assert read_session_context(text) == SessionContext("Q4 2024", "", True, {}, {"big": "total > 9"})
    assert read_session_context("{}") == SessionContext()
    assert read_session_context(None) is read_session_context("") is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "3",
        '{"time_focus": 3}',
        '{"exclude_test": "yes"}',
        '{"custom_filters": []}',
        '{"custom_filters": {"a": {}}}',
        '{"definitions": {"a": 1}}',
        '{"time_focus": "' + "x" * 9_000 + '"}',
        "[" * 100_000,
    ],
)
def test_what_makes_no_sense_is_refused_by_the_header_s_name(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_session_context(text)
    assert refused.value.field == "X-Session-Context"


# Over HTTP ------------------------------------------------------------------------------------------------------------

GOLD = {"custom_filters": {"customers.tier": "gold"}}
COUNT = "How many customers are there?"


def ask(door: Door, path: str, context: object = None, **body: Any) -> Any:
    headers = {} if context is None else {"X-Session-Context": json.dumps(context)}
    answer = door.http.post(path, json={"question": COUNT, "user_id": "john", **body}, headers=headers)
    assert answer.status_code in (200, 201), answer.text
    return answer.json() if answer.headers["content-type"].startswith("application/json") else answer.text


@pytest.mark.parametrize("path", ["/answerQuestion", "/answerDataQuestion", "/generateVQL"])
def test_it_works_on_every_ask_route(door: Door, path: str) -> None:
    assert "'gold'" in ask(door, path, GOLD)["sql_query"]
    assert "'gold'" not in ask(door, path)["sql_query"]


def test_it_works_on_streams_and_clarifications(door: Door) -> None:
    every, gold = ask(door, "/streamAnswerQuestion"), ask(door, "/streamAnswerQuestion", GOLD)
    assert every != gold
    clarified = ask(door, f"{SALES}/text2sql/clarify", GOLD, term="customers", answer="I mean the customers table")
    assert "'gold'" in clarified["sql"]


def test_it_lasts_for_the_session_until_it_is_replaced(door: Door) -> None:
    first = ask(door, "/answerQuestion", {**GOLD, "definitions": {"big": "status = 'closed'"}}, session_id="one")
    assert "'gold'" in first["sql_query"]
    assert "'gold'" in ask(door, "/answerQuestion", session_id="one")["sql_query"]
    assert "'gold'" in ask(door, f"{SALES}/text2sql", session_id="one")["sql"]
    big = ask(door, f"{SALES}/text2sql", session_id="one", question="How many big customers are there?")
    assert "'closed'" in big["sql"]
    assert "'gold'" not in ask(door, "/answerQuestion", session_id="two")["sql_query"]
    assert "'gold'" not in ask(door, "/answerQuestion", {}, session_id="one")["sql_query"]
    assert "'gold'" not in ask(door, "/answerQuestion", session_id="one")["sql_query"]


def test_a_filter_that_does_not_fit_is_named(door: Door) -> None:
    notes = ask(door, "/answerQuestion", GOLD, question="How many products are there?")["notes"]
    assert [note for note in notes if "tier" in note and "does not apply" in note]
    unknown = ask(door, "/answerQuestion", {"custom_filters": {"colour": "red"}})["notes"]
    assert [note for note in unknown if "colour" in note]


# Preferences that users write in their own words ----------------------------------------------------------------------


def prefer(door: Door, key: str, value: str) -> None:
    door.post("/api/projects/default/memory/user", type="preference", key=key, value=value, user_id="john")


@pytest.mark.parametrize("value", ["exclude_test_accounts", "exclude_test_accounts = true", "exclude test accounts"])
def test_excluding_test_accounts_is_a_default_filter(door: Door, value: str) -> None:
    prefer(door, "default_filter", value)
    assert "is_test" in ask(door, f"{SALES}/text2sql")["sql"]


@pytest.mark.parametrize("value", ["exclude _", "exclude ___ = true", "without", "NOT", "1 = 1", "';--"])
def test_a_preference_that_names_nothing_changes_no_answer(door: Door, value: str) -> None:
    before = ask(door, f"{SALES}/text2sql")["sql"]
    prefer(door, "default_filter", value)
    assert ask(door, f"{SALES}/text2sql")["sql"] == before


@pytest.mark.parametrize(("key", "value", "unit"), [("aggregation", "weekly", "week"), ("time_grain", "day", "day")])
def test_a_preferred_grain_holds_where_no_unit_is_said(door: Door, key: str, value: str, unit: str) -> None:
    monthly = ask(door, f"{SALES}/text2sql", question="Show me total sales over time")["sql"]
    prefer(door, key, value)
    preferred = ask(door, f"{SALES}/text2sql", question="Show me total sales over time")["sql"]
    said = ask(door, f"{SALES}/text2sql", question="Show me total sales by month")["sql"]
    assert (f'"{unit}"' in preferred, '"month"' in monthly, '"month"' in said) == (True, True, True)
