"""Real parts for every test: one embedded PostgreSQL for the run, and a fresh copy of a migrated database per test.

Workers of a parallel run share the server the way any processes of one user do, by attaching to the same home. What a
run writes is kept in memory where the machine has room: a copied database is four hundred small files.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import shutil
import ssl
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import psycopg
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from recollect import Engine, Scope, connect
from recollect.providers.fake import FakeClock
from recollect.settings import Settings, read_settings
from recollect.store import embedded
from recollect.store.connection import make_database
from recollect.store.embedded import attach
from recollect.store.migrate import prepare
from tests.bounds import set_hypothesis_bounds
from tests.citus_database import CITUS, emptied
from tests.copied_database import copied
from tests.forked_program import forking

RUN = "RECOLLECT_TEST_RUN"
TEMPLATE = "recollect_template"
# Nobody pulls the plug during a test; what survives a killed process is tested with servers of their own.
HASTE = ("fsync = off", "full_page_writes = off")
# A server for little memory has few buffers; PostgreSQL looks at each of them whenever a database is copied or dropped.
MEMORY_MB = 512
MEMORY = Path("/dev/shm")
ROOM = 4_000_000_000  # bytes that are free there, or it is not used
WAITING = {"bench", "browser", "store", "worker"}


def pytest_configure() -> None:
    """The process that starts the run makes its folder, for all temporary files; the workers it starts inherit it."""
    set_hypothesis_bounds()
    if RUN not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="recollect-test-", dir=_fast_folder()))
        folder.chmod(0o1777)  # PostgreSQL runs as somebody else where we are root
        os.environ[RUN] = os.environ["TMPDIR"] = str(folder)
        tempfile.tempdir = None
        _trust_one(folder / "authority.pem")


def _trust_one(path: Path) -> None:
    """No test speaks TLS, yet each client that is made reads every authority the machine has, which takes 25 ms."""
    authorities = ssl.create_default_context().get_ca_certs(binary_form=True)
    if authorities and "SSL_CERT_FILE" not in os.environ:
        path.write_text(ssl.DER_cert_to_PEM_cert(authorities[0]))
        os.environ["SSL_CERT_FILE"] = str(path)


def _fast_folder() -> Path | None:
    """In memory, if programs may be started from there too and nobody asked for another place."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return None
    has = os.statvfs(MEMORY)
    return MEMORY if has.f_bavail * has.f_frsize >= ROOM and not has.f_flag & os.ST_NOEXEC else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting imports stays: to look for garbage in it would take half of each worker's start, and then some
    time of each test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)  # libraries close what they hold when the process ends


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the folders whose files take long: at the end of a run nobody else would use the time they wait."""
    items.sort(key=lambda item: WAITING.isdisjoint(item.path.parent.parts))  # the others stay in order


class Scheduling(LoadFileScheduling):  # type: ignore[misc]
    """Gives all tests of a file to one worker, so that they share what is made once for a file, and all tests of the
    browser, which takes as long to start as eight of them."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "browser" if "browser/" in file else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    return Scheduling(config, log)


def run_folder() -> Path:
    return Path(os.environ[RUN])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The one that started the run clears up behind it."""
    if not hasattr(session.config, "workerinput"):
        shutil.rmtree(run_folder(), ignore_errors=True)


@pytest.fixture(scope="session")
def home() -> Path:
    """The embedded server's folder for this run; the same for all its workers."""
    folder = run_folder() / "home"
    folder.mkdir(mode=0o755, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def server(home: Path) -> Iterator[str]:
    """The superuser's DSN of a running server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "_measure_memory", lambda: MEMORY_MB)
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
    with emptied(CITUS) if CITUS else copied(server, template) as dsn:
        yield dsn


@pytest.fixture
def settings(database: str) -> Settings:
    """Network callers may add the SQLite files that tests make. The deadline is long: a busy machine must not make
    memory late; what happens then is tested in apps/ask/test_memory_away.py."""
    return read_settings({}, dsn=database, source_folders=str(run_folder()), deadline=60.0)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The path of a command `recollect` that starts at once; see forked_program.py."""
    with forking(tmp_path_factory.mktemp("program")) as command:
        yield command


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
