"""After forgetting, no column of any table has a word that was said: eight words that nobody else uses go in through
every door that stores text, over real HTTP, and a scan of the whole schema looks for them."""

from __future__ import annotations

import json
import time
from typing import Any

import psycopg
import pytest

from recollect import Scope, connect_sync
from recollect.settings import Settings
from tests.apps.ask.asking_door import SALES, Door
from tests.apps.ask.schema_scan import scan

USER = "robin.quexley@vexmail.test"
# Invented, and stems of themselves.
WORDS = ("zorvexal", "brimquot", "fendolix", "ghastrum", "hulvapid", "jorkwend", "mulquasp", "plindorv")
SAID = f"Remember that {', '.join(WORDS)} are code words."
ASKED = f"How many customers did {' '.join(WORDS)} bring?"
FOUND_RIGHT = f"Show total sales by region, {' '.join(WORDS)}"
BY_USER = {"X-User-Id": USER}
# Where some of it is stored before it is forgotten.
PLACES = (
    *("turn.text", "turn.data", "turn.speaker", "sketch.terms", "conversation.name", "conversation.last_error"),
    *("memory.value", "memory.key", "memory.words", "memory.refs", "memory.data", "holder.user_id"),
    *("evidence.value", "evidence.key", "evidence.data", "evidence.author", "request.query", "request.trace"),
    *("document.title", "document.failure", "document.added_by", "chunk.text", "posting.lexeme", "audit.actor"),
)


def change(database: str, statement: str, *values: str) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        assert owner.execute(statement.encode(), values).rowcount > 0


def send(door: Door, path: str, body: dict[str, Any], key: str | None = None, **headers: str) -> dict[str, Any]:
    named = {"Idempotency-Key": key} if key else {}
    answer = door.http.post(path, json=body, headers={**named, **headers})
    assert answer.status_code in (200, 201, 202), (path, answer.text)
    return dict(answer.json())


def key(n: int) -> str:
    return f"{' '.join(WORDS)} {n}"


def converse(door: Door, session: str) -> None:
    """Plant the words in a session, through every route that takes one."""
    turns = [{"role": "user", "text": SAID, "speaker": WORDS[0], "data": {"note": SAID}}]
    send(door, "/v1/record", {"user": USER, "session": session, "turns": turns}, key(1))
    send(door, "/v1/record", {"user": USER, "session": session, "turns": [{"role": "user", "text": f"Am I {SAID}?"}]})
    send(door, "/chat", {"user_id": USER, "session_id": session, "message": SAID}, key(2))
    send(door, "/chat", {"user_id": USER, "session_id": session, "message": f"What are {WORDS[1]} and the others?"})
    renamed = {"name": SAID[:190], "user_id": USER}
    assert door.http.patch(f"/chat/sessions/{session}", json=renamed, headers={"Idempotency-Key": key(3)}).is_success
    for verb in ("recall", "context"):
        send(door, f"/v1/{verb}", {"user": USER, "session": session, "text": ASKED})
    send(door, "/v1/recall", {"user": USER, "text": SAID})  # before a session is known
    context = json.dumps({"definitions": {WORDS[2]: SAID}})
    asked = {"question": ASKED, "user_id": USER, "session_id": session}
    send(door, f"{SALES}/text2sql", asked, key(4), **{"X-Session-Context": context})
    send(door, "/answerQuestion", asked, key(5))
    send(door, "/answerQuestion", {**asked, "question": FOUND_RIGHT}, key(6))
    learn_from_it(door)
    query = {"query": ASKED, "userId": USER, "sessionId": session}
    send(door, "/api/v1/upload-ask/query", query, key(10))


def fail_work(database: str) -> None:
    """Park a session's work with an error that quotes it, as a model's failure may leave it."""
    error = "UPDATE recollect.conversation SET last_error = %s, parked = '{learn}' WHERE name LIKE %s"
    change(database, error, f"the model said {SAID}", f"%{WORDS[0]}%")


def learn_from_it(door: Door) -> None:
    """Teach something about the session's questions."""
    right = "SELECT COUNT(*) FROM customers"
    clarified = {"term": "bring", "answer": "for me it is a referral", "question": ASKED, "user_id": USER}
    send(door, f"{SALES}/text2sql/clarify", clarified, key(7))
    wrong = {"generated_sql": "SELECT COUNT(*) FROM regions", "corrected_sql": right}
    send(door, f"{SALES}/text2sql/correct", {"question": ASKED, **wrong, "user_id": USER}, key(8))
    rated = {"question": FOUND_RIGHT, "sql": right, "user_id": USER}
    send(door, f"{SALES}/text2sql/feedback", {**rated, "good": True}, key(9))
    send(door, f"{SALES}/text2sql/feedback", {**rated, "sql": "SELECT COUNT(*) FROM regions", "good": False})


def keep(door: Door, database: str) -> None:
    """Plant the words in what belongs to the user and to no session."""
    personal = {"key": " ".join(WORDS), "value": SAID, "type": "definition", "user_id": USER}
    memory = send(door, "/api/projects/default/memory/user", personal, key(20))
    corrected = {"user": USER, "memory": str(memory["id"]), "value": f"not {SAID}"}
    send(door, "/v1/correct", corrected, key(21))
    send(door, "/v1/learn", {"user": USER, "value": SAID, "question": ASKED}, key(22))
    files: Any = {"file": ("plain.txt", SAID.encode()), "title": (None, SAID)}
    where = "/api/v1/upload-ask/documents"
    assert door.http.post(where, params={"userId": USER}, files=files, headers={"Idempotency-Key": key(23)}).is_success
    files = {"file": (f"{WORDS[3]}.txt", b"fails")}
    assert door.http.post(where, params={"userId": USER}, files=files).is_success
    change(database, "UPDATE recollect.document SET failure = %s WHERE title = %s", SAID, f"{WORDS[3]}.txt")


def settle(settings: Settings) -> None:
    """Have everything that waits read and learned from, by an engine beside the server's."""
    with connect_sync(settings, worker=False) as memory:
        memory.settle(Scope(USER))


def share(door: Door) -> None:
    """Teach the project, as the user. Facts stay; the words are in what is the user's own."""
    fact = {"fact": "Sales exclude returned goods.", "category": "business_rule"}
    send(door, "/api/projects/default/knowledge", fact, key(30), **BY_USER)
    shared = {"term": "active", "answer": "we define it as customers with a sale", "question": ASKED, "user_id": USER}
    send(door, f"{SALES}/text2sql/clarify", shared, key(31))
    mine = send(door, "/v1/learn", {"user": USER, "key": "net", "kind": "definition", "value": "x", "question": ASKED})
    send(door, f"/api/projects/default/memory/user/{mine['id']}/promote?user_id={USER}", {}, key(32))
    proposed = {"prompt": ASKED, "sql": "SELECT COUNT(*) FROM customers"}
    send(door, f"{SALES}/queries", proposed, key(33), **BY_USER)
    term = {"name": "net", "kind": "glossary", "description": "after tax"}
    assert door.http.put("/v1/terms", json=term, headers={**BY_USER, "Idempotency-Key": key(34)}).is_success
    send(door, f"{SALES}/refresh", {}, key(35), **BY_USER)
    files: Any = {"file": ("shared.txt", b"Goods may be returned."), "shared": (None, "true")}
    assert door.http.post("/api/v1/upload-ask/documents", files=files, headers=BY_USER).is_success


def test_forgetting_a_user_leaves_no_word_of_theirs_anywhere(door: Door, database: str, settings: Settings) -> None:
    converse(door, "monday")
    first = send(door, "/answerQuestion", {"question": ASKED, "user_id": USER}, key(11))
    assert first["conversation_metadata"]["session_id"]
    keep(door, database)
    share(door)
    settle(settings)
    fail_work(database)
    places = {entry.partition(":")[0] for entry in scan(database, *WORDS, USER)}
    assert set(PLACES) <= places

    send(door, "/v1/forget", {"user": USER, "everything": True}, key(99))

    assert scan(database, *WORDS, USER) == []
    facts = door.http.get("/api/projects/default/knowledge").json()["knowledge"]
    assert {each["value"] for each in facts} == {
        "Sales exclude returned goods.",
        "we define it as customers with a sale",
        "x",
    }
    audit = door.http.get("/v1/audit", params={"owner": "project"}).json()["audit"]
    assert "somebody" in {each["actor"] for each in audit}


@pytest.mark.parametrize("named", [True, False], ids=["named session", "unnamed session"])
def test_forgetting_a_session_leaves_no_word_of_it_anywhere(
    door: Door, database: str, settings: Settings, named: bool
) -> None:
    if named:
        converse(door, "monday")
        sessions = ["monday"]
    else:
        answers = [
            send(door, "/answerQuestion", {"question": ASKED, "user_id": USER}, key(1))["conversation_metadata"],
            send(door, f"{SALES}/text2sql", {"question": FOUND_RIGHT, "user_id": USER}, key(2))["metadata"],
            send(door, "/chat", {"user_id": USER, "message": SAID}, key(3)),
        ]
        sessions = [each["session_id"] for each in answers]
        learn_from_it(door)
    settle(settings)
    fail_work(database)
    assert len(scan(database, *WORDS)) > 40

    for session in sessions:
        send(door, "/v1/forget", {"user": USER, "session": session}, f"{key(99)} {session}")

    assert scan(database, *WORDS) == []
    memories = door.http.get("/api/projects/default/memory/user", params={"user_id": USER}).json()["memories"]
    assert "for me it is a referral" in {each["value"] for each in memories}


def test_a_question_of_two_sessions_goes_with_the_last(door: Door, database: str) -> None:
    for session in ("monday", "tuesday"):
        send(door, "/answerQuestion", {"question": ASKED, "user_id": USER, "session_id": session})
    learn_from_it(door)

    send(door, "/v1/forget", {"user": USER, "session": "monday"})
    assert any(entry.startswith("evidence.") for entry in scan(database, *WORDS))
    send(door, "/v1/forget", {"user": USER, "session": "tuesday"})

    left = {entry.partition(":")[0] for entry in scan(database, *WORDS)}
    assert left == {"evidence.data", "evidence.key", "memory.data", "memory.key", "memory.words"}  # of FOUND_RIGHT


def test_another_user_of_the_project_keeps_everything(door: Door, database: str) -> None:
    for user in (USER, "blake"):
        shared = {"term": "active", "answer": "we mean customers with a sale", "question": ASKED, "user_id": user}
        send(door, f"{SALES}/text2sql/clarify", shared)
        send(door, "/api/projects/default/knowledge", {"fact": f"Told by {len(user)}."}, **{"X-User-Id": user})
        send(door, "/v1/learn", {"user": user, "value": "mine"})
    # Requests are logged beside the answers: wait until both are.
    while len([entry for entry in scan(database, USER, "blake") if entry.startswith("request.user_id")]) < 2:
        time.sleep(0.05)
    before = scan(database, "blake")

    send(door, "/v1/forget", {"user": USER, "everything": True})

    assert scan(database, "blake") == before
    refs = [each["refs"] for each in project_memories(door)]
    assert sorted(map(tuple, refs)) == [("@blake",), ("@blake", "@somebody"), ("@somebody",)]


def project_memories(door: Door) -> list[dict[str, Any]]:
    return list(door.http.get("/v1/memories", params={"owner": "project"}).json()["memories"])
