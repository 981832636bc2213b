"""`python -m bench restarts`: a rolling restart of two server processes while clients write to many sessions.

SIGHUP replaces the processes one after the other; each new one serves before an old one leaves. A client whose
connection was closed repeats its request once, with the same idempotency key. Nothing else may fail, and every session
has each of its messages once.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import psycopg
import typer

from bench.fault_system import open_folder
from bench.http_load import Client, run_server
from recollect.cli.options import Json
from recollect.cli.output import FAILED, print_json
from recollect.store.connection import EmbeddedServer, make_database

MESSAGES = 2  # to each session, one of them before the restart
LOOKS = 1_200  # for old processes, every tenth of a second


@dataclass(slots=True)
class RestartReport:
    sessions: int
    seconds: float = 0.0
    replaced: int = 0  # processes
    acknowledged: int = 0
    repeated: int = 0  # requests whose connection was closed without a response
    failed: list[str] = field(default_factory=list)
    wrong_sessions: int = 0  # that do not have each message once


async def measure_restart(sessions: int, clients: int = 50) -> RestartReport:
    """Write a message to each session, restart the processes, and write another one meanwhile."""
    report, started = RestartReport(sessions), time.monotonic()
    with open_folder() as folder:
        database = EmbeddedServer(Path(folder), keep_running=False)
        dsn = await make_database(await asyncio.to_thread(database.start), "restarts")
        environment = {"MEMORY_DB_CONNECTION_STRING": dsn, "RECOLLECT_HOME": folder, "RECOLLECT_RATE_LIMIT": "0"}
        try:
            async with run_server(build_command, environment, "/health") as server:
                await write_all(server.port, range(sessions), clients, 1, report)
                before = list_children(server.pid)
                restart = asyncio.create_task(restart_processes(server.pid, before))
                # Again and again, so that requests run for as long as the restart takes.
                while not restart.done():
                    await write_all(server.port, range(sessions), clients, MESSAGES, report)
                report.replaced = await restart
                await write_all(server.port, range(sessions), clients, MESSAGES, report)
            report.wrong_sessions = count_wrong(dsn, sessions)
        finally:
            await asyncio.to_thread(database.stop)
    report.seconds = round(time.monotonic() - started, 1)
    return report


def build_command(port: int) -> Sequence[str]:
    return ["-m", "recollect", "serve", "--no-learn", "--workers", "2", "--port", str(port)]


def list_children(pid: int) -> set[int]:
    """Return the server processes of a parent: those of its children that listen to it."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {int(child) for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()}


async def restart_processes(pid: int, before: set[int]) -> int:
    """Replace the processes; return how many were replaced."""
    os.kill(pid, signal.SIGHUP)
    for _ in range(LOOKS):
        if not before & list_children(pid):
            break
        await asyncio.sleep(0.1)
    return len(before - list_children(pid))


async def write_all(port: int, sessions: range, clients: int, number: int, report: RestartReport) -> None:
    """Send the n-th message of each session. The key is the same each time, so only the first one is stored."""
    waiting = iter(sessions)

    async def work() -> None:
        client = Client(port)
        for session in waiting:
            body = {"user": f"user {session}", "session": "s", "turns": [{"role": "user", "text": f"line {number}"}]}
            await send(client, json.dumps(body).encode(), f"Idempotency-Key: {session}-{number}\r\n", report)
        with suppress(OSError):
            await client.__aexit__()

    await asyncio.gather(*(work() for _ in range(clients)))


async def send(client: Client, body: bytes, key: str, report: RestartReport) -> None:
    for attempt in range(2):
        try:
            status, answer = await client.send("POST", "/v1/record", body, key)
        except (OSError, asyncio.IncompleteReadError) as error:
            if attempt:
                report.failed.append(f"{key.strip()}: {type(error).__name__}")
            report.repeated += 1
            continue
        if status == 201:
            report.acknowledged += 1
        else:
            report.failed.append(f"{key.strip()}: {status} {answer[:200].decode(errors='replace')}")
        return


def count_wrong(dsn: str, sessions: int) -> int:
    with psycopg.connect(dsn) as connection:
        asked = f"SELECT count(*) FROM recollect.conversation WHERE turn_count = {MESSAGES}"
        row = connection.execute(asked.encode()).fetchone()
    return sessions - int(row[0] if row else 0)


Sessions = Annotated[int, typer.Option(min=1, help="Sessions that are written to.")]
Clients = Annotated[int, typer.Option(min=1, max=500, help="Clients that write at the same time.")]


def restarts(sessions: Sessions = 10_000, clients: Clients = 50, json: Json = False) -> None:
    """Restart two server processes one after the other while clients write. Exit code 1 if a request fails."""
    report = asyncio.run(measure_restart(sessions, clients))
    if json:
        print_json(asdict(report))
    else:
        typer.echo(
            f"{report.sessions:,} sessions, {report.seconds:.0f} s: {report.replaced} processes replaced,"
            f" {report.acknowledged:,} requests acknowledged, {report.repeated} repeated after a closed connection,"
            f" {len(report.failed)} failed, {report.wrong_sessions} sessions with a message lost or doubled"
        )
    if report.failed or report.wrong_sessions or report.replaced < 2:
        raise typer.Exit(FAILED)
