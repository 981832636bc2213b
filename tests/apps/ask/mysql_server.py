"""A MariaDB or MySQL server of the machine's own, for the tests that need one. There is no package for Python that
brings such a server, so they run only where `mariadbd` or `mysqld` is on the PATH, and are skipped elsewhere."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql

PASSWORD = "geheim-é"


def find_server() -> str | None:
    return shutil.which("mariadbd") or shutil.which("mysqld")


@contextmanager
def mysql_server(folder: Path) -> Iterator[str]:
    """The address of a new server on loopback, without a database, for an account that may do everything."""
    binary = find_server()
    assert binary is not None
    data, log = folder / "data", folder / "log"
    if binary.endswith("mariadbd"):
        install = ["mariadb-install-db", "--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"]
        subprocess.run([*install, f"--datadir={data}", f"--user={getpass.getuser()}"], check=True, capture_output=True)
    else:
        install = [binary, "--no-defaults", "--initialize-insecure", f"--datadir={data}", f"--user={getpass.getuser()}"]
        subprocess.run(install, check=True, capture_output=True)
    port = free_port()
    options = [f"--datadir={data}", f"--socket={folder / 'my.sock'}", f"--port={port}", "--bind-address=127.0.0.1"]
    command = [binary, "--no-defaults", *options, f"--user={getpass.getuser()}", f"--pid-file={folder / 'pid'}"]
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out)
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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
