"""The TypeScript client is what the server's OpenAPI document says; it type-checks; and node runs it as it stands.

`python scripts/typescript_client.py` writes it anew. Node comes with the development tools; the compiler is npm's, and
`make test` fetches it.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

from docs.pages import ROOT
from doors.http.conftest import Serve, serve

__all__ = ["serve"]
HERE = ROOT / "clients" / "typescript"
NODE = Path(sys.executable).with_name("node")
MODULES = ROOT / ".venv" / "typescript" / "node_modules"
SECONDS = 120


def ran(*command: str, **more: str) -> str:
    environment = {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}", "NO_COLOR": "1", **more}
    done = subprocess.run(
        command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_committed_client_is_what_the_server_says() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "typescript_client.py"))
    for name, text in script["written"](script["document"]()).items():
        committed = (HERE / "src" / name).read_text(encoding="utf-8")
        assert committed == text, f"{name} is out of date: run python scripts/typescript_client.py"


def test_the_client_and_its_examples_type_check() -> None:
    compiler = MODULES / ".bin" / "tsc"
    assert compiler.exists(), "there is no compiler to check with; `make test` installs it"
    ran(str(compiler), "--noEmit", "--typeRoots", str(MODULES / "@types"))


def test_the_example_remembers_across_sessions_and_says_why(serve: Serve) -> None:
    printed = ran(str(NODE), "examples/remember.ts", serve().url).splitlines()
    assert printed[0] == "recorded monday#0 monday#1"
    assert any("user: The launch is in Lisbon, on the third of June." in line for line in printed)
    assert "chat in a new session" in printed
    assert any(line.startswith("it used ") and "monday#0" in line for line in printed)
    assert "streamed true" in printed
    assert any(line.startswith("because monday#0 ") for line in printed)
    assert printed[-1].startswith("refused 400 invalid_request ")


def test_the_client_keeps_its_promises_against_a_real_server(serve: Serve) -> None:
    ran(str(NODE), "--test", "test/client.test.ts", RECOLLECT_URL=serve().url)
