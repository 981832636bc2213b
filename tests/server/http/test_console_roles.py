"""No role sees or changes data of other users in the console. Every route is requested with a key of each role, with
ids, names and sessions of other users in every field, and with a cookie that selects another user. New routes are
covered as soon as they are listed.

The data of each user contains a word that appears nowhere else. One server serves all tests here.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx2
import pytest
from starlette.routing import Route

from recollect import Grant, Lesson, Scope, SyncEngine, Turn, connect_sync
from recollect.apps.documents.librarian import Librarian
from recollect.server.console.routes import make_routes
from recollect.values.document import Upload
from recollect.values.term import Term

from .loopback import Keys, Served, bearer, keys_of_each_role, served, shared_settings
from .routes import NOBODYS_ID

PLACE = "recollect_place"
ALEX, BLAKE, CASEY = Scope("alex", project="shop"), Scope("blake", project="shop"), Scope("casey", project="bank")
# The word in all data of a user, and the word in the shared data of their project.
WORDS = {ALEX: "heron", BLAKE: "otter", CASEY: "lynx"}
SHARED = {"shop": "robin", "bank": "lynx"}
ANSWERED: dict[str, Any] = {  # a turn as the application writes it
    **dict.fromkeys(("error", "pattern", "frame", "model")),
    **dict.fromkeys(("tables", "related", "related_tables", "notes", "assumptions"), ()),
    "way": "frame",
    "sql": "SELECT 1",
    "dialect": "sqlite",
    "examples": 0,
    "confidence": 1.0,
    "spent": {},
}
EVERY_WORD = frozenset((*WORDS.values(), *SHARED.values()))
SEEN: Mapping[str, frozenset[str]] = {
    "user": frozenset(("heron", "robin")),
    "other": frozenset(("otter", "robin")),
    "service": frozenset(("heron", "otter", "robin")),
    "data": frozenset(("robin",)),
    "admin": frozenset(("heron", "otter", "robin")),
    "every": EVERY_WORD,
}
FOREIGN: Mapping[str, Sequence[Scope]] = {
    "user": (BLAKE, CASEY),
    "other": (ALEX, CASEY),
    "service": (CASEY,),
    "data": (ALEX, CASEY),
    "admin": (CASEY,),
}
ROLES = tuple(SEEN)
USED = re.compile(r'"(?:usage_count|last_used_at)": [^,}]*')
FORM = "application/x-www-form-urlencoded"
UNTOKENED = frozenset(("/sign-in",))  # there is no token before sign-in


@dataclass(frozen=True)
class Town:
    """A server with two projects; `things` are the ids of the data of three users."""

    running: Served
    memory: SyncEngine
    keys: Keys
    things: Mapping[Scope, Mapping[str, str]]

    @contextmanager
    def visitor(self, role: str) -> Iterator[httpx2.Client]:
        with httpx2.Client(base_url=self.running.url, timeout=60) as client:
            assert client.post("/console/sign-in", data={"key": getattr(self.keys, role)}).status_code == 303
            yield client

    def kept(self) -> dict[str, Any]:
        """Return all user and project data, without logged requests and usage counts."""
        users = {scope.user: list(drop_usage(self.memory.export(scope))) for scope in WORDS}
        return users | {scope.project: list_shared(self.memory, scope) for scope in (ALEX, CASEY)}


def drop_usage(lines: Iterable[str]) -> Iterator[str]:
    return (USED.sub("", line) for line in lines if '"kind": "request"' not in line)


def list_shared(memory: SyncEngine, scope: Scope) -> list[str]:
    known = [f"{each.id} {each.status} {each.value}" for each in memory.memories(scope, owner="project", status=None)]
    keys = [f"{each.id} {each.revoked_at}" for each in memory.keys.find(scope.project)]
    sources = [each.name for each in memory.sources.find(scope)]
    return [*known, *keys, *sources, *map(str, memory.terms.find(scope)), *map(str, memory.documents.find(scope))]


@pytest.fixture(scope="module")
def town(server: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with shared_settings(server, template) as settings, connect_sync(settings, worker=False) as memory:
        keys, folder = keys_of_each_role(memory), tmp_path_factory.mktemp("sources")
        things = {scope: add_user_data(memory, scope) for scope in WORDS}
        with served(settings) as running:
            with httpx2.Client(base_url=running.url, headers=bearer(keys.every), timeout=60) as root:
                for project, word in SHARED.items():
                    add_source(root, project, make_source(folder / f"{word}.db", word))
                for scope, about in things.items():
                    ask(root, scope, about)
                    memory.settle(scope)
            yield Town(running, memory, keys, things)


def make_source(file: Path, word: str) -> Path:
    """Create a database whose name, table and rows contain the word of its project."""
    with closing(sqlite3.connect(file)) as database:
        database.execute(f"CREATE TABLE {word} (id INTEGER PRIMARY KEY, name TEXT)")
        database.execute(f"INSERT INTO {word} (name) VALUES ('{word} one'), ('{word} two')")
        database.commit()
    return file


def add_source(root: httpx2.Client, project: str, file: Path) -> None:
    body = {"name": f"of-{file.stem}", "dsn": f"sqlite:///{file}"}
    root.post(f"/api/projects/{project}/datasources", json=body).raise_for_status()


def ask(root: httpx2.Client, scope: Scope, about: Mapping[str, str]) -> None:
    """Ask the database and the documents: turns 2 to 5 of the session."""
    where = f"/api/projects/{scope.project}/datasources/{about['source']}/text2sql"
    body = {"question": f"How many {SHARED[scope.project]}s are there?", "execute": True}
    root.post(where, json=body | {"user_id": scope.user, "session_id": about["session"]}).raise_for_status()
    told = {"userId": scope.user, "project": scope.project, "sessionId": about["session"]}
    asked = root.post("/api/v1/upload-ask/query", json=told | {"query": f"What is on the {WORDS[scope]}?"})
    assert WORDS[scope] in asked.json()["answer"]


def add_user_data(memory: SyncEngine, scope: Scope) -> dict[str, str]:
    word, talk, shared = WORDS[scope], replace(scope, session=f"of-{scope.user}"), SHARED[scope.project]
    memory.record(talk, [("user", f"I keep a {word}."), ("assistant", f"A {word}, then.")])
    known = memory.learn(scope, Lesson(f"Keeps a {word}.", "animal", source="manual"))
    ours = memory.learn(scope, Lesson(f"We all like the {shared}.", "bird", source="manual", owner="project"))
    memory.terms.put(scope, Term(f"{shared} day", "glossary", description=f"The day of the {shared}."))
    document = memory.documents.add(scope, Upload(f"{word}.md", f"# The {word}\n\nAll on the {word}.".encode()))
    key = memory.keys.create(Grant(role="user", name=f"key of {word}", project=scope.project, user=f"with {word}"))
    memory.settle(scope)
    ids = {"id": str(known.id), "shared": str(ours.id), "document": str(document.id), "key": str(key.key.id)}
    return ids | {"source": f"of-{shared}", "session": f"of-{scope.user}", "ref": f"of-{scope.user}#0"}


# Requests -------------------------------------------------------------------------------------------------------------


def list_routes(method: str) -> list[Route]:
    return [route for route in make_routes() if method in (route.methods or ()) and "{name}" not in route.path]


def address(route: Route) -> str:
    return f"/console{route.path.replace('{rest:path}', 'nowhere')}"


def accepts_files(route: Route) -> bool:
    return bool(getattr(route.endpoint, "args", (0, 0, 0))[2])


def make_queries(about: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield query parameters that name data of a user."""
    named = {"session": about["session"], "source": about["source"], "only": about["document"]}
    yield named | {"id": about["id"], "owner": "user", "turn": "1", "q": "animal"}
    yield named | {"id": about["shared"], "owner": "project", "turn": "3", "n": "0", "word": "bird"}
    yield named | {"id": about["document"], "turn": "5", "before": "9"}


def form(about: Mapping[str, str], scope: Scope) -> dict[str, str]:
    """Return every field of any form, filled with data of a user."""
    return {
        **{name: about[name] for name in ("session", "source", "document", "ref")},
        "project": scope.project,
        "user": scope.user,
        "name": scope.user,
        "again": f"{about['session']}#0",
        "message": "Hello",
        "question": "How many are there?",
        "sql": "SELECT 1",
        "corrected": "SELECT 2",
        "value": "nothing",
        "key": "animal",
        "kind": "note",
        "back": "memory",
        "turn": "3",
        "high_value": "on",
        "term": "bird",
        "answer": "a kind of dog",
        "good": "yes",
        "shared": "on",
        "role": "user",
        "days": "1",
        "dsn": "sqlite:////nowhere/at/all.db",
        "description": "none",
        "every": "on",
        "always": "on",
    }


def select_user(client: httpx2.Client, place: Scope) -> str:
    """Set a cookie that selects a user, and return the token of the pages shown then."""
    client.cookies.set(PLACE, quote(f'["{place.project}", "{place.user}"]'), path="/console")
    return read_token(client.get("/console/terms"))


def read_token(answer: httpx2.Response) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', answer.text)
    assert found, answer.text[:500]
    return found[1]


def find_words(answer: httpx2.Response, sent: Mapping[str, str]) -> set[str]:
    """Return the words that a response reveals. What was sent does not count."""
    told = answer.text
    for value in sent.values():
        told = told.replace(value, "") if any(word in value for word in EVERY_WORD) else told
    return {word for word in EVERY_WORD if word in told}


def check(answer: httpx2.Response, seen: frozenset[str], sent: Mapping[str, str]) -> None:
    where = f"{answer.request.method} {answer.request.url} {sent}"
    assert answer.status_code < 500, where
    assert find_words(answer, sent) <= seen, where
    assert answer.headers["cache-control"] == "no-store", where
    assert "default-src 'none'" in answer.headers["content-security-policy"], where
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("role", ROLES)
def test_no_page_shows_other_users_data_or_changes_it(town: Town, role: str) -> None:
    before = town.kept()
    with town.visitor(role) as client:
        for scope, about in town.things.items():
            select_user(client, scope)
            most = 3 if scope in FOREIGN.get(role, (ALEX,)) else 1
            for route in list_routes("GET"):
                for sent in islice(make_queries(about), most):
                    check(client.get(address(route), params=sent), SEEN[role], sent)
    assert town.kept() == before


@pytest.mark.parametrize("role", FOREIGN)
def test_no_form_shows_or_changes_other_users_data(town: Town, role: str) -> None:
    before = town.kept()
    with town.visitor(role) as client:
        for scope in FOREIGN[role]:
            token, about = select_user(client, scope), town.things[scope]
            for route in list_routes("POST"):
                for owner, wanted in (("user", about["id"]), ("project", about["shared"]), ("", about["key"])):
                    if route.path not in ("/sign-in", "/sign-out", "/terms/add"):
                        sent = form(about, scope) | {"id": wanted, "owner": owner, "token": token}
                        check(post_form(client, route, sent), SEEN[role], sent)
    after = town.kept()
    for scope in FOREIGN[role]:
        assert after[scope.user] == before[scope.user]
    assert after["bank"] == before["bank"]


def post_form(client: httpx2.Client, route: Route, sent: Mapping[str, str]) -> httpx2.Response:
    files = {"file": ("a.md", b"# Nothing")} if accepts_files(route) else None
    return client.post(address(route), data=dict(sent), files=files)


# Form tokens ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wrong_tokens(town: Town, root: httpx2.Client) -> Sequence[str]:
    """Return invalid tokens: none, one for another user, one of another browser."""
    with town.visitor("every") as another:
        of_another = select_user(another, ALEX)
    of_blake = select_user(root, BLAKE)
    assert select_user(root, ALEX) not in (of_blake, of_another)
    return "", of_blake, of_another


@pytest.mark.parametrize("route", [each for each in list_routes("POST") if each.path not in UNTOKENED], ids=address)
def test_every_form_needs_a_valid_token(
    town: Town, root: httpx2.Client, wrong_tokens: Sequence[str], route: Route
) -> None:
    sent = form(town.things[ALEX], ALEX) | {"id": town.things[ALEX]["id"], "owner": "user"}
    for token in ({}, *({"token": each} for each in wrong_tokens)):
        refused = post_form(root, route, sent | token)
        assert refused.status_code == 403
        assert 'role="alert"' in refused.text


@pytest.fixture(scope="module")
def root(town: Town) -> Iterator[httpx2.Client]:
    """A client of an admin of all projects, whom no permission stops."""
    with town.visitor("every") as client:
        yield client


@pytest.mark.parametrize(
    "away",
    [
        "//evil.example",
        "/\\evil",
        "%2e%2e/%2e%2e/v1/memories",
        "..%2f..",
        ".\t./.\t./v1",
        "memory\r\nX-Evil: 1",
        "x" * 9000,
    ],
)
def test_forms_redirect_only_to_the_console(town: Town, root: httpx2.Client, away: str) -> None:
    sent = {"ref": town.things[ALEX]["ref"], "token": select_user(root, ALEX), "back": away}
    done = root.post("/console/memory/mark", data=sent)
    assert done.status_code == 303
    assert re.fullmatch(r"/console/[\w.]+\?notice=saved", done.headers["location"])
    assert "x-evil" not in done.headers


@pytest.mark.parametrize(("role", "status"), [("data", 403), ("admin", 403), ("every", 400)])
def test_environment_variables_need_a_global_admin(
    town: Town, monkeypatch: pytest.MonkeyPatch, role: str, status: int
) -> None:
    monkeypatch.setenv("SOMEBODYS_PASSWORD", "wren")
    with town.visitor(role) as client:
        sent = {
            "token": select_user(client, ALEX),
            "name": "another",
            "dsn": "sqlite:////nowhere/${SOMEBODYS_PASSWORD}",
        }
        answer = client.post("/console/ask/source", data=sent)
    assert answer.status_code == status
    assert "wren" not in answer.text


def test_sign_out_deletes_all_cookies(town: Town) -> None:
    with town.visitor("admin") as client:
        token = read_token(client.get("/console/terms"))
        moved = {"token": token, "project": "shop", "user": "blake"}
        assert client.post("/console/switch", data=moved).status_code == 303
        client.post("/console/sign-out", data={"token": read_token(client.get("/console/terms"))})
        assert not dict(client.cookies)


# Malformed requests ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "a{b.evil.example", "[", "127.0.0.1@evil.example", "127.0.0.1.evil.example", ""]
)
def test_foreign_host_is_refused_without_sign_in(open_door: Served, host: str) -> None:
    """DNS rebinding: a foreign name that points to this machine is in the `Host` header."""
    assert httpx2.get(f"{open_door.url}/console/chat", headers={"Host": host}, timeout=60).status_code == 403


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("/static/" + "a" * 400 + ".css", {}, 404),
        ("/static/%2e%2e", {}, 404),
        ("/chat", {"Cookie": f"{PLACE}={'%5B' * 6000}"}, 200),
        ("/chat", {"Cookie": f"{PLACE}=%5B%22%5Cud800%22%2C%22b%22%5D"}, 200),
    ],
)
def test_malformed_requests_are_refused(open_door: Served, path: str, given: dict[str, str], status: int) -> None:
    answer = httpx2.get(f"{open_door.url}/console{path}", headers=given, timeout=60)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")


@pytest.fixture(scope="module")
def open_door(server: str, template: str) -> Iterator[Served]:
    with shared_settings(server, template) as settings, served(settings) as running:
        yield running


@pytest.mark.parametrize(
    ("method", "path", "sent", "status"),
    [
        ("PUT", "/chat", {}, 405),
        ("POST", "/sign-in", {"files": {f"f{n}": (None, "x") for n in range(9)}}, 400),
        ("POST", "/sign-in", {"files": {"key": ("a", b"x")}}, 400),
        ("POST", "/chat/send", {"content": b"x" * 21_000_000, "headers": {"Content-Type": FORM}}, 413),
        ("POST", "/chat/send", {"content": b"x", "headers": {"Content-Type": "multipart/form-data; boundary=b"}}, 400),
    ],
)
def test_refused_requests_get_a_page(
    root: httpx2.Client, method: str, path: str, sent: dict[str, Any], status: int
) -> None:
    answer = root.request(method, f"/console{path}", **sent)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert answer.headers["cache-control"] == "no-store"


def test_unexpected_errors_show_no_details(
    town: Town, root: httpx2.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Librarian, "again", fail)
    select_user(root, ALEX)
    answer = root.get("/console/documents/sources", params={"session": "of-alex", "turn": "5"})

    assert answer.status_code == 500
    assert answer.headers["x-request-id"] in answer.text
    assert "secret" not in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert "a secret in an error" in caplog.text


async def fail(*_: object) -> None:
    raise RuntimeError("a secret in an error")


@pytest.mark.parametrize(
    "told",
    [
        {"memory": "x", "sql": 1, "answers": 1},
        {"memory": {"notes": 1, "sources": 2, "request_id": 3, "rewritten": []}, "result": "x", "sources": 3},
        {"memory": {"request_id": "x"}, "answers": "monday#0", "sources": [{}], "memories": {}},
        {"memory": {"request_id": NOBODYS_ID}, "sql": "DROP TABLE robin", "dialect": "sqlite", "tables": ["robin"]},
        {"answers": "monday#0", "sources": [{"document": "x", "cited": True}], "result": {"rows": 1, "columns": []}},
        {**ANSWERED, "result": {"rows": [["a", 1], ["b"]], "columns": ["name", "total"]}},
        {**ANSWERED, "headers": [1], "title": 2, "result": {"rows": [["a", 1], ["b", 2]], "columns": ["name", "n"]}},
        {**ANSWERED, "headers": "x", "result": {"rows": [[1]], "columns": ["n"], "count": 9, "total": "many"}},
    ],
)
@pytest.mark.parametrize(("host", "room"), [("sql", "ask"), ("documents", "documents"), ("chat", "chat")])
def test_foreign_turn_data_breaks_no_page(
    town: Town, root: httpx2.Client, host: str, room: str, told: dict[str, Any]
) -> None:
    drew = Scope(f"drew {uuid4()}", "monday", "shop")
    reply = Turn("assistant", "Two.", data={"host": host, "source": "of-robin"} | told)
    town.memory.record(drew, [Turn("user", "How many?", data={"host": host}), reply])
    sent = {"session": "monday", "turn": "1", "n": "0", "token": select_user(root, drew)}
    for path in (room, f"{room}/why", f"{room}/sources", f"{room}/assumption", f"{room}/chart", f"{room}/csv"):
        check(root.get(f"/console/{path}", params=sent), EVERY_WORD, sent)
