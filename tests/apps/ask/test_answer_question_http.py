"""/answerQuestion over HTTP: the scenarios that its callers know, with rules alone and with a language model; what
memory adds, whose it is, and that the answer comes without it too."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import psycopg
import pytest

from recollect.errors import StoreUnavailable
from recollect.settings import Settings
from tests.apps.ask.asking_door import BY_REGION, SALES, SOURCES, Door, Doors, Script, scripted, yearly
from tests.openai_server import Server

MEMORY = ("conversation_metadata", "memory_context_used", "memory_retrieval_time")
ALREADY_KNOWN: dict[str, Any] = {
    "llm_provider": "OpenAI",
    "llm_model": "small",
    "llm_temperature": 0.0,
    "llm_max_tokens": 4096,
    "embeddings_provider": "OpenAI",
    "embeddings_model": "text-embedding-3-large",
    "vector_store_provider": "pgvector",
    "vdp_database_names": "sales",
    "a_field_of_tomorrow": 1,
}


@pytest.fixture(params=["rules", "model"])
def either(request: pytest.FixtureRequest, doors: Doors, model: Server) -> Door:
    """The same server, once without and once with a language model."""
    if request.param == "rules":
        return doors()
    everything = {"sql": "SELECT name FROM customers"}
    return doors(
        **scripted(
            model,
            Script(
                {BY_REGION: [yearly(2024)], "What about 2023?": [yearly(2023)], "Show me customer data": [everything]}
            ),
        )
    )


def used(answer: dict[str, Any]) -> tuple[int, int, int]:
    """Interactions in the conversation, those looked back at, and similar ones."""
    context = answer["memory_context_used"]
    counts = context["history_messages_count"], context["similar_queries_count"]
    return answer["conversation_metadata"]["message_count"], *counts


def test_a_first_question_and_its_follow_up(either: Door) -> None:
    first = either.ask(BY_REGION, session_id=None, use_memory=True, **ALREADY_KNOWN)
    talk = first["conversation_metadata"]
    assert (talk["session_name"], talk["is_summarized"], used(first)) == (BY_REGION, False, (1, 0, 0))
    assert first["memory_context_used"] | {"context_tokens": 0} == {
        "history_messages_count": 0,
        "similar_queries_count": 0,
        "context_tokens": 0,
        "context_truncated": False,
        "memory_enabled": True,
    }
    again = either.ask("What about 2023?", session_id=talk["session_id"], **ALREADY_KNOWN)
    assert all(word in again["sql_query"].lower() for word in ("sales", "region", "2023"))
    assert "2024-01-01" in first["sql_query"]
    assert (used(again), again["conversation_metadata"]["conversation_id"]) == ((2, 1, 1), talk["conversation_id"])
    assert again["memory_context_used"]["context_tokens"] > 0
    figures = [
        {row["name"]: list(row.values())[1] for row in each["execution_result"]["full"]} for each in (first, again)
    ]
    assert figures[0].keys() == figures[1].keys() == {"North", "South", "East", "West"}
    assert figures[0] != figures[1]


def test_without_a_user_it_is_as_it_always_was(either: Door) -> None:
    answer = either.ask("Show me customer data", user=None, vdp_database_names="sales")
    assert [answer[name] for name in MEMORY] == [None] * 3
    assert (len(answer["execution_result"]["full"]), answer["tables_used"]) == (100, ["customers"])


def test_nobody_sees_what_another_asked(either: Door) -> None:
    mine = either.ask(BY_REGION, session_id="same name")
    his = either.ask(BY_REGION, user="jane", session_id="same name")
    assert used(mine) == used(his) == (1, 0, 0)
    ids = {each["conversation_metadata"]["conversation_id"] for each in (mine, his)}
    assert len(ids) == 2


def test_suggested_questions_name_no_keys_and_no_more_rows_than_shown(door: Door) -> None:
    few, many = door.ask(BY_REGION), door.ask("Total sales by product in 2024")
    assert len(few["execution_result"]["full"]) < 5 < len(many["execution_result"]["full"])
    assert "Only the top 5" not in few["related_questions"]
    assert "Only the top 5" in many["related_questions"]
    for question in (*few["related_questions"], *many["related_questions"]):
        assert not {"id?", "email?"}.intersection(question.split()), question


def test_every_field_that_callers_know_is_there(door: Door) -> None:
    answer = door.ask(BY_REGION)
    rows = answer["execution_result"]
    assert set(rows) == {"full", "full_csv", "llm", "llm_csv"}
    assert rows["full_csv"].splitlines()[0] == ",".join(rows["full"][0])
    assert rows["llm"] == rows["full"]
    assert (answer["tokens"], answer["llm_provider"], answer["llm_model"], answer["raw_graph"]) == (
        {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
        "",
        "",
        "",
    )
    assert set(answer["tables_used"]) == {"sales", "regions"} <= set(answer["related_tables"])
    assert "sales" in answer["query_explanation"]
    assert "North" in answer["answer"]
    assert answer["related_questions"]
    assert answer["sql_execution_time"] + answer["memory_retrieval_time"] <= answer["total_execution_time"]
    assert door.http.get("/health").status_code == 200


def test_the_same_by_address_and_as_a_stream(door: Door) -> None:
    asked = {"question": BY_REGION, "vdp_database_names": "sales", "verbose": "false"}
    by_address = door.http.get("/answerQuestion", params=asked).json()
    streamed = [
        door.http.get("/streamAnswerQuestion", params=asked),
        door.http.post("/streamAnswerQuestion", json={**asked, "verbose": False}),
    ]
    assert {each.headers["content-type"] for each in streamed} == {"text/plain; charset=utf-8"}
    assert {each.text for each in streamed} == {by_address["answer"]} == {by_address["sql_query"]}


def test_each_related_question_can_be_asked(door: Door) -> None:
    for question in door.ask(BY_REGION)["related_questions"]:
        first = door.ask(BY_REGION)
        answer = door.ask(question, session_id=first["conversation_metadata"]["session_id"])
        assert answer["sql_query"] not in ("", first["sql_query"]), question


# What memory counts --------------------------------------------------------------------------------------------------


def test_a_session_lasts_from_its_last_question(door: Door) -> None:
    first, again = (door.ask(BY_REGION, session_id="one")["conversation_metadata"] for _ in range(2))
    until = [datetime.fromisoformat(each["expires_at"]) for each in (first, again)]
    updated = [datetime.fromisoformat(each["updated_at"]) for each in (first, again)]
    assert until[0] < until[1]
    assert until[1] - until[0] == updated[1] - updated[0]
    assert first["created_at"] == again["created_at"]


def test_without_a_session_a_new_one_begins_unless_the_last_is_young(doors: Doors) -> None:
    apart, within = doors(), doors(session_window=10)
    assert used(apart.ask(BY_REGION))[:2] == used(apart.ask(BY_REGION))[:2] == (1, 0)
    assert used(within.ask("How many customers are there?"))[:2] == (2, 1)


@pytest.mark.parametrize(
    ("how", "history", "similar"),
    [({}, 3, 1), ({"semantic_search_k": 0}, 3, 0), ({"max_history_messages": 1}, 1, 1)],
)
def test_a_request_says_how_far_memory_looks(door: Door, how: dict[str, Any], history: int, similar: int) -> None:
    for question in (BY_REGION, "What about 2023?", "What about 2022?"):
        door.ask(question, session_id="one")
    answer = door.ask(BY_REGION, session_id="one", **how)
    assert used(answer) == (4, history, similar)


def test_memory_that_is_not_wanted_leaves_nothing_behind(door: Door) -> None:
    answer = door.ask(BY_REGION, use_memory=False, session_id="one")
    assert [answer[name] for name in MEMORY] == [None] * 3
    assert used(door.ask(BY_REGION, session_id="one")) == (1, 0, 0)


def test_memory_that_is_switched_off_still_logs(doors: Doors, database: str) -> None:
    off = doors(enabled=False)
    answer = off.ask(BY_REGION)
    assert ([answer[name] for name in MEMORY], answer["answer_ref"] is None) == ([None] * 3, False)
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM recollect.turn").fetchone() == (2,)


@pytest.mark.parametrize("verbs", [["recall"], ["record"], ["brief"], ["brief", "resolve_all", "memories"]])
def test_memory_that_fails_fails_no_answer(door: Door, monkeypatch: pytest.MonkeyPatch, verbs: list[str]) -> None:
    door.ask(BY_REGION, session_id="one")
    door.app.state.analyst.reader.clear_approved("default")

    async def broken(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("PostgreSQL does not answer")

    engine = door.app.state.analyst.engine
    for verb in verbs:
        monkeypatch.setattr(engine.runtime if verb == "brief" else engine, verb, broken)
    answer = door.ask(BY_REGION, session_id="one")
    assert [answer[name] for name in MEMORY] == [None] * 3
    assert len(answer["execution_result"]["full"]) == 4


# Who asks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "user", "use_memory", "status"),
    [
        ("user", "john", True, 200),
        ("user", "jane", True, 403),
        ("user", "jane", False, 403),
        ("user", None, True, 200),
        ("service", "jane", True, 200),
        ("data", None, True, 200),
        ("data", "jane", True, 403),
    ],
)
def test_only_a_trusted_application_asks_for_another(
    door: Door, role: str, user: str | None, use_memory: bool, status: int
) -> None:
    body = {"question": BY_REGION, "user_id": user, "use_memory": use_memory}
    answer = door.http.post("/answerQuestion", json=body, headers=door.closed()[role])
    assert answer.status_code == status
    if status == 200:
        assert (answer.json()["conversation_metadata"] is None) == (user is None)


def test_a_closed_door_answers_basic_credentials_and_nobody_else(door: Door) -> None:
    secret = door.closed()["user"]["Authorization"].removeprefix("Bearer ")
    del door.http.headers["Authorization"]
    basic = {"Authorization": "Basic " + base64.b64encode(f"john:{secret}".encode()).decode()}
    asked = {"question": BY_REGION}
    told = [door.http.get("/answerQuestion", params=asked, headers=each).status_code for each in (basic, {})]
    assert told == [200, 401]


# What else a request can say ------------------------------------------------------------------------------------------


def test_an_empty_result_says_so(door: Door) -> None:
    answer = door.ask("Total sales by region for 1999")
    assert answer["execution_result"] == {}
    assert "executed correctly, but returned no results" in answer["answer"]


def test_an_unclear_word_is_asked_back_as_a_bullet(door: Door) -> None:
    answer = door.ask("How many active customers are there?")
    assert (answer["sql_query"], answer["execution_result"], answer["tables_used"]) == ("", {}, [])
    assert [each["term"] for each in answer["clarifications"]] == ["active"]
    bullets = [line for line in answer["answer"].splitlines() if line.startswith("- ")]
    assert len(bullets) == 1
    assert "active" in bullets[0]
    [asked] = answer["clarifications"]
    assert asked["suggestions"] == [choice["label"] for choice in asked["choices"]]
    assert all(label in answer["answer"] for label in asked["suggestions"])


def test_follow_up_builds_on_the_last_answered_question(door: Door) -> None:
    session = door.ask(BY_REGION)["conversation_metadata"]["session_id"]
    unclear = door.ask("How many active customers are there?", session_id=session)
    after = door.ask("What about 2023?", session_id=session)
    assert unclear["sql_query"] == ""
    assert "2023-01-01" in after["sql_query"]
    assert set(after["tables_used"]) == {"sales", "regions"}


def test_a_terse_answer_is_the_statement(door: Door) -> None:
    answer = door.ask(BY_REGION, verbose=False)
    assert (answer["answer"], answer["related_questions"]) == (answer["sql_query"], [])


@pytest.mark.parametrize(
    ("path", "mode"),
    [("/answerQuestion", "metadata"), ("/answerMetadataQuestion", "default"), ("/answerQuestion", "default")],
)
def test_a_question_about_the_database_is_answered_from_its_catalog(door: Door, path: str, mode: str) -> None:
    body = {"question": "Which tables are there?", "mode": mode, "verbose": False}
    answer = door.http.post(path, json=body).json()
    assert (answer["sql_query"], answer["execution_result"]) == ("", {})
    assert "order_lines" in answer["answer"]


def test_data_is_data_whatever_the_question_sounds_like(door: Door) -> None:
    answer = door.http.post("/answerDataQuestion", json={"question": "Show me customer data"}).json()
    assert answer["tables_used"] == ["customers"]


def test_a_chart_comes_as_png(door: Door) -> None:
    answer = door.ask(BY_REGION, plot=True, plot_details="a pie chart")
    assert base64.b64decode(answer["raw_graph"]).startswith(b"\x89PNG")
    assert (answer["chart"]["mark"]["type"], answer["chart"]["title"]["text"]) == ("arc", answer["title"])
    one = door.ask("How many customers are there?", plot=True)
    assert (one["raw_graph"], one["chart"]) == ("", None)
    assert door.ask(BY_REGION)["chart"] is None


def test_title_and_headers_are_words_and_columns_stay_names(door: Door) -> None:
    answer = door.ask(BY_REGION)
    assert (answer["title"], answer["headers"]) == ("Total sales by region, 2024", ["Region", "Total sales"])
    assert "| Region | Total sales |" in answer["answer"]
    assert list(answer["execution_result"]["full"][0]) == ["name", "total sales"]


@pytest.mark.parametrize(("limit", "count", "said"), [(7, 7, "7 of 208 rows"), (100, 100, "20 of 208 rows")])
def test_answer_says_how_many_rows_there_are(door: Door, limit: int, count: int, said: str) -> None:
    answer = door.ask("Show me customer data", vql_execute_rows_limit=limit)
    assert len(answer["execution_result"]["full"]) == count
    assert (answer["is_truncated"], answer["total_rows"]) == (True, 208)
    assert said in answer["answer"]


@pytest.mark.parametrize("limit", [208, 209, 10_000])
def test_result_that_fits_is_complete(door: Door, limit: int) -> None:
    answer = door.ask("Show me customer data", vql_execute_rows_limit=limit)
    assert len(answer["execution_result"]["full"]) == 208
    assert (answer["is_truncated"], answer["total_rows"]) == (False, 208)


def test_limits_cut_what_is_fetched_and_what_is_shown(door: Door) -> None:
    answer = door.ask("Show me customer data", vql_execute_rows_limit=7, llm_response_rows_limit=3)
    rows = answer["execution_result"]
    assert (len(rows["full"]), len(rows["llm"]), len(rows["llm_csv"].splitlines())) == (7, 3, 4)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"vql_execute_rows_limit": 0}, "vql_execute_rows_limit"),
        ({"vql_execute_rows_limit": 10_001}, "vql_execute_rows_limit"),
        ({"llm_response_rows_limit": 0}, "llm_response_rows_limit"),
        ({"llm_temperature": 3}, "llm_temperature"),
        ({"vector_search_k": 0}, "vector_search_k"),
        ({"max_history_messages": 51}, "max_history_messages"),
        ({"semantic_search_k": 11}, "semantic_search_k"),
        ({"mode": "guess"}, "mode"),
        ({"question": " "}, "question"),
        ({"llm_provider": "Bedrock"}, "llm_provider"),
        ({"embeddings_provider": "Cohere"}, "embeddings_provider"),
        ({"vector_store_provider": "chroma"}, "vector_store_provider"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(door: Door, given: dict[str, Any], field: str) -> None:
    answer = door.http.post("/answerQuestion", json={"question": BY_REGION, "user_id": "john", **given})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


def test_nothing_to_ask_is_told_in_five_ways(doors: Doors, settings: Settings) -> None:
    door = doors()
    asked = {"question": BY_REGION, "project": "empty"}
    told = [door.http.post("/answerQuestion", json=asked)]
    asked = {"question": BY_REGION}
    told.append(door.http.post("/answerQuestion", json={**asked, "vdp_database_names": "hr"}))
    told.append(door.http.post("/answerQuestion", json={**asked, "use_views": "sales.nothing"}))
    door.http.put(f"{SALES}/access", json={"access": {"admin": {"tables": []}}})
    told.append(door.http.post("/answerQuestion", json=asked))
    assert door.http.delete("/deleteMetadata").json() == {"deleted": ["sales"]}
    told.append(door.http.post("/answerQuestion", json=asked))
    assert [each.status_code for each in told] == [404] * 5
    messages = [each.json()["error"]["message"] for each in told]
    for message, words in zip(
        messages,
        (
            "has no data source: nothing",
            "nothing matches these filters",
            "views not found",
            "no permission",
            "not synchronised",
        ),
        strict=True,
    ):
        assert words in message


def test_views_can_be_the_only_ones(door: Door) -> None:
    some = door.ask("How many customers are there?", use_views="sales.customers", expand_set_views=False)
    assert some["related_tables"] == ["customers"]
    assert door.ask(BY_REGION, use_views="sales.customers")["tables_used"] == ["sales", "regions"]
    other = door.ask(BY_REGION, use_views="customers", expand_set_views=False)
    assert other["sql_query"] == ""


# The neighbours ------------------------------------------------------------------------------------------------------


def test_a_statement_can_be_written_without_being_run(door: Door) -> None:
    answer = door.http.post("/generateVQL", json={"question": BY_REGION}).json()
    assert "2024-01-01" in answer["sql_query"]
    assert answer["execution_result"] == {}


def test_a_given_statement_runs_guarded(door: Door) -> None:
    done = door.post("/executeVQL", 200, vql="SELECT name FROM regions ORDER BY name", limit=2)
    assert [row["name"] for row in done["execution_result"]["full"]] == ["East", "North"]
    assert "LIMIT 2" in done["vql"]
    door.http.put(f"{SALES}/access", json={"access": {"admin": {"tables": ["regions"]}}})
    for vql, part in (
        ("DELETE FROM regions", "DELETE"),
        ("SELECT * FROM customers", "customers"),
        ("SELECT 1; SELECT 2", "statement"),
    ):
        refused = door.http.post("/executeVQL", json={"vql": vql})
        assert refused.status_code == 400
        assert part.lower() in refused.json()["error"]["message"].lower()
    assert door.http.post("/executeVQL", json={"vql": "SELECT 1", "limit": 0}).json()["error"]["field"] == "limit"


def test_two_columns_of_one_name_are_both_told(door: Door) -> None:
    vql = "SELECT r.name, c.name FROM customers c JOIN regions r ON r.id = c.region_id ORDER BY c.id"
    [row] = door.post("/executeVQL", 200, vql=vql, limit=1)["execution_result"]["full"]
    assert len(row) == 2


def test_the_catalogue_is_read_again_searched_and_deleted(door: Door) -> None:
    [shown] = door.http.get("/getMetadata").json()["databases"]
    assert (shown["database"], shown["changed"], len(shown["views"])) == ("sales", False, 8)
    found = door.http.get(
        "/similaritySearch", params={"query": "customer email", "n_results": 1, "scores": True}
    ).json()
    assert [each["view_name"] for each in found["views"]] == ["sales.customers"]
    assert found["views"][0]["score"] > 0
    door.http.delete("/deleteMetadata", params={"vdp_database_names": "sales"})
    assert door.http.post("/answerQuestion", json={"question": BY_REGION}).status_code == 404
    assert door.http.get("/getMetadata").json()["databases"][0]["changed"] is True
    assert door.ask(BY_REGION)["tables_used"] == ["sales", "regions"]


def test_of_several_databases_the_one_that_understands_is_asked(door: Door, tmp_path: Any) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "zoo.db") as connection:
        connection.executescript(
            "CREATE TABLE animals (id INTEGER PRIMARY KEY, species TEXT); INSERT INTO animals VALUES (1, 'Heron')"
        )
    connection.close()
    door.post(SOURCES, name="zoo", dsn=f"sqlite:///{tmp_path / 'zoo.db'}")
    assert door.ask("How many animals are there?")["tables_used"] == ["animals"]
    assert door.ask(BY_REGION)["tables_used"] == ["sales", "regions"]
    assert door.ask("How many animals are there?", use_views="zoo.animals")["tables_used"] == ["animals"]
    door.http.put(f"{SOURCES}/zoo/access", json={"access": {"admin": {"tables": []}}})
    assert door.ask(BY_REGION)["tables_used"] == ["sales", "regions"]
