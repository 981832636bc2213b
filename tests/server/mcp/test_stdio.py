"""`recollect mcp` as a process: nothing but the protocol on stdout, and an orderly end however the client ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import IO, Any

import pytest

from tests.cli.cli_program import PROGRAM

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
Process = subprocess.Popen[str]


def hang_up(process: Process) -> None:
    pipe(process.stdin).close()


def terminate(process: Process) -> None:
    process.send_signal(signal.SIGTERM)


def pipe(given: IO[str] | None) -> IO[str]:
    assert given is not None
    return given


def started(dsn: str) -> Process:
    environment = {**os.environ, "MEMORY_DB_CONNECTION_STRING": dsn, "RECOLLECT_USER": "alex"}
    return subprocess.Popen(
        [PROGRAM, "mcp"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def asked(process: Process, message: dict[str, Any]) -> dict[str, Any]:
    pipe(process.stdin).write(json.dumps(message) + "\n")
    pipe(process.stdin).flush()
    return dict(json.loads(pipe(process.stdout).readline()))


@pytest.mark.parametrize("end", [hang_up, terminate], ids=["closes its pipes", "sends SIGTERM"])
def test_a_client_ends_the_process_and_it_closes_the_memory_first(
    database: str, end: Callable[[Process], None]
) -> None:
    with started(database) as process:
        told = asked(process, HELLO)["result"]
        assert told["serverInfo"]["name"] == "recollect"
        assert "get_context" in told["instructions"]
        end(process)
        assert process.wait(60) == 0
        assert pipe(process.stdout).read() == ""
        assert "Traceback" not in pipe(process.stderr).read()


def test_a_setting_that_cannot_be_used_is_said_on_stderr(database: str) -> None:
    environment = {**os.environ, "MEMORY_DB_CONNECTION_STRING": database, "RECOLLECT_EMBEDDER": "crystal ball"}
    done = subprocess.run([PROGRAM, "mcp"], env=environment, capture_output=True, text=True, input="", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("recollect: RECOLLECT_EMBEDDER")
