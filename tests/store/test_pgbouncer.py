"""Behind pgbouncer in transaction mode: many clients on few connections, each in its own scope, and nothing set per
role.

RECOLLECT_TEST_REQUESTS and RECOLLECT_TEST_CLIENTS make it longer.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from recollect import Engine, SchemaMismatch, Scope, connect
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings, read_settings
from tests.pgbouncer import pgbouncer

REQUESTS = int(os.environ.get("RECOLLECT_TEST_REQUESTS", "400"))
CLIENTS = int(os.environ.get("RECOLLECT_TEST_CLIENTS", "40"))
ENGINES = 4


@pytest.fixture
def login(database: str) -> Iterator[str]:
    """A login that may act as our role, and has no settings of its own."""
    name = f"member_{uuid4().hex[:12]}"
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {name} LOGIN IN ROLE recollect_app".encode())
        yield name
        owner.execute(f"DROP ROLE {name}".encode())


@pytest.fixture
def pooled(database: str, login: str) -> Iterator[Settings]:
    """Settings of an engine that goes through the pooler."""
    # Not below pytest's own folder, which others may not enter.
    folder = Path(tempfile.mkdtemp(prefix="pgb"))
    with pgbouncer(database, login, folder) as dsn:
        size = max(1, CLIENTS // ENGINES)
        yield read_settings({}, dsn=dsn, admin_dsn=database, pooled=True, pool_size=size, max_overflow=0, deadline=60.0)


async def ask(memory: Engine, n: int) -> str | None:
    """Write as one of many users, and read it back; what is wrong with what came."""
    user = f"user {n % 25}"
    scope = Scope(user, f"session {n}")
    await memory.record(scope, [("user", f"the code of {user} is {n}"), ("assistant", "noted")])
    said = [turn.text for turn in await memory.history(scope)]
    hits = (await memory.recall(scope, "code")).hits
    strange = [
        text for text in [*said, *(hit.turn.text for hit in hits)] if "code" in text and f"{user} is" not in text
    ]
    return f"{user} read {strange}" if strange or said[0] != f"the code of {user} is {n}" else None


async def test_many_clients_share_few_connections_and_no_scope_leaks(pooled: Settings) -> None:
    async with AsyncExitStack() as stack:
        engines = [
            await stack.enter_async_context(connect(pooled, embedder=FakeEmbedder(), worker=False))
            for _ in range(ENGINES)
        ]
        waiting = list(range(REQUESTS))
        wrong: list[str] = []

        async def be_client(number: int) -> None:
            while waiting:
                if found := await ask(engines[number % ENGINES], waiting.pop()):
                    wrong.append(found)

        await asyncio.gather(*(be_client(number) for number in range(CLIENTS)))
    assert wrong == []


async def test_the_whole_engine_works_behind_a_pooler(pooled: Settings, alex: Scope) -> None:
    async with connect(pooled, embedder=FakeEmbedder(), worker=False) as memory:
        await memory.record(alex, [("user", "My name is Alex."), ("assistant", "Hello.")])
        await memory.settle(alex)
        learned = await memory.learn(alex, "the heron nests in May")
        await memory.correct(alex, learned.id, "the heron nests in June")
        assert "June" in (await memory.context(alex, "when does the heron nest?")).text
        assert (await memory.forget(alex)).rows


async def test_a_login_that_is_no_member_is_told_what_to_grant(database: str, login: str) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"REVOKE recollect_app FROM {login}".encode())
    folder = Path(tempfile.mkdtemp(prefix="pgb"))
    with pgbouncer(database, login, folder) as dsn, pytest.raises(SchemaMismatch, match="GRANT recollect_app TO"):
        async with connect(dsn=dsn, admin_dsn=database, pooled=True, worker=False):
            pass
