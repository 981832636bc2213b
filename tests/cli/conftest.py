"""The command line on a test's own database, run in this process."""

from __future__ import annotations

import io

import pytest

from bench.__main__ import main as bench_main
from recollect.cli import main

from .cli_program import Cli, Ran, Terminal


@pytest.fixture
def bare_cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`cli("record", "text", stdin="...")`, with no database named."""
    monkeypatch.setenv("RECOLLECT_USER", "alex")
    for name in ("COLUMNS", "MEMORY_DB_CONNECTION_STRING", "RECOLLECT_PROJECT"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, stdin: str = "", types: str | None = None) -> Ran:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin) if types is None else Terminal(types))
        code = main(arguments)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run


@pytest.fixture
def cli(bare_cli: Cli, database: str, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The same, on this test's own database."""
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", database)
    return bare_cli


@pytest.fixture
def bench(cli: Cli, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`python -m bench`, on this test's own database."""

    def run(*arguments: str) -> Ran:
        code = bench_main(arguments)
        output = capsys.readouterr()
        return Ran(code, output.out, output.err)

    return run
