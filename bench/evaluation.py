"""What the evaluations share: labelled files, shares, and progress on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.cli.output import make_progress
from recollect.errors import InvalidInput

Progress = Callable[[int, int], None]  # is told how many of how many are done


def read_numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Return each line that is not blank with its number, for error messages."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidInput("file", f"{path}: {error.strerror or error}") from None
    return ((number, line) for number, line in enumerate(lines, 1) if line.strip())


def share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


@contextmanager
def track_progress(name: str) -> Iterator[Progress]:
    """Yield a callback that moves a progress bar."""
    with make_progress() as bars:
        bar = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)
