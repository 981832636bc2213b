"""The hot queries read one scope by its key, however much others have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import ClientCursor
from psycopg.conninfo import make_conninfo

from recollect import Scope, connect
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings, read_settings
from recollect.store.connection import format_session_options
from recollect.store.database import queries
from tests.copied_database import copied

ALEX = Scope("alex", "monday")
OWN = 520  # turns
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SKETCH = {"speaker_key": 1, "flags": 0, "tokens": 1, "length": 1, "terms": "'x':1"}
TURN = {"i": 0, "role": "user", "text": "x", "hv": False, "v": None, **SKETCH}
# Tables, and how many other users get a copy of alex's rows there.
TABLES = {"conversation": 2000, "chapter": 500, "request": 1000, "turn": 30, "sketch": 30, "embedding": 30}
OTHERS = """
    INSERT INTO recollect.{table} SELECT (jsonb_populate_record(t, jsonb_build_object('scope_id', other))).*
    FROM recollect.{table} t, (SELECT gen_random_uuid() AS other FROM generate_series(1, {users})) o
"""


@pytest.fixture(scope="module")
def database(server: str, template: str) -> Iterator[str]:
    """One for all tests here: they look at it, and write nothing."""
    with copied(server, template) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def conversation(database: str) -> UUID:
    return asyncio.run(filled(database, read_settings({}, dsn=database)))


async def filled(database: str, settings: Settings) -> UUID:
    """alex's conversation of 20 turns, beside a longer one and 15,600 turns of others."""
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        for n in range(10):
            said = await memory.record(ALEX, [("user", f"line {n} of the code"), ("assistant", "noted")])
        await memory.record(Scope("alex", "long"), [("user", f"verse {n} of many") for n in range(500)])
        await memory.recall(ALEX, "code")
        await memory.settle(ALEX)
    with psycopg.connect(database, autocommit=True) as owner:
        # As a restore would, without checking references row by row.
        owner.execute("SET session_replication_role = replica")
        for table, users in TABLES.items():
            owner.execute(OTHERS.format(table=table, users=users).encode())
        owner.execute("ANALYZE")
    return said.conversation.id


@pytest.fixture
def app(database: str, settings: Settings) -> Iterator[psycopg.Connection[Any]]:
    dsn = make_conninfo(database, options=format_session_options(settings))
    with psycopg.connect(dsn, cursor_factory=ClientCursor) as connection:
        yield connection
        connection.rollback()


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def scans(
    app: psycopg.Connection[Any], name: str, values: dict[str, Any], analyze: bool = True
) -> list[dict[str, Any]]:
    """The nodes of the query's plan that read or write a user's table."""
    app.execute(queries()["server.open_scope"], {"scope": ALEX.id})
    options = b"EXPLAIN (ANALYZE, FORMAT JSON) " if analyze else b"EXPLAIN (FORMAT JSON) "
    row = app.execute(options + queries()[name], {"scope": ALEX.id, **values}).fetchone()
    assert row is not None
    return [node for node in nodes(row[0][0]["Plan"]) if node.get("Relation Name") in TABLES]


def scoring(conversation: UUID, session: str | None = None) -> dict[str, Any]:
    return {
        "terms": ["'code'", "'line'"],
        "vector": "{" + json.dumps("[" + ",".join(["0.25"] * 16) + "]") + "}",
        "model": 1,
        "session": session,
        "as_of": None,
        "now": NOW,
        "most": 10_000,
        "runs": json.dumps([{"c": str(conversation), "first": 0, "last": 9}]),
        "words": ["cods"],
        "unknown": [],
        "initials": ["c"],
        "least": 0.3,
    }


RECALL = (
    *("sketch.score", "sketch.score_within", "sketch.similar_words", "embedding.score", "embedding.score_within"),
    *("chapter.score", "chapter.uncovered", "conversation.searchable", "conversation.searchable_of"),
)


@pytest.mark.parametrize("session", [None, "monday"])
def test_recall_reads_one_scope_by_its_key(
    app: psycopg.Connection[Any], conversation: UUID, session: str | None
) -> None:
    for name in RECALL:
        assert_by_scope(scans(app, name, scoring(conversation, session)))


def test_reading_turns_reads_one_scope_by_its_key(app: psycopg.Connection[Any], conversation: UUID) -> None:
    keys = json.dumps([{"n": 0, "c": str(conversation), "i": 3}])
    asked: list[tuple[str, dict[str, Any]]] = [
        ("turn.recent", {"session": "monday", "limit": 5, "now": NOW, "before": None}),
        (
            "turn.window",
            {"session": "monday", "limit": 5, "now": NOW, "known": conversation, "redactions": 0, "last": 3, "at": NOW},
        ),
        ("turn.chosen", {"keys": keys, "most_chars": 100}),
        ("turn.of_conversation", {"conversation": conversation, "from": 0, "limit": 100}),
        ("conversation.find", {"session": "monday", "now": NOW}),
        ("conversation.latest", {"since": NOW, "now": NOW}),
        ("embedding.missing", {"conversation": conversation, "model": 1, "high_value": False, "flag": 32, "limit": 10}),
        ("request.find", {"id": conversation}),
    ]

    for name, values in asked:
        assert_by_scope(scans(app, name, values))


def test_the_last_turns_are_read_from_the_end_and_no_further(app: psycopg.Connection[Any], conversation: UUID) -> None:
    values = {"session": "long", "limit": 5, "now": NOW, "before": None}

    [turn] = [node for node in scans(app, "turn.recent", values) if node["Relation Name"] == "turn"]

    assert turn["Actual Rows"] == 5


def test_appending_reads_nothing_but_the_conversation_s_own_row(
    app: psycopg.Connection[Any], conversation: UUID
) -> None:
    names = ("conversation", "project", "user", "session", "name", "count", "interactions", "expires", "vectors")
    values = {
        **dict(zip(names, (conversation, "default", "alex", "monday", "line", 1, 1, None, None), strict=True)),
        "now": NOW,
        "model": 1,
        "embedded_model": 1,
        "turns": json.dumps([{**TURN, "at": str(NOW)}]),
    }

    app.execute(queries()["turn.append"], {"scope": ALEX.id, **values})
    read = app.execute(
        "SELECT relname, seq_scan, idx_tup_fetch < 10 FROM pg_stat_xact_user_tables"
        " WHERE schemaname = 'recollect' AND (seq_tup_read > 0 OR idx_tup_fetch > 0)"
    ).fetchall()
    app.rollback()

    assert read == [("conversation", 0, True)]


def assert_by_scope(read: list[dict[str, Any]]) -> None:
    """Every scan goes by an index whose condition names the scope: no row of another's is looked at."""
    assert read
    for node in read:
        condition = node.get("Index Cond") or node.get("Recheck Cond")
        assert node["Node Type"] in ("Index Scan", "Index Only Scan", "Bitmap Heap Scan"), node
        assert condition is not None, node
        assert f"scope_id = '{ALEX.id}'" in condition, node
        assert node["Actual Rows"] * node["Actual Loops"] <= OWN, node
