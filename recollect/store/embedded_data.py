"""The data folder of the embedded PostgreSQL, its settings and its socket folder.

Called by `embedded.py` before a start, under its lock. A data folder is either complete or absent (initdb works in a
sibling that is renamed once it is on disk); data of another version is refused and never touched; the settings file is
rewritten at every start, so it has this release's settings.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

from recollect.errors import EmbeddedServerFailed
from recollect.store.embedded_files import MAJOR, PORT, Site, describe_failure, get_user_name, run

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


def ensure_data(site: Site, bin_folder: Path) -> None:
    """Make sure that a complete data folder of our version exists."""
    if not site.data.exists():
        _refuse_other_version(site)
        _initialise(site, bin_folder)
    _refuse_unusable_data(site)
    if stat.S_IMODE(site.data.stat().st_mode) & 0o077 and not site.data.is_symlink():
        site.data.chmod(0o700)


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
    _write(site.data / "recollect.conf", settings)


def _refuse_other_version(site: Site) -> None:
    others = sorted(folder.name for folder in site.root.iterdir() if folder.name.isdigit() and folder.is_dir())
    if others:
        raise EmbeddedServerFailed(_describe_version(site.root / others[-1], others[-1]))


def _describe_version(folder: Path, version: str) -> str:
    return (
        f"{folder} holds the data of PostgreSQL {version} and this release runs {MAJOR}; run `recollect db backup`"
        " with the release that wrote it and `recollect db restore` here, or move the folder away to start afresh."
    )


def _refuse_unusable_data(site: Site) -> None:
    if site.data.stat().st_uid != site.uid or site.uid == 0:
        raise EmbeddedServerFailed(
            f"{site.data} belongs to {get_user_name(site.data.stat().st_uid)}, who cannot run it for "
            f"{get_user_name(os.geteuid())}; chown -R it to the user who should."
        )
    try:
        version = (site.data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise EmbeddedServerFailed(
            f"{site.data} is no data folder of PostgreSQL; restore it from a backup, or move it away to start afresh."
        ) from None
    if version != MAJOR:
        raise EmbeddedServerFailed(_describe_version(site.data, version))


def _initialise(site: Site, bin_folder: Path) -> None:
    for leftover in site.root.glob(f"{MAJOR}.new-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{MAJOR}.new-", dir=site.root))
    try:
        os.chown(folder, site.uid, site.gid)
        _initdb(site, bin_folder, folder)
        _append(folder / "postgresql.conf", "\ninclude_if_exists = 'recollect.conf'\n")
        folder.rename(site.data)
        _sync(site.root)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _initdb(site: Site, bin_folder: Path, folder: Path) -> None:
    # Everybody who reaches the socket is let in: its folder is 0700, and `peer` would turn away root's own processes,
    # whose name is not that of the user the server runs as.
    access = ["--username=postgres", "--auth-local=trust", "--auth-host=reject"]
    text = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    rest = ["--data-checksums", "--no-instructions"]
    done = run(site, [bin_folder / "initdb", "--pgdata", folder, *access, *text, *rest])
    if done.returncode:
        raise EmbeddedServerFailed(describe_failure(f"initdb could not make {site.data}", done.stdout))


def _append(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW), "a") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def ensure_socket_folder(site: Site) -> Path:
    """Return a folder that only the server's user can enter, with a path short and plain enough for a socket."""
    folder = site.root / "socket"
    if not _is_socket_path(folder):
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
            f"{folder} should be a folder that only {get_user_name(site.uid)} can enter (0700) and is not; "
            "remove it and try again, or set RECOLLECT_HOME to another folder with a short path."
        )
    return folder


def _is_socket_path(folder: Path) -> bool:
    # 103 bytes is the smallest limit among the systems we run on; commas would be read as a list of hosts.
    plain = re.fullmatch(r"[^,'\"\\\x00-\x1f]+", str(folder)) is not None
    return plain and len(os.fsencode(folder / f".s.PGSQL.{PORT}")) <= 103


def _measure_memory() -> int:
    """Return the megabytes this process may use: the machine's, or the container's if that is less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return memory // 2**20
