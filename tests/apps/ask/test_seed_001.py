"""The calls of seed 001 (sections 3.3 and 10), word for word, on a server started as `recollect serve --sample` does.

No call names a project or a data source. The only thing left out is a wall-clock limit on the whole request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from recollect.server.app import make_app
from recollect.server.sample import use_sample_project
from recollect.server.serve import prepare
from recollect.settings import Settings
from tests.apps.chat.chat_door import served

OTHER_PARAMS: dict[str, Any] = {
    "llm_provider": "OpenAI",
    "llm_model": "gpt-4o",
    "llm_temperature": 0.0,
    "llm_max_tokens": 4096,
    "embeddings_provider": "OpenAI",
    "embeddings_model": "text-embedding-3-large",
    "vector_store_provider": "pgvector",
}
USER = "test_user@example.com"


@pytest.fixture
async def sample_server(settings: Settings, tmp_path: Path) -> Settings:
    """Load the sample, and return the settings of the server."""
    made = use_sample_project(replace(settings, home=str(tmp_path), rate_limit=0.0))
    assert await prepare(made, "127.0.0.1", sample=True) is False
    return made


@pytest.fixture
def client(sample_server: Settings) -> Iterator[httpx2.Client]:
    with served(make_app(sample_server, worker=False)) as url, httpx2.Client(base_url=url, timeout=60) as http:
        yield http


def ask(client: httpx2.Client, question: str, **more: Any) -> dict[str, Any]:
    response = client.post("/answerQuestion", json={"question": question, **OTHER_PARAMS, **more})
    assert response.status_code == 200, response.text
    return dict(response.json())


def read_figures(answer: dict[str, Any]) -> dict[str, float]:
    return {row["name"]: list(row.values())[1] for row in answer["execution_result"]["full"]}


def test_existing_call_without_user_id(client: httpx2.Client) -> None:
    """Test 1."""
    data = ask(client, "Show me sales")
    assert data["answer"] is not None
    assert data["sql_query"].startswith("SELECT")
    assert data["execution_result"]["full"]
    assert data["conversation_metadata"] is None
    assert data["memory_context_used"] is None


def test_first_question_creates_conversation(client: httpx2.Client) -> None:
    """Test 2."""
    data = ask(client, "Show me sales by region for 2024", user_id=USER, session_id=None)
    assert data["conversation_metadata"] is not None
    assert data["conversation_metadata"]["message_count"] == 1
    assert data["conversation_metadata"]["session_id"] is not None
    assert read_figures(data).keys() == {"North", "South", "East", "West"}


def test_followup_question_uses_context(client: httpx2.Client) -> None:
    """Test 3."""
    first = ask(client, "Show me sales by region for 2024", user_id=USER, session_id=None)
    session_id = first["conversation_metadata"]["session_id"]
    data = ask(client, "What about 2023?", user_id=USER, session_id=session_id)
    assert data["conversation_metadata"]["message_count"] == 2
    assert data["memory_context_used"]["history_messages_count"] >= 1
    assert "sales" in data["sql_query"].lower()
    assert "region" in data["sql_query"].lower()
    assert "2023" in data["sql_query"]
    assert read_figures(data).keys() == read_figures(first).keys()
    assert read_figures(data) != read_figures(first)


def test_memory_isolation(client: httpx2.Client) -> None:
    """Test 4."""
    ask(client, "Show me confidential data", user_id="user1@example.com")
    response2 = ask(client, "Show me data", user_id="user2@example.com")
    assert response2["memory_context_used"]["history_messages_count"] == 0
    assert response2["memory_context_used"]["similar_queries_count"] == 0


def test_memory_latency_is_reported(client: httpx2.Client) -> None:
    """The performance test of 10.3, by the time that the response reports."""
    assert ask(client, "Show me sales")["memory_retrieval_time"] is None
    data = ask(client, "Show me sales", user_id="perf_test_user")
    assert 0 < data["memory_retrieval_time"] <= data["total_execution_time"]


def test_scenarios_of_a_conversation(client: httpx2.Client) -> None:
    """Scenarios 1 and 2. The seed's database is called banking_db; the sample's is shop."""
    john = {"user_id": "john@example.com", "vdp_database_names": "shop", "use_memory": True}
    first = ask(client, "Show me total sales by region for 2024", session_id=None, **john)
    talk, used = first["conversation_metadata"], first["memory_context_used"]
    assert re.search(r"SUM\(.*amount", first["sql_query"])
    assert {"sales", "regions"} == set(first["tables_used"])
    assert (talk["session_name"], talk["message_count"]) == ("Show me total sales by region for 2024", 1)
    assert talk["is_summarized"] is False
    assert (used["history_messages_count"], used["similar_queries_count"]) == (0, 0)
    assert (used["context_tokens"], used["context_truncated"], used["memory_enabled"]) == (0, False, True)

    then = ask(client, "What about 2023?", session_id=talk["session_id"], **john)
    again, used = then["conversation_metadata"], then["memory_context_used"]
    assert (again["conversation_id"], again["session_id"]) == (talk["conversation_id"], talk["session_id"])
    assert (again["session_name"], again["message_count"]) == (talk["session_name"], 2)
    assert again["expires_at"] > talk["expires_at"]
    assert (used["history_messages_count"], used["similar_queries_count"]) == (1, 1)
    assert used["context_tokens"] > 0
    assert set(then["tables_used"]) == {"sales", "regions"}


def test_scenario_without_memory(client: httpx2.Client) -> None:
    """Scenario 3."""
    data = ask(client, "Show me customer data", vdp_database_names="shop")
    assert data["tables_used"] == ["customers"]
    assert len(data["execution_result"]["full"]) == 100
    fields = ("conversation_metadata", "memory_context_used", "memory_retrieval_time")
    assert [data[name] for name in fields] == [None] * 3


def test_use_memory_false_forces_plain_behaviour(client: httpx2.Client) -> None:
    """Section 3.1: `use_memory`."""
    data = ask(client, "Show me sales by region for 2024", user_id=USER, use_memory=False)
    assert data["conversation_metadata"] is None
    assert data["memory_context_used"] is None
    assert read_figures(data)
    first = ask(client, "Show me sales", user_id=USER)
    assert first["memory_context_used"]["similar_queries_count"] == 0


def test_calls_without_a_project_share_the_console_s(client: httpx2.Client) -> None:
    """What is asked without a project is found in the project that the console opens with."""
    asked = ask(client, "Show me sales by region for 2024", user_id="dana")["conversation_metadata"]["session_id"]
    place = {"user": "dana", "project": "sample", "session": asked}
    assert len(client.get("/v1/history", params=place).json()["turns"]) == 2
    page = client.get("/console/ask").text
    assert "dana" in page
    assert "shop" in page


@pytest.mark.parametrize(
    "question",
    ["total sales this year", "how many orders did we get this month", "customers who signed up last month"],
)
def test_sample_has_data_until_today(client: httpx2.Client, question: str) -> None:
    data = ask(client, question)
    assert data["sql_query"]
    assert next(iter(data["execution_result"]["full"][0].values()))


def test_another_project_that_is_named_by_settings_stays() -> None:
    assert use_sample_project(Settings()).project == "sample"
    assert use_sample_project(Settings(project="bank")).project == "bank"
