"""The TypeScript client matches the server's OpenAPI document, type-checks, and runs with node against a real server.

`make typescript` regenerates its types. `make test` installs its npm packages.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.server.http.conftest import Serve, serve

__all__ = ["serve"]
CLIENT = ROOT / "clients" / "typescript"
COMPILER = CLIENT / "node_modules" / ".bin" / "tsc"
NODE = Path(sys.executable).with_name("node")
SECONDS = 120


@pytest.fixture(autouse=True)
def packages() -> None:
    assert COMPILER.exists(), "the client's npm packages are not installed; `make test` installs them"


def run(*command: str, stdin: str = "", **variables: str) -> str:
    environment = {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}", "NO_COLOR": "1", **variables}
    process = subprocess.run(
        command, cwd=CLIENT, env=environment, input=stdin, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_committed_types_match_the_openapi_document() -> None:
    document = run(sys.executable, str(ROOT / "scripts" / "openapi_document.py"), PYTHONPATH=str(ROOT))
    committed = (CLIENT / "src" / "schema.ts").read_text(encoding="utf-8")
    assert run(str(NODE), "generate.mjs", stdin=document) == committed, "schema.ts is out of date: run make typescript"


def test_client_and_examples_type_check() -> None:
    run(str(COMPILER), "--noEmit")


def test_example_recalls_across_sessions(serve: Serve) -> None:
    printed = run(str(NODE), "examples/remember.ts", serve().url).splitlines()
    assert printed[0] == "recorded monday#0 monday#1"
    assert any("user: The launch is in Lisbon, on the third of June." in line for line in printed)
    assert "chat in a new session" in printed
    assert any(line.startswith("it used ") and "monday#0" in line for line in printed)
    assert "streamed true" in printed
    assert any(line.startswith("because monday#0 ") for line in printed)
    assert printed[-1].startswith("refused 400 invalid_request ")


def test_client_works_against_a_real_server(serve: Serve) -> None:
    run(str(NODE), "--test", "test/client.test.ts", RECOLLECT_URL=serve().url)
