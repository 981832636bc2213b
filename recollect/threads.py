"""CPU-bound work outside the event loop: `run_in_thread` runs a function in one of a few threads.

Python switches between threads every few milliseconds, so other requests are still answered. There are few threads
because each busy one slows the event loop down. Work that takes seconds is submitted in pieces, so that other work is
not blocked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 2
_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="recollect-cpu")


async def run_in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what the function returns; the event loop keeps running."""
    return await asyncio.get_running_loop().run_in_executor(_pool, lambda: work(*args, **kwargs))
