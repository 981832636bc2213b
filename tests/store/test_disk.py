"""A disk that is full or cannot be written to: what callers are told, and that nothing is lost when it is over."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.fault_servers import Postgres, mount_disk
from recollect import Engine, RecollectError, Scope, StoreUnavailable, connect
from recollect.errors import EmbeddedServerFailed
from recollect.providers.fake import FakeEmbedder
from recollect.store.connection import make_database
from recollect.store.embedded import attach
from recollect.store.embedded_files import locate_site
from tests.standby import make_folder

ALEX = Scope("alex", "monday")
LONG = "x" * 200_000


@pytest.fixture
def folder() -> Path:
    return make_folder()


@pytest.fixture
def postgres(folder: Path) -> Iterator[Postgres]:
    """A server on a small disk of its own, where one may be mounted."""
    with ExitStack() as stack:
        server = Postgres(folder / "a", has_own_disk=stack.enter_context(mount_disk(folder / "a")))
        server.create()
        assert server.start()
        stack.callback(server.end, signal.SIGQUIT)
        yield server


async def record_until_refused(memory: Engine) -> tuple[list[str], RecollectError]:
    """Record long lines until one is refused; return those that were acknowledged, and the error."""
    acknowledged: list[str] = []
    while True:
        line = f"{len(acknowledged)} {LONG}"
        try:
            await memory.record(ALEX, [("user", line)], idempotency_key=line[:10])
        except RecollectError as error:
            return acknowledged, error
        acknowledged.append(line)


@pytest.mark.parametrize("fault", ["disk full", "files read-only"])
async def test_writes_are_refused_and_nothing_acknowledged_is_lost(postgres: Postgres, fault: str) -> None:
    dsn = await make_database(postgres.dsn)
    async with connect(dsn=dsn, embedder=FakeEmbedder(), worker=False) as memory:
        await memory.record(ALEX, [("user", "before")])
        with postgres.full_disk() if fault == "disk full" else postgres.limited_files(0):
            acknowledged, error = await record_until_refused(memory)

        assert isinstance(error, StoreUnavailable), error
        assert LONG[:20] not in str(error)
        if postgres.find_pid() is None:  # it could not write its log, and ended
            assert postgres.start()
        line = f"{len(acknowledged)} {LONG}"
        await memory.record(ALEX, [("user", line)], idempotency_key=line[:10])
        kept = [turn.text for turn in await memory.history(ALEX, limit=500)]
        assert kept == ["before", *acknowledged, line]


def test_a_read_only_data_folder_is_named_and_left_as_it_is(folder: Path) -> None:
    attach(folder).detach()
    data = locate_site(folder).data
    data.chmod(0o500)
    try:
        with pytest.raises(EmbeddedServerFailed, match=r"Permission denied|cannot use") as refused:
            attach(folder)
    finally:
        data.chmod(0o700)
    assert "\n" not in str(refused.value)
    assert str(folder) in str(refused.value)

    attach(folder).detach()
