"""What happens without an extra: the library works, and each feature names the extra that it needs in one sentence.

Each test runs Python in a new process that cannot find the extra's modules, as if they were not installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from recollect.errors import MODULES
from tests.docs.pages import ROOT

# Python imports sitecustomize before it runs the program.
HIDE = """
import os, sys
from importlib.machinery import PathFinder

HIDDEN = os.environ["HIDDEN_MODULES"].split()

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""
COMMAND = "import sys; from recollect.cli import main; sys.exit(main())"
ROWS = (
    "from recollect.apps.ask.sources.running import Rows;"
    " rows = Rows(('region', 'sales'), [('north', 1), ('south', 2)])"
)
RECORD_AND_RECALL = """
import asyncio, recollect
from recollect import Query, Scope

async def run():
    async with recollect.connect(dsn={dsn!r}, embedder="none") as memory:
        alex = Scope(user="alex", session="monday")
        await memory.record(alex, [("user", "The launch is in Lisbon."), ("assistant", "Noted.")])
        context = await memory.context(alex, Query("Where is the launch?"))
        print("Lisbon" in context.text)

asyncio.run(run())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    return tmp_path


def run_without(folder: Path, modules: str, program: str, *arguments: str, **variables: str) -> tuple[int, str, str]:
    """Return the exit code, stdout and stderr of a program that cannot find the modules."""
    path = os.pathsep.join((str(folder), str(ROOT)))
    environment = {**os.environ, "PYTHONPATH": path, "HIDDEN_MODULES": modules, "NO_COLOR": "1", **variables}
    process = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True, timeout=60
    )
    return process.returncode, process.stdout, process.stderr


def all_modules() -> str:
    others = "redis jwt lxml openpyxl pypdfium2 docx pptx charset_normalizer tokenizers safetensors wordllama mcp"
    return " ".join([*(module for modules in MODULES.values() for module in modules), *others.split()])


def test_library_records_and_recalls_without_extras(folder: Path, database: str) -> None:
    code, out, err = run_without(folder, all_modules(), RECORD_AND_RECALL.format(dsn=database))
    assert (code, out, err) == (0, "True\n", "")


@pytest.mark.parametrize("module", MODULES["cli"])
def test_command_line_names_its_extra(folder: Path, module: str) -> None:
    code, out, err = run_without(folder, module, COMMAND, "--help")
    assert (code, out) == (1, "")
    assert err == (
        f"recollect: the command line requires the extra cli ({module} not installed):"
        " run `pip install 'recollect[cli]'`\n"
    )


@pytest.mark.parametrize("module", MODULES["server"])
def test_serve_names_its_extra(folder: Path, module: str) -> None:
    code, out, err = run_without(folder, module, COMMAND, "serve", "--port", "0")
    assert (code, out) == (1, "")
    assert err == (
        f"recollect: `recollect serve` requires the extra server ({module} not installed):"
        " run `pip install 'recollect[server]'`\n"
    )


@pytest.mark.parametrize("arguments", [("ask", "total sales"), ("sources", "list")], ids=["ask", "sources"])
@pytest.mark.parametrize("module", MODULES["ask"])
def test_asking_a_database_names_its_extra(
    folder: Path, database: str, module: str, arguments: tuple[str, ...]
) -> None:
    variables = {"MEMORY_DB_CONNECTION_STRING": database, "MEMORY_EMBEDDER": "none"}
    code, out, err = run_without(folder, module, COMMAND, *arguments, **variables)
    assert (code, out) == (1, "")
    assert err == (
        f"recollect: asking a database requires the extra ask ({module} not installed):"
        " run `pip install 'recollect[ask]'`\n"
    )


def test_chart_names_its_extra(folder: Path) -> None:
    program = f"{ROWS}; from recollect.apps.ask import charts; charts.draw_png(charts.build_chart(rows))"
    code, _, err = run_without(folder, "vl_convert", program)
    assert code == 1
    assert err.splitlines()[-1] == (
        "recollect.errors.MissingExtra: a chart requires the extra charts (vl_convert not installed):"
        " run `pip install 'recollect[charts]'`"
    )


def test_answer_without_charts_has_a_note(folder: Path) -> None:
    program = f"""
import asyncio
{ROWS}
from recollect.apps.ask.question import Answer
from recollect.server.http.answer_question import describe_with_chart
from recollect.server.http.answer_question import AskBody
answer = Answer(question="sales by region", text="north 1", rows=rows)
shape = asyncio.run(describe_with_chart(answer, AskBody(question="sales by region", plot=True)))
print(shape["raw_graph"] == "", shape["chart"]["mark"]["type"], *shape["notes"])
"""
    code, out, err = run_without(folder, "vl_convert", program)
    assert code == 0, err
    assert out == (
        "True bar a chart requires the extra charts (vl_convert not installed): run `pip install 'recollect[charts]'`\n"
    )


def test_every_extra_named_in_an_error_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(MODULES) <= set(project["optional-dependencies"])
