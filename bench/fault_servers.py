"""PostgreSQL servers that fail on request, and the network before them.

`Postgres` is a server in a folder of its own: it can be killed, filled, made unable to write, given another time and
promoted. `Proxy` is a TCP port before one: it can cut connections, delay them, let them hang or leave them half-open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from bench.debian_packages import unpack_packages
from recollect.store.embedded import attach
from recollect.store.embedded_files import PORT, find_programs, locate_site, make_root, run

DISK_BYTES = 4 * 2**30  # of memory, as far as it is used
FULL_BYTES = 8 * 2**20  # the longest file of a server on a full disk, where no file system can be mounted
CONNECTIONS = 60  # PostgreSQL's limit
WAIT_SECONDS = 60.0
# The log is kept for a standby that was away, and what it fills is bounded.
SETTINGS = {
    "max_connections": str(CONNECTIONS),
    "max_wal_size": "192MB",
    "wal_keep_size": "256MB",
    "wal_retrieve_retry_interval": "200ms",
    "hot_standby_feedback": "on",
}


class Clock:
    """The time that servers read, by libfaketime; it needs Debian's package."""

    def __init__(self, folder: Path) -> None:
        root = unpack_packages(["libfaketime"], folder)
        self._library = next(root.glob("usr/lib/*/faketime/libfaketime.so.1"))
        self._file = folder / "clock.txt"
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Set the clock; servers see it within a second or two."""
        self._file.write_text(f"{seconds:+d}\n")
        self._file.chmod(0o644)

    def prefix(self) -> list[str]:
        """Return how a command starts that reads this clock."""
        variables = {
            "LD_PRELOAD": self._library,
            "FAKETIME_TIMESTAMP_FILE": self._file,
            "FAKETIME_CACHE_DURATION": 1,
            "FAKETIME_DONT_FAKE_MONOTONIC": 1,
        }
        return ["/usr/bin/env", *(f"{name}={value}" for name, value in variables.items())]


@contextlib.contextmanager
def mount_disk(folder: Path) -> Iterator[bool]:
    """Mount a small file system at the folder until the end of the block; False where that is not allowed."""
    folder.mkdir(mode=0o755, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "tmpfs", str(folder)]
    is_mounted = subprocess.run(command, capture_output=True).returncode == 0
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def resize_disk(folder: Path, size: int) -> bool:
    """Change the size of a mounted disk; False if more is on it."""
    command = ["mount", "-o", f"remount,size={size}", str(folder)]
    return subprocess.run(command, capture_output=True).returncode == 0


class Postgres:
    """A server of its own. Methods block: call them in a thread."""

    def __init__(self, home: Path, clock: Clock | None = None, has_own_disk: bool = False) -> None:
        self.site = locate_site(home)
        self.home = home
        self.has_own_disk = has_own_disk
        self._clock = clock
        self.dsn = ""

    def create(self, **settings: str) -> None:
        """Make a data folder with our settings; the server does not run afterwards."""
        attached = attach(self.home)
        with psycopg.connect(attached.dsn, autocommit=True) as connection:
            for name, value in {**SETTINGS, **settings}.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        attached.detach()
        self.site = locate_site(self.home)

    def copy(self, primary: Postgres, *options: str) -> None:
        """Replace the data folder by a base backup of the primary; with the option -R it will follow the primary."""
        make_root(self.site)
        shutil.rmtree(self.site.data, ignore_errors=True)
        self.site.data.mkdir(mode=0o700)
        os.chown(self.site.data, self.site.uid, self.site.gid)
        program = find_programs(self.site) / "pg_basebackup"
        source = make_conninfo(primary.dsn, application_name="standby")
        copied = run(self.site, [program, "-d", source, "-D", self.site.data, "-c", "fast", *options])
        if copied.returncode:
            raise OSError(f"pg_basebackup failed: {copied.stdout[-500:]}")
        # The socket folder is the only setting that the copy must not share.
        own = f"unix_socket_directories = '{self._socket_folder()}'\n"
        (self.site.data / "recollect.conf").write_text(
            (primary.site.data / "recollect.conf").read_text().rstrip() + f"\n{own}"
        )

    def _socket_folder(self) -> Path:
        folder = self.site.root / "socket"
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chown(folder, self.site.uid, self.site.gid)
        return folder

    @property
    def socket(self) -> Path:
        return self.site.root / "socket" / f".s.PGSQL.{PORT}"

    def start(self) -> bool:
        """Start the server; return whether it accepts connections."""
        folder = self._socket_folder()
        pid_file = [self.site.data / "postmaster.pid", folder / f"{self.socket.name}.lock"]
        if self.find_pid() is None:
            run(self.site, ["/bin/rm", "-f", *pid_file])
        prefix = self._clock.prefix() if self._clock else []
        program = find_programs(self.site) / "pg_ctl"
        wait = ["--wait", f"--timeout={WAIT_SECONDS:.0f}"]
        with (self.site.root / "server.log").open("ab") as log:
            command = [*prefix, str(program), "start", "--silent", *wait, f"--pgdata={self.site.data}"]
            done = run(self.site, command, output=log.fileno())
        self.dsn = make_conninfo(host=str(folder), port=PORT, user="postgres", dbname="postgres")
        return done.returncode == 0

    def find_pid(self) -> int | None:
        """Return the process that runs this server's data folder, if any."""
        try:
            pid = int((self.site.data / "postmaster.pid").read_text().split()[0])
            started = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError, IndexError):
            return None
        return pid if str(self.site.data).encode() in started else None

    def _list_processes(self) -> list[int]:
        pid = self.find_pid()
        if pid is None:
            return []
        with suppress(OSError):
            return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
        return []

    def end(self, how: signal.Signals) -> None:
        """Send a signal to the server and wait until all of its processes are gone."""
        processes = self._list_processes()
        with suppress(ProcessLookupError):
            os.kill(processes[0], how) if processes else None
        until = time.monotonic() + WAIT_SECONDS
        while any(is_running(pid) for pid in processes):
            if time.monotonic() > until:
                raise TimeoutError(f"PostgreSQL in {self.home} does not end")
            time.sleep(0.05)

    def is_first(self) -> bool:
        """Return whether a second server on the same data folder is refused."""
        program = find_programs(self.site) / "postgres"
        second = run(self.site, ["/usr/bin/timeout", "20", program, "-D", self.site.data])
        return second.returncode == 1 and "postmaster.pid" in second.stdout

    def execute(self, command: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement as the superuser; return its rows."""
        dsn = make_conninfo(self.dsn, dbname=database, connect_timeout=5)
        with psycopg.connect(dsn, autocommit=True) as connection:
            cursor = connection.execute(command.encode())
            return cursor.fetchall() if cursor.description else []

    def is_answering(self) -> bool:
        with suppress(psycopg.Error):
            return self.execute("SELECT 1") == [(1,)]
        return False

    def set(self, name: str, value: str) -> None:
        """Change a setting of the running server, also of one that cannot write rows."""
        self.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        self.execute("SELECT pg_reload_conf()")

    def insist(self, name: str, value: str) -> None:
        """Change a setting, starting the server if it has ended."""
        self._repeat(lambda: self.set(name, value))

    def promote(self) -> None:
        """Make a standby the primary; return when it is."""

        def promote() -> None:
            if self.execute("SELECT pg_is_in_recovery() AND NOT pg_promote(true, 10)") != [(False,)]:
                raise TimeoutError("not promoted")

        self._repeat(promote)

    def _repeat(self, work: Callable[[], None]) -> None:
        until = time.monotonic() + 2 * WAIT_SECONDS
        while True:
            try:
                return work()
            except (psycopg.Error, TimeoutError):
                if time.monotonic() > until:
                    raise
                if self.find_pid() is None:
                    self.start()
                time.sleep(0.2)

    def is_followed(self) -> bool:
        """Return whether a standby has everything that this server has written, and each commit waits for it."""
        rows = self.execute(
            "SELECT flush_lsn >= pg_current_wal_flush_lsn() FROM pg_stat_replication"
            " WHERE state = 'streaming' AND sync_state = 'sync'"
        )
        return rows == [(True,)]

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """Leave the server no space to write to, until the end of the block."""
        if not self.has_own_disk:
            with self.limited_files(FULL_BYTES):
                yield
            return
        try:
            # It may grow while we look.
            for slack in (0, 2**16, 2**20, 2**24):
                disk = os.statvfs(self.home)
                if resize_disk(self.home, (disk.f_blocks - disk.f_bfree) * disk.f_frsize + slack):
                    break
            yield
        finally:
            resize_disk(self.home, DISK_BYTES)

    @contextlib.contextmanager
    def limited_files(self, size: int) -> Iterator[None]:
        """Let the server write no file beyond a size; 0: as on a read-only file system."""
        self._limit_files(str(size))
        try:
            yield
        finally:
            self._limit_files("unlimited")

    def _limit_files(self, size: str) -> None:
        # As the server's user: root needs a capability for the processes of others. One of them may end meanwhile.
        for pid in self._list_processes():
            run(self.site, ["prlimit", f"--pid={pid}", f"--fsize={size}:"])


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Proxy:
    """A TCP port before a server's socket."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._silent: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._delay = 0.0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_unix_connection(self._socket)
        except OSError:  # the server is down
            writer.close()
            return
        pair = (writer, to_server)
        self._pairs.add(pair)
        await asyncio.gather(self._copy(reader, to_server, pair), self._copy(from_server, writer, pair))
        self._pairs.discard(pair)
        self._silent.discard(pair)

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, pair: Any) -> None:
        with suppress(OSError):
            while part := await source.read(65_536):
                await self._flows.wait()
                await asyncio.sleep(self._delay)
                if pair not in self._silent:
                    target.write(part)
                    await target.drain()
        if pair not in self._silent:  # a silent connection does not even say that the other end has gone
            target.close()

    async def cut(self) -> None:
        for pair in self._pairs:
            for writer in pair:
                writer.transport.abort()

    async def hang(self, seconds: float) -> None:
        """Pass nothing on for a while, then cut what hung."""
        self._flows.clear()
        await asyncio.sleep(seconds)
        await self.cut()
        self._flows.set()

    async def slow_down(self, seconds: float) -> None:
        """Delay everything for a while, by a tenth of a second each time."""
        self._delay = 0.1
        await asyncio.sleep(seconds)
        self._delay = 0.0

    async def leave_half_open(self, seconds: float) -> None:
        """Close one end of each connection, in turns the client's and the server's, and let the other end wait; new
        connections work."""
        lost = list(self._pairs)
        self._silent.update(lost)
        for number, pair in enumerate(lost):
            pair[number % 2].transport.abort()
        await asyncio.sleep(seconds)
        for writer in (writer for pair in lost for writer in pair):
            writer.transport.abort()
