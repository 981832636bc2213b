"""The command line: the engine's verbs, and administration (`db`, `keys`, `work`).

app.py puts the commands together; each other module has one verb or group. Results go to stdout, everything else to
stderr (output.py). A verb's module imports the engine only when the verb runs, so that `recollect --help` loads neither
numpy nor the database driver.
"""

import os
import sys
from collections.abc import Sequence

from recollect.errors import MissingExtra, require_extra


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Without the extra `cli` there is one sentence on stderr."""
    try:
        require_extra("cli", "the command line")
    except MissingExtra as error:
        sys.stderr.write(f"recollect: {error}\n")
        return 1
    # Our matrices are small: waking threads costs more than their products. Read when numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from recollect.cli.app import main as run

    return run(arguments)


__all__ = ["main"]
