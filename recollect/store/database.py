"""The database as the store uses it: a pool of connections, and transactions that are each bound to one scope.

`run` sends a whole transaction (begin, open the scope, the statements, commit) in one round trip. `transaction` is for
the few flows that must look at an answer before they go on. Driver errors become ours here and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
import select
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.pq import ExecStatus
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from recollect.errors import InvalidInput, Outdated, RecollectError, SchemaMismatch, StoreUnavailable
from recollect.model.ids import ScopeId
from recollect.store.queries import queries

log = logging.getLogger("recollect.sql")

Statement: TypeAlias = tuple[str, Mapping[str, Any]]
Row: TypeAlias = tuple[Any, ...]
Connection: TypeAlias = AsyncConnection[Row]
T = TypeVar("T")

# The transaction certainly did not happen, and would if it were tried again: serialization failure, deadlock.
ROLLED_BACK = ("40001", "40P01")
# The server went away or is read-only for the moment: a read can be repeated.
WENT_AWAY = ("08", "57P", "25006")
TRIES = 3
LOST_SECONDS = 1.0  # to wait for a connection while the server is away: callers are told within two seconds


class Reach:
    """Whether the server gave a connection when it was last asked for one."""

    def __init__(self) -> None:
        self.is_lost = False


class Database:
    def __init__(
        self, pool: AsyncConnectionPool[Connection], *, reach: Reach | None = None, echo: bool = False
    ) -> None:
        self._pool = pool
        self._reach = reach or Reach()
        self._echo = echo

    async def run(
        self, scope: ScopeId, *statements: Statement, write: bool = False, planned: bool = True
    ) -> list[list[Row]]:
        """The statements in one transaction and one round trip; the rows of each. A read that goes by a short key
        whatever its parameters need not be `planned` anew each time."""
        begin = opening(write or not planned)
        return await repeated(lambda: self._run_once(scope, [(begin, {}), *statements]), write)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        """A connection that works. Not left to the pool's `check`, which pauses for seconds after each that does not:
        when the server was started anew, none does."""
        is_away = False
        while True:
            connection = await self._borrowed(is_away)
            try:
                if not hung_up(connection):
                    async with connection:
                        yield connection
                    return
                is_away = True
                await connection.close()
            finally:
                await self._pool.putconn(connection)

    async def _borrowed(self, is_away: bool) -> Connection:
        """A busy pool is worth waiting for; a server that is away is not."""
        until = time.monotonic() + self._pool.timeout
        while True:
            try:
                return await self._pool.getconn(min(LOST_SECONDS, self._pool.timeout))
            except PoolTimeout:
                if is_away or self._reach.is_lost or time.monotonic() >= until:
                    raise

    async def _run_once(self, scope: ScopeId, statements: Sequence[Statement]) -> list[list[Row]]:
        async with self._connection() as connection:
            cursors = await self._pipelined(connection, statements, scope)
            return [await cursor.fetchall() if has_rows(cursor) else [] for cursor in cursors[1:]]

    async def _pipelined(
        self, connection: Connection, statements: Sequence[Statement], scope: ScopeId
    ) -> list[AsyncCursor[Row]]:
        """All that goes out before the pipeline's one Sync is one transaction: BEGIN and COMMIT need not be sent. The
        first error is kept until the pipeline is closed; it would be warned of as if it had been lost."""
        cursors: list[AsyncCursor[Row]] = []
        first: psycopg.Error | None = None
        try:
            async with connection.pipeline():
                try:
                    for name, parameters in statements:
                        cursors.append(await self._execute(connection, name, {"scope": scope, **parameters}))
                except psycopg.Error as error:
                    first = error
        except psycopg.Error as error:
            raise (first or error) from None
        if first is not None:  # it never reached the server, such as a NUL in a text
            raise first
        return cursors

    async def write_one(self, scope: ScopeId, name: str, parameters: Mapping[str, Any]) -> list[Row]:
        """One statement that opens its scope itself: the cheapest way to write, without so much as a pipeline."""

        async def once() -> list[Row]:
            async with self._connection() as connection:
                cursor = await self._execute(connection, name, {"scope": scope, **parameters})
                return await cursor.fetchall()

        return await repeated(once, write=True)

    @asynccontextmanager
    async def transaction(self, scope: ScopeId) -> AsyncIterator[Transaction]:
        """Several round trips that write together or not at all."""
        try:
            async with self._connection() as connection, connection.transaction():
                await self._execute(connection, opening(write=True), {"scope": scope})
                yield Transaction(self, connection, scope)
        except (psycopg.Error, PoolTimeout, PoolClosed) as error:
            raise translated(error) from error

    async def ask(self, name: str, parameters: Mapping[str, Any]) -> list[Row]:
        """One statement outside any scope: row-level security shows it no user's rows."""
        try:
            async with self._connection() as connection:
                cursor = await self._execute(connection, name, parameters)
                return await cursor.fetchall() if has_rows(cursor) else []
        except (psycopg.Error, PoolTimeout, PoolClosed) as error:
            raise translated(error) from error

    async def _execute(self, connection: Connection, name: str, parameters: Mapping[str, Any]) -> AsyncCursor[Row]:
        if self._echo:
            log.info("%s", name)
        cursor = connection.cursor(binary=True)
        return await cursor.execute(queries()[name], parameters)

    async def close(self) -> None:
        await self._pool.close()


class Transaction:
    """An open transaction of one scope."""

    def __init__(self, database: Database, connection: Connection, scope: ScopeId) -> None:
        self._database = database
        self._connection = connection
        self._scope = scope

    async def rows(self, name: str, /, **parameters: Any) -> list[Row]:
        cursor = await self._database._execute(self._connection, name, {"scope": self._scope, **parameters})
        return await cursor.fetchall() if has_rows(cursor) else []

    async def count(self, name: str, /, **parameters: Any) -> int:
        """How many rows a statement touched."""
        cursor = await self._database._execute(self._connection, name, {"scope": self._scope, **parameters})
        return cursor.rowcount

    async def copy(self, name: str, rows: Iterable[bytes]) -> None:
        """Bulk rows, each already in the text form of COPY."""
        async with self._connection.cursor().copy(queries()[name]) as copy:
            for row in rows:
                await copy.write(row)


async def repeated(work: Callable[[], Awaitable[T]], write: bool) -> T:
    """The work, tried again while that is safe; its errors as ours."""
    attempt = 1
    while True:
        try:
            return await work()
        except (psycopg.Error, PoolTimeout, PoolClosed) as error:
            if attempt == TRIES or not can_repeat(error, write):
                raise translated(error) from error
            await asyncio.sleep(0.02 * attempt)
            attempt += 1


def opening(write: bool) -> str:
    return "server.open_scope_to_write" if write else "server.open_scope"


def has_rows(cursor: AsyncCursor[Row]) -> bool:
    """Whether the statement was one that gives rows. `cursor.description` says so too, and makes an object of each
    column to do it."""
    result = cursor.pgresult
    return result is not None and result.status == ExecStatus.TUPLES_OK


def can_repeat(error: Exception, write: bool) -> bool:
    """Whether the same transaction may simply be sent again. A write whose commit got no answer may have happened."""
    state = getattr(error, "sqlstate", None)
    if state in ROLLED_BACK:
        return True
    lost = isinstance(error, psycopg.OperationalError) and not isinstance(error, PoolTimeout)
    return not write and lost and (state is None or state.startswith(WENT_AWAY))


def hung_up(connection: Connection) -> bool:
    """Whether the server closed an idle connection: it has nothing to say, so a readable socket means just that."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP)
    return bool(poll.poll(0))


def translated(error: Exception) -> RecollectError:
    """What a driver's error means to the person who called us."""
    match error:
        case PoolTimeout():
            return StoreUnavailable(
                "no connection to PostgreSQL became free in time; is the server up, and MEMORY_DB_POOL_SIZE enough?"
            )
        case psycopg.Error(sqlstate="RM001"):
            return Outdated("what is known was changed by another meanwhile; repeat the request")
        case PoolClosed():
            return StoreUnavailable("this engine was closed; connect again")
        case psycopg.errors.QueryCanceled():
            return StoreUnavailable("PostgreSQL took longer than MEMORY_DB_STATEMENT_TIMEOUT; repeat, or raise it")
        case psycopg.errors.UndefinedTable() | psycopg.errors.UndefinedFunction() | psycopg.errors.UndefinedColumn():
            return SchemaMismatch(f"the database lacks something ({first_line(error)}); run `recollect db migrate`")
        case psycopg.errors.InsufficientPrivilege():
            return SchemaMismatch(f"{first_line(error)}; run `recollect db check` to see what the role may do")
        case psycopg.DataError():
            return InvalidInput("input", first_line(error))
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return StoreUnavailable(
                f"PostgreSQL went away ({first_line(error)}); repeat the request, a write with the same idempotency key"
            )
        case _:
            return RecollectError(f"PostgreSQL refused the request: {first_line(error)}")


def first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
