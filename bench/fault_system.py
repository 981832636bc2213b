"""The system under `bench faults`: a PostgreSQL with a standby, two servers and a worker, and what can fail in it
(`list_faults`)."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from bench.fault_servers import CONNECTIONS, Clock, Postgres, Proxy, mount_disk
from bench.http_load import find_free_port
from recollect import Scope, connect
from recollect.apps.ask.sample import make_sample
from recollect.bootstrap import open_analyst
from recollect.settings import read_settings
from recollect.store.connection import make_database

STALLED = 40  # connections to each server that never finish their request
FAULT_SECONDS = 3.0  # for those that end by themselves
HALF_OPEN_SECONDS = 12.0
FINISH_SECONDS = 60.0  # for servers to come back and clients to finish, after the last fault
JUMP_SECONDS = 7_200  # by which a clock jumps at most, either way
PATIENT_ROUNDS = 3  # of the service manager until commits no longer wait for a standby that is away
COPY_ROUNDS = 20  # until that standby is made anew

Fault = Callable[[], Awaitable[None]]


@contextmanager
def open_folder() -> Iterator[str]:
    """Yield a folder that PostgreSQL may enter, which runs as somebody else where we are root."""
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield folder


class System:
    """A primary, its standby, a proxy before each, two servers and a worker, each of which can fail.

    Faults only break things. `keep_running` does what a service manager does: it starts what has ended, makes a new
    standby after a failover, and lets commits wait for the standby while there is one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._log = (folder / "output.txt").open("ab")
        self._databases = asyncio.Lock()  # held while one of them is broken or repaired
        self._missed = 0  # rounds in which no standby followed
        self._waits_for_standby = False
        self._must_copy = False
        self._full_disks = 0
        self.clock: Clock | None = None
        self.ports = [find_free_port(), find_free_port()]
        self.proxies: list[Proxy] = []
        self.problems: list[str] = []

    @property
    def dsn(self) -> str:
        return make_conninfo(self.primary.dsn, dbname="faults")

    async def start(self, stack: AsyncExitStack) -> None:
        """Start everything; it is stopped with the stack."""
        with suppress(OSError):
            self.clock = Clock(self._folder)
        self.primary, self.standby = (
            Postgres(home, self.clock, stack.enter_context(mount_disk(home)))
            for home in (self._folder / "a", self._folder / "b")
        )
        stack.push_async_callback(self.stop)
        await asyncio.to_thread(self.primary.create)
        await asyncio.to_thread(self.primary.start)
        await make_database(self.primary.dsn, "faults")
        await self._prepare_database()
        await asyncio.to_thread(self._make_standby)
        ports = []
        for database in (self.primary, self.standby):
            proxy = Proxy(database.socket)
            listener = await stack.enter_async_context(await asyncio.start_server(proxy.carry, "127.0.0.1", 0))
            ports.append(str(listener.sockets[0].getsockname()[1]))
            self.proxies.append(proxy)
        hosts = {"host": ",".join(["127.0.0.1"] * len(ports)), "port": ",".join(ports)}
        self._proxied = make_conninfo(self.dsn, **hosts, sslmode="disable", target_session_attrs="primary")
        for name in ("server 0", "server 1", "worker"):
            await self._run(name)

    async def _prepare_database(self) -> None:
        """Migrate it, and add a database that can be asked."""
        shop = self._folder / "shop.db"
        await asyncio.to_thread(make_sample, shop)
        settings = read_settings({}, dsn=self.dsn)
        async with connect(settings, worker=False) as memory, open_analyst(memory, settings) as analyst:
            await analyst.sources.add(Scope("operator"), "shop", f"sqlite:///{shop}", local=True)

    async def _run(self, name: str) -> None:
        commands = {
            "server 0": ["serve", "--no-learn", "--port", str(self.ports[0])],
            "server 1": ["serve", "--no-learn", "--port", str(self.ports[1]), "--workers", "2"],
            "worker": ["worker"],
        }
        environment = {
            **os.environ,
            "MEMORY_DB_CONNECTION_STRING": self._proxied,
            "MEMORY_DB_POOL_SIZE": "5",
            "MEMORY_DB_MAX_OVERFLOW": "5",
            "RECOLLECT_HOME": str(self._folder),
        }
        self._processes[name] = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "recollect", *commands[name], env=environment, stdout=self._log, stderr=self._log
        )

    def read_output(self) -> str:
        """Return what servers and the worker have printed."""
        return Path(self._log.name).read_text(errors="replace")

    async def keep_running(self) -> None:
        while True:
            await asyncio.sleep(1)
            # A server that starts while PostgreSQL is down says so and ends; so does one whose port is not free yet.
            for name, process in list(self._processes.items()):
                if process.returncode is not None:
                    await self._run(name)
            async with self._databases:
                with suppress(OSError, psycopg.Error):  # it is tried again in a second
                    await asyncio.to_thread(self._repair_databases)

    def _repair_databases(self) -> None:
        if self.primary.find_pid() is None:
            self.primary.start()
        if self._must_copy:
            self._make_standby()
        elif self.standby.find_pid() is None:
            self.standby.start()
        [(followers,)] = self.primary.execute("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
        self._missed = 0 if followers else self._missed + 1
        if bool(followers) != self._waits_for_standby and (followers or self._missed >= PATIENT_ROUNDS):
            self.primary.set("synchronous_standby_names", "*" if followers else "")
            self._waits_for_standby = bool(followers)
        self._must_copy = self._missed >= COPY_ROUNDS

    def _make_standby(self) -> None:
        self.standby.end(signal.SIGKILL)
        self.standby.copy(self.primary, "-R")
        self.standby.start()
        self._must_copy, self._missed = False, 0

    async def kill(self, name: str) -> None:
        process = self._processes[name]
        if process.returncode is None:
            process.kill()
        await process.wait()

    async def restart_server(self) -> None:
        """Replace the processes of a server one after the other."""
        process = self._processes["server 1"]
        if process.returncode is None:
            process.send_signal(signal.SIGHUP)

    async def end_database(self, how: signal.Signals) -> None:
        async with self._databases:
            await asyncio.to_thread(self.primary.end, how)

    async def fail_over(self) -> None:
        """Kill the primary for good and promote its standby, which has every commit that was acknowledged."""
        until = time.monotonic() + FINISH_SECONDS
        while time.monotonic() < until:
            async with self._databases:
                if await asyncio.to_thread(self._fail_over):
                    return
            await asyncio.sleep(0.5)
        self.problems.append("no failover: the standby did not follow")

    def _fail_over(self) -> bool:
        with suppress(psycopg.Error):
            if not self._waits_for_standby or not self.primary.is_followed():
                return False
            self.primary.end(signal.SIGKILL)
            # There is no way back from here: the killed one must never be a primary again.
            self.primary, self.standby = self.standby, self.primary
            self._waits_for_standby, self._must_copy = False, True
            self.primary.promote()
            self.primary.insist("synchronous_standby_names", "")
            return True
        return False

    async def fill_disk(self) -> None:
        """Every second time PostgreSQL needs a new file for its log, too."""
        self._full_disks += 1
        async with self._databases:
            with self.primary.full_disk():
                if self._full_disks % 2 == 0:
                    with suppress(psycopg.Error):
                        await asyncio.to_thread(self.primary.execute, "SELECT pg_switch_wal()")
                await asyncio.sleep(FAULT_SECONDS)

    async def refuse_files(self) -> None:
        """Let PostgreSQL write to no file, as on a disk that was mounted read-only after an error."""
        async with self._databases:
            with self.primary.limited_files(0):
                await asyncio.sleep(FAULT_SECONDS)

    async def refuse_writes(self) -> None:
        """Make PostgreSQL read-only for a while, as an operator does."""
        async with self._databases:
            await asyncio.to_thread(self.primary.insist, "default_transaction_read_only", "on")
            await asyncio.sleep(FAULT_SECONDS)
            await asyncio.to_thread(self.primary.insist, "default_transaction_read_only", "off")

    async def start_second_database(self) -> None:
        async with self._databases:
            if self.primary.find_pid() and not await asyncio.to_thread(self.primary.is_first):
                self.problems.append("a second PostgreSQL started on the data folder")

    async def use_up_connections(self) -> None:
        """Hold every connection that PostgreSQL gives."""
        async with AsyncExitStack() as stack:
            with suppress(psycopg.OperationalError):
                for _ in range(CONNECTIONS):
                    await stack.enter_async_context(await psycopg.AsyncConnection.connect(self.dsn))
            await asyncio.sleep(FAULT_SECONDS)

    async def stall_clients(self) -> None:
        """Connect to the servers and send only half a request."""
        async with AsyncExitStack() as stack:
            for port in self.ports * STALLED:
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    stack.callback(writer.close)
                    writer.write(b"POST /v1/record HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
            await asyncio.sleep(FAULT_SECONDS)

    async def finish(self, manager: asyncio.Task[None]) -> None:
        """Wait until PostgreSQL is whole again, at the true time."""
        if self.clock:
            self.clock.jump(0)
        until = time.monotonic() + FINISH_SECONDS
        while self._must_copy or not await asyncio.to_thread(self.primary.is_answering):
            await asyncio.sleep(0.5)
            if time.monotonic() > until:
                raise TimeoutError("PostgreSQL did not come back")
        async with self._databases:
            manager.cancel()

    async def stop(self) -> None:
        for process in self._processes.values():
            if process.returncode is None:
                process.kill()
            await process.wait()
        self._log.close()
        for database in (self.standby, self.primary):
            await asyncio.to_thread(database.end, signal.SIGQUIT)


def list_faults(system: System, chance: random.Random) -> dict[str, Fault]:
    """Return what can fail here. Clocks jump only where libfaketime could be had."""
    faults: dict[str, Fault] = {
        "server killed": lambda: system.kill("server 0"),
        "parent killed": lambda: system.kill("server 1"),
        "server restarted": system.restart_server,
        "worker killed": lambda: system.kill("worker"),
        "database killed": lambda: system.end_database(signal.SIGKILL),
        "database restarted": lambda: system.end_database(signal.SIGINT),
        "failover": system.fail_over,
        "disk full": system.fill_disk,
        "files read-only": system.refuse_files,
        "read-only": system.refuse_writes,
        "second database": system.start_second_database,
        "connections cut": lambda: on_each(system.proxies, Proxy.cut),
        "connections hung": lambda: on_each(system.proxies, Proxy.hang, FAULT_SECONDS),
        "connections slow": lambda: on_each(system.proxies, Proxy.slow_down, FAULT_SECONDS),
        "connections half-open": lambda: on_each(system.proxies, Proxy.leave_half_open, HALF_OPEN_SECONDS),
        "connections used up": system.use_up_connections,
        "slow clients": system.stall_clients,
    }
    if clock := system.clock:

        async def jump() -> None:
            clock.jump(chance.randint(-JUMP_SECONDS, JUMP_SECONDS))

        faults["clock jump"] = jump
    return faults


async def on_each(proxies: Sequence[Proxy], fault: Callable[..., Awaitable[None]], *arguments: float) -> None:
    await asyncio.gather(*(fault(proxy, *arguments) for proxy in proxies))
