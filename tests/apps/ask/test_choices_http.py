"""Choices over HTTP: what is offered is answered, by id, in the conversation and by the seed's form; what it teaches is
shown and can be deleted; and taught meanings and other sources keep to their place."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.apps.ask.asking_door import BY_REGION, SALES, SOURCES, Door

QUESTIONS = (
    "How many active customers are there?",
    "orders by region",
    "valuable customers by city",
    "orders by status and mood",
)
CLARIFY = f"{SALES}/text2sql/clarify"


def offered(door: Door, question: str, session: str, user: str = "john") -> dict[str, Any]:
    """Return the clarification of a question that is asked back."""
    answer = door.sql(question, user, session_id=session)
    assert answer["sql"] == "", question
    [asked] = answer["clarifications"]
    assert asked["id"]
    assert asked["choices"], question
    return dict(asked)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_offered_choice_is_answered(door: Door, question: str) -> None:
    for n, choice in enumerate(offered(door, question, "look")["choices"], 1):
        # Each time another user: what one choice teaches would change what is offered next.
        user = f"user {n}"
        asked = offered(door, question, "by id", user)
        done = door.post(CLARIFY, clarification_id=asked["id"], choice=choice["id"], user_id=user, execute=True)
        assert done["sql"], choice
        for reply in (choice["label"], str(n)):
            user = f"user {n} {reply}"[:60]
            offered(door, question, "by reply", user)
            assert door.sql(reply, user, session_id="by reply")["sql"] == done["sql"], reply


def test_place_of_a_choice_is_understood(door: Door) -> None:
    asked = offered(door, QUESTIONS[0], "one")
    answer = door.ask("the first one", session_id="one")
    assert answer["sql_query"]
    assert asked["choices"][0]["label"] in answer["query_explanation"]


def test_label_in_the_form_of_the_seed_is_answered(door: Door) -> None:
    asked = offered(door, QUESTIONS[0], "one")
    body = {"term": asked["term"], "answer": asked["suggestions"][0], "question": QUESTIONS[0], "user_id": "john"}
    assert door.post(CLARIFY, **body)["sql"]
    [learned] = door.http.get("/v1/memories", params={"owner": "user", "user": "john"}).json()["memories"]
    assert (learned["kind"], learned["key"]) == ("definition", "active")


def test_choice_that_was_not_offered_is_refused(door: Door) -> None:
    asked = offered(door, QUESTIONS[0], "one")
    for clarification, status in ((asked["id"], 400), ("nothing@one", 404)):
        body = {"clarification_id": clarification, "choice": "9", "user_id": "john"}
        assert door.http.post(CLARIFY, json=body).status_code == status


def test_choice_of_another_user_is_not_found(door: Door) -> None:
    asked = offered(door, QUESTIONS[0], "one")
    body = {"clarification_id": asked["id"], "choice": "1", "user_id": "jane"}
    assert door.http.post(CLARIFY, json=body).status_code == 404


@pytest.fixture
def club(door: Door, tmp_path: Path) -> str:
    """A second source whose members have a column is_active."""
    with sqlite3.connect(tmp_path / "club.db") as connection:
        connection.executescript(
            "CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT, is_active BOOLEAN, last_login_at DATE);"
            "INSERT INTO members VALUES (1, 'Ada', 1, '2001-01-01'), (2, 'Ben', 0, date('now', '-2 days')),"
            " (3, 'Cy', 0, date('now', '-3 days'));"
        )
    connection.close()
    door.post(SOURCES, name="club", dsn=f"sqlite:///{tmp_path / 'club.db'}")
    return f"{SOURCES}/club"


def test_taught_meaning_wins_over_column_and_glossary(door: Door, club: str) -> None:
    question = "How many active members are there?"
    door.post(
        "/api/projects/default/glossary", term="active", definition="active members", defining_sql="is_active = 1"
    )
    body = {"term": "active", "answer": "active means logged in within 30 days", "question": question}
    done = door.post(f"{club}/text2sql/clarify", **body, user_id="john", execute=True)
    assert "is_active" not in done["sql"]
    assert "last_login_at" in done["sql"]
    assert list(done["metadata"]["execution_result"]["full"][0].values()) == [2]


def test_another_source_leaves_the_reading_unchanged(door: Door, club: str) -> None:
    before = door.sql(BY_REGION)
    with sqlite3.connect(club_file(door, club)) as connection:
        connection.execute("CREATE TABLE regions (id INTEGER PRIMARY KEY, amount NUMERIC, sale_date DATE)")
    connection.close()
    door.post(f"{club}/refresh", 200)
    assert door.sql(BY_REGION)["sql"] == before["sql"]
    assert door.ask(BY_REGION)["tables_used"] == before["tables_used"]


def club_file(door: Door, club: str) -> str:
    return str(door.http.get(club).json()["address"]).removeprefix("sqlite:///")


# Teaching ------------------------------------------------------------------------------------------------------------


def test_an_unknown_word_is_offered_meanings_that_it_keeps(door: Door) -> None:
    question = "How many splendid customers are there?"
    asked = offered(door, question, "one")
    assert len(asked["choices"]) > 1
    assert asked["choices"][-1]["label"].endswith('(without "splendid")')
    done = door.post(CLARIFY, clarification_id=asked["id"], choice="1", user_id="john", execute=True)
    [learned] = done["learned"]
    assert (learned["term"], learned["scope"]) == ("splendid", "user")
    again = door.sql(question, session_id="two")
    assert again["sql"] == done["sql"]
    path = f"/api/projects/default/memory/user/{learned['id']}"
    assert door.http.delete(path, params={"user_id": "john"}).status_code in (200, 204)
    assert door.sql(question, session_id="three")["needs_clarification"]


def test_leaving_an_unknown_word_out_teaches_nothing(door: Door) -> None:
    asked = offered(door, "How many splendid customers are there?", "one")
    last = asked["choices"][-1]["id"]
    done = door.post(CLARIFY, clarification_id=asked["id"], choice=last, user_id="john", execute=True)
    assert done["sql"]
    assert done["learned"] == []


def test_a_choice_about_one_question_answers_it_the_next_time(door: Door) -> None:
    question = "orders by region"
    asked = offered(door, question, "one")
    done = door.post(CLARIFY, clarification_id=asked["id"], choice="1", user_id="john")
    [learned] = done["learned"]
    assert (learned["term"], learned["meaning"], learned["scope"]) == (question, asked["choices"][0]["label"], "user")
    [stored] = door.http.get("/v1/memories", params={"owner": "user", "user": "john"}).json()["memories"]
    assert stored["kind"] == "question"
    assert door.sql(question, session_id="two")["sql"] == done["sql"]
    assert door.sql(question, "jane", session_id="two")["needs_clarification"]
    door.http.delete(f"/api/projects/default/memory/user/{learned['id']}", params={"user_id": "john"})
    assert door.sql(question, session_id="three")["needs_clarification"]


def test_a_message_that_defines_a_word_is_learned(door: Door) -> None:
    saved = door.sql("big spender means lifetime value above 20000", session_id="one")
    assert saved["sql"] == ""
    [learned] = saved["learned"]
    assert (learned["term"], learned["scope"]) == ("big spender", "user")
    answer = door.sql("How many big spenders are there?", session_id="two")
    assert '"lifetime_value" > 20000' in answer["sql"]


def test_a_meaning_of_a_lower_tier_is_not_named_where_it_does_not_count(door: Door) -> None:
    glossary = {"term": "recent orders", "definition": "of 30 days", "defining_sql": "ordered_at > '2020-01-01'"}
    door.post("/api/projects/default/glossary", **glossary, base_table="orders")
    door.sql("recent means last 7 days", session_id="one")
    answer = door.sql("How many recent orders are there?", session_id="one")
    assert "2020-01-01" not in answer["sql"]
    assert [(each["term"], each["source"]) for each in answer["assumptions"]] == [("recent", "user")]


def test_what_was_taught_last_counts(door: Door) -> None:
    door.sql("active means status is open", session_id="one")
    first = door.sql("How many active customers are there?", session_id="one")
    assert "status" in first["sql"]
    door.sql("active means lifetime value above 20000", session_id="two")
    second = door.sql("How many active customers are there?", session_id="two")
    assert "status" not in second["sql"]
    assert "lifetime_value" in second["sql"]


def test_what_is_said_for_the_project_ends_what_the_speaker_taught_for_themselves(door: Door) -> None:
    question = "How many active customers are there?"
    door.post(CLARIFY, term="active", answer="I mean status = 'open'", question=question, user_id="john")
    body = {"term": "active", "answer": "active means lifetime_value > 20000", "question": question}
    done = door.post(CLARIFY, **body, user_id="john", execute=True)
    assert "lifetime_value" in done["sql"]


@pytest.mark.parametrize("text", ["call the customers in Rome", "please call customers with open orders"])
def test_a_call_that_names_nothing_teaches_nothing(door: Door, text: str) -> None:
    assert door.sql(text, session_id="one")["learned"] == []


def test_another_name_of_a_table_is_learned(door: Door) -> None:
    [learned] = door.sql("call our customers patrons", session_id="one")["learned"]
    assert learned["term"] == "patrons"
    assert "customers" in door.sql("How many patrons are there?", session_id="two")["sql"]


def test_choice_is_answered_without_a_user(door: Door) -> None:
    """A caller that names no user has no memory; its choices are answered all the same."""
    asked = door.http.post(f"{SALES}/text2sql", json={"question": QUESTIONS[0]}).json()
    [clarification] = asked["clarifications"]

    for choice in clarification["choices"]:
        body = {"clarification_id": clarification["id"], "choice": choice["id"]}
        answer = door.http.post(CLARIFY, json=body)
        assert answer.status_code == 201, answer.text
        assert answer.json()["sql"]
        assert answer.json()["learned"] == []


def test_a_value_that_the_data_do_not_have_is_named(door: Door) -> None:
    asked = offered(door, "customers in region Atlantis", "one")

    assert asked["question"].startswith("There is no name Atlantis; name is one of ")
