"""Questions to a database while the memory database is stopped, locked, frozen or broken: the source still answers,
without memory, and the answer says why. Nothing here waits as long as the outage lasts."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from recollect.apps.ask import source_registry as library
from recollect.settings import Settings
from recollect.store import keys
from recollect.store.connection import make_database
from recollect.store.embedded import attach
from tests.apps.ask.asking_door import Door, asking_at

COUNT = "How many customers are there?"
LOUD = "How many loud customers are there?"
BLOCKS = ("conversation_metadata", "memory_context_used", "memory_retrieval_time")
WITHOUT = "answered without memory"
# A client gives up long before the statements of an outage would.
CLIENT_SECONDS = 20.0
OUTAGE_SECONDS = 300.0
STATEMENT = "SELECT count(*) AS n FROM customers"


@contextmanager
def stopped(server: str, database: str) -> Iterator[None]:
    """Nobody gets in, and whoever is in is thrown out."""
    name = str(conninfo_to_dict(database)["dbname"])
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            yield
        finally:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())


@contextmanager
def locked(server: str, database: str) -> Iterator[None]:
    """Another session holds every table."""
    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'recollect'").fetchall()
        for (table,) in found:
            connection.execute(f'LOCK TABLE recollect."{table}" IN ACCESS EXCLUSIVE MODE'.encode())
        yield


@contextmanager
def broken(server: str, database: str) -> Iterator[None]:
    """Every statement is an error."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("REVOKE USAGE ON SCHEMA recollect FROM recollect_app")
        try:
            yield
        finally:
            connection.execute("GRANT USAGE ON SCHEMA recollect TO recollect_app")


@contextmanager
def frozen(server: str) -> Iterator[None]:
    """The server takes connections and statements, and answers none."""
    with psycopg.connect(server) as connection:
        postmaster = psutil.Process(connection.info.backend_pid).parent()
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with suppress(psutil.NoSuchProcess):  # a connection's process may have ended before it was stopped
                process.send_signal(signal.SIGCONT)


Away = Callable[[], AbstractContextManager[None]]
OUTAGES = {"stopped": stopped, "locked": locked, "broken": broken}


@pytest.fixture(params=OUTAGES)
def outage(request: pytest.FixtureRequest, server: str, database: str) -> Away:
    return lambda: OUTAGES[request.param](server, database)


@contextmanager
def asking(settings: Settings, sample: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """A server that believes nothing for longer than a moment, so that every request asks the memory database."""
    for module, name in ((keys, "KNOWN_FOR"), (keys, "NONE_FOR"), (library, "FRESH")):
        monkeypatch.setattr(module, name, 0.0)
    times = {"statement_timeout": OUTAGE_SECONDS, "pool_timeout": OUTAGE_SECONDS, "request_timeout": OUTAGE_SECONDS}
    with asking_at(replace(settings, deadline=1.0), sample, **times) as door:
        door.http.timeout = CLIENT_SECONDS
        yield door


@pytest.fixture
def door(settings: Settings, sample: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    with asking(settings, sample, monkeypatch) as made:
        yield made


def assert_answers_without_memory(door: Door, before: dict[str, Any]) -> None:
    """Several times: only the first request waits until the deadline."""
    for _ in range(3):
        answer = door.ask(COUNT)
        assert answer["execution_result"] == before["execution_result"]
        assert [answer[block] for block in BLOCKS] == [None, None, None]
        assert any(note.startswith(WITHOUT) for note in answer["notes"]), answer["notes"]
    told = door.sql(COUNT)
    assert told["rows"] == before["execution_result"]["full"]
    assert any(note.startswith(WITHOUT) for note in told["metadata"]["notes"])
    for body in ({"vql": STATEMENT}, {"vql": STATEMENT, "source": "sales"}):
        assert door.post("/executeVQL", 200, **body)["execution_result"]["full"][0].keys() == {"n"}


def test_source_answers_while_memory_is_away(door: Door, outage: Away) -> None:
    before = door.ask(COUNT)
    assert before["memory_context_used"] is not None

    with outage():
        assert_answers_without_memory(door, before)


def test_source_answers_while_memory_is_frozen(
    tmp_path: Path, sample: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    own = home.parent / f"frozen-{tmp_path.name}"
    own.mkdir(mode=0o755)
    attachment = attach(own)
    try:
        mine = replace(settings, dsn=asyncio.run(make_database(attachment.dsn)))
        with asking(mine, sample, monkeypatch) as door:
            before = door.ask(COUNT)
            with frozen(attachment.dsn):
                assert_answers_without_memory(door, before)
    finally:
        attachment.detach()


def test_idempotency_key_does_not_stop_an_answer(door: Door, outage: Away) -> None:
    before = door.ask(COUNT)

    with outage():
        body = {"question": COUNT, "user_id": "john"}
        answer = door.http.post("/answerQuestion", json=body, headers={"Idempotency-Key": "one"})

    assert answer.status_code == 200
    assert answer.json()["execution_result"] == before["execution_result"]


def test_keys_and_glossary_are_known_while_memory_is_away(door: Door, outage: Away) -> None:
    loud = {"name": "loud", "kind": "glossary", "description": "Loud ones", "sql": "customers.id > 3"}
    door.http.put("/v1/terms", json=loud).raise_for_status()
    made = door.closed()
    door.http.headers.update(made["user"])
    before = door.ask(LOUD)
    assert before["execution_result"], before["answer"]

    with outage():
        answer = door.ask(LOUD)

    assert answer["sql_query"] == before["sql_query"]
    assert answer["execution_result"] == before["execution_result"]


def test_only_keys_seen_as_valid_are_known_while_memory_is_away(door: Door, server: str, database: str) -> None:
    made = door.closed()
    assert door.http.post("/answerQuestion", json={"question": COUNT}, headers=made["user"]).status_code == 200
    assert door.http.post("/answerQuestion", json={"question": COUNT}, headers=made["data"]).status_code == 200
    [revoked] = [each["id"] for each in door.http.get("/v1/keys").json()["keys"] if each["role"] == "data"]
    door.http.delete(f"/v1/keys/{revoked}").raise_for_status()
    assert door.http.post("/answerQuestion", json={"question": COUNT}, headers=made["user"]).status_code == 200

    with stopped(server, database):
        statuses = {
            role: door.http.post("/answerQuestion", json={"question": COUNT}, headers=made[role]).status_code
            for role in ("user", "service", "data")
        }

    assert statuses == {"user": 200, "service": 503, "data": 503}
