"""The embedded PostgreSQL server: started when first needed, shared by all processes of one user, stopped by the last.

`bootstrap.py` calls `attach` and `detach` (in a thread: both may block), `recollect db status` calls `read_status`.
Attaching and detaching happen under one file lock. Attached processes and the server hold file locks too, which the
kernel releases when a process dies: no counter can go stale, and no process id is trusted. The server outlives the
process that started it; a forked child shares its parent's attachment. It listens on a socket in a 0700 folder and
accepts everybody who can reach it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import socket
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from psycopg.conninfo import make_conninfo

from recollect.errors import EmbeddedServerFailed
from recollect.store import embedded_files as files
from recollect.store.embedded_files import PORT, Site

START_SECONDS = 300
STOP_SECONDS = 60

SETTINGS = """\
# Written by Recollect at every start. To change a setting, use ALTER SYSTEM: it wins over this file.
listen_addresses = ''
port = {port}
unix_socket_directories = '{socket}'
unix_socket_permissions = 0700
cluster_name = 'recollect'
max_connections = 100
shared_buffers = {buffers}MB
effective_cache_size = {cache}MB
random_page_cost = 1.1
jit = off
# Parallel workers talk through /dev/shm, of which a container often has only 64 MB.
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
fsync = on
synchronous_commit = on
restart_after_crash = {restart}
checkpoint_timeout = 15min
max_wal_size = 2GB
min_wal_size = 80MB
timezone = 'UTC'
# Neither a failed statement nor the row it failed on: people's words do not belong in a log.
log_timezone = 'UTC'
log_error_verbosity = terse
log_min_error_statement = panic
log_checkpoints = off
"""

SSL_REQUEST = struct.pack("!ii", 8, 80877103)


class Attachment:
    """A process's hold on the server; release it with `detach`."""

    def __init__(self, dsn: str, home: Path, seat: int) -> None:
        self.dsn = dsn
        self._home = home
        self._seat: int | None = seat
        self._leaving = threading.Lock()

    def detach(self) -> None:
        """Release the hold; the last one stops the server, unless it is to keep running."""
        with self._leaving, files.explain_errors(self._home):
            seat, self._seat = self._seat, None
            if seat is not None:
                _leave(self._home, seat)


@dataclass(frozen=True, slots=True)
class Status:
    """What is known about the server without starting it."""

    running: bool
    pid: int | None
    version: str | None
    data: Path
    users: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Postmaster:
    """The content of postmaster.pid; valid only while the server runs."""

    pid: int
    socket: Path
    state: str


def get_default_home() -> Path:
    """Return the server's folder if none is configured."""
    if os.geteuid() == 0:
        return Path("/var/lib/recollect")
    return platformdirs.user_data_path("recollect", appauthor=False)


def attach(home: Path, *, keep_running: bool = False) -> Attachment:
    """Attach to the server under `home`, starting it if it does not run; return when it accepts connections."""
    with files.explain_errors(home):
        site = files.locate_site(home)
        files.make_root(site)
        with _hold_lock(site):
            files.trim_log(site.log)
            seat, _ = tempfile.mkstemp(prefix=f"{os.getpid()}-", dir=site.users)
            fcntl.flock(seat, fcntl.LOCK_EX)
            try:
                server = _wait_until_ready(site) or _start(site)
                if keep_running:
                    site.keep_running.touch()
            except BaseException:
                os.close(seat)
                raise
    dsn = make_conninfo(host=str(server.socket), port=PORT, user="postgres", dbname="postgres")
    # The resolved home: a relative one means something else once the process changes its folder.
    return Attachment(dsn, site.root.parent, seat)


def read_status(home: Path) -> Status:
    """Return the status of the server under `home`; changes nothing."""
    with files.explain_errors(home):
        site = files.locate_site(home)
        running = _is_alive(site)
        server = _read_postmaster(site) if running else None
        version = site.data / "PG_VERSION"
        return Status(
            running=running,
            pid=server.pid if server else None,
            version=version.read_text().strip() if version.is_file() else None,
            data=site.data,
            users=_list_attached(site),
        )


def _leave(home: Path, seat: int) -> None:
    # Closed, never LOCK_UN: that would also end the hold of a forked child.
    os.close(seat)
    site = files.locate_site(home)
    # Somebody may have removed the folder; the server ends by itself when it misses its files.
    if not site.lock.exists():
        return
    with _hold_lock(site):
        if not _list_attached(site, tidy=True) and not site.keep_running.exists():
            _stop(site)


@contextlib.contextmanager
def _hold_lock(site: Site) -> Iterator[None]:
    lock = files.open_private(site.lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _list_attached(site: Site, *, tidy: bool = False) -> tuple[int, ...]:
    """Return the processes that hold an attachment; `tidy`, allowed only under the lock, removes files of dead ones."""
    held = []
    for seat in sorted(site.users.glob("*-*")):
        if _is_locked(seat):
            held.append(int(seat.name.split("-")[0]))
        elif tidy:
            seat.unlink(missing_ok=True)
    return tuple(held)


def _is_locked(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who look at the same time do not take each other for the holder.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _is_alive(site: Site) -> bool:
    """Return whether any process of the server runs, also one started by hand with pg_ctl."""
    server = _read_postmaster(site)
    return _is_locked(site.alive) or (server is not None and _is_answering(server))


def _read_postmaster(site: Site) -> _Postmaster | None:
    try:
        lines = (site.data / "postmaster.pid").read_text().splitlines()
        return _Postmaster(int(lines[0]), Path(lines[4]), lines[7].strip())
    except (FileNotFoundError, IndexError, ValueError):
        return None


def _is_answering(server: _Postmaster) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(5)
        try:
            probe.connect(str(server.socket / f".s.PGSQL.{PORT}"))
            # The kernel accepts for a server that is being killed; only a reply shows that it lives.
            probe.sendall(SSL_REQUEST)
            return probe.recv(1) != b""
        except TimeoutError:
            return True
        except OSError:
            return False


def _wait_until_ready(site: Site) -> _Postmaster | None:
    """Return the running server once it is ready; None if there is none, or it has ended."""
    deadline = time.monotonic() + START_SECONDS
    while _is_alive(site):
        server = _read_postmaster(site)
        if server and server.state == "ready" and _is_answering(server):
            return server
        if time.monotonic() > deadline:
            raise EmbeddedServerFailed(f"PostgreSQL is not ready after {START_SECONDS} s; {site.log} says why.")
        time.sleep(0.02)
    return None


def _start(site: Site) -> _Postmaster:
    files.refuse_unreachable(site)
    bin_folder = files.find_programs(site)
    files.ensure_data(site, bin_folder)
    # A server that crashes while it starts (a full disk, say) must end, not try again without end.
    write_settings(site, restart_after_crash=False)
    said_before = _launch(site, bin_folder)
    server = _wait_until_ready(site)
    if server is None:
        said = site.log.read_bytes()[said_before:].decode(errors="replace")
        raise EmbeddedServerFailed(files.describe_failure(f"PostgreSQL did not start ({site.log})", said))
    write_settings(site, restart_after_crash=True)
    _signal(site, server, "HUP")
    return server


def _launch(site: Site, bin_folder: Path) -> int:
    """Start the server in the background; return where in the log its output begins."""
    site.keep_running.unlink(missing_ok=True)
    # Nothing of the last server lives. Its pid may be another program's by now, or a dead process nobody collected, and
    # either would keep PostgreSQL from starting.
    stale = [site.data / "postmaster.pid", ensure_socket_folder(site) / f".s.PGSQL.{PORT}.lock"]
    files.run(site, ["/bin/rm", "-f", *stale])
    with os.fdopen(files.open_private(site.log), "ab") as log, os.fdopen(files.open_private(site.alive), "ab") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        said_before = site.log.stat().st_size
        command = [str(bin_folder / "pg_ctl"), "start", "--silent", "--no-wait", f"--pgdata={site.data}"]
        files.run(site, command, output=log.fileno(), keep_open=[alive.fileno()])
    return said_before


def _stop(site: Site) -> None:
    server = _read_postmaster(site)
    if server is None or not _is_answering(server):
        return
    _signal(site, server, "INT")
    # A server that takes longer goes on stopping by itself; the next process to attach waits for its end.
    deadline = time.monotonic() + STOP_SECONDS
    while _is_alive(site) and time.monotonic() < deadline:
        time.sleep(0.02)


def _signal(site: Site, server: _Postmaster, name: str) -> None:
    # Sent as the server's user, who can write postmaster.pid: from root, a forged pid could hit anything.
    files.run(site, ["/bin/sh", "-c", f'kill -{name} "$0"', str(server.pid)])


def write_settings(site: Site, *, restart_after_crash: bool) -> None:
    """Write this release's settings, which the server reads at its next start or reload."""
    memory = _measure_memory()
    settings = SETTINGS.format(
        port=PORT,
        socket=ensure_socket_folder(site),
        buffers=max(32, min(1024, memory // 8)),
        cache=memory // 2,
        restart="on" if restart_after_crash else "off",
    )
    path = site.data / "recollect.conf"
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    files.write_synced(fresh, settings, os.O_CREAT | os.O_EXCL)
    fresh.replace(path)


def _measure_memory() -> int:
    """Return the megabytes this process may use: the machine's, or the container's if that is less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return memory // 2**20


def ensure_socket_folder(site: Site) -> Path:
    """Return a folder that only the server's user can enter, with a path short and plain enough for a socket."""
    folder = site.root / "socket"
    # 103 bytes is the smallest limit among the systems we run on; commas would be read as a list of hosts.
    is_plain = re.fullmatch(r"[^,'\"\\\x00-\x1f]+", str(folder)) is not None
    if not is_plain or len(os.fsencode(folder / f".s.PGSQL.{PORT}")) > 103:
        digest = hashlib.sha256(os.fsencode(site.root)).hexdigest()[:12]
        folder = Path(f"/tmp/recollect-{site.uid}-{digest}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    # Anybody may have created that name in /tmp before us, so it is checked, never changed.
    found = folder.lstat()
    if found.st_uid == os.geteuid() != site.uid:
        os.chown(folder, site.uid, site.gid, follow_symlinks=False)
        found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != site.uid or stat.S_IMODE(found.st_mode) != 0o700:
        raise EmbeddedServerFailed(
            f"{folder} should be a folder that only {files.get_user_name(site.uid)} can enter (0700) and is not; "
            "remove it and try again, or set RECOLLECT_HOME to another folder with a short path."
        )
    return folder
