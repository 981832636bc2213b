"""Reader: an uploaded file's blocks, read by another process. Whoever keeps documents calls `read_file`; nothing a file
contains can harm him more than a `Failure`.

    async with aclosing(read_file(path, "report.pdf")) as items:
        async for item in items:
            match item: ...

Items are Batches and then one last word. After a Failure, what came before is to be dropped: a reading counts only from
its Finished on. Leaving early, by a break, an error or a cancellation, ends the process. Time is counted while we wait
for it, not while the caller works.
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

from recollect.model.document import Batch, Failure, Limits
from recollect.providers.files.frames import BadFrame, Item, next_item

CHILD = "recollect.providers.files.child"
ROOT = Path(__file__).parents[3]
DEFAULT = Limits()
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # of a pipe, do not wait for its writer
# openpyxl imports numpy where it finds it, whose threads may not be started there.
PLAIN = {"PYTHONUTF8": "1", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
STREAM_BYTES = 262_144  # read ahead of the caller; then the pipe fills, and the process waits
LAST_SECONDS = 5.0  # for a process that ends to be gone
OUT_OF_MEMORY = (71, -signal.SIGKILL)


async def read_file(path: Path, name: str, limits: Limits = DEFAULT) -> AsyncGenerator[Item, None]:
    """Raises OSError if the file cannot be opened: that is our fault, not the document's."""
    file = os.open(path, FLAGS)
    try:
        opening = refusal_by_size(file, limits) or await started(file, name, limits)
    finally:
        os.close(file)
    if isinstance(opening, Failure):
        yield opening
        return
    try:
        async for item in items(opening, limits):
            yield item
    finally:
        await end(opening)


def refusal_by_size(file: int, limits: Limits) -> Failure | None:
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        return Failure("unsupported", "not a regular file")
    if found.st_size > limits.file_bytes:
        return Failure("too_large", f"{found.st_size} bytes; at most {limits.file_bytes}")
    return Failure("empty") if found.st_size == 0 else None


async def started(file: int, name: str, limits: Limits) -> Process:
    """In a session of its own, with no secret of ours in its environment."""
    import msgspec

    settings = msgspec.json.encode(limits).decode()
    shown = name.encode("utf-8", "replace").decode().replace("\0", "")[-255:]
    arguments = [sys.executable, "-P", "-B", "-W", "ignore", "-m", CHILD, settings, shown]
    paths = dict.fromkeys([str(ROOT), *filter(os.path.isabs, sys.path)])
    environment = {"PYTHONPATH": os.pathsep.join(paths), **PLAIN}
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


async def items(process: Process, limits: Limits) -> AsyncIterator[Item]:
    loop = asyncio.get_running_loop()
    seconds, characters = limits.seconds, limits.characters
    while True:
        began = loop.time()
        item = await next_or_why(process, seconds)
        seconds -= loop.time() - began
        if isinstance(item, Batch):
            characters -= sum(len(block.text) for block in item.blocks)
            if characters < 0:
                item = Failure("too_large_unpacked", f"more than {limits.characters} characters")
        yield item
        if not isinstance(item, Batch):
            return


async def next_or_why(process: Process, seconds: float) -> Item:
    try:
        async with asyncio.timeout(seconds):
            return await next_item(output(process))
    except TimeoutError:
        return Failure("too_slow", "wall clock")
    except BadFrame:
        return Failure("corrupt", "the reader sent nonsense")
    except IncompleteReadError:
        return died(await status(process))


async def status(process: Process) -> int:
    """How it ended; it may have closed its output and live on, and is then taken to have ended well."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_SECONDS):
            return await process.wait()
    return 0


def died(status: int) -> Failure:
    """Why a process ended without a last word."""
    if status == -signal.SIGXCPU:
        return Failure("too_slow", "CPU")
    if status in OUT_OF_MEMORY:
        return Failure("too_much_memory", f"ended with {status}")
    return Failure("corrupt", f"the reader ended with {status}")


async def end(process: Process) -> None:
    """Kills it with all it started. Its output is read to the end, since else asyncio waits for that for ever."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_SECONDS):
            await output(process).read()
            await process.wait()


def output(process: Process) -> StreamReader:
    if process.stdout is None:
        raise AssertionError("it was started with a pipe")
    return process.stdout
