"""What the tests of the command line share: what a command leaves behind, somebody who types, and real processes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = str(Path(sys.executable).parent / "recollect")


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object that a program gets."""
        [line] = self.out.splitlines()
        return dict(json.loads(line))

    @property
    def error(self) -> dict[str, Any]:
        [line] = self.err.splitlines()
        return dict(json.loads(line)["error"])


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


Cli = Callable[..., Ran]


def run_program(*command: str, stdin: str = "", **environment: str) -> Ran:
    """A real process, whose output is a pipe."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "RECOLLECT_"))}
    done = subprocess.run(
        command, input=stdin, env={**kept, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)
