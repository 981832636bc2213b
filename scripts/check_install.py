"""Build the wheel, install it into new environments, and check that it works and stays small. `make test-long` runs it.

    python scripts/check_install.py                # starts the embedded PostgreSQL of this environment
    python scripts/check_install.py --dsn DSN      # an empty database that the library may migrate

The library without extras records and recalls against that PostgreSQL. With the extras `embedded` and `local` it does
so on its own. The exit code is 1 if something does not work or an environment exceeds its limit. A limit counts the
files that packages contain: whether bytecode is added depends on the installer, so it is only printed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
MEGABYTE = 1_000_000
LIMITS = {"": 150, "[embedded,local]": 230}  # megabytes
PROGRAM = """
import asyncio, sys, recollect
from recollect import Query, Scope

async def run():
    async with recollect.connect(dsn=sys.argv[1], embedder=sys.argv[2]) as memory:
        alex = Scope(user="alex", session="monday")
        await memory.record(alex, [("user", "The launch is in Lisbon."), ("assistant", "Noted.")])
        recalled = await memory.recall(alex, Query("Where is the launch?"))
        assert any("Lisbon" in hit.text for hit in recalled.hits), recalled.hits
        print("recorded and recalled with", recollect.__file__)

asyncio.run(run())
"""


def show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run(*command: str, **variables: str) -> str:
    """Return what a command prints; its stderr is shown only if it fails."""
    process = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:4])} failed:\n{process.stdout}{process.stderr}")
    return process.stdout


def build_wheel(folder: Path) -> Path:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    [wheel] = folder.glob("recollect-*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """Fail if the wheel has anything but the package, or lacks files that are not Python."""
    names = zipfile.ZipFile(wheel).namelist()
    outside = [name for name in names if not name.startswith("recollect/") and ".dist-info/" not in name]
    assert not outside, f"the wheel contains {outside[:5]}"
    for suffix in (".sql", ".toml", ".html", ".typed"):
        assert any(name.endswith(suffix) for name in names), f"the wheel contains no {suffix} file"
    show(f"wheel: {len(names)} files, {wheel.stat().st_size / MEGABYTE:.1f} MB")


def install(wheel: Path, extras: str, folder: Path) -> Path:
    """Return the Python of a new environment that contains the wheel, its extras and no pip."""
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python))
    run(*pip, "install", "--quiet", f"{wheel}{extras}")
    return python


def measure(folder: Path) -> tuple[float, float]:
    """Return the megabytes of an environment: files of packages, and bytecode."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    bytecode = sum(path.stat().st_size for path in files if path.suffix == ".pyc")
    return (sum(path.stat().st_size for path in files) - bytecode) / MEGABYTE, bytecode / MEGABYTE


@contextmanager
def open_database(dsn: str | None, home: Path) -> Iterator[str]:
    """Yield the DSN of an empty database: the given one, or one of an embedded server that is stopped afterwards."""
    if dsn is not None:
        yield dsn
        return
    from recollect.store.connection import make_database
    from recollect.store.embedded import attach

    attachment = attach(home)
    try:
        yield asyncio.run(make_database(attachment.dsn, "check_install"))
    finally:
        attachment.detach()


def main() -> int:
    parser = argparse.ArgumentParser(description="Check that the wheel installs, works and stays small.")
    parser.add_argument("--dsn", help="an empty PostgreSQL database; by default an embedded server is started")
    given = parser.parse_args()
    exceeded = False
    with tempfile.TemporaryDirectory(prefix="recollect-install-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the embedded server runs as another user if we are root
        wheel = build_wheel(folder)
        check_contents(wheel)
        for number, (extras, limit) in enumerate(LIMITS.items()):
            environment, home = folder / f"environment{number}", folder / f"home{number}"
            home.mkdir()
            python = install(wheel, extras, environment)
            size, bytecode = measure(environment)
            show(f"recollect{extras}: {size:.0f} MB (limit {limit} MB), and {bytecode:.0f} MB of bytecode")
            exceeded |= size > limit
            if extras:
                show(run(str(python), "-Ic", PROGRAM, "", "local", RECOLLECT_HOME=str(home)).strip())
            else:
                with open_database(given.dsn, home) as dsn:
                    show(run(str(python), "-Ic", PROGRAM, dsn, "none").strip())
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
