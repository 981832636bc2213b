"""A pgbouncer in transaction mode before the tests' server, without root: the machine's own, or Debian's package
unpacked into a folder of the run."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bench.debian_packages import unpack_packages

PACKAGES = ("pgbouncer", "libc-ares2", "libevent-2.1-7")
CONFIG = """
[databases]
* = host={server} port={port}
[pgbouncer]
pool_mode = transaction
listen_addr =
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users.txt
max_client_conn = 500
default_pool_size = {connections}
logfile = {folder}/log.txt
"""


def find_program(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return the program and its environment; skip the test where it can be had in no way, except in CI."""
    known = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if known:
        return Path(known), {}
    try:
        root = unpack_packages(PACKAGES, folder)
    except OSError as error:
        reason = f"there is no pgbouncer: {error}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    libraries = ":".join(str(path) for path in (root / "usr" / "lib").glob("*-linux-gnu"))
    return root / "usr" / "sbin" / "pgbouncer", {"LD_LIBRARY_PATH": libraries}


@contextmanager
def pgbouncer(database: str, user: str, folder: Path, connections: int = 5) -> Iterator[str]:
    """Yield the DSN of the database through a pooler with few connections, for one user."""
    server = conninfo_to_dict(database)
    program, environment = find_program(folder)
    socket = next(Path(str(server["host"])).glob(".s.PGSQL.*[0-9]"))
    owner = socket.stat().st_uid  # who may use the server's socket; pgbouncer does not run as root either
    (folder / "users.txt").write_text(f'"{user}" ""\n')
    config = CONFIG.format(server=server["host"], port=socket.suffix[1:], folder=folder, connections=connections)
    (folder / "pgbouncer.ini").write_text(config)
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    os.chown(folder, owner, -1)
    process = subprocess.Popen(
        [program, folder / "pgbouncer.ini"],
        env={**os.environ, **environment},
        user=owner if os.getuid() == 0 else None,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 30
        while not (folder / ".s.PGSQL.6432").exists():
            assert process.poll() is None, (folder / "log.txt").read_text()
            assert time.monotonic() < until, "pgbouncer does not start"
            time.sleep(0.05)
        yield make_conninfo(database, host=str(folder), port=6432, user=user)
    finally:
        process.terminate()
        process.wait()
