"""Addresses of data sources against real parts: a server on loopback, a PostgreSQL, listeners that see what is sent. No
address but loopback is contacted; names are resolved by the tests."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import struct
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from recollect import Engine, Scope, connect
from recollect.apps.ask.semantic.catalog import Catalog
from recollect.apps.ask.source_registry import SourceRegistry
from recollect.apps.ask.sources.address_rules import LOCAL_RULES, SourceRules, read_host_list, read_rules
from recollect.apps.ask.sources.opening import Resolve
from recollect.apps.ask.sources.source import open_source
from recollect.errors import InvalidInput, SourceUnavailable
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings
from recollect.values.data_source import DataSource
from tests.apps.ask.asking_door import SOURCES, Door, Doors
from tests.apps.ask.conftest import as_url
from tests.apps.ask.hostile_addresses import REFUSED
from tests.apps.ask.shop_data import sqlite_shop

DANA = Scope("dana", project="company")
SECRET = "the-operators-password"
BARE = Catalog("postgres").to_data()
CLEAR_TEXT = b"R" + struct.pack("!ii", 8, 3)  # AuthenticationCleartextPassword


@dataclass
class Listener:
    """A loopback port; with `asks` it speaks enough of PostgreSQL to ask for a password in clear text."""

    port: int
    accepted: int = 0
    heard: list[bytes] = field(default_factory=list)


@contextmanager
def listening(*, asks: bool = False) -> Iterator[Listener]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        listener = Listener(server.getsockname()[1])
        server.settimeout(0.1)
        is_over = threading.Event()

        def serve() -> None:
            while not is_over.is_set():
                try:
                    client, _ = server.accept()
                except TimeoutError:
                    continue
                listener.accepted += 1
                with client:
                    client.settimeout(2)
                    if asks:
                        listener.heard.append(ask_for_password(client))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener
        finally:
            is_over.set()
            thread.join()


def ask_for_password(client: socket.socket) -> bytes:
    """What is sent after the server has asked for a password."""
    if len(client.recv(8)) == 8:  # may it be TLS?
        client.sendall(b"N")
    client.recv(1000)
    client.sendall(CLEAR_TEXT)
    try:
        return client.recv(1000)
    except OSError:
        return b""


def resolver(*answers: Sequence[str]) -> tuple[list[str], Resolve]:
    """The names that were looked up, and a resolver that gives these answers one after the other."""
    asked: list[str] = []
    left = list(answers)

    def resolve(host: str) -> Sequence[str]:
        asked.append(host)
        return left.pop(0)

    return asked, resolve


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        yield memory


def library_of(engine: Engine, settings: Settings, home: Path, **given: Any) -> SourceRegistry:
    changed = replace(settings, **given)
    return SourceRegistry(engine, changed, read_rules(changed, home))


# Before anything is sent ----------------------------------------------------------------------------------------------


def test_hostile_addresses_are_refused_over_http_and_nothing_is_sent(
    doors: Doors, sample: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    private, written = tmp_path / "private.db", tmp_path / "keys.log"
    sqlite3.connect(private).execute("CREATE TABLE t (secret TEXT)").connection.close()
    door = doors(source_folders=f"{folder}:{sample.parent}")
    with listening() as listener:
        fill = {"file": str(private), "folder": str(folder), "port": str(listener.port), "written": str(written)}
        for dsn in REFUSED:
            for name, value in fill.items():
                dsn = dsn.replace(f"{{{name}}}", value)
            answer = door.http.post(SOURCES, json={"name": "x", "dsn": dsn})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request"), dsn
        assert listener.accepted == 0
    assert not written.exists()
    assert [each["name"] for each in door.http.get(SOURCES).json()["datasources"]] == ["sales"]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "10.0.0.1"])
@pytest.mark.parametrize("more", [(), ("8.8.8.8",)])
async def test_a_name_that_resolves_to_a_refused_address_is_not_connected_to(
    address: str, more: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    asked, resolve = resolver((*more, address))
    with listening() as listener:
        dsn = f"postgresql://u:p@db.example.com:{listener.port}/shop"
        with pytest.raises(SourceUnavailable, match="cannot connect"):
            await open_source(dsn, rules=SourceRules(), resolve=resolve)
        assert listener.accepted == 0
    assert asked == ["db.example.com"]
    assert "not allowed" in caplog.text


def test_localhost_is_refused_over_http(door: Door) -> None:
    with listening() as listener:
        for host in ("localhost", "LOCALHOST"):
            dsn = f"postgresql://u:p@{host}:{listener.port}/shop"
            assert door.http.post(SOURCES, json={"name": "x", "dsn": dsn}).status_code == 503
        assert listener.accepted == 0


async def test_a_name_is_resolved_once_and_the_checked_address_is_used() -> None:
    """A second look at the name would give another address, and the system does not know the name at all."""
    asked, resolve = resolver(["127.0.0.1"], ["10.0.0.1"])
    with listening() as listener:
        dsn = f"postgresql://u:p@rebinding.invalid:{listener.port}/shop"
        with pytest.raises(SourceUnavailable):
            await open_source(dsn, rules=SourceRules(private=True), resolve=resolve)
        assert listener.accepted == 1
    assert asked == ["rebinding.invalid"]


async def test_denied_hosts_count_for_local_callers_too() -> None:
    rules = replace(LOCAL_RULES, denied=read_host_list("127.0.0.0/8"))
    with listening() as listener:
        with pytest.raises(InvalidInput, match="not allowed"):
            await open_source(f"postgresql://u:p@127.0.0.1:{listener.port}/d", rules=rules)
        assert listener.accepted == 0


# Nothing of the server's user -----------------------------------------------------------------------------------------


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the server's user has in the environment and in a password file."""
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:*:{SECRET}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("PGPASSFILE", str(file))
    monkeypatch.setenv("PGOPTIONS", "-c application_name=told")
    monkeypatch.setenv("PGHOSTADDR", "10.255.255.1")


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("is_local", [False, True])
async def test_a_host_that_asks_for_a_password_gets_none_of_the_servers(is_local: bool) -> None:
    rules = LOCAL_RULES if is_local else SourceRules(private=True)
    with listening(asks=True) as listener, pytest.raises(SourceUnavailable):
        await open_source(f"postgresql://u@127.0.0.1:{listener.port}/d", rules=rules)
    assert listener.heard
    assert all(SECRET.encode() not in each for each in listener.heard)


@pytest.mark.usefixtures("credentials")
async def test_a_deployment_may_let_local_sources_use_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGHOSTADDR")
    with listening(asks=True) as listener, pytest.raises(SourceUnavailable):
        await open_source(f"postgresql://u@127.0.0.1:{listener.port}/d", rules=replace(LOCAL_RULES, environment=True))
    assert any(SECRET.encode() in each for each in listener.heard)


# Our own database -----------------------------------------------------------------------------------------------------


def own_addresses(database: str) -> list[str]:
    given = conninfo_to_dict(database)
    head = f"postgresql://{given['user']}@"
    where = f"?host={given['host']}&port={given['port']}"
    return [as_url(database), f"{head}/postgres{where}", f"{head}/template1{where}"]


async def wait_for_no_connection(database: str) -> None:
    """Wait until no data source is connected to the test's own database: a server process ends after its client."""
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'recollect' AND datname = current_database()"
    )
    async with asyncio.timeout(30), await psycopg.AsyncConnection.connect(database, autocommit=True) as owner:
        while await (await owner.execute(query)).fetchone() != (0,):  # noqa: ASYNC110 - nothing notifies us
            await asyncio.sleep(0.05)


async def test_our_own_server_is_refused_by_its_identity(
    engine: Engine, settings: Settings, database: str, tmp_path: Path
) -> None:
    """Also where the socket is allowed, for local callers, and by another database of the server."""
    folder = str(conninfo_to_dict(database)["host"])
    library = library_of(engine, settings, tmp_path, source_sockets=folder)
    for dsn in own_addresses(database):
        for local in (False, True):
            with pytest.raises(InvalidInput, match="own database server"):
                await library.add(DANA, "own", dsn, local=local)
    assert await library.find_all(DANA) == []
    await wait_for_no_connection(database)


async def test_other_databases_of_our_server_may_be_allowed(
    engine: Engine, settings: Settings, database: str, tmp_path: Path
) -> None:
    library = library_of(engine, settings, tmp_path, source_same_server=True)
    own, other, _ = own_addresses(database)
    with pytest.raises(InvalidInput, match="own database,"):
        await library.add(DANA, "own", own, local=True)
    await library.add(DANA, "other", other, local=True)
    await library.close()


# Files and their links ------------------------------------------------------------------------------------------------


async def test_links_that_lead_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    sqlite_shop(outside)
    sqlite_shop(inside)
    (inside / "link.db").symlink_to(outside / "shop.db")
    (inside / "folder").symlink_to(outside)
    (inside / "loop.db").symlink_to(inside / "loop.db")
    (inside / "own.db").symlink_to(inside / "shop.db")
    rules = SourceRules(folders=(inside,))
    for name in ("shop.db", "own.db"):
        await (await open_source(f"sqlite:///{inside}/{name}", rules=rules)).close()
    for name in ("link.db", "folder/shop.db", "loop.db"):
        with pytest.raises(SourceUnavailable, match="cannot connect"):
            await open_source(f"sqlite:///{inside}/{name}", rules=rules)


async def test_a_folder_that_is_a_link_itself_may_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    sqlite_shop(tmp_path / "real")
    (tmp_path / "named").symlink_to(tmp_path / "real")
    rules = SourceRules(folders=(tmp_path / "named",))
    await (await open_source(f"sqlite:///{tmp_path}/named/shop.db", rules=rules)).close()


async def test_a_link_that_changes_is_noticed_at_the_next_connection(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        sqlite_shop(folder)
    (inside / "link.db").symlink_to(inside / "shop.db")
    source = await open_source(f"sqlite:///{inside}/link.db", rules=SourceRules(folders=(inside,)))
    (inside / "link.db").unlink()
    (inside / "link.db").symlink_to(outside / "shop.db")
    source._engine.dispose()
    with pytest.raises(SourceUnavailable, match="cannot connect"):
        await source.run("SELECT 1")
    await source.close()


# One message ----------------------------------------------------------------------------------------------------------


async def test_a_failure_to_connect_does_not_tell_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "text.db").write_text("This is a letter, and a rather long one. " * 50)
    (tmp_path / "folder").mkdir()
    rules = SourceRules(private=True, folders=(tmp_path,))
    told: set[str] = set()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = closed.getsockname()[1]
    with listening() as silent, listening(asks=True) as asking:
        addresses = [
            *(f"sqlite:///{tmp_path}/{name}" for name in ("missing.db", "text.db", "folder", "no/such/folder.db")),
            *(f"postgresql://u:p@127.0.0.1:{port}/d" for port in (nobody, silent.port, asking.port)),
            "postgresql://u:p@unknown.invalid/d",
        ]
        for dsn in addresses:
            with pytest.raises(SourceUnavailable) as refused:
                await open_source(dsn, rules=rules, resolve=resolver(["169.254.1.1"])[1])
            told.add(str(refused.value).replace(dsn.replace(":p@", ":***@"), "ADDRESS"))
    assert told == {
        "cannot connect to ADDRESS; check the address and the account (the server's log has the reason)",
    }
    assert len(caplog.records) == len(addresses)
    for reason in ("missing.db", "not a database", "Connection refused", "169.254.1.1"):
        assert reason in caplog.text


# Sources that are kept ------------------------------------------------------------------------------------------------


async def test_a_kept_address_is_checked_whenever_it_is_opened(
    engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    dsn = sqlite_shop(tmp_path)
    first = library_of(engine, settings, tmp_path)
    await first.add(DANA, "network", dsn)
    await first.add(DANA, "local", dsn, local=True)
    await first.close()

    stricter = library_of(engine, settings, tmp_path, source_folders="/srv/elsewhere")
    with pytest.raises(InvalidInput, match="RECOLLECT_SOURCE_FOLDERS"):
        await stricter.find(DANA, "network")
    assert (await stricter.find(DANA, "local")).entry.is_local
    await stricter.close()

    strictest = library_of(engine, settings, tmp_path, source_folders="/srv/elsewhere", source_local=False)
    with pytest.raises(InvalidInput, match="RECOLLECT_SOURCE_FOLDERS"):
        await strictest.find(DANA, "local")


async def test_an_address_that_was_kept_before_the_rules_is_not_opened(
    engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    written = tmp_path / "keys.log"
    kept = DataSource("old", f"postgresql://u@db.example.com/d?sslkeylogfile={written}", "postgres", "f", BARE, {})
    await engine.sources.put(DANA, kept)
    with pytest.raises(InvalidInput, match="sslkeylogfile"):
        await library_of(engine, settings, tmp_path).find(DANA, "old")
    assert not written.exists()


async def test_a_network_caller_cannot_take_over_a_local_source(
    engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    """Adding by the same name gives the source the rules of the network again; editing keeps the address."""
    dsn = sqlite_shop(tmp_path)
    library = library_of(engine, settings, tmp_path, source_folders="/srv/elsewhere")
    await library.add(DANA, "shop", dsn, local=True)
    with pytest.raises(InvalidInput):
        await library.add(DANA, "shop", dsn)
    assert (await library.edit(DANA, "shop", access={})).entry.is_local
    assert (await library.refresh(DANA, "shop"))[0].entry.is_local
    await library.close()

    open_to_all = library_of(engine, settings, tmp_path)
    assert not (await open_to_all.add(DANA, "shop", dsn)).entry.is_local
    await open_to_all.close()


def test_a_data_key_cannot_read_another_projects_file(doors: Doors, sample: Path, tmp_path: Path) -> None:
    for project in ("default", "other"):
        (tmp_path / project).mkdir()
        sqlite_shop(tmp_path / project)
    door = doors(source_folders=f"{tmp_path}/{{project}}:{sample.parent}")
    data = door.closed()["data"]
    for project, status in (("default", 201), ("other", 400)):
        body = {"name": "shop", "dsn": f"sqlite:///{tmp_path}/{project}/shop.db"}
        assert door.http.post(SOURCES, json=body, headers=data).status_code == status
