"""The command line: the engine's verbs by their own names, a tour (`demo`), and what an operator needs (`db`, `eval`,
`bench`).

    app.py        the commands put together, and `main`
    options.py    what the commands have in common: scope, times, --json
    failures.py   what an error becomes: a line on stderr and an exit code
    paper.py      where output goes: tables for people, JSON for programs, progress beside both
    record.py ... one file per verb or group; tables.py and shapes.py say how results look to people and to programs

Results go to stdout, everything else (progress, questions, errors) to stderr. A verb's module imports the engine only
when the verb runs: `recollect --help` loads neither numpy nor the database driver.
"""

from recollect.doors.cli.app import main

__all__ = ["main"]
