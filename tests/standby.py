"""A primary with a streaming standby, both embedded servers of a test's own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from recollect.store.embedded import Attachment, attach
from recollect.store.embedded_files import find_programs, locate_site, make_root, run


@dataclass(frozen=True)
class Pair:
    """Superusers' DSNs of both servers."""

    primary: str
    standby: str

    def pause_replay(self) -> None:
        self._tell_standby("SELECT pg_wal_replay_pause()")

    def resume_replay(self) -> None:
        self._tell_standby("SELECT pg_wal_replay_resume()")

    def _tell_standby(self, command: str) -> None:
        with psycopg.connect(self.standby, autocommit=True) as connection:
            connection.execute(command.encode())


def copy_server(dsn: str, homes: Sequence[Path], *options: str) -> Path:
    """Make a base backup of the server in the first home for the second; return its data folder."""
    site = locate_site(homes[1])
    make_root(site)
    site.data.mkdir(mode=0o700)
    os.chown(site.data, site.uid, site.gid)
    program = find_programs(locate_site(homes[0])) / "pg_basebackup"
    host = str(conninfo_to_dict(dsn)["host"])
    copied = run(site, [program, "-h", host, "-U", "postgres", "-D", site.data, "-c", "fast", *options])
    assert copied.returncode == 0, copied.stdout
    return site.data


@contextmanager
def replicating(folder: Path) -> Iterator[tuple[Pair, Attachment]]:
    """Yield both servers, and what stops the standby."""
    homes = [folder / "primary", folder / "standby"]
    for home in homes:
        home.mkdir(mode=0o755)
    primary = attach(homes[0])
    try:
        copy_server(primary.dsn, homes, "-R")
        standby = attach(homes[1])
        try:
            yield Pair(primary.dsn, standby.dsn), standby
        finally:
            standby.detach()
    finally:
        primary.detach()
