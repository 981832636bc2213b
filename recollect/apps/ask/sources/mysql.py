"""Connections to MySQL and MariaDB with PyMySQL. `make_mysql_opener` is the entry point.

PyMySQL reads no option file unless it is named, and none is named here. The socket goes to an address that was
checked; the host's name is used for TLS alone.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from pymysql import err
from pymysql.connections import Connection, MySQLResult
from pymysql.constants import CR
from pymysql.cursors import Cursor, SSCursor

from recollect.apps.ask.sources.address_rules import Address
from recollect.apps.ask.sources.running import CANCEL_SECONDS, CONNECT_SECONDS

PORT = 3306
# The gate reads statements by these rules of quoting; an account's own mode could make a name of a text.
SQL_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
# With these the server would learn the password itself.
REFUSED_PLUGINS = (b"mysql_clear_password", b"mysql_old_password", b"dialog")


class MySQLConnection(Connection):  # type: ignore[misc, unused-ignore]
    """A connection that can be cancelled from another thread and gives no file or password to a server that asks."""

    address: Address
    endpoint: tuple[str, int] | str

    @property
    def is_mariadb(self) -> bool:
        return "mariadb" in str(self.get_server_info()).lower()

    def interrupt(self) -> None:
        """Stop the statement that runs on this connection. If the server takes no other connection to say so, this
        one is closed; the server then ends the statement when its time is up."""
        other = make_connection(self.address)
        try:
            other.connect(open_socket(self.endpoint, CANCEL_SECONDS))
            with other.cursor() as cursor:
                cursor.execute(f"KILL QUERY {int(self.thread_id())}")
        except (err.Error, OSError):
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)
        finally:
            if other.open:
                other.close()

    def limit_time(self, seconds: float) -> None:
        """Have the server stop each statement after this time, and stop waiting a little later."""
        limit = f"max_execution_time = {round(seconds * 1000)}"
        if self.is_mariadb:
            limit = f"max_statement_time = {seconds:.3f}"
        with self.cursor() as cursor:
            cursor.execute(f"SET SESSION {limit}")
            cursor.execute("START TRANSACTION READ ONLY")
        self._read_timeout = seconds + CANCEL_SECONDS

    def cursor(self, cursor: Any = None) -> Any:
        return super().cursor(StreamingCursor if cursor is SSCursor else cursor)

    def _process_auth(self, plugin_name: bytes, auth_packet: Any, *more: Any) -> Any:
        if plugin_name in REFUSED_PLUGINS:
            name = plugin_name.decode()
            raise err.OperationalError(
                CR.CR_AUTH_PLUGIN_ERR, f"the server asks for the plugin {name}, which is refused"
            )
        return super()._process_auth(plugin_name, auth_packet, *more)

    def _read_query_result(self, unbuffered: bool = False) -> Any:
        try:
            return super()._read_query_result(unbuffered)
        except RuntimeError as error:  # a server that asks for a file (LOAD DATA LOCAL)
            self._force_close()
            raise err.OperationalError(CR.CR_MALFORMED_PACKET, str(error)) from None


class StreamingCursor(SSCursor):  # type: ignore[misc, unused-ignore]
    """Rows as they are fetched. PyMySQL reads the rest when it is closed, so the statement is cancelled first."""

    connection: Any

    def close(self) -> None:
        result: MySQLResult | None = self._result
        if self.connection is None or result is None or not result.unbuffered_active:
            super().close()
            return
        self.connection.interrupt()
        try:
            super().close()
        except err.OperationalError:  # the statement says that it was cancelled
            result.unbuffered_active = False
            self.connection = None


def make_mysql_opener(address: Address, find: Callable[[], Sequence[str]]) -> Callable[[], MySQLConnection]:
    """Return a function that opens a connection. It calls `find` each time for the checked addresses of the host."""

    def connect() -> MySQLConnection:
        if address.socket:
            return connect_to(address, address.socket)
        places = [(each, address.port or PORT) for each in find()]
        for place in places[:-1]:
            try:
                return connect_to(address, place)
            except err.OperationalError as error:
                if error.args[0] != CR.CR_CONN_HOST_ERROR:
                    raise
        return connect_to(address, places[-1])

    return connect


def connect_to(address: Address, endpoint: tuple[str, int] | str) -> MySQLConnection:
    """Return an open connection whose session can only read and quotes as the gate expects."""
    made = make_connection(address)
    made.endpoint = endpoint
    seconds = float(address.parameters.get("connect_timeout", CONNECT_SECONDS))
    try:
        opened = open_socket(endpoint, seconds)
    except OSError as error:
        raise err.OperationalError(CR.CR_CONN_HOST_ERROR, f"cannot connect to {endpoint}: {error}") from None
    made.connect(opened)
    # MariaDB's mode does not know that a key determines the other columns, and refuses such statements.
    mode = SQL_MODE if made.is_mariadb else f"ONLY_FULL_GROUP_BY,{SQL_MODE}"
    with made.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = %s", (mode,))
        cursor.execute("SET SESSION TRANSACTION READ ONLY")
    return made


def make_connection(address: Address) -> MySQLConnection:
    """Return a connection that is not open yet."""
    mode = address.parameters.get("sslmode", "prefer")
    made = MySQLConnection(
        host=address.host or "localhost",
        user=address.user,
        password=address.password.encode(),  # PyMySQL itself would take Latin-1
        database=address.database,
        charset="utf8mb4",
        cursorclass=Cursor,
        local_infile=False,
        autocommit=False,
        defer_connect=True,
        read_timeout=CONNECT_SECONDS,
        write_timeout=CONNECT_SECONDS,
        ssl_disabled=mode == "disable" or bool(address.socket),
        ssl=make_tls_context(address) if mode in ("require", "verify-full") else None,
    )
    made.address = address
    return made


def make_tls_context(address: Address) -> ssl.SSLContext:
    """Return a context that checks the server's certificate if the address says verify-full."""
    context = ssl.create_default_context(cafile=address.parameters.get("sslrootcert"))
    if address.parameters["sslmode"] != "verify-full":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def open_socket(endpoint: tuple[str, int] | str, seconds: float) -> socket.socket:
    """Return a connected socket: to an address, never to a name, or to a Unix socket."""
    if isinstance(endpoint, tuple):
        made = socket.create_connection(endpoint, seconds)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return made
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(seconds)
    made.connect(endpoint)
    return made
