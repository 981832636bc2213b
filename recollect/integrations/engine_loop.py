"""One engine for async and sync callers. An engine belongs to the event loop it was opened on; `EngineLoop` sends work
to that loop from any thread, so that no adapter needs a second implementation."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, ParamSpec, TypeVar

from recollect.engine import Engine
from recollect.errors import InvalidInput, NotFound
from recollect.sync import SyncEngine
from recollect.values.conversation import Turn
from recollect.values.memory import Memory, MemoryKind, Status
from recollect.values.scope import Scope

P = ParamSpec("P")
T = TypeVar("T")
PAGE_SIZE = 1000
MEMORY_PAGE_SIZE = 10_000


class EngineLoop:
    """An engine and the event loop it was opened on."""

    def __init__(self, engine: Engine | SyncEngine) -> None:
        if isinstance(engine, SyncEngine):
            self.engine, self._loop = engine._target, engine._loop
            return
        loop = get_running_loop()
        if loop is None:
            problem = "create this object where the engine was opened, or pass a SyncEngine (`connect_sync`)"
            raise InvalidInput("engine", problem)
        self.engine, self._loop = engine, loop

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work on the engine's loop, from this loop or another."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Block until work on the engine's loop is done. The loop's own thread would deadlock, so it is refused."""
        if get_running_loop() is self._loop:
            work.close()
            raise InvalidInput(
                "call", "this thread runs the engine's event loop; await the async version of the method"
            )
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class OwnEngine(SyncEngine):
    """A SyncEngine that opens at once, and closes at the latest when the program ends."""

    def __init__(self, connecting: AbstractAsyncContextManager[Engine]) -> None:
        super().__init__(connecting)
        self._loop.set_default_executor(FinalExecutor())
        self.__enter__()
        atexit.register(self.shut_down)

    def shut_down(self) -> None:
        atexit.unregister(self.shut_down)
        if not self._loop.is_closed():
            self.__exit__()


class FinalExecutor(ThreadPoolExecutor):
    """Runs calls in the current thread once the program is ending: no new threads can start then, but the embedded
    server still has to be stopped."""

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        try:
            return super().submit(work, *args, **kwargs)
        except RuntimeError:
            finished: Future[T] = Future()
            finished.set_result(work(*args, **kwargs))
            return finished


def get_running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def forget_session(engine: Engine, scope: Scope) -> None:
    """Forget a session, if it exists, and the memories learned only from it."""
    with suppress(NotFound):
        await engine.forget(scope)


async def forget_versions(engine: Engine, scope: Scope, memories: Iterable[Memory]) -> None:
    """Forget memories, the oldest first, so that a replaced value does not become active again."""
    for memory in sorted(memories, key=lambda memory: (memory.valid_from, memory.id)):
        with suppress(NotFound):  # already forgotten with another
            await engine.forget(scope, memory=memory.id, owner="user")


def describe_calls(names: Sequence[str]) -> str:
    """Return a text for a message without one, since a turn needs a text."""
    return f"(calls {', '.join(names)})" if names else "(no text)"


async def read_memories(
    engine: Engine, scope: Scope, status: Sequence[Status] | None, kinds: Sequence[MemoryKind] | None = None
) -> list[Memory]:
    """Return all memories of a user, however many there are."""
    memories: list[Memory] = []
    while True:
        after = memories[-1].id if memories else None
        page = await engine.memories(scope, kinds=kinds, status=status, limit=MEMORY_PAGE_SIZE, after=after)
        memories += page
        if len(page) < MEMORY_PAGE_SIZE:
            return memories


async def read_turns(engine: Engine, scope: Scope, least: int | None = None) -> list[Turn]:
    """Return the turns of a session, oldest first; with `least`, at least that many of the latest. A session that does
    not exist has none."""
    turns: list[Turn] = []
    page: list[Turn] = []
    while not turns or (len(page) == PAGE_SIZE and (least is None or len(turns) < least)):
        try:
            page = await engine.history(scope, limit=PAGE_SIZE, before=turns[0].index if turns else None)
        except NotFound:
            break
        turns = page + turns
    return turns
