"""A real MariaDB or MySQL server: the one that `make test` unpacks into .venv/mariadb, or else the one on the PATH."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pymysql

PASSWORD = "geheim-é"


UNPACKED = Path(sys.prefix) / "mariadb"


def find_server() -> str:
    """Return the path of the server; the tests that need it fail without one."""
    binary = (
        shutil.which("mariadbd", path=str(UNPACKED / "usr" / "sbin"))
        or shutil.which("mariadbd")
        or shutil.which("mysqld")
    )
    assert binary is not None, "no MariaDB or MySQL server: run `make .venv/mariadb/ready`, or put mariadbd on the PATH"
    return binary


def library_paths() -> dict[str, str]:
    """Return the environment in which an unpacked server finds the libraries unpacked with it."""
    folders = {str(path.parent) for path in UNPACKED.rglob("lib*.so*")}
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(sorted(folders))} if folders else dict(os.environ)


def make_data_folder(binary: str, folder: Path) -> None:
    """Fill `folder` with a new server's system tables."""
    owner = [f"--datadir={folder}", f"--user={getpass.getuser()}"]
    command = [binary, "--no-defaults", "--initialize-insecure", *owner]
    if binary.endswith("mariadbd"):
        base = Path(binary).parents[1]
        options = [f"--basedir={base}", "--skip-test-db", "--auth-root-authentication-method=normal"]
        command = [str(base / "bin" / "mariadb-install-db"), "--no-defaults", *options, *owner]
    subprocess.run(command, check=True, capture_output=True, env=library_paths())


@contextmanager
def mysql_server(folder: Path) -> Iterator[str]:
    """The address of a new server on loopback, without a database, for an account that may do everything."""
    binary = find_server()
    data, log = folder / "data", folder / "log"
    make_data_folder(binary, data)
    port = free_port()
    options = [f"--datadir={data}", f"--socket={folder / 'my.sock'}", f"--port={port}", "--bind-address=127.0.0.1"]
    command = [binary, "--no-defaults", *options, f"--user={getpass.getuser()}", f"--pid-file={folder / 'pid'}"]
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, env=library_paths())
    try:
        make_account(folder / "my.sock")
        yield f"mysql://owner:{PASSWORD}@127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(30)


def make_account(path: Path) -> None:
    for _ in range(300):
        try:
            with pymysql.connect(unix_socket=str(path), user="root") as root:
                for sql in (
                    f"CREATE USER owner@'%' IDENTIFIED BY '{PASSWORD}'",
                    "GRANT ALL ON *.* TO owner@'%' WITH GRANT OPTION",
                    f"CREATE USER single@'%' IDENTIFIED BY '{PASSWORD}' WITH MAX_USER_CONNECTIONS 1",
                    "GRANT SELECT ON *.* TO single@'%'",
                ):
                    root.query(sql)
            return
        except pymysql.OperationalError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


def free_port() -> int:
    """Return a free port below those that the system gives to others: nobody takes it before the server does."""
    start = 20_000 + os.getpid() % 10_000
    for port in range(start, start + 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"no free port from {start}")
