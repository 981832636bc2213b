"""An error names the field as the request wrote it, whatever the library calls it."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from recollect.server.access.responses import name_field

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


def test_field_that_no_request_has_stays_as_it_is() -> None:
    assert name_field("settings.port", frozenset({"user"}), frozenset({"text"})) == "settings.port"
