"""Text to SQL over HTTP, without a model: what a session says, what people teach by answering, correcting, rating and
approving, for whom it holds and for how long; and that nobody sees through any of it what his role may not see."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import psycopg
import pytest

from tests.apps.ask.asking_door import BY_REGION, SALES, SOURCES, Door, Doors

ACTIVE = "How many active customers are there?"
CUSTOMERS = "How many customers are there?"
ALL, TESTS = 208, 8


def count(sample: Path, sql: str) -> Any:
    connection = sqlite3.connect(sample)
    found = connection.execute(sql).fetchone()[0]
    connection.close()
    return found


def clarified(door: Door, term: str, answer: str, user: str = "john") -> dict[str, Any]:
    return door.post(f"{SALES}/text2sql/clarify", term=term, answer=answer, question=ACTIVE, user_id=user)


def corrected(door: Door, question: str, generated: str, right: str, user: str = "john") -> dict[str, Any]:
    body = {"question": question, "generated_sql": generated, "corrected_sql": right, "user_id": user}
    return door.post(f"{SALES}/text2sql/correct", **body)


def known(door: Door, owner: str, user: str = "john") -> list[dict[str, Any]]:
    return list(door.http.get("/v1/memories", params={"owner": owner, "user": user}).json()["memories"])


# The session ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "question", "wanted"),
    [
        ({"exclude_test": True}, CUSTOMERS, "SELECT count(*) FROM customers WHERE NOT is_test"),
        ({"custom_filters": {"tier": "gold"}}, CUSTOMERS, "SELECT count(*) FROM customers WHERE tier = 'gold'"),
        ({"user_segment": "gold"}, CUSTOMERS, "SELECT count(*) FROM customers WHERE tier = 'gold'"),
        (
            {"definitions": {"active": "status = 'open'"}},
            "How many active customers are there?",
            "SELECT count(*) FROM customers WHERE status = 'open'",
        ),
        ({"time_focus": "2023"}, "Total sales", "SELECT sum(amount) FROM sales WHERE sale_date LIKE '2023%'"),
        (
            {"time_focus": "2023"},
            "Total sales in 2024",
            "SELECT sum(amount) FROM sales WHERE sale_date LIKE '2024%'",
        ),
    ],
)
def test_what_a_session_says_holds_for_its_questions(
    door: Door, sample: Path, context: dict[str, Any], question: str, wanted: str
) -> None:
    assert door.figure(question, context=context) == pytest.approx(count(sample, wanted))
    if "definitions" in context:
        told = door.sql(question, context=context)
        assert [(each["term"], each["source"], each["confidence"]) for each in told["assumptions"]] == [
            ("active", "session", 1.0)
        ]
        assert door.figure(question) is None


@pytest.mark.parametrize("header", ["{", "[]", '{"exclude_test": "yes"}', '{"definitions": {"a": 1}}'])
def test_a_context_that_cannot_be_read_is_refused_by_its_header(door: Door, header: str) -> None:
    answer = door.http.post(f"{SALES}/text2sql", json={"question": CUSTOMERS}, headers={"X-Session-Context": header})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "X-Session-Context")


def test_a_context_in_chinese_is_read_as_it_was_written(door: Door) -> None:
    header = '{"custom_filters": {"城市": "上海"}}'.encode()
    body = {"question": CUSTOMERS, "user_id": "john"}
    answer = door.http.post(f"{SALES}/text2sql", json=body, headers={b"X-Session-Context": header})
    assert "'城市'" in answer.json()["metadata"]["notes"][0]


# Asked back ----------------------------------------------------------------------------------------------------------


def test_an_unclear_word_is_asked_back_and_the_answer_is_learned_for_its_user(door: Door, sample: Path) -> None:
    first = door.sql(ACTIVE)
    assert (first["sql"], first["needs_clarification"], first["confidence"] < 0.7) == ("", True, True)
    assert first["clarifications"][0]["term"] == "active"
    assert first["clarifications"][0]["question"]
    answered = clarified(door, "active", "I mean status = 'open'")
    assert [(each["term"], each["scope"]) for each in answered["learned"]] == [("active", "user")]
    assert "status" in answered["sql"]
    [learned] = known(door, "user")
    assert (learned["id"], learned["confidence"]) == (answered["learned"][0]["id"], 0.9)
    assert learned["source"] == "clarification"
    told = door.sql(ACTIVE, session_id="another")
    wanted = count(sample, "SELECT count(*) FROM customers WHERE status = 'open'")
    assert list(told["rows"][0].values()) == [wanted]
    assert [(a["term"], a["source"], a["confidence"]) for a in told["assumptions"]] == [("active", "user", 0.9)]
    assert door.sql(ACTIVE, "jane")["needs_clarification"] is True


@pytest.mark.parametrize(
    ("answer", "owner"),
    [
        ("I mean status = 'open'", "user"),
        ("for me status = 'open'", "user"),
        ("active means status = 'open'", "project"),
        ("status = 'open'", "user"),
    ],
)
def test_whose_an_answer_is_is_said_by_its_wording(door: Door, answer: str, owner: str) -> None:
    clarified(door, "active", answer)
    assert [bool(known(door, each)) for each in ("user", "project")] == [owner == "user", owner == "project"]


def test_a_user_s_wording_does_not_teach_the_project(door: Door) -> None:
    own = door.closed()["user"]
    body = {"term": "active", "answer": "active means status = 'open'", "question": ACTIVE}
    assert door.http.post(f"{SALES}/text2sql/clarify", json=body, headers=own).status_code == 201
    assert [len(known(door, each)) for each in ("user", "project")] == [1, 0]


def test_a_word_for_a_table_is_learned_from_an_answer(door: Door) -> None:
    assert door.figure("How many punters are there?") is None
    clarified(door, "punters", "I mean the customers table")
    assert door.figure("How many punters are there?") == ALL


# Put right -----------------------------------------------------------------------------------------------------------


def taught_clients(door: Door) -> list[dict[str, Any]]:
    """John's clients are orders; everybody's are customers."""
    done = corrected(
        door, "How many clients are there?", "SELECT COUNT(*) FROM customers", "SELECT COUNT(*) FROM orders"
    )
    assert (done["equivalent"], [each["kind"] for each in done["changes"]]) == (False, ["table_substitution"])
    return [each for each in done["learned"] if each["kind"] == "terminology" and each["key"] == "clients"]


def test_a_correction_changes_the_next_answer_for_its_user_only(door: Door, sample: Path) -> None:
    assert door.figure("How many clients are there?") == ALL
    [word] = taught_clients(door)
    assert (word["value"], word["confidence"]) == ("refers to orders table", 0.95)
    assert door.figure("Number of clients") == count(sample, "SELECT count(*) FROM orders")
    assert door.sql("Number of clients")["assumptions"][0]["source"] == "user"
    assert door.figure("Number of clients", "jane") == ALL


def test_a_promoted_word_is_everybody_s_and_a_forgotten_one_nobody_s(door: Door, sample: Path) -> None:
    [word] = taught_clients(door)
    door.post(f"/v1/memories/{word['id']}/promote", 201, user="john")
    assert door.figure("Number of clients", "jane") == count(sample, "SELECT count(*) FROM orders")
    for owner in ("user", "project"):
        for each in known(door, owner):
            path = "/api/projects/default/" + (
                f"memory/user/{each['id']}" if owner == "user" else f"knowledge/{each['id']}"
            )
            assert door.http.delete(path, params={"user_id": "john"} if owner == "user" else {}).status_code in (
                200,
                204,
            )
    assert [door.figure("Number of clients", each) for each in ("john", "jane")] == [ALL, ALL]


def test_a_word_that_has_faded_no_longer_beats_the_project_s(door: Door, database: str) -> None:
    clarified(door, "active", "active means status = 'open'", "jane")
    clarified(door, "active", "I mean tier = 'gold'")
    assert door.sql(ACTIVE)["assumptions"][0]["source"] == "user"
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE recollect.memory SET confidence = 0.39 WHERE value LIKE '%gold%'")
    assert door.sql(ACTIVE)["assumptions"][0]["source"] == "project"


def test_a_filter_that_somebody_adds_is_kept_for_the_table_and_reported(door: Door, sample: Path) -> None:
    done = corrected(
        door,
        CUSTOMERS,
        "SELECT COUNT(*) FROM customers",
        "SELECT COUNT(*) FROM customers WHERE customers.is_test = FALSE",
    )
    assert [each["kind"] for each in done["changes"]] == ["filter_addition"]
    [kept] = [each for each in done["learned"] if each["kind"] == "preference"]
    assert (kept["key"], kept["confidence"]) == ("default_filter:customers.is_test", 0.7)
    told = door.sql("Number of customers by tier")
    assert "is_test" in told["sql"]
    assert sum(row["count"] for row in told["rows"]) == ALL - TESTS
    assert [(a["source"], a["confidence"]) for a in told["assumptions"]] == [("user", 0.7)]
    assert "is_test" not in door.sql("How many products are there?")["sql"]
    assert door.figure(CUSTOMERS, "jane") == ALL


def test_the_same_statement_in_other_words_counts_as_right(door: Door) -> None:
    done = corrected(door, CUSTOMERS, "SELECT COUNT(*) FROM customers", "select count(*) from customers as c")
    assert (done["equivalent"], done["changes"]) == (True, [])
    assert door.sql(CUSTOMERS)["metadata"]["way"] == "repeat"


def test_a_question_that_was_put_right_is_answered_so_again(door: Door) -> None:
    right = (
        "SELECT c.name, SUM(s.amount) AS total FROM sales s JOIN orders o ON o.id = s.order_id"
        " JOIN customers c ON c.id = o.customer_id GROUP BY c.name ORDER BY total DESC"
    )
    corrected(door, "Our best people", "SELECT name FROM employees", right)
    told = door.sql("our best people?")
    assert (told["metadata"]["way"], told["tables_used"]) == ("repeat", ["sales", "orders", "customers"])
    assert door.sql("our best people?", "jane")["metadata"]["way"] != "repeat"


def test_a_correction_that_may_not_run_teaches_nothing(door: Door) -> None:
    body = {
        "question": CUSTOMERS,
        "generated_sql": "SELECT 1",
        "corrected_sql": "DELETE FROM customers",
        "user_id": "john",
    }
    assert door.http.post(f"{SALES}/text2sql/correct", json=body).status_code == 400
    assert known(door, "user") == []


# Rated ---------------------------------------------------------------------------------------------------------------


def test_feedback_makes_a_statement_the_answer_or_takes_it_back(door: Door) -> None:
    sql = "SELECT COUNT(*) AS n FROM customers WHERE tier = 'gold'"
    rate = {"question": "How are we doing?", "sql": sql, "user_id": "john"}
    assert door.sql("How are we doing?")["sql"] == ""
    for good, way in ((True, "repeat"), (False, None), (True, "repeat")):
        door.post(f"{SALES}/text2sql/feedback", **rate, good=good)
        assert door.sql("how are we doing")["metadata"]["way"] == way
        assert door.sql("how are we doing", "jane")["metadata"]["way"] is None


def test_history_lists_what_was_asked_with_its_feedback(door: Door) -> None:
    asked = [door.sql(question, session_id="one") for question in (CUSTOMERS, "How many products are there?")]
    door.sql("How many orders are there?", session_id="two")
    for told, good in zip(asked, (True, False), strict=True):
        question = CUSTOMERS if good else "How many products are there?"
        door.post(f"{SALES}/text2sql/feedback", question=question, sql=told["sql"], good=good, user_id="john")
    listed = door.http.get(f"{SALES}/history", params={"user_id": "john"}).json()["queries"]
    assert [(each["question"], each["session"], each["feedback"]) for each in listed] == [
        ("How many orders are there?", "two", None),
        ("How many products are there?", "one", "down"),
        (CUSTOMERS, "one", "up"),
    ]
    assert listed[0]["tables"] == ["orders"]
    assert door.http.get(f"{SALES}/history", params={"user_id": "jane"}).json() == {"queries": []}


# Approved ------------------------------------------------------------------------------------------------------------


def test_a_glossary_term_with_its_sql_changes_the_answer(door: Door, sample: Path) -> None:
    entry = {"term": "vip", "definition": "a gold customer", "defining_sql": "tier = 'gold'", "base_table": "customers"}
    assert door.figure("How many vip customers are there?") is None
    door.post("/api/projects/default/glossary", **entry, aliases=["favourite"])
    wanted = count(sample, "SELECT count(*) FROM customers WHERE tier = 'gold'")
    for question in ("How many vip customers are there?", "How many favourite customers are there?"):
        assert door.figure(question, "jane") == wanted
    assert door.sql("How many vip customers are there?")["assumptions"][0]["source"] == "ontology"
    plain = door.ask("How many vip customers are there?", user=None)
    assert list(plain["execution_result"]["full"][0].values()) == [wanted]
    listed = door.http.get("/api/projects/default/glossary", params={"search": "vip"}).json()["glossary"]
    assert listed == [{**entry, "aliases": ["favourite"]}]
    assert door.http.delete("/api/projects/default/glossary/vip").status_code == 204
    assert door.figure("How many vip customers are there?") is None


def proposed(door: Door, prompt: str, sql: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return door.post(f"{SALES}/queries", prompt=prompt, sql=sql, parameters=list(parameters))


def uses(door: Door) -> list[int]:
    found = door.http.get(f"{SALES}/queries", params={"status": "approved"}).json()["queries"]
    return [each["usage_count"] for each in found]


def eventually(is_so: Callable[[], bool]) -> None:
    """Uses are counted now and then, not at once."""
    for _ in range(1000):
        if is_so():
            return
        sleep(0.05)
    raise AssertionError("it did not come to pass")


def test_an_approved_question_answers_from_then_on(door: Door) -> None:
    query = proposed(door, "How is business?", "SELECT SUM(amount) AS total FROM sales")
    place = f"{SALES}/queries/{query['id']}"
    assert (query["status"], query["usage_count"], query["is_current"]) == ("pending", 0, True)
    assert door.sql("How is business?")["sql"] == ""
    assert door.http.post(f"{place}/execute", json={}).status_code == 400
    assert door.post(f"{place}/validate", 200) == {"valid": True, "reason": None, "tables": ["sales"]}
    assert door.post(f"{place}/approve")["status"] == "approved"
    told = door.sql("how is business", "jane")
    assert (told["metadata"]["way"], told["pattern_used"], told["confidence"]) == ("repeat", "How is business?", 1.0)
    ran = door.post(f"{place}/execute", 200)
    assert ran["execution_result"]["full"] == told["rows"]
    eventually(lambda: uses(door) == [2])
    assert door.post(f"{place}/reject")["status"] == "rejected"
    assert door.sql("How is business?")["sql"] == ""


def test_an_approved_question_takes_parameters(door: Door, sample: Path) -> None:
    sql = "SELECT COUNT(*) AS n FROM customers WHERE city = {{city}} AND signed_up_on < {{before}}"
    parameters = (
        {"name": "city", "type": "text", "example": "Oslo"},
        {"name": "before", "type": "date", "default": "2022-01-01"},
    )
    query = proposed(door, "people of {{city}}", sql, *parameters)
    door.post(f"{SALES}/queries/{query['id']}/approve")
    told = door.sql("People of Oslo?")
    there = "SELECT count(*) FROM customers WHERE city ="
    assert (told["metadata"]["way"], told["pattern_used"]) == ("pattern", "people of {{city}}")
    assert list(told["rows"][0].values()) == [count(sample, f"{there} 'Oslo' AND signed_up_on < '2022-01-01'")]
    assert door.sql("People of O'Brien'; DROP TABLE customers")["rows"] == [{"n": 0}]
    ran = door.post(f"{SALES}/queries/{query['id']}/execute", 200, parameters={"city": "Cork", "before": "2020-02-01"})
    assert "'Cork'" in ran["sql"]
    missing = door.http.post(f"{SALES}/queries/{query['id']}/execute", json={})
    assert (missing.status_code, missing.json()["error"]["field"]) == (400, "parameters.city")


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({"prompt": "x", "sql": "DELETE FROM customers"}, "DELETE"),
        ({"prompt": "x", "sql": "SELECT * FROM customers WHERE city = {{city}}"}, "city"),
        ({"prompt": "x", "sql": "SELECT * FROM nowhere"}, "nowhere"),
    ],
)
def test_a_query_that_could_not_run_is_not_proposed(door: Door, body: dict[str, Any], part: str) -> None:
    answer = door.http.post(f"{SALES}/queries", json=body)
    assert answer.status_code == 400
    assert part in answer.json()["error"]["message"]


def test_an_approved_question_expires_with_the_shape_of_its_database(door: Door, sample: Path, tmp_path: Path) -> None:
    changing = tmp_path / "changing.db"
    shutil.copy(sample, changing)
    one = f"{SOURCES}/changing"
    door.post(SOURCES, name="changing", dsn=f"sqlite:///{changing}")
    query = door.post(f"{one}/queries", prompt="How is business?", sql="SELECT SUM(amount) AS total FROM sales")
    door.post(f"{one}/queries/{query['id']}/approve")
    ask = {"question": "How is business?", "user_id": "john"}
    assert door.post(f"{one}/text2sql", 200, **ask)["pattern_used"] == "How is business?"
    with sqlite3.connect(changing) as connection:
        connection.execute("ALTER TABLE sales ADD COLUMN currency TEXT")
    connection.close()
    door.post(f"{one}/refresh", 200)
    assert door.post(f"{one}/text2sql", 200, **ask)["pattern_used"] is None
    assert [each["is_current"] for each in door.http.get(f"{one}/queries").json()["queries"]] == [False]


def test_a_forgotten_query_answers_nothing_more_wherever_it_was_forgotten(door: Door) -> None:
    query = proposed(door, "How is business?", "SELECT SUM(amount) AS total FROM sales")
    door.post(f"{SALES}/queries/{query['id']}/approve")
    assert door.sql("How is business?")["metadata"]["way"] == "repeat"
    assert door.http.delete(f"/api/projects/default/knowledge/{query['id']}").status_code in (200, 204)
    assert door.sql("How is business?")["sql"] == ""


@pytest.mark.parametrize(("is_on", "pending"), [(True, ["customers in {{p1}}"]), (False, [])])
def test_what_several_users_ask_alike_is_proposed_without_their_words(
    doors: Doors, is_on: bool, pending: list[str]
) -> None:
    door = doors(cross_user=is_on)
    for user, city in (("john", "Oslo"), ("jane", "Cork"), ("john", "Porto"), ("ada", "Leeds"), ("ben", "Riga")):
        assert door.sql(f"customers in {city}", user)["sql"]
    found = door.http.get(f"{SALES}/queries", params={"status": "pending"}).json()["queries"]
    assert [each["prompt"] for each in found] == pending
    assert not any(city in str(found) for city in ("Oslo", "Cork", "Porto", "Leeds"))


# What a role may see -------------------------------------------------------------------------------------------------

RULES = {"tables": ["customers", "regions"], "hidden": {"customers": ["email"]}, "rows": {"customers": "region_id = 1"}}


def test_metadata_has_title_headers_and_chart(door: Door) -> None:
    told = door.sql(BY_REGION)["metadata"]
    assert (told["title"], told["headers"]) == ("Total sales by region, 2024", ["Region", "Total sales"])
    assert (told["chart"]["mark"], told["chart"]["encoding"]["y"]["title"]) == ({"type": "bar"}, "Total sales")
    assert (told["is_truncated"], told["total_rows"]) == (False, 4)


def test_a_role_sees_its_tables_columns_and_rows_on_every_path(door: Door, sample: Path) -> None:
    own = door.closed()["user"]
    query = proposed(door, "How is business?", "SELECT SUM(amount) AS total FROM sales")
    door.post(f"{SALES}/queries/{query['id']}/approve")
    assert door.http.put(f"{SALES}/access", json={"access": {"user": RULES}}).status_code == 200

    def ask(question: str) -> dict[str, Any]:
        answer = door.http.post(f"{SALES}/text2sql", json={"question": question, "execute": True}, headers=own)
        assert answer.status_code == 200
        return dict(answer.json())

    some = ask(CUSTOMERS)
    wanted = count(sample, "SELECT count(*) FROM customers WHERE region_id = 1")
    assert list(some["metadata"]["execution_result"]["full"][0].values()) == [wanted]
    assert some["metadata"]["notes"] == ["of customers only the rows count that you may see"]
    for question in (BY_REGION, "How is business?", "Total amount by region"):
        assert ask(question)["sql"] == "", question
    for vql in ("SELECT email FROM customers", "SELECT * FROM sales", "SELECT count(*) FROM main.sales"):
        assert door.http.post("/executeVQL", json={"vql": vql}, headers=own).status_code == 400
    rows = door.http.post("/executeVQL", json={"vql": "SELECT * FROM customers"}, headers=own).json()[
        "execution_result"
    ]
    assert {row["region_id"] for row in rows["full"]} == {1}
    assert "email" not in rows["full"][0]
    assert door.http.post(f"{SALES}/queries/{query['id']}/execute", json={}, headers=own).status_code == 400
    correction = {"question": "x", "generated_sql": "SELECT 1", "corrected_sql": "SELECT email FROM customers"}
    assert door.http.post(f"{SALES}/text2sql/correct", json=correction, headers=own).status_code == 400
    shown = door.http.get(SALES, headers=own).json()
    assert ([table["name"] for table in shown["tables"]], shown["address"], shown["access"]) == (
        ["customers", "regions"],
        None,
        None,
    )
    told = door.http.post("/answerMetadataQuestion", json={"question": "Which tables are there?"}, headers=own).json()
    assert "sales" not in told["answer"]
    assert "email" not in str(shown["model"])
    found = door.http.get("/similaritySearch", params={"query": "sales orders customers"}, headers=own).json()
    assert [each["view_name"] for each in found["views"]] == ["sales.customers"]


def test_what_was_asked_of_tables_that_are_hidden_now_is_not_recalled(door: Door) -> None:
    own = door.closed()["user"]

    def ask(question: str) -> dict[str, Any]:
        body = {"question": question, "user_id": "john", "session_id": "one"}
        return dict(door.http.post("/answerQuestion", json=body, headers=own).json())

    ask(BY_REGION)
    assert ask(BY_REGION)["memory_context_used"]["similar_queries_count"] == 1
    rated = {"question": "How is business?", "sql": "SELECT SUM(amount) AS total FROM sales", "good": True}
    assert door.http.post(f"{SALES}/text2sql/feedback", json=rated, headers=own).status_code == 201
    door.http.put(f"{SALES}/access", json={"access": {"user": {"tables": ["customers"]}}})
    followup = ask("What about 2023?")
    assert (followup["sql_query"], followup["memory_context_used"]) == (
        "",
        {
            "history_messages_count": 0,
            "similar_queries_count": 0,
            "context_tokens": 0,
            "context_truncated": False,
            "memory_enabled": True,
        },
    )
    assert ask("How is business?")["sql_query"] == ""
    listed = door.http.get(f"{SALES}/history", headers=own).json()["queries"]
    assert listed == []
    door.http.put(f"{SALES}/access", json={"access": {}})
    assert ask(BY_REGION)["memory_context_used"]["similar_queries_count"] == 1


# The source itself ----------------------------------------------------------------------------------------------------


def test_an_edited_model_is_what_questions_are_read_by(door: Door) -> None:
    whole = door.http.get(SALES).json()["model"]
    whole["tables"]["employees"]["names"] = ["employee", "heron"]
    assert door.figure("How many herons are there?") is None
    assert door.http.put(f"{SALES}/model", json={"model": whole}).status_code == 200
    assert door.figure("How many herons are there?") == 24
    door.post(f"{SALES}/refresh", 200)
    assert door.figure("How many herons are there?") == 24
    wrong = door.http.put(f"{SALES}/model", json={"model": {"tables": {"nothing": {"names": ["x"]}}}})
    assert wrong.status_code == 400


def test_a_password_is_never_shown(doors: Doors) -> None:
    door = doors(source_private_hosts=True)
    answer = door.http.post(SOURCES, json={"name": "away", "dsn": "postgresql://reader:hunter2@127.0.0.1:9/nothing"})
    assert answer.status_code == 503
    assert "hunter2" not in answer.text
    assert [each["name"] for each in door.http.get(SOURCES).json()["datasources"]] == ["sales"]


def test_a_dropped_source_is_gone(door: Door) -> None:
    assert door.http.delete(SALES).status_code == 204
    assert door.http.post(f"{SALES}/text2sql", json={"question": CUSTOMERS}).status_code == 404
    assert door.http.get(SOURCES).json() == {"datasources": []}
