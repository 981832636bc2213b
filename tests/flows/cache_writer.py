"""A process of its own that writes, with a cache or without: says lines, blanks an older one now and then, and tells
each on its output when the engine has acknowledged it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from recollect import Engine, Scope, connect
from recollect.settings import read_settings

EVERY = 4  # lines, one is blanked


def line(n: int) -> str:
    return f"the code word of day {n} is heron{n}x"


async def write(memory: Engine, scope: Scope, lines: int, tell: Callable[[str, int], None]) -> None:
    for n in range(lines):
        await memory.record(scope, [("user", line(n))])
        tell("said", n)
        if n % EVERY == EVERY - 1:
            await blank(memory, scope, n - 1)
            tell("blanked", n - 1)


async def blank(memory: Engine, scope: Scope, n: int) -> None:
    known = await memory.learn(scope, f"heron{n}x")
    await memory.redact(scope, known.id)


def tell_all(what: str, n: int) -> None:
    sys.stdout.write(f"{what} {n}\n")
    sys.stdout.flush()


async def main(dsn: str, redis: str, user: str, lines: str) -> None:
    settings = read_settings({}, dsn=dsn, redis_cache=bool(redis), redis_url=redis)
    async with connect(settings, worker=False) as memory:
        await write(memory, Scope(user, "monday"), int(lines), tell_all)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
