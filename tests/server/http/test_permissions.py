"""Who may do what: every cell of the table in docs/reference/http.md, tried against a real server; and that what is
another's is never confirmed to exist."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from .conftest import Serve
from .loopback import TURNS, Keys, Served, bearer, refusal
from .routes import COLUMNS, Column, Route, request, routes

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "http.md"
MARKER = "<!-- routes -->"
ROUTES = list(routes())
ALLOWED = (200, 201, 202, 204, 404)  # what is not there is not there, for those who may look


@pytest.fixture(scope="module")
def shared(closed_door: tuple[Served, Keys]) -> Iterator[tuple[httpx2.Client, Keys]]:
    """A client of one server for all tests that only look at status codes."""
    running, keys = closed_door
    with httpx2.Client(base_url=running.url, timeout=60) as client:
        yield client, keys


@pytest.fixture
def door(serve: Serve, keys: Keys) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=serve().url, timeout=60) as client:
        yield client


def as_column(column: Column, keys: Keys) -> tuple[dict[str, str], str | None]:
    """The headers of a caller, and the user they name."""
    secret = {"own": keys.user, "another": keys.user}.get(column) or getattr(keys, column)
    user = {"own": None, "another": "blake", "data": None}.get(column, "alex")
    return bearer(secret), user


def test_every_cell_of_the_table_is_as_it_says(shared: tuple[httpx2.Client, Keys]) -> None:
    door, keys = shared
    wrong = {}
    for route in ROUTES:
        for column in COLUMNS:
            if (verdict := route.verdict(column)) is None:
                continue
            headers, user = as_column(column, keys)
            answer = door.request(**request(route, user, "shop", headers))
            if answer.status_code not in (ALLOWED if verdict else (403,)):
                wrong[f"{route.method} {route.path} {route.action} {column}"] = (answer.status_code, answer.text)
    assert wrong == {}


def test_without_credentials_only_health_answers(shared: tuple[httpx2.Client, Keys]) -> None:
    door, _ = shared
    told = {route.path: door.request(**request(route)).status_code for route in ROUTES}
    assert {path: status for path, status in told.items() if status != 401} == {"/health": 200, "/ready": 200}


def test_a_key_of_one_project_is_none_in_another(shared: tuple[httpx2.Client, Keys]) -> None:
    door, keys = shared
    for route in ROUTES:
        if route.action in (None, "metrics"):
            continue
        for secret, user in ((keys.user, None), (keys.service, "alex"), (keys.data, None), (keys.admin, "alex")):
            answer = door.request(**request(route, user, "bank", bearer(secret)))
            assert refusal(answer)[:2] == (403, "forbidden"), route


def test_an_admin_of_a_project_reaches_no_key_of_another(door: httpx2.Client, keys: Keys) -> None:
    made = door.post(
        "/v1/keys", json={"role": "service", "name": "bank", "project": "bank"}, headers=bearer(keys.every)
    )
    assert made.status_code == 201
    assert door.delete(f"/v1/keys/{made.json()['id']}", headers=bearer(keys.admin)).status_code == 404
    for answer in (
        door.get("/v1/keys", params={"every_project": True}, headers=bearer(keys.admin)),
        door.post("/v1/keys", json={"role": "admin", "name": "x", "every_project": True}, headers=bearer(keys.admin)),
    ):
        assert refusal(answer)[:2] == (403, "forbidden")
    seen = door.get("/v1/keys", headers=bearer(keys.admin)).json()["keys"]
    assert {key["project"] for key in seen} == {"shop"}
    assert all("secret" not in key for key in seen)
    assert len(door.get("/v1/keys", params={"every_project": True}, headers=bearer(keys.every)).json()["keys"]) == 7


def test_a_revoked_key_is_out_at_once(door: httpx2.Client, keys: Keys) -> None:
    [mine] = [key for key in door.get("/v1/keys", headers=bearer(keys.admin)).json()["keys"] if key["name"] == "host"]
    assert door.delete(f"/v1/keys/{mine['id']}", headers=bearer(keys.admin)).json()["revoked_by"] == "boss"
    assert refusal(door.get("/v1/memories?user=alex", headers=bearer(keys.service)))[:2] == (401, "unauthorized")


def test_what_is_another_s_looks_as_if_it_were_not_there(door: httpx2.Client, keys: Keys) -> None:
    alex = bearer(keys.user)
    door.post("/v1/record", json={"session": "monday", "turns": TURNS}, headers=alex)
    memory = door.post("/v1/learn", json={"value": "30 days", "key": "active"}, headers=alex).json()["id"]
    recalled = door.post("/v1/recall", json={"text": "heron"}, headers=alex).json()["request_id"]
    mine: list[tuple[str, str, dict[str, object]]] = [
        ("GET", "/v1/history?session={}", {"session": "monday"}),
        ("GET", "/v1/explain/{}", {"id": recalled}),
        ("POST", "/v1/correct", {"memory": memory, "value": "x"}),
        ("POST", "/v1/forget", {"memory": memory}),
        ("POST", "/v1/forget", {"session": "monday"}),
        ("POST", "/v1/mark", {"ref": "monday#0"}),
        ("POST", "/v1/memories/{}/close", {"id": memory}),
        ("POST", "/v1/memories/{}/redact", {"id": memory}),
        ("PATCH", "/api/projects/shop/memory/user/{}", {"id": memory, "value": "x"}),
        ("DELETE", "/api/projects/shop/memory/user/{}", {"id": memory}),
    ]
    for method, path, named in mine:
        there = asked(door, method, path, named, keys.other)
        absent = {**named, **{n: v for n, v in NOT_THERE.items() if n in named}}
        assert there == asked(door, method, path, absent, keys.other), path
        assert there[0] == 404, path
    assert door.get("/v1/memories", headers=bearer(keys.other)).json()["memories"] == []
    assert len(door.get("/v1/memories", headers=alex).json()["memories"]) == 1


NOT_THERE = {
    "session": "tuesday",
    "id": "01890000-0000-7000-8000-000000000000",
    "memory": "01890000-0000-7000-8000-000000000000",
    "ref": "tuesday#0",
}


def asked(door: httpx2.Client, method: str, path: str, named: dict[str, object], secret: str) -> tuple[int, str]:
    """The status and the message, without the names that were asked for."""
    where = str(named.get("id") or named.get("session"))
    body = {} if method in ("GET", "DELETE") else {"json": {n: v for n, v in named.items() if n != "id"}}
    answer = door.request(method, path.format(where), headers=bearer(secret), **body)  # type: ignore[arg-type]
    message = answer.json()["error"]["message"]
    for name in map(str, named.values()):
        message = message.replace(name, "…")
    return answer.status_code, message


@pytest.mark.parametrize(
    ("owner", "role", "status", "kept_by"),
    [
        (None, "user", 201, "user"),
        (None, "service", 201, "project"),
        ("user", "service", 201, "user"),
        ("project", "user", 403, None),
    ],
)
def test_wording_makes_it_the_project_s_only_for_those_who_may_teach_the_project(
    door: httpx2.Client, keys: Keys, owner: str | None, role: str, status: int, kept_by: str | None
) -> None:
    lesson = {"value": "our fiscal year ends in March", "key": "fiscal year", "kind": "definition"}
    lesson |= {"source": "clarification"} | ({"owner": owner} if owner else {})
    headers = {**bearer(getattr(keys, role)), **({"X-User-Id": "alex"} if role == "service" else {})}
    assert door.post("/v1/learn", json=lesson, headers=headers).status_code == status
    known = {
        whose: [
            memory["value"] for memory in door.get(f"/v1/memories?owner={whose}", headers=headers).json()["memories"]
        ]
        for whose in ("user", "project")
    }
    assert known == {whose: [lesson["value"]] if whose == kept_by else [] for whose in known}


def test_a_name_in_utf8_is_the_same_in_a_header_and_in_a_body(door: httpx2.Client, keys: Keys) -> None:
    headers = {**bearer(keys.service), "X-User-Id": "李雷".encode()}
    door.post("/v1/record", json={"session": "一", "turns": TURNS}, headers=headers)  # type: ignore[arg-type]
    answer = door.get("/v1/history", params={"user": "李雷", "session": "一"}, headers=bearer(keys.service))
    assert len(answer.json()["turns"]) == 2


def test_one_key_has_one_limit_whoever_it_speaks_for(serve: Serve, keys: Keys) -> None:
    with httpx2.Client(base_url=serve(rate_limit=1.0).url, timeout=60) as door:
        told = [
            door.get("/v1/memories", headers={**bearer(keys.service), "X-User-Id": user})
            for user in ("alex", "blake", "chris", "dana", "ed")
        ]
        assert [answer.status_code for answer in told].count(429) >= 1
        assert refusal(told[-1])[:2] == (429, "rate_limited")
        assert int(told[-1].headers["retry-after"]) >= 1
        assert door.get("/v1/memories", headers=bearer(keys.user)).status_code == 200


def test_the_page_of_routes_is_current() -> None:
    before = PAGE.read_text(encoding="utf-8")
    current = f"{before.partition(MARKER)[0]}{MARKER}\n\n{table()}"
    if os.environ.get("RECOLLECT_WRITE_DOCS"):
        PAGE.write_text(current, encoding="utf-8")
    else:
        assert before == current, "write it anew with RECOLLECT_WRITE_DOCS=1 pytest tests/server/http"


def table() -> str:
    tags = dict.fromkeys(route.tag for route in ROUTES)
    return "\n".join(section(tag, [route for route in ROUTES if route.tag == tag]) for tag in tags)


def section(tag: str, told: list[Route]) -> str:
    head = "| route | what it does | own | another's | service | data | admin | admin of all |"
    rows = [f"## {tag.capitalize()}", "", head, "|---|---|---|---|---|---|---|---|"]
    bodies = {f"| `{route.method} {route.path}` | `{route.body}` |": None for route in told if route.body}
    shown = ["", "| route | body |", "|---|---|", *bodies] if bodies else []
    return "\n".join([*rows, *(row(route) for route in told), *shown, ""])


def row(route: Route) -> str:
    cells = [{True: "yes", False: "no", None: ""}[route.verdict(column)] for column in COLUMNS]
    key = " *" if route.writes else ""
    return f"| `{route.method} {route.path}`{of_project(route)}{key} | {route.summary} | {' | '.join(cells)} |"


def of_project(route: Route) -> str:
    """What a request says to be about what the project owns, where another action is then needed."""
    if route.operation in ("learn", "memories", "audit") and str(route.action).endswith("_project"):
        return " (`owner=project`)"
    return " (`shared=true`)" if route.action == "change_documents" else ""
