"""A primary with a streaming standby, both servers of a test's own."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.fault_servers import Postgres
from tests.conftest import run_folder


def make_folder() -> Path:
    """Return a new folder that PostgreSQL may enter, which runs as another user where we are root."""
    folder = Path(tempfile.mkdtemp(dir=run_folder()))
    folder.chmod(0o755)
    return folder


@contextmanager
def replicating() -> Iterator[tuple[Postgres, Postgres]]:
    """Yield a primary and a standby that follows it."""
    folder = make_folder()
    with ExitStack() as stack:
        primary, standby = Postgres(folder / "a"), Postgres(folder / "b")
        for server in (primary, standby):
            server.home.mkdir(mode=0o755)
            stack.callback(server.end, signal.SIGQUIT)
        primary.create()
        assert primary.start()
        standby.copy(primary, "-R")
        assert standby.start()
        yield primary, standby
