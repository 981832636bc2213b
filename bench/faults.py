"""`python -m bench faults`: what was acknowledged survives kill -9, restarts, lost connections and a full server.

Clients write over HTTP to two server processes on one database and keep a history of what was acknowledged. Meanwhile
servers, the worker and PostgreSQL are killed or restarted, connections between servers and PostgreSQL are dropped or
hang, PostgreSQL's connections are used up, it becomes read-only, or slow clients hold connections. At
the end the histories are compared with what is stored: nothing acknowledged may be lost, doubled or out of order, and
nothing forgotten may be there.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import httpx
import psycopg
import typer
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bench.http_load import find_free_port
from recollect import Engine, Scope, connect
from recollect.cli.options import Json
from recollect.cli.output import FAILED, print_json, stderr_console
from recollect.store.connection import EmbeddedServer, make_database
from recollect.store.embedded import read_status

CONNECTIONS = 60  # PostgreSQL's limit
STALLED = 40  # connections to each server that never finish their request
PATIENCE = 30.0  # seconds until a client gives up a request; what became of it is then unknown
PAUSE = 3.0  # seconds between two faults
FINISH_SECONDS = 60.0  # for servers to come back and clients to finish, after the last fault
REFUSED = (400, 404, 422)  # repeating such a request is of no use

Fault = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Operation:
    """A request of a client. `outcome` is acknowledged, refused or unknown."""

    verb: str
    value: str | None  # what the memory or the line is afterwards; None: it is gone
    outcome: str = "unknown"


@dataclass(slots=True)
class History:
    """What one client did, one request after the other: lines of its session, and changes of memories by key."""

    user: str
    lines: list[Operation] = field(default_factory=list)
    memories: dict[str, list[Operation]] = field(default_factory=dict)
    documents: list[Operation] = field(default_factory=list)

    def operations(self) -> list[Operation]:
        return [*self.lines, *self.documents, *(each for changes in self.memories.values() for each in changes)]


@dataclass(frozen=True, slots=True)
class FaultReport:
    seconds: float
    acknowledged: dict[str, int]
    refused: int
    unknown: int
    attempts: int
    faults: dict[str, int]
    violations: Sequence[str]


def check_lines(history: History, stored: Sequence[str]) -> list[str]:
    """Return what is wrong with the lines of a session: lost, doubled, never sent, or out of order. A request that got
    no answer may still be carried out later, so only what was acknowledged has an order."""
    counts: Counter[str | None] = Counter(stored)
    sent = {line.value for line in history.lines}
    wrong = [
        f"lost: {each.value}" for each in history.lines if each.outcome == "acknowledged" and not counts[each.value]
    ]
    wrong += [f"doubled: {text}" for text, count in counts.items() if count > 1]
    wrong += [f"never sent: {text}" for text in counts if text not in sent]
    order = [each.value for each in history.lines if each.outcome == "acknowledged" and counts[each.value]]
    if order != [text for text in dict.fromkeys(stored) if text in set(order)]:
        wrong.append("out of order")
    return [f"{history.user}: {each}" for each in wrong]


def find_possible(changes: Sequence[Operation]) -> set[str | None]:
    """Return the values that a memory may have: one, unless it is unknown what became of a change."""
    possible: set[str | None] = {None}
    for change in changes:
        if change.outcome == "acknowledged":
            possible = {change.value}
        elif change.outcome == "unknown":
            possible.add(change.value)
    return possible


def check_memories(history: History, stored: Sequence[tuple[str, str]]) -> list[str]:
    """Return what is wrong with the active memories, given as (key, value)."""
    found: dict[str, list[str]] = {}
    for key, value in stored:
        found.setdefault(key, []).append(value)
    wrong = [f"doubled: {key} is {values}" for key, values in found.items() if len(values) > 1]
    for key, changes in history.memories.items():
        current = found[key][0] if key in found else None
        if current not in (possible := find_possible(changes)):
            wrong.append(f"{key} is {current!r} and should be {sorted(map(str, possible))}")
    return [f"{history.user}: {each}" for each in wrong]


def check_documents(history: History, stored: Sequence[str]) -> list[str]:
    """Return what is wrong with the documents, given by their names."""
    counts = Counter(stored)
    wrong = [
        f"lost: {each.value}"
        for each in history.documents
        if each.outcome == "acknowledged" and not counts[each.value or ""]
    ]
    wrong += [f"doubled: {name}" for name, count in counts.items() if count > 1]
    return [f"{history.user}: {each}" for each in wrong]


def find_socket(dsn: str) -> Path:
    """Return the socket file of a local server."""
    return next(Path(str(conninfo_to_dict(dsn)["host"])).glob(".s.PGSQL.*[0-9]"))


class Proxy:
    """A TCP port before PostgreSQL's socket. It can cut all connections, or keep them open and pass nothing on."""

    def __init__(self, server: Callable[[], str]) -> None:
        self._server = server
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_unix_connection(find_socket(self._server()))
        except (OSError, StopIteration):  # the server is down
            writer.close()
            return
        self._writers |= {writer, to_server}
        await asyncio.gather(self._copy(reader, to_server), self._copy(from_server, writer))
        self._writers -= {writer, to_server}

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while part := await source.read(65_536):
                await self._flows.wait()
                target.write(part)
                await target.drain()
        target.close()

    async def cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def hang(self, seconds: float = 3.0) -> None:
        """Pass nothing on for a while, then cut what hung."""
        self._flows.clear()
        await asyncio.sleep(seconds)
        await self.cut()
        self._flows.set()


class System:
    """PostgreSQL, the proxy before it, two servers and a worker, each of which can fail."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._database = EmbeddedServer(home, keep_running=False)
        self.dsn = ""
        self._proxied = ""
        self.ports = [find_free_port(), find_free_port()]
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._log = (home / "output.txt").open("ab")

    async def start(self, stack: AsyncExitStack) -> Proxy:
        """Start everything; it is stopped with the stack."""
        stack.push_async_callback(self.stop)
        first = await asyncio.to_thread(self._database.start)
        with psycopg.connect(first, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET max_connections = {CONNECTIONS}".encode())
        self.dsn = await make_database(first, "faults")
        await self.restart_database()
        proxy = Proxy(lambda: self.dsn)
        listener = await stack.enter_async_context(await asyncio.start_server(proxy.carry, "127.0.0.1", 0))
        port = listener.sockets[0].getsockname()[1]
        self._proxied = make_conninfo(self.dsn, host="127.0.0.1", port=port, sslmode="disable")
        async with connect(dsn=self.dsn, worker=False):
            pass  # migrated once, by one
        for name in ("server 0", "server 1", "worker"):
            await self.run(name)
        return proxy

    async def run(self, name: str) -> None:
        """Start a process by its name; a server answers when this returns."""
        serve = ["serve", "--no-learn", "--port", str(self.ports[int(name[-1])])] if name != "worker" else ["worker"]
        environment = {
            **os.environ,
            "MEMORY_DB_CONNECTION_STRING": self._proxied,
            "MEMORY_DB_POOL_SIZE": "5",
            "MEMORY_DB_MAX_OVERFLOW": "5",
            "RECOLLECT_HOME": str(self._home),
        }
        self._processes[name] = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "recollect", *serve, env=environment, stdout=self._log, stderr=self._log
        )

    async def kill(self, name: str) -> None:
        process = self._processes[name]
        if process.returncode is None:
            process.kill()
        await process.wait()
        await self.run(name)

    async def revive(self) -> None:
        """Start again what ended by itself: a server that starts while PostgreSQL is down says so and ends."""
        for name, process in list(self._processes.items()):
            if process.returncode is not None:
                await self.run(name)

    async def _end_database(self, how: signal.Signals) -> None:
        self.dsn = make_conninfo(await asyncio.to_thread(self._start_anew, how), dbname="faults")

    def _start_anew(self, how: signal.Signals) -> str:
        if (pid := read_status(self._home).pid) is not None:
            os.kill(pid, how)
            while read_status(self._home).running:
                time.sleep(0.05)
        return self._database.start()

    async def kill_database(self) -> None:
        await self._end_database(signal.SIGKILL)

    async def restart_database(self) -> None:
        await self._end_database(signal.SIGINT)

    async def use_up_connections(self, seconds: float = 2.0) -> None:
        """Hold every connection that PostgreSQL gives."""
        async with AsyncExitStack() as stack:
            with suppress(psycopg.OperationalError):
                for _ in range(CONNECTIONS):
                    await stack.enter_async_context(await psycopg.AsyncConnection.connect(self.dsn))
            await asyncio.sleep(seconds)

    async def refuse_writes(self, seconds: float = 2.0) -> None:
        """Make PostgreSQL read-only for a while, as a standby or a nearly full disk is."""
        async with await psycopg.AsyncConnection.connect(self.dsn, autocommit=True) as connection:
            for command in ("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"):
                await connection.execute(command.encode())
            await asyncio.sleep(seconds)
            await connection.execute(b"SET default_transaction_read_only = off")
            for command in ("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()"):
                await connection.execute(command.encode())

    async def stall_clients(self, seconds: float = 2.0) -> None:
        """Connect to the servers and send only half a request."""
        async with AsyncExitStack() as stack:
            for port in self.ports * STALLED:
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    stack.callback(writer.close)
                    writer.write(b"POST /v1/record HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
            await asyncio.sleep(seconds)

    async def stop(self) -> None:
        for process in self._processes.values():
            if process.returncode is None:
                process.kill()
            await process.wait()
        self._log.close()
        await asyncio.to_thread(self._database.stop)


class Client:
    """Somebody who writes, repeats what got no answer with the same key, and remembers what was acknowledged."""

    def __init__(self, user: str, ports: Sequence[int], chance: random.Random) -> None:
        self.history = History(user)
        self.attempts = 0
        self._ports = ports
        self._chance = chance
        self._ids: dict[str, str] = {}  # of memories that can still be changed, by key

    async def work(self, has_time: Callable[[], bool], give_up: Callable[[], bool]) -> None:
        async with httpx.AsyncClient(timeout=10) as http:
            number = 0
            while has_time():
                number += 1
                await self._act(http, number, give_up)

    async def _act(self, http: httpx.AsyncClient, number: int, give_up: Callable[[], bool]) -> None:
        """Send one of the requests that make sense now."""
        draw, user = self._chance.random(), self.history.user
        if draw < 0.6:
            line = Operation("record", f"{user} line {number}")
            self.history.lines.append(line)
            turns = [{"role": "user", "text": line.value}]
            await self._send(http, line, {"user": user, "session": "s", "turns": turns}, give_up)
        elif draw < 0.65:
            upload = Operation("upload", f"{user} {number}.txt")
            self.history.documents.append(upload)
            await self._send(http, upload, {"user": user}, give_up)
        elif draw < 0.8 or not self._ids:
            key, change = f"slot {number}", Operation("learn", f"{user} value {number}")
            self.history.memories[key] = [change]
            body = {"user": user, "kind": "fact", "key": key, "value": change.value, "owner": "user"}
            if answer := await self._send(http, change, body, give_up):
                self._ids[key] = answer["id"]
        else:
            key = self._chance.choice(sorted(self._ids))
            is_last = draw > 0.92
            change = Operation("forget", None) if is_last else Operation("correct", f"{user} value {number} corrected")
            self.history.memories[key].append(change)
            body = {"user": user, "memory": self._ids.pop(key)}
            answer = await self._send(http, change, body if is_last else {**body, "value": change.value}, give_up)
            if answer and not is_last:
                self._ids[key] = answer["id"]

    async def _send(
        self, http: httpx.AsyncClient, operation: Operation, body: dict[str, Any], give_up: Callable[[], bool]
    ) -> dict[str, Any] | None:
        """Send a request until it is acknowledged; return the answer, or None if there was none in time."""
        headers, until = {"Idempotency-Key": uuid4().hex}, time.monotonic() + PATIENCE
        while time.monotonic() < until and not give_up():
            self.attempts += 1
            port = self._chance.choice(self._ports)
            with suppress(httpx.HTTPError):
                answer = await self._post(http, f"http://127.0.0.1:{port}", operation, body, headers)
                if answer.status_code in (200, 201, 202):
                    operation.outcome = "acknowledged"
                    return dict(answer.json())
                if answer.status_code in REFUSED:
                    operation.outcome = "refused"
                    return None
            await asyncio.sleep(0.2)
        return None

    async def _post(
        self, http: httpx.AsyncClient, server: str, operation: Operation, body: dict[str, Any], headers: dict[str, str]
    ) -> httpx.Response:
        if operation.verb != "upload":
            return await http.post(f"{server}/v1/{operation.verb}", json=body, headers=headers)
        file = {"file": (operation.value, f"A file of {operation.value}.".encode())}
        address = f"{server}/api/v1/upload-ask/documents"
        return await http.post(address, files=file, params={"userId": body["user"]}, headers=headers)


@contextmanager
def open_folder() -> Iterator[str]:
    """Yield a folder that PostgreSQL may enter, which runs as somebody else where we are root."""
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield folder


async def measure_faults(seconds: float, clients: int = 8, seed: int = 1) -> FaultReport:
    """Run clients and faults for some seconds, let everything recover, and check the histories."""
    chance, started = random.Random(seed), time.monotonic()
    counts: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        system = System(Path(stack.enter_context(open_folder())))
        proxy = await system.start(stack)
        everybody = [Client(f"user {n}", system.ports, random.Random(seed + n)) for n in range(clients)]
        await wait_for_servers(system)
        until = time.monotonic() + seconds

        def has_time() -> bool:
            return time.monotonic() < until

        def give_up() -> bool:
            return time.monotonic() > until + FINISH_SECONDS

        helpers = [
            asyncio.create_task(inject_faults(list_faults(system, proxy), chance, counts, has_time)),
            asyncio.create_task(keep_running(system)),
        ]
        await asyncio.gather(*(each.work(has_time, give_up) for each in everybody))
        await helpers[0]
        helpers[1].cancel()
        async with connect(dsn=system.dsn, worker=False) as memory:
            violations = [wrong for each in everybody for wrong in await check_history(memory, each.history)]
    done = [operation for each in everybody for operation in each.history.operations()]
    return FaultReport(
        seconds=round(time.monotonic() - started, 1),
        acknowledged=dict(Counter(each.verb for each in done if each.outcome == "acknowledged")),
        refused=sum(each.outcome == "refused" for each in done),
        unknown=sum(each.outcome == "unknown" for each in done),
        attempts=sum(each.attempts for each in everybody),
        faults=dict(counts),
        violations=violations,
    )


def list_faults(system: System, proxy: Proxy) -> dict[str, Fault]:
    return {
        "server killed": lambda: system.kill("server 0"),
        "other server killed": lambda: system.kill("server 1"),
        "worker killed": lambda: system.kill("worker"),
        "database killed": system.kill_database,
        "database restarted": system.restart_database,
        "connections cut": proxy.cut,
        "connections hung": proxy.hang,
        "connections used up": system.use_up_connections,
        "read-only": system.refuse_writes,
        "slow clients": system.stall_clients,
    }


async def inject_faults(
    faults: dict[str, Fault], chance: random.Random, counts: Counter[str], has_time: Callable[[], bool]
) -> None:
    """Let things fail one after the other, each kind once before any comes again."""
    while has_time():
        for name in chance.sample(sorted(faults), len(faults)):
            await asyncio.sleep(PAUSE)
            if not has_time():
                return
            await faults[name]()
            counts[name] += 1


async def keep_running(system: System) -> None:
    """Do what a service manager does."""
    while True:
        await asyncio.sleep(1)
        await system.revive()


async def wait_for_servers(system: System) -> None:
    async with httpx.AsyncClient(timeout=5) as http:
        for port in system.ports:
            until = time.monotonic() + FINISH_SECONDS
            while time.monotonic() < until:
                with suppress(httpx.HTTPError):
                    await http.get(f"http://127.0.0.1:{port}/health")
                    break
                await asyncio.sleep(0.2)


async def check_history(memory: Engine, history: History) -> list[str]:
    """Return what is stored of a client otherwise than it was acknowledged."""
    scope = Scope(history.user, "s")
    lines: list[str] = []
    before: int | None = None
    if history.lines and await memory.conversation(scope) is not None:
        while page := await memory.history(scope, limit=500, before=before):
            lines = [turn.text for turn in page] + lines
            before = page[0].index
            if before == 0:
                break
    known = await memory.memories(scope, kinds=["fact"], limit=10_000)
    ours = [(each.key, each.value) for each in known if each.key in history.memories]
    stored = [each.source for each in await memory.documents.find(scope, limit=1_000)]
    return check_lines(history, lines) + check_memories(history, ours) + check_documents(history, stored)


Minutes = Annotated[float, typer.Option(min=0.1, help="How long clients write and things fail.")]
Clients = Annotated[int, typer.Option(min=1, max=64, help="Clients that write at the same time.")]
Seed = Annotated[int, typer.Option(help="What is drawn by chance.")]


def faults(minutes: Minutes = 2, clients: Clients = 8, seed: Seed = 1, json: Json = False) -> None:
    """Kill and cut servers, worker and PostgreSQL while clients write, then check that nothing acknowledged is lost,
    doubled or out of order. Exit code 1 if something is."""
    report = asyncio.run(measure_faults(minutes * 60, clients, seed))
    if json:
        print_json({name: getattr(report, name) for name in FaultReport.__slots__})
    else:
        show_faults(report)
    if report.violations:
        raise typer.Exit(FAILED)


def show_faults(report: FaultReport) -> None:
    listed = ", ".join(f"{count} {verb}" for verb, count in sorted(report.acknowledged.items()))
    typer.echo(f"{report.seconds:.0f} s, acknowledged: {listed}; {report.attempts} requests sent")
    typer.echo(f"refused: {report.refused}; without an answer in time: {report.unknown}")
    typer.echo("faults: " + ", ".join(f"{count} x {name}" for name, count in sorted(report.faults.items())))
    typer.echo(f"violations: {len(report.violations)}")
    for each in report.violations:
        stderr_console().print(each)
