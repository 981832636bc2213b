"""Confine: what the reading process gives up before it looks at the file. Called once, by child.py.

Memory, CPU time, open files and new processes are limited; it can write nothing to disk; it dies with its parent; and
where the system lets it, it has no network. Its environment was left behind by reader.py.
"""

from __future__ import annotations

import ctypes
import re
import resource
import signal
import sys
from pathlib import Path

from recollect.model.document import Limits

OPEN_FILES = 64
GRACE = 2  # seconds of CPU between the signal that can be explained and the one that cannot be refused
NEAR = 0.75
PEAK = re.compile(r"VmPeak:\s+(\d+) kB")
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000


def confine(limits: Limits) -> None:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # Root needs no user namespace, and would lose its right to read our own modules in it. Where neither is
        # allowed this does nothing, and the limits below still hold.
        if libc.unshare(CLONE_NEWNET) != 0:
            libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)
    lower(resource.RLIMIT_AS, limits.memory_bytes)
    lower(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + GRACE)
    lower(resource.RLIMIT_NOFILE, OPEN_FILES)
    lower(resource.RLIMIT_FSIZE, 0)
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_NPROC, 0)


def lower(which: int, soft: int, hard: int | None = None) -> None:
    """Never above what we were given."""
    _, given = resource.getrlimit(which)
    most = given if given != resource.RLIM_INFINITY else sys.maxsize
    resource.setrlimit(which, (min(soft, most), min(soft if hard is None else hard, most)))


def was_near_limit(limits: Limits) -> bool:
    """Whether an error that does not say so may be one of memory: C libraries have their own words for it."""
    status = Path("/proc/self/status")
    found = PEAK.search(status.read_text()) if status.exists() else None
    return found is not None and int(found[1]) * 1024 > limits.memory_bytes * NEAR
