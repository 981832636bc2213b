"""MySQL sources: what a server that means harm gets from us (always run), and what only MySQL has, on a real server
where there is one."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.apps.ask.sources.address_rules import LOCAL_RULES, SourceRules, read_host_list
from recollect.apps.ask.sources.running import make_names_unique
from recollect.apps.ask.sources.source import open_source
from recollect.errors import QueryFailed, SourceUnavailable
from tests.apps.ask.conftest import Opener
from tests.apps.ask.shop_data import mysql_owner, mysql_shop

SECRET = "the-operators-password"
TLS = 0x800
SALT = b"12345678", b"123456789012\0"
OK = b"\x00\x00\x00\x02\x00\x00\x00"


def greeting(flags: int = 0) -> bytes:
    """The first packet of a server; PROTOCOL_41, SECURE_CONNECTION and PLUGIN_AUTH are among its flags."""
    flags |= 0x200 | 0x8000 | 0x80000 | 0x1 | 0x8
    head = b"\x0a8.0.36\0" + struct.pack("<I", 7) + SALT[0] + b"\0" + struct.pack("<H", flags & 0xFFFF)
    return head + b"\x2d" + struct.pack("<HHB", 2, flags >> 16, 21) + b"\0" * 10 + SALT[1] + b"mysql_native_password\0"


@contextmanager
def rogue(*answers: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A server on loopback that greets and then answers each packet with the next of these; its port, and all that it
    was sent."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            client, _ = server.accept()
            with client:
                client.settimeout(3)
                try:
                    send(client, greeting(), 0)
                    for answer in answers:
                        number = receive(client, heard)
                        send(client, answer, number + 1)
                    while True:
                        receive(client, heard)
                except (OSError, EOFError):
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], heard
        thread.join(10)
        assert not thread.is_alive()


def send(client: socket.socket, packet: bytes, number: int) -> None:
    client.sendall(struct.pack("<I", len(packet))[:3] + bytes([number]) + packet)


def receive(client: socket.socket, heard: list[bytes]) -> int:
    head = client.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        raise EOFError
    heard.append(client.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL))
    return head[3]


async def refuse(port: int, parameters: str = "") -> str:
    with pytest.raises(SourceUnavailable) as refused:
        await open_source(f"mysql://reader:{SECRET}@127.0.0.1:{port}/shop{parameters}", rules=LOCAL_RULES)
    assert SECRET not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("plugin", ["mysql_clear_password", "mysql_old_password", "dialog"])
async def test_password_is_not_sent_to_a_server_that_asks_for_it(plugin: str) -> None:
    switch = b"\xfe" + plugin.encode() + b"\0" + b"Password: "
    with rogue(switch, OK) as (port, heard):
        assert f"plugin {plugin}, which is refused" in await refuse(port)
    assert heard
    assert not any(SECRET.encode() in packet for packet in heard)


async def test_file_is_not_sent_to_a_server_that_asks_for_it(tmp_path: Path) -> None:
    private = tmp_path / "private.txt"
    private.write_text("what is in the file")
    # The account, SET NAMES and SET AUTOCOMMIT are accepted; the answer to the next statement is a request for a file.
    with rogue(OK, OK, OK, b"\xfb" + str(private).encode()) as (port, heard):
        assert "LOAD_LOCAL" in await refuse(port)
    assert len(heard) >= 4
    assert not any(b"what is in the file" in packet for packet in heard)


@pytest.mark.parametrize("mode", ["require", "verify-full"])
async def test_nothing_is_sent_without_tls_where_it_is_required(mode: str) -> None:
    with rogue() as (port, heard):
        assert "SSL is required" in await refuse(port, f"?sslmode={mode}")
    assert heard == []


async def test_no_option_file_or_variable_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".my.cnf").write_text(f"[client]\nuser=operator\npassword={SECRET}\ninit_command=SELECT 1\n")
    for name, value in {"HOME": str(tmp_path), "MYSQL_PWD": SECRET, "MYSQL_HOST": "x", "USER": "operator"}.items():
        monkeypatch.setenv(name, value)
    with rogue(b"\xff\x15\x04#28000denied") as (port, heard), pytest.raises(SourceUnavailable):
        await open_source(f"mysql://reader@127.0.0.1:{port}/shop", rules=LOCAL_RULES)
    assert b"reader\0" in heard[0]
    assert b"operator" not in heard[0]


@pytest.mark.parametrize("found", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["10.0.0.1"], ["169.254.169.254"]])
async def test_name_is_resolved_once_and_its_addresses_are_checked(found: list[str]) -> None:
    asked: list[str] = []

    def resolve(host: str) -> Sequence[str]:
        asked.append(host)
        return found

    with pytest.raises(SourceUnavailable, match="check the address and the account"):
        await open_source("mysql://u:p@db.example.com/shop", rules=SourceRules(), resolve=resolve)
    assert asked == ["db.example.com"]


async def test_connection_goes_to_the_address_that_was_checked() -> None:
    rules = SourceRules(allowed=read_host_list("127.0.0.0/8"))
    with rogue(b"\xff\x15\x04#28000denied") as (port, heard), pytest.raises(SourceUnavailable):
        await open_source(f"mysql://u:p@db.example.com:{port}/d", rules=rules, resolve=lambda host: ["127.0.0.1"])
    assert len(heard) == 1


@pytest.mark.parametrize(
    ("sql", "unique"),
    [
        ("SELECT id, name FROM t", "SELECT id, name FROM t"),
        ("SELECT a.id, b.id FROM a, b LIMIT 5", "SELECT a.id, b.id AS `id #1` FROM a, b LIMIT 5"),
        ("SELECT 1 AS x, 2 AS X UNION SELECT 3, 4", "SELECT 1 AS x, 2 AS `X #1` UNION SELECT 3, 4"),
        ("this is no SQL (", "this is no SQL ("),
    ],
)
def test_columns_of_one_name_get_different_ones(sql: str, unique: str) -> None:
    assert make_names_unique(sql)[0] == unique


# On a real server -----------------------------------------------------------------------------------------------------


async def test_statement_may_have_two_columns_of_one_name(mysql: str, opened: Opener) -> None:
    source = await opened(mysql_shop(mysql))
    found = await source.run("SELECT o.id, c.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id = 2")
    assert (found.columns, found.rows) == (("id", "id"), ((2, 2),))


async def test_session_cannot_write_and_quotes_as_the_gate_expects(mysql: str, opened: Opener) -> None:
    with mysql_owner(mysql) as owner:
        owner.cursor().execute("SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'")
        source = await opened(mysql_shop(mysql))
        owner.cursor().execute("SET GLOBAL sql_mode = DEFAULT")
    [[mode, text]] = (await source.run('SELECT @@sql_mode, "x"')).rows
    assert text == "x"
    assert "ANSI_QUOTES" not in mode
    assert "BACKSLASH" not in mode
    for sql in (
        "SELECT 1 INTO OUTFILE '/tmp/recollect-written'",
        "SELECT 1 INTO @x",
        "SELECT * FROM orders FOR UPDATE",
    ):
        with pytest.raises(QueryFailed):
            await source.run(sql)


async def test_other_databases_of_the_server_are_not_in_the_catalog(mysql: str, opened: Opener) -> None:
    mysql_shop(mysql)
    catalog = await (await opened(mysql_shop(mysql))).read_catalog()
    assert {table.name for table in catalog.tables} == {"customers", "products", "orders", "order_items", "big_orders"}


async def test_cancelled_task_ends_its_statement_on_the_server(mysql: str, opened: Opener) -> None:
    source = await opened(mysql_shop(mysql))
    task = asyncio.create_task(source.run("SELECT sleep(300)", timeout=200))
    await until_asleep(mysql, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_asleep(mysql, 0)
    assert (await source.run("SELECT 1")).rows == ((1,),)


async def until_asleep(server: str, wanted: int) -> None:
    for _ in range(1000):
        with mysql_owner(server) as owner:
            cursor = owner.cursor()
            cursor.execute("SELECT count(*) FROM information_schema.processlist WHERE state = 'User sleep'")
            if cursor.fetchone() == (wanted,):
                return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not happen")


async def test_statement_ends_where_the_server_takes_no_second_connection(mysql: str, opened: Opener) -> None:
    source = await opened(mysql_shop(mysql).replace("owner:", "single:"))
    task = asyncio.create_task(source.run("SELECT sleep(300)", timeout=8))
    await until_asleep(mysql, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_asleep(mysql, 0)


async def test_long_text_is_cut_before_it_leaves_the_server(mysql: str, opened: Opener) -> None:
    source = await opened(mysql_shop(mysql))
    [[text]] = (await source.run("SELECT repeat('é', 3000000)")).rows
    assert len(text) == 20_001


async def test_wrong_password_is_not_shown(mysql: str) -> None:
    with pytest.raises(SourceUnavailable, match="Access denied") as refused:
        await open_source(mysql.replace("owner:", "owner:wrong-") + "mysql", rules=LOCAL_RULES)
    assert "wrong-" not in str(refused.value)
