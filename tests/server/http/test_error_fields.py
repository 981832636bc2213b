"""An error names the field as the request wrote it, whatever the library calls it."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from recollect.errors import write_field

from .loopback import Served

ALEX = {"X-User-Id": "alex"}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/chat", {"user_id": "alex", "message": "hello", "session_id": ""}, "session_id"),
        ("/chat", {"user_id": "", "message": "hello"}, "user_id"),
        ("/api/v1/upload-ask/query", {"query": "hello", "sessionId": ""}, "sessionId"),
        ("/v1/recall", {"text": "hello", "limit": 0}, "limit"),
        ("/v1/context", {"text": "hello", "budget": -1}, "budget"),
        ("/v1/learn", {"value": " "}, "value"),
        ("/v1/record", {"turns": [{"role": "user", "text": ""}], "session": "monday"}, "turns[0].text"),
    ],
)
def test_error_names_the_field_of_the_request(open_door: Served, path: str, body: dict[str, Any], field: str) -> None:
    headers = {} if "user_id" in body else ALEX
    answer = httpx2.post(open_door.url + path, json=body, headers=headers, timeout=60)
    error = answer.json()["error"]
    assert (answer.status_code, error["field"]) == (400, field)
    assert error["message"].startswith(f"{field}: ")


def test_error_names_a_parameter_without_its_place(open_door: Served) -> None:
    answer = httpx2.get(f"{open_door.url}/v1/memories?kind=unheard", headers=ALEX, timeout=60)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "kind")


@pytest.mark.parametrize(
    ("field", "names", "written"),
    [
        ("limit", {"limit": "--limit"}, "--limit"),
        ("text", {"question": "QUESTION"}, "QUESTION"),
        ("turns[0].text", {"text": "TEXT"}, "TEXT"),
        ("turns[0].text", {"turns": "turns"}, "turns[0].text"),
        ("terms[0]", {"term": "term"}, "term"),
        ("term.name", {"term": "term", "definition": "definition"}, "term"),
        ("term.name", {"name": "name", "sql": "sql"}, "name"),
        ("settings.port", {"user": "user", "text": "text"}, "settings.port"),
    ],
)
def test_field_is_written_as_the_caller_wrote_it(field: str, names: dict[str, str], written: str) -> None:
    assert write_field(field, names) == written


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/recall", {"text": "hello", "limt": 5}, "limt"),
        ("/v1/record", {"turns": [{"role": "user", "text": "hi", "colour": "red"}]}, "turns[0].colour"),
        ("/v1/learn", {"value": "tea", "userid": "alex"}, "userid"),
    ],
)
def test_unknown_field_of_a_verb_is_refused(open_door: Served, path: str, body: dict[str, Any], field: str) -> None:
    answer = httpx2.post(open_door.url + path, json=body, headers=ALEX, timeout=60)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert answer.json()["error"]["message"] == f"{field}: is not a field of this request"


def test_unknown_field_that_is_ignored_is_named_in_a_header(open_door: Served) -> None:
    body = {"key": "drink", "value": "tea", "type": "preference", "priority": 3, "größe": "L"}
    answer = httpx2.post(f"{open_door.url}/api/projects/default/memory/user", json=body, headers=ALEX, timeout=60)
    assert (answer.status_code, answer.headers["X-Ignored-Fields"]) == (201, "priority, gr%C3%B6%C3%9Fe")
    asked = {"message": "hello", "user_id": "alex"}
    assert "X-Ignored-Fields" not in httpx2.post(f"{open_door.url}/chat", json=asked, timeout=60).headers


def test_deleting_a_replaced_memory_names_the_current_one(open_door: Served) -> None:
    with httpx2.Client(base_url=f"{open_door.url}/api/projects/default/memory", headers=ALEX, timeout=60) as client:
        old = client.post("/user", json={"key": "pet", "value": "owl", "type": "preference"}).json()
        new = client.patch(f"/user/{old['id']}", json={"value": "heron"}).json()

        refused = client.delete(f"/user/{old['id']}")
        by_verb = httpx2.post(f"{open_door.url}/v1/forget", json={"memory": old["id"]}, headers=ALEX, timeout=60)

        assert (refused.status_code, by_verb.status_code) == (400, 400)
        assert f"memory:{new['id']}" in refused.json()["error"]["message"]
        assert client.delete(f"/user/{new['id']}").status_code == 200
        assert not [each for each in client.get("/user").json()["memories"] if each["key"] == "pet"]
