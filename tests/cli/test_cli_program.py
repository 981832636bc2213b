"""The program as a whole: help, what it loads, pipes and terminals."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest
from typer.main import get_command

from recollect.cli.app import app

from .cli_program import PROGRAM, Cli, run_program

ESCAPE = "\x1b"


def is_group(command: list[str]) -> bool:
    return any(other[:-1] == command for other in commands() if other)


def commands() -> list[list[str]]:
    root = getattr(get_command(app), "commands")  # noqa: B009 - typed as a plain Command
    inner = [[name, sub] for name, command in root.items() for sub in getattr(command, "commands", ())]
    return [[], *([name] for name in root), *inner]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_has_help(bare_cli: Cli, command: list[str]) -> None:
    ran = bare_cli(*command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"Usage: {' '.join(['recollect', *command])}" in ran.out
    assert is_group(command) or command in (["serve"], ["mcp"]) or "--json" in ran.out


def test_help_says_what_exit_codes_mean(bare_cli: Cli) -> None:
    said = " ".join(bare_cli("--help").out.split())
    assert "3 not found" in said
    assert bare_cli().out == bare_cli("--help").out


def test_help_loads_neither_numpy_nor_the_driver() -> None:
    look = (
        "import sys\nfrom recollect.cli import main\nassert main(['recall', '--help']) == 0\n"
        "print([name for name in ('numpy', 'psycopg', 'asyncpg', 'tokenizers') if name in sys.modules])"
    )
    ran = run_program(sys.executable, "-c", look)
    assert ran.out.splitlines()[-1] == "[]", ran.err


def test_the_module_is_the_program() -> None:
    ran = run_program(sys.executable, "-m", "recollect", "--version")
    assert (ran.code, ran.out.split()[0]) == (0, "recollect")


def test_a_real_terminal_gets_colours_unless_told_otherwise(database: str) -> None:
    assert b"\x1b[32m" in in_terminal(database)
    assert b"\x1b[32m" not in in_terminal(database, NO_COLOR="1")


def in_terminal(database: str, **environment: str) -> bytes:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "MEMORY_DB_CONNECTION_STRING": database, "TERM": "xterm", **environment}
    with subprocess.Popen([PROGRAM, "db", "check"], stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        written = b"".join(iter(lambda: read(ours), b""))
        assert process.wait(60) == 0
    os.close(ours)
    return written


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is gone
        return b""


def test_recorded_escapes_do_not_reach_the_terminal(cli: Cli) -> None:
    cli("record", "red \x1b[31m alert [bold]", "--session", "a")
    for ran in (cli("history", "--session", "a"), cli("recall", "alert")):
        assert ESCAPE not in ran.out
        assert "alert [bold]" in ran.out


def test_a_reader_who_leaves_early_is_no_error(database: str) -> None:
    lines = "\n".join(json.dumps({"role": "user", "text": f"turn {n} " + "x" * 500}) for n in range(400))
    env = {"MEMORY_DB_CONNECTION_STRING": database, "RECOLLECT_USER": "alex"}
    assert run_program(PROGRAM, "record", "-", stdin=lines, **env).code == 0
    ran = run_program("sh", "-c", f"{PROGRAM} export | head -1", **env)
    assert (ran.code, ran.err, len(ran.out.splitlines())) == (0, "", 1)
