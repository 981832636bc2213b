"""With MEMORY_MASK_SENSITIVE_DATA no column of any table has a piece of a card number, an e-mail address or a phone
number, whatever door it came through and whatever was derived from it, replies included."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from recollect import Scope, connect_sync
from recollect.settings import Settings
from recollect.values.sensitive_data import find_sensitive_pieces, mask_pieces
from tests.apps.ask.asking_door import SALES, Door, Doors
from tests.apps.ask.schema_scan import scan
from tests.openai_server import Server

CARD, MAIL, PHONE = "4929 8763 2451 0380", "jane.dorvill@vexmail.test", "+44 20 7946 0958"
PIECES = ("4929", "8763", "2451", "0380", "4929876324510380", "dorvill", "vexmail", "7946", "0958")
QUESTIONS = [
    f"How many customers paid with {CARD}?",
    f"Show total sales of {MAIL} by region",
    f"What is {CARD} {MAIL} {PHONE}?",
]
SAID = f"Remember that my card is {CARD}, my mail is {MAIL} and my phone is {PHONE}."


@pytest.fixture
def masking(doors: Doors) -> Door:
    return doors(mask_sensitive=True)


def pieces_in(database: str) -> list[str]:
    return scan(database, *PIECES, apart=True)


def settle(settings: Settings) -> None:
    """Have what waits read, by an engine beside the server's."""
    with connect_sync(replace(settings, mask_sensitive=True), worker=False) as memory:
        memory.settle(Scope("john"))


def test_the_scan_finds_pieces_where_nothing_is_masked(door: Door, database: str) -> None:
    door.ask(QUESTIONS[0])
    assert "4929" in str(pieces_in(database))


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_to_a_database_leaves_no_pieces(masking: Door, database: str, question: str) -> None:
    asked = masking.ask(question, session_id="monday")
    masking.sql(question, session_id="monday")
    masking.ask("And in 2023?", session_id="monday")
    assert masking_left(str(asked)) == []
    assert pieces_in(database) == []


def masking_left(text: str) -> list[str]:
    """Return the pieces in a text. Digits inside a duration or an id do not count."""
    shown = re.sub(r"\d+\.\d+|[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", "", text)
    return [piece for piece in PIECES if piece in shown]


def test_teaching_leaves_no_pieces(masking: Door, database: str) -> None:
    right = f"SELECT COUNT(*) FROM customers WHERE email = '{MAIL}'"
    clarified = {"term": "regular", "answer": f"email = '{MAIL}'", "question": QUESTIONS[0], "user_id": "john"}
    masking.post(f"{SALES}/text2sql/clarify", **clarified)
    wrong = {"generated_sql": "SELECT COUNT(*) FROM regions", "corrected_sql": right}
    masking.post(f"{SALES}/text2sql/correct", question=QUESTIONS[1], **wrong, user_id="john")
    masking.post(f"{SALES}/text2sql/feedback", question=QUESTIONS[2], sql=right, good=True, user_id="john")
    masking.post(f"{SALES}/text2sql/feedback", question=QUESTIONS[2], sql=right, good=False, user_id="john")
    masking.post("/v1/learn", user="john", key=f"card {CARD}", value=SAID, question=QUESTIONS[0])
    masking.post("/api/projects/default/knowledge", fact=SAID, category=MAIL, context=SAID)
    assert pieces_in(database) == []


def test_a_thumb_down_takes_a_masked_question_back(masking: Door) -> None:
    rated = {"question": QUESTIONS[0], "sql": "SELECT COUNT(*) FROM customers", "user_id": "john"}
    masking.post(f"{SALES}/text2sql/feedback", **rated, good=True)
    assert masking.ask(QUESTIONS[0])["sql_query"].startswith("SELECT")
    masking.post(f"{SALES}/text2sql/feedback", **rated, good=False)
    assert masking.ask(QUESTIONS[0])["sql_query"] == ""


def test_chat_recall_and_documents_leave_no_pieces(masking: Door, database: str, settings: Settings) -> None:
    for message in (SAID, *QUESTIONS):
        masking.post("/chat", 200, user_id="john", session_id="monday", message=message)
        masking.post("/v1/recall", 200, user="john", text=message)
        masking.post("/v1/context", 200, user="john", session="monday", text=message)
    turn = {"role": "user", "text": SAID, "speaker": MAIL, "data": {"cards": [CARD]}}
    masking.post("/v1/record", 201, user="john", session="tuesday", turns=[turn])
    files: Any = {"file": (f"{PHONE}.txt", SAID.encode()), "title": (None, SAID)}
    assert masking.http.post("/api/v1/upload-ask/documents", params={"userId": "john"}, files=files).is_success
    settle(settings)
    masking.post("/api/v1/upload-ask/query", 200, userId="john", query=QUESTIONS[2])
    assert "[card]" in str(masking.post("/v1/recall", 200, user="john", text="my card")["hits"])
    assert pieces_in(database) == []


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_behind_the_proxy_may_quote_pieces_that_are_not_kept(
    doors: Doors, model: Server, database: str, stream: bool
) -> None:
    said = f"Your card begins with 4929 and ends in 0380; I will write to dorvill or call 0958. {CARD}"
    model.answer = lambda body: (200, *streamed(said)) if stream else (200, whole(said))
    proxied = doors(mask_sensitive=True, model_url=model.url, model="small")
    messages = [{"role": "user", "content": SAID}]
    headers = {"X-Recollect-User": "john", "X-Recollect-Session": "monday"}
    body = {"model": "small", "messages": messages, "stream": stream}
    answer = proxied.http.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200
    assert "4929" in answer.text  # the client gets what its model said
    assert CARD in json.dumps(model.bodies[-1])  # and the model what the client sent
    turns = proxied.http.get("/v1/history", params={"user": "john", "session": "monday"}).json()["turns"]
    assert (
        turns[1]["text"]
        == "Your card begins with [masked] and ends in [masked]; I will write to [masked] or call [masked]. [card]"
    )
    assert pieces_in(database) == []


def whole(said: str) -> str:
    return json.dumps({"model": "small", "choices": [{"message": {"role": "assistant", "content": said}}]})


def streamed(said: str) -> tuple[str, dict[str, str]]:
    events: list[Any] = [{"model": "small", "choices": [{"delta": {"content": said}}]}]
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join(lines) + "data: [DONE]\n\n", {"content-type": "text/event-stream"}


def test_pieces_stand_alone_and_are_not_too_short() -> None:
    pieces = find_sensitive_pieces([f"mail al@vexmail.test or {MAIL}, card {CARD}"])
    assert {"jane", "dorvill", "4929", "0380", "492987", "4929876324510380"} <= pieces
    assert "al" not in pieces
    assert mask_pieces("Janet and JANE have 49290 or 4929.", pieces) == "Janet and [masked] have 49290 or [masked]."
    assert mask_pieces("Nothing is sensitive.", frozenset()) == "Nothing is sensitive."
