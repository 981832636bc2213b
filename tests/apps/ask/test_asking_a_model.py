"""With a language model, over HTTP and by a script: its SQL passes the same gate, its errors go back to it, what it
asks is asked, and where it is of no use the rules answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apps.ask.asking_door import BY_REGION, SALES, Door, Doors, Script, scripted, written, yearly
from tests.openai_server import Server

HOSTILE = [
    "DELETE FROM customers",
    "WITH gone AS (DELETE FROM sales RETURNING *) SELECT * FROM gone",
    "SELECT * FROM sqlite_master",
    "SELECT 1; DROP TABLE sales",
]
BROKEN = written("SELECT ABS(-9223372036854775807 - 1) AS n FROM customers")  # more than SQLite's integers hold


@pytest.fixture
def script() -> Script:
    return Script({BY_REGION: [yearly(2024)]})


@pytest.fixture
def talking(doors: Doors, model: Server, script: Script) -> Door:
    return doors(**scripted(model, script))


def test_its_statement_is_run_and_its_words_are_told(talking: Door) -> None:
    answer = talking.ask(BY_REGION)
    assert answer["answer"].startswith("So it is.")
    assert "language model" in answer["answer"]
    assert answer["related_questions"] == ["And by month?"]
    assert (answer["llm_provider"], answer["llm_model"]) == ("openai", "openai:small")
    assert answer["tokens"] == {"input_tokens": 200, "output_tokens": 20, "total_tokens": 220}
    assert len(answer["execution_result"]["full"]) == 4
    assert "LIMIT 100" in answer["sql_query"]
    assert talking.ask(BY_REGION, disclaimer=False)["answer"] == "So it is."


def test_a_terse_answer_asks_the_model_once(talking: Door, model: Server) -> None:
    answer = talking.ask(BY_REGION, verbose=False)
    assert (answer["answer"], len(model.bodies)) == (answer["sql_query"], 1)


def test_a_question_about_the_database_needs_no_model_when_terse(talking: Door, model: Server) -> None:
    short = talking.ask("Which tables are there?", mode="metadata", verbose=False)
    assert (len(model.bodies), "order_lines" in short["answer"]) == (0, True)
    assert talking.ask("Which tables are there?", mode="metadata")["answer"] == "So it is."


def test_the_request_chooses_among_the_models_of_the_server(talking: Door, model: Server) -> None:
    talking.ask(BY_REGION, llm_model="large", llm_temperature=0.5, llm_max_tokens=99, verbose=False)
    assert [(each["model"], each["temperature"]) for each in model.bodies] == [("large", 0.5)]
    assert 99 in model.bodies[0].values()


@pytest.mark.parametrize("sql", HOSTILE)
def test_a_hostile_statement_is_told_why_and_mended(talking: Door, script: Script, sql: str) -> None:
    script.writes[BY_REGION] = [written(sql), yearly(2024)]
    answer = talking.ask(BY_REGION)
    assert len(answer["execution_result"]["full"]) == 4
    assert answer["query_explanation"].startswith(f"Attempt 1: {sql}\nBecause: Sums it up.\nIt failed: sql: ")
    assert "⟦" in script.asked[1][-1]["content"]


def test_one_that_stays_hostile_leaves_the_answer_to_the_rules(talking: Door, script: Script) -> None:
    script.writes[BY_REGION] = [written("DROP TABLE sales")]
    answer = talking.ask(BY_REGION)
    assert len(script.asked) == 3
    assert answer["query_explanation"].count("It failed") == 3
    assert "Total sales by region, 2024" in answer["query_explanation"]
    assert len(answer["execution_result"]["full"]) == 4


@pytest.mark.parametrize(("fixer", "attempts"), [(True, 3), (False, 1)])
def test_an_error_of_the_database_goes_back_at_most_twice(
    talking: Door, script: Script, fixer: bool, attempts: int
) -> None:
    script.writes["How is the weather?"] = [BROKEN]
    answer = talking.ask("How is the weather?", enable_query_fixer=fixer)
    assert len(script.asked) == attempts
    assert answer["query_explanation"].count("It failed") == attempts
    assert answer["execution_result"] == {}
    assert "could not run" in answer["answer"]


def test_an_empty_result_is_reviewed_on_request(talking: Door, script: Script) -> None:
    nothing = written("SELECT name FROM customers WHERE city = 'Atlantis'")
    script.writes["Who lives in Oslo?"] = [nothing, written("SELECT name FROM customers WHERE city = 'Oslo'")]
    assert talking.ask("Who lives in Oslo?", enable_query_reviewer=True)["execution_result"]["full"]
    script.writes["Who lives in Oslo?"] = [nothing]
    plain = talking.ask("Who lives in Oslo?")
    assert (plain["execution_result"], "returned no results" in plain["answer"]) == ({}, True)


def test_what_it_asks_is_asked(talking: Door, script: Script) -> None:
    asked = {"term": "hot", "question": "What makes a product hot?", "suggestions": ["many orders"]}
    script.writes["Our hot products"] = [{"sql": "", "clarifications": [asked]}]
    answer = talking.ask("Our hot products")
    assert (answer["sql_query"], answer["clarifications"][0]["term"]) == ("", "hot")
    assert "- What makes a product hot? (many orders?)" in answer["answer"]
    told = talking.sql("Our hot products")
    assert (told["needs_clarification"], told["confidence"] < 0.7) == (True, True)


@pytest.mark.parametrize("said", [None, "no idea", {"sql": ""}, {"sql": "", "clarifications": [{"term": "x"}]}, ["x"]])
def test_a_model_that_is_of_no_use_leaves_the_answer_to_the_rules(talking: Door, script: Script, said: Any) -> None:
    script.writes[BY_REGION] = [said]
    script.speaks = None
    answer = talking.ask(BY_REGION)
    assert len(answer["execution_result"]["full"]) == 4
    assert (answer["llm_model"], "language model" in answer["answer"]) == ("", False)


def test_a_model_that_is_away_costs_one_attempt(doors: Doors) -> None:
    away = doors(model_url="http://127.0.0.1:9/v1", model="small", model_timeout=1.0)
    assert len(away.ask(BY_REGION)["execution_result"]["full"]) == 4


def test_what_is_remembered_stands_in_the_prompt_as_marked_data(talking: Door, script: Script) -> None:
    talking.ask(BY_REGION, session_id="one")
    clarify = {"term": "patrons", "answer": "I mean the customers table", "user_id": "john"}
    talking.post(f"{SALES}/text2sql/clarify", **clarify)
    clarify = {"term": "active", "answer": "active means tier = 'gold'", "user_id": "john"}
    talking.post(f"{SALES}/text2sql/clarify", **clarify)
    rated = {"question": "How many active patrons are there?", "sql": "SELECT COUNT(*) FROM customers", "good": True}
    talking.post(f"{SALES}/text2sql/feedback", **rated, user_id="jane")
    script.asked.clear()
    question = "What about active patrons in 2023?"
    script.writes[question] = [yearly(2023)]
    answer = talking.ask(question, session_id="one", custom_instructions="Round to euros.")
    system = script.asked[0][0]["content"]
    before, marked = system.split("# Context from previous interactions")
    assert "table customers" in before
    assert '- "patrons": the customers table' in marked
    assert "tier = 'gold'" in marked
    assert f"User: {BY_REGION}" in marked
    assert "SELECT COUNT(*) FROM customers" not in marked
    assert "Round to euros." in marked
    assert system.count("⟦") >= 4
    assert {(a["term"], a["source"]) for a in answer["assumptions"]} == {("patrons", "user"), ("active", "project")}


def test_only_what_a_person_stands_for_is_an_example(talking: Door, script: Script) -> None:
    talking.ask(BY_REGION)
    rated = {
        "question": "Total sales by region",
        "sql": "SELECT SUM(amount) FROM sales",
        "good": True,
        "user_id": "john",
    }
    talking.post(f"{SALES}/text2sql/feedback", **rated)
    told = talking.sql(BY_REGION)
    examples = script.asked[-1][0]["content"].partition("# Examples that were approved")[2]
    assert "SELECT SUM(amount) FROM sales" in examples
    assert "2024-01-01" not in examples
    assert told["examples_found"] == 1


def test_the_prompt_shows_as_much_as_the_request_allows(talking: Door, script: Script) -> None:
    talking.ask(BY_REGION, vector_search_k=1, vector_search_total_limit=1, vector_search_sample_data_k=0)
    schema = script.asked[0][0]["content"].partition("# The database")[2].partition("# Context")[0]
    assert (schema.count("table "), "e.g." in schema) == (1, False)


def test_what_a_role_may_not_see_is_not_in_the_prompt(talking: Door, script: Script, model: Server) -> None:
    own = talking.closed()["user"]
    talking.http.post("/answerQuestion", json={"question": BY_REGION, "user_id": "john"}, headers=own)
    access = {"user": {"tables": ["customers"], "hidden": {"customers": ["email"]}}}
    talking.http.put(f"{SALES}/access", json={"access": access})
    model.bodies.clear()
    answer = talking.http.post("/answerQuestion", json={"question": BY_REGION, "user_id": "john"}, headers=own).json()
    assert (answer["sql_query"], answer["execution_result"]) == ("", {})
    seen = str([body["messages"][0] for body in model.bodies])
    assert "table customers" in seen
    assert [word for word in ("table sales", "sale_date", "email", "order_lines") if word in seen] == []
