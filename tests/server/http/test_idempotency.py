"""Every write under an Idempotency-Key: done once, answered every time, also when ten come at once; and what is kept of
an answer does not outlive what it tells of."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import psycopg
import pytest

from recollect.apps.ask.sample import make_sample

from .loopback import TURNS, Keys, bearer, refusal
from .routes import FILE, routes

WRITES = sorted({route.operation for route in routes() if route.writes})
OWN_KEY = {"chat"}  # a message is recorded under its key, and answered from the log (tests/apps)
READS_BY_POST = {"recall", "recall_many", "context", "resolve", "execute_vql", "validate_query", "execute_query"}
PROXIED = {"complete_chat"}  # another server answers; a message sent again is known by what was said before it
SOURCES = "/api/projects/default/datasources"
DOCUMENTS = "/api/v1/upload-ask"


async def learned(http: httpx2.AsyncClient, **lesson: Any) -> str:
    answer = await http.post("/v1/learn", json={"value": "30 days", "key": "active", "kind": "definition", **lesson})
    return str(answer.json()["id"])


async def proposed(http: httpx2.AsyncClient, prompt: str) -> str:
    body = {"prompt": prompt, "sql": "SELECT count(*) FROM customers"}
    return str((await http.post(f"{SOURCES}/sales/queries", json=body)).json()["id"])


async def asking(http: httpx2.AsyncClient, folder: Path) -> dict[str, tuple[str, str, Any]]:
    """The writes about databases; the last of them take away what the others need."""
    make_sample(folder / "sample.db")
    dsn = f"sqlite:///{folder / 'sample.db'}"
    await http.post(SOURCES, json={"name": "sales", "dsn": dsn})
    await http.post("/api/projects/default/glossary", json={"term": "new", "definition": "of this year"})
    queries = [await proposed(http, f"how many customers {n}") for n in range(3)]
    one, question = f"{SOURCES}/sales", "How many customers are there?"
    asked = {"question": question, "user_id": "alex", "vdp_database_names": "sales"}
    count = "SELECT count(*) FROM customers"
    corrected = {"question": question, "generated_sql": "SELECT count(*) FROM orders", "corrected_sql": count}
    return {
        "add_data_source": ("POST", SOURCES, {"name": "second", "dsn": dsn}),
        "put_model": ("PUT", f"{one}/model", {"model": {"tables": {"customers": {"names": ["client"]}}}}),
        "put_access": ("PUT", f"{one}/access", {"access": {"user": {"tables": ["customers"]}}}),
        "refresh_data_source": ("POST", f"{one}/refresh", None),
        "answer_question": ("POST", "/answerQuestion", asked),
        "answer_data_question": ("POST", "/answerDataQuestion", {**asked, "plot": True}),
        "answer_metadata_question": ("POST", "/answerMetadataQuestion", asked),
        "stream_answer_question": ("POST", "/streamAnswerQuestion", asked),
        "generate_vql": ("POST", "/generateVQL", {**asked, "verbose": False}),
        "text_to_sql": ("POST", f"{one}/text2sql", {"question": question, "execute": True}),
        "clarify_question": ("POST", f"{one}/text2sql/clarify", {"term": "new", "answer": "I mean this year"}),
        "correct_sql": ("POST", f"{one}/text2sql/correct", corrected),
        "rate_sql": ("POST", f"{one}/text2sql/feedback", {"question": question, "sql": count, "good": True}),
        "propose_query": ("POST", f"{one}/queries", {"prompt": "customers", "sql": count}),
        "approve_query": ("POST", f"{one}/queries/{queries[0]}/approve", None),
        "reject_query": ("POST", f"{one}/queries/{queries[1]}/reject", None),
        "drop_query": ("DELETE", f"{one}/queries/{queries[2]}", None),
        "put_glossary": ("POST", "/api/projects/default/glossary", {"term": "big", "definition": "over 1000"}),
        "drop_glossary": ("DELETE", "/api/projects/default/glossary/new", None),
        "delete_metadata": ("DELETE", "/deleteMetadata", None),
        "drop_data_source": ("DELETE", one, None),
    }


async def reading(http: httpx2.AsyncClient) -> dict[str, tuple[str, str, Any]]:
    """The writes about documents."""
    there = await http.post(f"{DOCUMENTS}/documents", files={"file": ("there.txt", b"A heron is a bird.")})
    asked = {"query": "What is a heron?"}
    return {
        "upload_document": ("POST", f"{DOCUMENTS}/documents", FILE),
        "ask_documents": ("POST", f"{DOCUMENTS}/query", asked),
        "ask_documents_in_session": ("POST", f"{DOCUMENTS}/qa/query", {**asked, "sessionId": "monday"}),
        "delete_document": ("DELETE", f"{DOCUMENTS}/documents/{there.json()['document']['id']}", None),
    }


async def requests(http: httpx2.AsyncClient, folder: Path) -> dict[str, tuple[str, str, Any]]:
    """For each write something to do, and what it is done to."""
    await http.post("/v1/record", json={"session": "monday", "turns": TURNS})
    await http.put("/v1/terms", json={"name": "orders", "kind": "table"})
    pending = [await learned(http, key=f"p{n}", pending=True) for n in range(2)]
    mine = [await learned(http, key=f"k{n}", value=f"value {n}") for n in range(8)]
    ours = [await learned(http, key=f"o{n}", value=f"value {n}", owner="project") for n in range(2)]
    key = (await http.post("/v1/keys", json={"role": "admin", "name": "root", "every_project": True})).json()
    # The first key closes the door: from here on it is needed.
    http.headers["Authorization"] = f"Bearer {key['secret']}"
    spare = (await http.post("/v1/keys", json={"role": "service", "name": "spare"})).json()
    projects = "/api/projects/default"
    return {
        "record": ("POST", "/v1/record", {"session": "tuesday", "turns": TURNS}),
        "learn": ("POST", "/v1/learn", {"value": "7 days", "key": "recent", "kind": "definition"}),
        "correct": ("POST", "/v1/correct", {"memory": mine[0], "value": "90 days"}),
        "close": ("POST", f"/v1/memories/{mine[1]}/close", {}),
        "promote": ("POST", f"/v1/memories/{mine[2]}/promote", {}),
        "approve": ("POST", f"/v1/memories/{pending[0]}/approve", {}),
        "reject": ("POST", f"/v1/memories/{pending[1]}/reject", {}),
        "redact": ("POST", f"/v1/memories/{mine[3]}/redact", {}),
        "mark": ("POST", "/v1/mark", {"ref": "monday#0"}),
        "import_ontology": ("POST", "/v1/ontology", {"source": {"tables": {"customers": {}}}}),
        "put_term": ("PUT", "/v1/terms", {"name": "products", "kind": "table"}),
        "drop_term": ("DELETE", "/v1/terms/orders", None),
        "add_memory": ("POST", f"{projects}/memory/user", {"key": "churn", "value": "left"}),
        "change_memory": ("PATCH", f"{projects}/memory/user/{mine[4]}", {"value": "another"}),
        "drop_memory": ("DELETE", f"{projects}/memory/user/{mine[5]}", None),
        "promote_memory": ("POST", f"{projects}/memory/user/{mine[6]}/promote", None),
        "add_knowledge": ("POST", f"{projects}/knowledge", {"fact": "Ends in March.", "category": "fiscal"}),
        "change_knowledge": ("PUT", f"{projects}/knowledge/{ours[0]}", {"fact": "another"}),
        "drop_knowledge": ("DELETE", f"{projects}/knowledge/{ours[1]}", None),
        "create_key": ("POST", "/v1/keys", {"role": "service", "name": "web"}),
        "revoke_key": ("DELETE", f"/v1/keys/{spare['id']}", None),
        "retry_work": ("POST", "/v1/work/retry", None),
        "rename_chat_session": ("PATCH", "/chat/sessions/monday", {"name": "The first day"}),
        "delete_chat_session": ("DELETE", "/chat/sessions/tuesday", None),
        **await asking(http, folder),
        **await reading(http),
        "forget": ("POST", "/v1/forget", {"everything": True}),
    }


def comparable(answer: httpx2.Response) -> Any:
    """What an answer says, without what must differ: a secret is told once, and a first answer is no replay."""
    is_json = answer.headers.get("content-type") == "application/json"
    said = answer.json() if is_json else answer.text
    if isinstance(said, dict):
        said.pop("secret", None)
        for session in said.get("sessions", ()):
            session.pop("replayed")
    return said


async def test_every_write_is_done_once_and_answered_alike(http: httpx2.AsyncClient, tmp_path: Path) -> None:
    asked = await requests(http, tmp_path)
    assert set(asked) == set(WRITES) - OWN_KEY
    for name, (method, path, body) in asked.items():
        headers = {"Idempotency-Key": f"key of {name}"}
        sent = {} if body is None else {"files" if body is FILE else "json": body}
        first = await http.request(method, path, headers=headers, **sent)
        again = await http.request(method, path, headers=headers, **sent)
        assert first.status_code in (200, 201, 202, 204), (name, first.text)
        assert "idempotent-replayed" not in first.headers
        assert (again.status_code, again.headers.get("idempotent-replayed")) == (first.status_code, "true"), name
        assert comparable(again) == comparable(first), name


async def test_a_write_whose_answer_was_lost_succeeds_again(
    http: httpx2.AsyncClient, tmp_path: Path, database: str
) -> None:
    """As after a kill between the write and its stored answer: the repeated request is no error."""
    asked = await requests(http, tmp_path)
    _, path, body = asked.pop("record")  # stores its answer in the transaction that appends
    await http.post(path, json=body)
    failed = {}
    for name, (method, path, body) in asked.items():
        headers = {"Idempotency-Key": f"key of {name}"}
        sent = {} if body is None else {"files" if body is FILE else "json": body}
        await http.request(method, path, headers=headers, **sent)
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE recollect.idempotency SET answer = NULL, created_at = now() - interval '1 hour'")
        again = await http.request(method, path, headers=headers, **sent)
        if not again.is_success:
            failed[name] = again.text
    assert failed == {}


def test_every_route_that_changes_something_takes_a_key() -> None:
    changing = {route.operation for route in routes() if route.method != "GET"}
    assert changing - READS_BY_POST - PROXIED == set(WRITES)


@pytest.mark.parametrize(
    ("path", "body", "other"),
    [
        ("/v1/record", {"session": "monday", "turns": TURNS}, {"session": "friday", "turns": TURNS}),
        ("/v1/learn", {"value": "7 days"}, {"value": "8 days"}),
        ("/v1/mark", {"ref": "monday#0"}, {"ref": "monday#0", "high_value": False}),
    ],
)
async def test_the_same_key_with_another_body_is_a_conflict(
    http: httpx2.AsyncClient, path: str, body: Any, other: Any
) -> None:
    await http.post("/v1/record", json={"session": "monday", "turns": TURNS})
    headers = {"Idempotency-Key": "one"}
    assert (await http.post(path, json=body, headers=headers)).status_code in (201, 204)
    assert refusal(await http.post(path, json=other, headers=headers))[:2] == (409, "conflict")


@pytest.mark.parametrize(
    ("path", "body", "counted"),
    [
        ("/v1/record", {"session": "monday", "turns": TURNS[:1]}, "SELECT count(*) FROM recollect.turn"),
        ("/v1/learn", {"value": "7 days", "key": "recent"}, "SELECT count(*) FROM recollect.evidence"),
        ("/v1/keys", {"role": "service", "name": "web"}, "SELECT count(*) FROM recollect.api_key WHERE name = 'web'"),
    ],
)
async def test_of_ten_at_once_one_does_the_work_and_all_get_its_answer(
    http: httpx2.AsyncClient, keys: Keys, database: str, path: str, body: Any, counted: str
) -> None:
    # With a key: the first one that is made closes the door to those who have none.
    headers = {"Idempotency-Key": str(uuid4()), **bearer(keys.every)}
    answers = await asyncio.gather(*(http.post(path, json=body, headers=headers) for _ in range(10)))

    assert {answer.status_code for answer in answers} == {201}
    assert [answer.headers.get("idempotent-replayed") for answer in answers].count(None) == 1
    assert all(comparable(answer) == comparable(answers[0]) for answer in answers)
    with psycopg.connect(database) as connection:
        assert connection.execute(counted.encode()).fetchone() == (1,)


async def test_a_request_that_failed_leaves_its_key_free(http: httpx2.AsyncClient) -> None:
    headers = {"Idempotency-Key": "one"}
    assert (await http.post("/v1/mark", json={"ref": "monday#0"}, headers=headers)).status_code == 404
    await http.post("/v1/record", json={"session": "monday", "turns": TURNS})
    assert (await http.post("/v1/mark", json={"ref": "monday#0"}, headers=headers)).status_code == 204


async def test_nothing_that_was_taught_or_made_is_kept_with_a_key(http: httpx2.AsyncClient, database: str) -> None:
    headers = {"Idempotency-Key": "one"}
    taught = await http.post("/v1/learn", json={"value": "heron", "key": "code word"}, headers=headers)
    http.headers["Idempotency-Key"] = "two"
    forgotten = await http.post("/v1/forget", json={"memory": taught.json()["id"]})
    assert forgotten.status_code == 201
    again = await http.post("/v1/learn", json={"value": "heron", "key": "code word"}, headers=headers)
    assert refusal(again)[:2] == (404, "not_found")
    http.headers["Idempotency-Key"] = "three"
    secret = (await http.post("/v1/keys", json={"role": "service", "name": "web"})).json()["secret"]
    with psycopg.connect(database) as connection:
        kept = str(connection.execute("SELECT key, answer FROM recollect.idempotency").fetchall())
    assert "one" in kept
    assert [word for word in ("heron", "alex", secret.rpartition("_")[2]) if word in kept] == []
