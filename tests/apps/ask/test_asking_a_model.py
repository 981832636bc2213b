"""With a language model, over HTTP and by a script: its SQL passes the same gate, statements are compared by result,
failed ones are asked for anew, and where the model is of no use the rules answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from tests.apps.ask.asking_door import BY_REGION, SALES, Door, Doors, Script, scripted, yearly
from tests.openai_server import Server

HOSTILE = [
    "DELETE FROM customers",
    "WITH gone AS (DELETE FROM sales RETURNING *) SELECT * FROM gone",
    "SELECT * FROM sqlite_master",
    "SELECT 1; DROP TABLE sales",
]
BROKEN = "SELECT ABS(-9223372036854775807 - 1) AS n FROM customers"  # more than SQLite's integers hold


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
def test_a_hostile_statement_is_refused_and_asked_for_anew(talking: Door, script: Script, sql: str) -> None:
    script.writes[BY_REGION] = [f"```sql\n{sql}\n```", yearly(2024)]
    answer = talking.ask(BY_REGION)
    assert len(answer["execution_result"]["full"]) == 4
    assert answer["query_explanation"].startswith(f"Attempt 1: {sql}\nIt failed: sql: ")


def test_a_repair_is_a_new_prompt_of_another_form(talking: Door, script: Script, model: Server) -> None:
    script.writes[BY_REGION] = ["SELECT town FROM customers", yearly(2024)]
    talking.ask(BY_REGION, verbose=False)
    assert [len(body["messages"]) > 2 for body in model.bodies] == [False, True]  # the other form has worked examples
    first, second = script.asked
    assert ("CREATE TABLE" in first, "CREATE TABLE" in second) == (True, False)
    assert "SELECT town FROM customers" in second
    assert "the column town is in none of the tables" in second
    assert "customers(id, name, email" in second


def test_one_that_stays_hostile_leaves_the_answer_to_the_rules(talking: Door, script: Script) -> None:
    script.writes[BY_REGION] = ["```\nDROP TABLE sales\n```"]
    answer = talking.ask(BY_REGION)
    assert len(script.asked) == 5  # three samples and two repairs
    assert answer["query_explanation"].count("It failed") == 1
    assert "Total sales by region, 2024" in answer["query_explanation"]
    assert len(answer["execution_result"]["full"]) == 4


@pytest.mark.parametrize(("fixer", "repairs"), [(True, 2), (False, 0)])
def test_an_error_of_the_database_is_repaired_at_most_twice(
    talking: Door, script: Script, fixer: bool, repairs: int
) -> None:
    script.writes["How is the weather?"] = [BROKEN]
    answer = talking.ask("How is the weather?", enable_query_fixer=fixer)
    assert sum("This query is not the answer" in each for each in script.asked) == repairs
    assert answer["query_explanation"].count("It failed") == 1
    assert answer["execution_result"] == {}
    assert "could not run" in answer["answer"]


def test_an_empty_result_is_asked_for_anew(talking: Door, script: Script) -> None:
    nothing, oslo = "SELECT email FROM customers WHERE city = 'Atlantis'", "SELECT email FROM customers WHERE id = 1"
    script.writes["Whose mail is it?"] = [nothing, oslo]
    assert len(talking.ask("Whose mail is it?")["execution_result"]["full"]) == 1
    script.writes["Whose mail is it?"] = [nothing]
    plain = talking.ask("Whose mail is it?", enable_query_reviewer=False, check_ambiguity=False)
    assert (plain["execution_result"], "returned no results" in plain["answer"]) == ({}, True)


@pytest.mark.parametrize(
    "form", ["{}", "```sql\n{};\n```", "Here it is:\n```\n{}\n```\nIt counts.", "{};\n\nIt counts."]
)
def test_plain_sql_is_taken_fenced_or_bare(talking: Door, script: Script, form: str) -> None:
    script.writes["Count the things"] = [form.format("SELECT COUNT(*) AS n FROM products")]
    answer = talking.ask("Count the things", verbose=False)
    assert answer["sql_query"].startswith("SELECT COUNT(*) AS n FROM products")
    assert "COUNT(*) from products" in answer["query_explanation"]


# Agreement -----------------------------------------------------------------------------------------------------------

MONDAY, TUESDAY, OTHER = (f"SELECT {n} AS n FROM customers LIMIT 1" for n in (1, 2, 3))
VAGUE = "Which colour suits them?"


def test_the_result_that_most_statements_give_is_the_answer(talking: Door, script: Script) -> None:
    script.writes[VAGUE] = [MONDAY, TUESDAY, "SELECT 1 + 1 AS n FROM customers LIMIT 1"]
    answer = talking.ask(VAGUE, check_ambiguity=False)
    assert answer["execution_result"]["full"] == [{"n": 2}]
    assert 0 < answer["confidence"] < 0.8
    assert len(script.asked) == 3


def test_statements_that_agree_end_the_sampling(talking: Door, script: Script) -> None:
    script.writes[VAGUE] = [MONDAY]
    lone = talking.ask(VAGUE)
    assert (len(script.asked), lone["execution_result"]["full"]) == (2, [{"n": 1}])
    script.asked.clear()
    sure = talking.ask(BY_REGION)  # the rules read it alike
    assert (len(script.asked), sure["confidence"] >= 0.9, lone["confidence"] > 0.7) == (1, True, True)


def test_a_tie_becomes_choices_that_can_be_answered(talking: Door, script: Script) -> None:
    script.writes[VAGUE] = [MONDAY, TUESDAY, OTHER]
    asked = talking.sql(VAGUE)
    assert (asked["sql"], asked["needs_clarification"]) == ("", True)
    [clarification] = asked["clarifications"]
    assert len(clarification["choices"]) >= 3  # three statements of the model, and what the rules read
    chosen = {"clarification_id": clarification["id"], "choice": "2", "user_id": "john", "execute": True}
    answer = talking.post(f"{SALES}/text2sql/clarify", **chosen)
    assert answer["metadata"]["execution_result"]["full"] == [{"n": 2}]


def test_the_cheap_mode_asks_once_and_takes_the_reply(doors: Doors, model: Server, script: Script) -> None:
    cheap = doors(**scripted(model, script), model_samples=1)
    script.writes[VAGUE] = [MONDAY, TUESDAY]
    assert cheap.ask(VAGUE, verbose=False, check_ambiguity=False)["execution_result"]["full"] == [{"n": 1}]
    assert len(model.bodies) == 1


def test_the_cheap_mode_asks_nothing_that_the_rules_are_sure_of(doors: Doors, model: Server, script: Script) -> None:
    cheap = doors(**scripted(model, script), model_samples=1)
    assert len(cheap.ask("Number of customers by region", verbose=False)["execution_result"]["full"]) == 4
    assert len(model.bodies) == 0


# Failures ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [None, "no idea", {"sql": ""}, ["x"]])
def test_a_model_that_is_of_no_use_leaves_the_answer_to_the_rules(talking: Door, script: Script, said: Any) -> None:
    script.writes[BY_REGION] = [said]
    script.speaks = None
    answer = talking.ask(BY_REGION)
    assert len(answer["execution_result"]["full"]) == 4
    assert (answer["llm_model"], "written by a language model" in answer["answer"]) == ("", False)
    assert any(note.startswith("the language model") for note in answer["notes"])


def test_a_model_that_is_away_is_named_in_the_notes(doors: Doors) -> None:
    away = doors(model_url="http://127.0.0.1:9/v1", model="small", model_timeout=1.0)
    answer = away.ask(BY_REGION)
    assert len(answer["execution_result"]["full"]) == 4
    assert [note for note in answer["notes"] if "did not answer" in note]


def test_a_slow_model_is_not_waited_for(doors: Doors, model: Server) -> None:
    release = Event()

    def sleep(body: dict[str, Any]) -> Any:
        release.wait(30)
        return 200, "{}"

    model.answer = sleep
    slow = doors(model_url=model.url, model="small", model_timeout=0.5)
    answer = slow.ask(BY_REGION)
    release.set()
    assert (len(answer["execution_result"]["full"]), len(model.bodies)) == (4, 1)
    assert [note for note in answer["notes"] if "0.5 s" in note]


# The prompt ----------------------------------------------------------------------------------------------------------


def test_the_schema_is_shown_with_keys_rows_and_values(talking: Door, script: Script) -> None:
    talking.ask("Which customers are in Oslo and have the tier gold?", verbose=False)
    prompt = script.asked[0]
    assert "CREATE TABLE customers (\n  id INTEGER PRIMARY KEY," in prompt
    assert "region_id INTEGER REFERENCES regions(id)" in prompt
    assert prompt.count("rows of ") == prompt.count("CREATE TABLE")
    assert "customers.tier = 'gold'" in prompt
    assert "@" not in prompt  # sensitive columns show no values


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
    script.writes[question] = ["SELECT COUNT(*) AS n FROM customers WHERE tier = 'gold'"]
    answer = talking.ask(question, session_id="one", custom_instructions="Round to euros.", check_ambiguity=False)
    before, marked = script.asked[0].split("⟦end⟧", 1)
    assert "CREATE TABLE customers" in before
    assert '- "patrons": the customers table' in marked
    assert "tier = 'gold'" in marked
    assert f"User: {BY_REGION}" in marked
    assert "SELECT COUNT(*) FROM customers" not in marked
    assert "Round to euros." in marked
    assert {(a["term"], a["source"]) for a in answer["assumptions"]} == {("patrons", "user"), ("active", "project")}


def test_assumptions_are_those_of_the_statement(talking: Door, script: Script) -> None:
    talking.post(f"{SALES}/text2sql/clarify", term="active", answer="active means tier = 'gold'", user_id="john")
    question = "Which blorf suits the active quux, and whence?"  # nothing that the rules are sure of
    script.writes[question] = ["SELECT COUNT(*) AS n FROM customers WHERE region_id > 1"]
    answer = talking.ask(question, check_ambiguity=False, verbose=False)
    assert ("region_id" in answer["sql_query"], answer["assumptions"]) == (True, [])


def test_a_standing_filter_holds_for_the_model_s_statement(talking: Door, script: Script) -> None:
    script.writes["Count them all"] = ["SELECT COUNT(*) AS n FROM customers c"]
    every = talking.sql("Count them all")["rows"][0]["n"]
    gold = talking.sql("Count them all", context={"custom_filters": {"customers.tier": "gold"}})
    assert 0 < gold["rows"][0]["n"] < every
    assert ("customers.tier", "session") in {(each["term"], each["source"]) for each in gold["assumptions"]}


def test_only_what_a_person_stands_for_is_an_example(talking: Door, script: Script) -> None:
    talking.ask(BY_REGION)
    rated = {
        "question": "Revenue by region, year 2024",  # similar in meaning, with few common words
        "sql": "SELECT SUM(amount) FROM sales",
        "good": True,
        "user_id": "john",
    }
    talking.post(f"{SALES}/text2sql/feedback", **rated)
    answer = talking.sql(BY_REGION)
    examples = script.asked[-1].partition("earlier questions with their SQL")[2].partition("⟦end⟧")[0]
    assert "SELECT SUM(amount) FROM sales" in examples
    assert "2024-01-01" not in examples
    assert answer["examples_found"] == 1
    talking.sql("Which products are cheap?")
    assert "SELECT SUM(amount) FROM sales" not in script.asked[-1]


def test_the_prompt_shows_as_much_as_the_request_allows(talking: Door, script: Script) -> None:
    talking.ask(BY_REGION, vector_search_k=1, vector_search_total_limit=1, vector_search_sample_data_k=0)
    assert (script.asked[0].count("CREATE TABLE"), "/* 3 rows" in script.asked[0]) == (1, False)


def test_the_prompt_fits_the_window_without_memory_first(doors: Doors, model: Server, script: Script) -> None:
    def talked(window: int) -> str:
        door = doors(**scripted(model, script), model_window=window)
        door.ask("How many products are there?", session_id="one")
        script.asked.clear()
        door.ask(BY_REGION, session_id="one")
        return script.asked[0]

    whole, less, least = talked(0), talked(1_900), talked(1_000)
    assert "User: How many products are there?" in whole
    assert ("User:" in less, "/* 3 rows" in less) == (False, True)
    assert ("/* 3 rows" in least, 0 < least.count("CREATE TABLE") < whole.count("CREATE TABLE")) == (False, True)


def test_what_a_role_may_not_see_is_not_in_the_prompt(talking: Door, script: Script, model: Server) -> None:
    own = talking.closed()["user"]
    talking.http.post("/answerQuestion", json={"question": BY_REGION, "user_id": "john"}, headers=own)
    access = {"user": {"tables": ["customers"], "hidden": {"customers": ["email"]}}}
    talking.http.put(f"{SALES}/access", json={"access": access})
    model.bodies.clear()
    answer = talking.http.post("/answerQuestion", json={"question": BY_REGION, "user_id": "john"}, headers=own).json()
    assert (answer["sql_query"], answer["execution_result"]) == ("", {})
    seen = str([body["messages"] for body in model.bodies if len(body["messages"]) == 2])
    assert "CREATE TABLE customers" in seen
    assert [word for word in ("TABLE sales", "sale_date", "email", "order_lines", "regions") if word in seen] == []


# Streams -------------------------------------------------------------------------------------------------------------


def test_the_answer_is_streamed_as_the_model_writes_it(talking: Door, script: Script, model: Server) -> None:
    gate = Event()

    def stream(body: dict[str, Any]) -> Any:
        if not body.get("stream"):
            return script.answer(body)
        return 200, talk_slowly(), {"Content-Type": "text/event-stream"}

    def talk_slowly() -> Iterator[bytes]:
        yield event("So it ")
        assert gate.wait(30)  # goes on only when the client has read the first piece
        for piece in ("is.\n", "\nRelated ", "questions:\n- And by month?"):
            yield event(piece)
        yield b"data: [DONE]\n\n"

    model.answer = stream
    with talking.http.stream(
        "POST", "/streamAnswerQuestion", json={"question": BY_REGION, "user_id": "john"}
    ) as answer:
        pieces = answer.iter_text()
        first = next(pieces)
        gate.set()
        whole = first + "".join(pieces)
    assert first.startswith("So it")
    assert "is." not in first
    assert whole.startswith("So it is.\n\nThis answer was written by a language model")
    assert "And by month" not in whole


def test_a_stream_without_a_model_has_the_whole_answer(doors: Doors) -> None:
    door = doors()
    plain = door.ask(BY_REGION)["answer"]
    assert door.http.post("/streamAnswerQuestion", json={"question": BY_REGION, "user_id": "john"}).text == plain
    assert door.http.post("/streamAnswerQuestion", json={"question": ""}).status_code == 400


def event(piece: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": piece}}]}).encode() + b"\n\n"
