"""The database as the store uses it: named queries, a pool of connections, and transactions that are each bound to one
scope. Driver errors are translated here and nowhere else.

A query is `<noun>.<name>`: the block under `-- name: <name>` in `<noun>.sql`. Queries are static; an optional filter is
`(%(x)s::type IS NULL OR column = %(x)s)`. `run` sends a whole transaction in one round trip. `transaction` is for the
few flows that need a result before they continue.
"""

from __future__ import annotations

import asyncio
import logging
import re
import select
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.pq import ExecStatus
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from recollect.deadline import count_waiting
from recollect.errors import InvalidInput, Outdated, RecollectError, SchemaMismatch, StoreUnavailable
from recollect.values.scope import ScopeId

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
NOUNS = (
    *("conversation", "turn", "sketch", "embedding", "chapter", "idempotency", "request", "server"),
    *("work", "holder", "evidence", "memory", "tally", "audit", "episode", "redaction", "upkeep", "term", "key"),
    *("report", "data_source", "shape", "document", "document_part", "chunk", "posting", "chunk_vector"),
    *("access", "backup", "distribute"),
)


@cache
def queries() -> dict[str, bytes]:
    """Return every named query, as the driver wants it."""
    found: dict[str, bytes] = {}
    for noun in NOUNS:
        _, *blocks = _NAME.split(files("recollect.store").joinpath(f"{noun}.sql").read_text())
        for name, body in zip(blocks[::2], blocks[1::2], strict=True):
            found[f"{noun}.{name}"] = body.strip().rstrip(";").encode()
    return found


log = logging.getLogger("recollect.store")

Statement: TypeAlias = tuple[str, Mapping[str, Any]]
Row: TypeAlias = tuple[Any, ...]
Connection: TypeAlias = AsyncConnection[Row]
T = TypeVar("T")

# The transaction was rolled back and can be retried: serialization failure, deadlock.
ROLLED_BACK = ("40001", "40P01")
# The server is down or read-only for the moment: a read can be repeated.
WENT_AWAY = ("08", "57P", "25006")
TRIES = 3
DRIVER_ERRORS = (psycopg.Error, PoolTimeout, PoolClosed)
STANDBY_PAUSES = (0.0, 0.005, 0.02)  # seconds before each look whether the standby has caught up
RETRY_STANDBY = 5.0  # seconds for which a standby that failed is left alone
LOST_SECONDS = 1.0  # to wait for a connection while the server is down, so that callers get an error within two seconds


class ServerReach:
    """Whether the last attempt to connect to the server failed."""

    def __init__(self) -> None:
        self.is_unreachable = False


class Database:
    """A pool of connections whose statements run in one scope each."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Connection],
        *,
        reach: ServerReach | None = None,
        echo: bool = False,
        setup: Sequence[Statement] = (),
        is_cluster: bool = False,
        standby: Database | None = None,
    ) -> None:
        """`setup` begins each transaction, where a session cannot be set up for all of them. Reads go to the `standby`
        while it has replayed everything that was acknowledged before they began."""
        self._pool = pool
        self._standby = standby
        self._standby_failed_at = -RETRY_STANDBY
        self._reach = reach or ServerReach()
        self._echo = echo
        self._setup = setup
        # A statement alone is a transaction too, and cheaper; but in it SET LOCAL does not reach other nodes.
        self._is_lone_enough = not setup and not is_cluster

    async def run(
        self, scope: ScopeId, *statements: Statement, write: bool = False, planned: bool = True
    ) -> list[list[Row]]:
        """Run the statements in one transaction and one round trip; return the rows of each. A read that always uses a
        short key need not be `planned` again each time."""
        opening: Statement = ("server.open_scope_to_write" if write or not planned else "server.open_scope", {})
        if self._standby is not None and not write:
            rows = await self._read_from_standby(self._standby, scope, [opening, *statements])
            if rows is not None:
                return rows[1:]
        return (await repeat_lost(lambda: self._fetch(scope, [opening, *statements]), write))[1:]

    async def read(self, scope: ScopeId, name: str, /, **parameters: Any) -> list[Row]:
        """Run one statement that reads; return its rows."""
        [rows] = await self.run(scope, (name, parameters))
        return rows

    async def write(self, scope: ScopeId, name: str, /, **parameters: Any) -> list[Row]:
        """Run one statement that writes; return its rows."""
        [rows] = await self.run(scope, (name, parameters), write=True)
        return rows

    async def _fetch(self, scope: ScopeId | None, statements: Sequence[Statement]) -> list[list[Row]]:
        async with self._connection() as connection:
            cursors = await self._run_pipeline(connection, statements, scope)
            return [await cursor.fetchall() if has_rows(cursor) else [] for cursor in cursors]

    async def _read_from_standby(
        self, standby: Database, scope: ScopeId, statements: Sequence[Statement]
    ) -> list[list[Row]] | None:
        """Return the rows of the standby; None if it lags behind what was acknowledged before this call, or fails.

        The primary is asked for its position each time, since other processes write too. That costs it far less than
        the read. The standby's position is read first in the transaction, so the statements see at least as much.
        """
        if time.monotonic() - self._standby_failed_at < RETRY_STANDBY:
            return None
        [(position,)] = await self.ask("server.written")
        for pause in STANDBY_PAUSES:
            await asyncio.sleep(pause)
            try:
                look: Statement = ("server.replayed", {"position": position})
                [[(is_current,)], *rows] = await standby._fetch(scope, [look, *statements])
            except DRIVER_ERRORS as error:
                self._standby_failed_at = time.monotonic()
                log.warning(
                    "the standby failed, reads go to the primary for %g s: %s", RETRY_STANDBY, get_first_line(error)
                )
                return None
            if is_current:
                return rows
        return None

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        """Yield a working connection. The pool's own `check` pauses for seconds after each broken one, and after a
        server restart all are broken."""
        is_away = False
        with count_waiting():
            while True:
                connection = await self._borrow(is_away)
                try:
                    if not is_hung_up(connection):
                        async with connection:
                            yield connection
                        return
                    is_away = True
                    await connection.close()
                finally:
                    await self._pool.putconn(connection)

    async def _borrow(self, is_away: bool) -> Connection:
        """Return a pooled connection. Waiting pays for a busy pool, but not for a server that is down."""
        until = time.monotonic() + self._pool.timeout
        while True:
            try:
                return await self._pool.getconn(min(LOST_SECONDS, self._pool.timeout))
            except PoolTimeout:
                if is_away or self._reach.is_unreachable or time.monotonic() >= until:
                    raise

    async def _run_pipeline(
        self, connection: Connection, statements: Sequence[Statement], scope: ScopeId | None
    ) -> list[AsyncCursor[Row]]:
        """Send the statements as one transaction in one pipeline; return their cursors. BEGIN is sent, although a
        pipeline is a transaction anyway: Citus tells its nodes only then what is SET LOCAL. The first error is kept
        until the pipeline is closed; otherwise it would be reported as lost."""
        cursors: list[AsyncCursor[Row]] = []
        first: psycopg.Error | None = None
        try:
            async with connection.pipeline():
                try:
                    queue_command(connection, queries()["server.begin"])
                    for name, parameters in (*self._setup, *statements):
                        cursor = self._open_cursor(connection, name)
                        cursors.append(await cursor.execute(queries()[name], {"scope": scope, **parameters}))
                    queue_command(connection, queries()["server.commit"])
                except psycopg.Error as error:
                    first = error
        except psycopg.Error as error:
            raise (first or find_first_error(error)) from None
        if first is not None:  # it never reached the server, such as a NUL in a text
            raise first
        return cursors[len(self._setup) :]

    async def _fetch_alone(self, name: str, parameters: Mapping[str, Any]) -> list[Row]:
        if not self._is_lone_enough:
            return (await self._fetch(None, [(name, parameters)]))[0]
        async with self._connection() as connection:
            cursor = await self._open_cursor(connection, name).execute(queries()[name], parameters)
            return await cursor.fetchall() if has_rows(cursor) else []

    async def write_one(self, scope: ScopeId, name: str, parameters: Mapping[str, Any]) -> list[Row]:
        """Run one statement that opens its scope itself; return its rows."""
        return await repeat_lost(lambda: self._fetch_alone(name, {"scope": scope, **parameters}), write=True)

    @asynccontextmanager
    async def transaction(self, scope: ScopeId) -> AsyncIterator[Transaction]:
        """Open a transaction of several round trips."""
        opening = "server.open_scope_to_write", {"scope": scope}
        with translated_errors():
            async with self._connection() as connection, connection.transaction():
                for name, parameters in (*self._setup, opening):
                    await self._open_cursor(connection, name).execute(queries()[name], parameters)
                yield Transaction(self, connection, scope)

    async def ask(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run one statement outside any scope; row-level security hides all users' rows from it."""
        with translated_errors():
            return await self._fetch_alone(name, parameters)

    async def ask_as_operator(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run one statement as `recollect_operator`, which may read across scopes; return its rows."""
        with translated_errors():
            return (await self._fetch(None, [("server.become_operator", {}), (name, parameters)]))[1]

    def _open_cursor(self, connection: Connection, name: str) -> AsyncCursor[Row]:
        """Return a cursor for the named query, which is logged if the setting says so."""
        if self._echo:
            log.info("%s", name)
        return connection.cursor(binary=True)

    async def close(self) -> None:
        await self._pool.close()
        if self._standby is not None:
            await self._standby.close()


class StorePart:
    """The statements about one group of tables."""

    def __init__(self, database: Database) -> None:
        self._database = database


class Transaction:
    """An open transaction of one scope."""

    def __init__(self, database: Database, connection: Connection, scope: ScopeId) -> None:
        self._database = database
        self._connection = connection
        self._scope = scope

    async def rows(self, name: str, /, **parameters: Any) -> list[Row]:
        cursor = await self._execute(name, parameters)
        return await cursor.fetchall() if has_rows(cursor) else []

    async def count(self, name: str, /, **parameters: Any) -> int:
        """Return how many rows a statement changed."""
        return (await self._execute(name, parameters)).rowcount

    async def delete(self, nouns: Iterable[str], name: str, /, **parameters: Any) -> dict[str, int]:
        """Run the statement of this name of each noun, in order; return how many rows each deleted."""
        return {noun: await self.count(f"{noun}.{name}", **parameters) for noun in nouns}

    async def _execute(self, name: str, parameters: Mapping[str, Any]) -> AsyncCursor[Row]:
        cursor = self._database._open_cursor(self._connection, name)
        return await cursor.execute(queries()[name], {"scope": self._scope, **parameters})


async def repeat_lost(fetch: Callable[[], Awaitable[T]], write: bool) -> T:
    """Return what `fetch` returns; try again after an error, a few times and if that is safe."""
    for attempt in range(1, TRIES):
        try:
            return await fetch()
        except DRIVER_ERRORS as error:
            if not can_repeat(error, write):
                raise translate_error(error) from error
            await asyncio.sleep(0.02 * attempt)
    with translated_errors():
        return await fetch()


def find_first_error(error: psycopg.Error) -> psycopg.Error:
    """Return the error that made a pipeline stop: psycopg may report it as the context of the commands that were then
    left out."""
    while isinstance(error, psycopg.errors.PipelineAborted) and isinstance(error.__context__, psycopg.Error):
        error = error.__context__
    return error


def queue_command(connection: Connection, command: bytes) -> None:
    """Add a command without parameters and rows to the open pipeline, as psycopg does for its own BEGIN and COMMIT. A
    cursor for it would cost as much as a query; psycopg's `transaction()` waits for an answer in between."""
    for _ in connection._exec_command(command):
        raise RuntimeError("the connection is not in pipeline mode")


def has_rows(cursor: AsyncCursor[Row]) -> bool:
    """Return whether the statement returns rows. `cursor.description` says so too, but builds an object per column."""
    result = cursor.pgresult
    return result is not None and result.status == ExecStatus.TUPLES_OK


def can_repeat(error: Exception, write: bool) -> bool:
    """Return whether the transaction may be sent again. A write whose commit got no answer may have happened."""
    state = getattr(error, "sqlstate", None)
    if state in ROLLED_BACK:
        return True
    lost = isinstance(error, psycopg.OperationalError) and not isinstance(error, PoolTimeout)
    return not write and lost and (state is None or state.startswith(WENT_AWAY))


def is_hung_up(connection: Connection) -> bool:
    """Return whether the server closed an idle connection: an idle socket that is readable means just that."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP)
    return bool(poll.poll(0))


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the driver's errors as ours."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise translate_error(error) from error


def translate_error(error: Exception) -> RecollectError:
    """Return the RecollectError for a driver's error."""
    match error:
        case PoolTimeout():
            return StoreUnavailable(
                "no connection to PostgreSQL became free in time; is the server up, and MEMORY_DB_POOL_SIZE enough?"
            )
        case psycopg.Error(sqlstate="RM001"):
            return Outdated("the memories were changed by another request; repeat this one")
        case PoolClosed():
            return StoreUnavailable("this engine was closed; connect again")
        case psycopg.errors.QueryCanceled():
            return StoreUnavailable("PostgreSQL took longer than MEMORY_DB_STATEMENT_TIMEOUT; repeat, or raise it")
        case psycopg.errors.UndefinedTable() | psycopg.errors.UndefinedFunction() | psycopg.errors.UndefinedColumn():
            return SchemaMismatch(f"the database lacks something ({get_first_line(error)}); run `recollect db migrate`")
        case psycopg.errors.InsufficientPrivilege():
            return SchemaMismatch(f"{get_first_line(error)}; run `recollect db check` to see what the role may do")
        case psycopg.DataError():
            return InvalidInput("input", get_first_line(error))
        case psycopg.OperationalError() | psycopg.InterfaceError() | psycopg.InternalError():
            # Away, restarting, read-only, out of connections or disk, or failing by itself: nothing is wrong with the
            # request.
            return StoreUnavailable(
                f"PostgreSQL cannot serve this now ({get_first_line(error)}); repeat the request, a write with the same"
                " idempotency key"
            )
        case _:
            return RecollectError(f"PostgreSQL refused the request: {get_first_line(error)}")


def get_first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
