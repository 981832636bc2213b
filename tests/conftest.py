"""Real parts for every test: one embedded PostgreSQL for the run, and a fresh copy of a migrated database per test.

Workers of a parallel run share the server the way any processes of one user do, by attaching to the same home.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Engine, Scope, connect
from recollect.providers.fake import FakeClock
from recollect.settings import Settings, read_settings
from recollect.store.connection import make_database
from recollect.store.embedded import attach
from recollect.store.migrate import prepare

TEMPLATE = "recollect_template"
# Nobody pulls the plug during a test; what survives a killed process is tested with servers of their own.
HASTE = ("fsync = off", "full_page_writes = off")


def pytest_configure() -> None:
    """The process that starts the run names it; the workers it starts inherit the name."""
    os.environ.setdefault("RECOLLECT_TEST_RUN", uuid4().hex)


def run_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"recollect-test-{os.environ['RECOLLECT_TEST_RUN']}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The one that started the run clears up behind it."""
    if not hasattr(session.config, "workerinput"):
        shutil.rmtree(run_folder(), ignore_errors=True)


@pytest.fixture(scope="session")
def home() -> Path:
    """The embedded server's folder for this run; the same for all its workers."""
    folder = run_folder()
    folder.mkdir(mode=0o755, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def server(home: Path) -> Iterator[str]:
    """The superuser's DSN of a running server."""
    attachment = attach(home)
    with psycopg.connect(attachment.dsn, autocommit=True) as connection:
        for setting in HASTE:
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
        connection.execute("SELECT pg_reload_conf()")
    yield attachment.dsn
    attachment.detach()


@pytest.fixture(scope="session")
def template(server: str, home: Path) -> str:
    """A migrated database that nobody connects to, to be copied."""
    import asyncio

    with (home / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        asyncio.run(_migrated(server))
    return TEMPLATE


async def _migrated(server: str) -> None:
    await prepare(await make_database(server, TEMPLATE))


@pytest.fixture
def database(server: str, template: str) -> Iterator[str]:
    """The owner's DSN of this test's own database."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY".encode())
        yield make_conninfo(server, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def settings(database: str) -> Settings:
    return read_settings({}, dsn=database)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[Engine]:
    """An engine as its users get it, with the local embedder and no worker."""
    async with connect(settings, worker=False) as engine:
        yield engine


@pytest.fixture
def alex() -> Scope:
    return Scope(user="alex", session="monday")
