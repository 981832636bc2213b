"""Reading of uploaded files in another process. Whatever a file contains, the worst outcome is a Failure.

    async with aclosing(ConfinedReader().read(path, "report.pdf")) as items:
        async for item in items:
            match item: ...

Items are Batches and one last item. A reading counts only from its Finished on; after a Failure, drop what came before.
Leaving early ends the process. Time counts while the reader waits for the process, not while the caller works.
"""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from asyncio import IncompleteReadError, StreamReader
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import cast

from recollect.providers.files.source import UNREAD_KINDS, BadFrame, Item, read_frame
from recollect.values.document import Batch, Failure, Limits

CHILD = "recollect.providers.files.child"
ROOT = Path(__file__).parents[3]
DEFAULT = Limits()
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # do not wait for the writer of a pipe
# openpyxl imports numpy if it is installed, and the process may not start numpy's threads.
ENVIRONMENT = {"PYTHONUTF8": "1", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
STREAM_BYTES = 262_144  # read ahead of the caller; then the pipe fills and the process waits
END_SECONDS = 5.0  # for a process to end
OUT_OF_MEMORY = (71, -signal.SIGKILL)


class ConfinedReader:
    def __init__(self, limits: Limits = DEFAULT) -> None:
        self._limits = limits

    def glance(self, head: bytes) -> Failure | None:
        """Return why a file is refused, if its first bytes are enough to know: no parser runs in this process."""
        if not head:
            return Failure("empty")
        kind = next((kind for magic, kind in UNREAD_KINDS.items() if head.startswith(magic)), None)
        return None if kind is None else Failure("unsupported", kind)

    def read(self, path: Path, name: str) -> AsyncGenerator[Item, None]:
        return read_file(path, name, self._limits)


async def read_file(path: Path, name: str, limits: Limits = DEFAULT) -> AsyncGenerator[Item, None]:
    """Yield the items of a file. Raises OSError if the file cannot be opened: that is no fault of the document."""
    file = os.open(path, FLAGS)
    try:
        opening = check_size(file, limits) or await start_process(file, name, limits)
    finally:
        os.close(file)
    if isinstance(opening, Failure):
        yield opening
        return
    try:
        async for item in read_items(opening, limits):
            yield item
    finally:
        await end_process(opening)


def check_size(file: int, limits: Limits) -> Failure | None:
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        return Failure("unsupported", "not a regular file")
    if found.st_size > limits.file_bytes:
        return Failure("too_large", f"{found.st_size} bytes; at most {limits.file_bytes}")
    return Failure("empty") if found.st_size == 0 else None


async def start_process(file: int, name: str, limits: Limits) -> Process:
    """Start the process in a session of its own, without our environment, which has secrets."""
    import msgspec

    settings = msgspec.json.encode(limits).decode()
    safe_name = name.encode("utf-8", "replace").decode().replace("\0", "")[-255:]
    arguments = [sys.executable, "-P", "-B", "-W", "ignore", "-m", CHILD, settings, safe_name]
    paths = dict.fromkeys([str(ROOT), *filter(os.path.isabs, sys.path)])
    environment = {"PYTHONPATH": os.pathsep.join(paths), **ENVIRONMENT}
    return await asyncio.create_subprocess_exec(
        *arguments,
        stdin=file,
        stdout=PIPE,
        stderr=DEVNULL,
        env=environment,
        cwd="/",
        limit=STREAM_BYTES,
        start_new_session=True,
    )


async def read_items(process: Process, limits: Limits) -> AsyncIterator[Item]:
    loop = asyncio.get_running_loop()
    seconds, characters = limits.seconds, limits.characters
    while True:
        began = loop.time()
        item = await next_item(process, seconds)
        seconds -= loop.time() - began
        if isinstance(item, Batch):
            characters -= sum(len(block.text) for block in item.blocks)
            if characters < 0:
                item = Failure("too_large_unpacked", f"more than {limits.characters} characters")
        yield item
        if not isinstance(item, Batch):
            return


async def next_item(process: Process, seconds: float) -> Item:
    try:
        async with asyncio.timeout(seconds):
            return await read_frame(cast("StreamReader", process.stdout))
    except TimeoutError:
        return Failure("too_slow", "wall clock")
    except BadFrame:
        return Failure("corrupt", "the reader sent a bad frame")
    except IncompleteReadError:
        with suppress(TimeoutError):  # the process has closed its output and lives on
            await asyncio.wait_for(process.wait(), END_SECONDS)
        return explain_exit(process.returncode)


def explain_exit(status: int | None) -> Failure:
    """Return why a process ended without a last item."""
    if status == -signal.SIGXCPU:
        return Failure("too_slow", "CPU")
    if status in OUT_OF_MEMORY:
        return Failure("too_much_memory", f"ended with {status}")
    return Failure("corrupt", f"the reader ended with {status}")


async def end_process(process: Process) -> None:
    """Kill the process and all it started. Its output is read to the end, or asyncio would wait without end."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await cast("StreamReader", process.stdout).read()
            await process.wait()
