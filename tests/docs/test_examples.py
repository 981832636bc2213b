"""Every example in the documentation runs, and prints what the page says it prints.

A page's python, bash and sql blocks run in order against one fresh database, python with a namespace of its own each
time. A block that must not run says why in a comment above it: `<!-- not run: reason -->`. A block under
`<!-- output -->` is what the block before it prints; there, … stands for anything.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import mcp.client.stdio  # noqa: F401 (what it takes for stderr is bound here, not in an example's captured one)
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Scope, connect

from .pages import NOT_RUN, PAGES, ROOT, RUNNABLE, Block, blocks, name

SECONDS = 120
ROLE = re.compile(r"CREATE ROLE (\w+)")
SHELLS = ("sh", "shell", "console")


@pytest.fixture
def surroundings(database: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reader has: a database, the command on the path, an empty folder, no other settings."""
    for variable in [v for v in os.environ if v.startswith(("RECOLLECT_", "MEMORY_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", database)
    monkeypatch.setenv("PATH", f"{Path(program).parent}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def roles(database: str) -> Iterator[None]:
    """Roles belong to the server, so a page's roles are dropped after it. Pages take turns, as tests of a file do."""
    yield
    made = [role for page in PAGES for block in blocks(page) for role in ROLE.findall(block.body) if block.runs]
    with psycopg.connect(database, autocommit=True) as connection:
        for role in made:
            if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).fetchone() is not None:
                connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


@pytest.mark.parametrize("page", [page for page in PAGES if any(block.runs for block in blocks(page))], ids=name)
@pytest.mark.usefixtures("surroundings", "roles")
def test_examples_run_as_they_stand(page: Path, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    for block in [block for block in blocks(page) if block.runs]:
        try:
            run(block, database)
        except Exception as error:
            error.add_note(f"in the example at {block.place}")
            raise
        printed = capsys.readouterr().out
        if block.output is not None:
            assert matches(block.output, printed), f"{block.place} printed:\n{printed}\nthe page says:\n{block.output}"


def run(block: Block, database: str) -> None:
    match block.language:
        case "python":
            run_python(block)
        case "bash":
            run_bash(block)
        case "sql":
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(block.body.encode())


def run_python(block: Block) -> None:
    code = compile(block.body, block.place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    waiting = eval(code, {"__name__": "__main__"})
    if inspect.iscoroutine(waiting):
        asyncio.run(waiting)


def run_bash(block: Block) -> None:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.body],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}{done.stdout}"
    sys.stdout.write(done.stdout)


def matches(expected: str, printed: str) -> bool:
    """Line by line, without what trails."""

    def lines(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip().splitlines())

    pattern = ".*?".join(map(re.escape, lines(expected).split("…")))
    return re.fullmatch(pattern, lines(printed), re.DOTALL) is not None


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_block_is_left_out_silently(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(re.findall(r"^ *```\w+\n(?:.*\n)*?^ *```$", text, re.MULTILINE)), (
        "a stray fence"
    )
    for block in blocks(page):
        assert block.language not in SHELLS, f"{block.place}: write shell commands as bash, so that they run"
        if block.mark.startswith(NOT_RUN):
            assert len(block.mark) > len(NOT_RUN) + 5, f"{block.place} must say why it is not run"
        elif block.language in RUNNABLE:
            assert block.runs, block.place


@pytest.mark.usefixtures("surroundings", "roles")
async def test_documented_roles_work_with_a_pooler(database: str) -> None:
    """The login role of the database page works with MEMORY_DB_POOLED, which sets no options per session."""
    made = [
        block for block in blocks(ROOT / "docs" / "howto" / "database.md") if block.language == "sql" and block.runs
    ]
    for block in made:
        run(block, database)
    dsn = make_conninfo(database, user="app")
    alex = Scope(user="alex", session="monday")
    async with connect(dsn=dsn, admin_dsn=database, pooled=True, worker=False) as memory:
        await memory.record(alex, [("user", "The pooler sits in front.")])
        assert (await memory.recall(alex, "pooler")).hits
