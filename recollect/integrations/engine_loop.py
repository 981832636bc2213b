"""What the adapters share: running an engine's coroutines on its own event loop from any thread, reading and
forgetting, and values stored as notes."""

from __future__ import annotations

import asyncio
import atexit
import hashlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from recollect import Engine, InvalidInput, Lesson, Memory, NotFound, Scope, SyncEngine, Turn
from recollect.sync import Waiting
from recollect.values.lesson import MAX_VALUE_CHARS
from recollect.values.memory import MemoryKind, Status
from recollect.values.scope import MAX_NAME

P = ParamSpec("P")
T = TypeVar("T")
PAGE_SIZE = 1000
MEMORY_PAGE_SIZE = 10_000
VERSION_CHARS = 20  # of a note's text, for its version


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


class Adapter(Waiting):
    """An object of another library's shape. `_target` has its methods as coroutines, which run on the engine's loop."""

    _engine_loop: EngineLoop

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._engine_loop.wait(work)


def awaiting(
    verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return an adapter's method that awaits a method of its target, from any loop."""

    @wraps(verb)
    async def run(adapter: Adapter, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await adapter._engine_loop.run(verb(adapter._target, *args, **kwargs))

    return run


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


# Values of other libraries as notes -----------------------------------------------------------------------------------
#
# A note's data has the value under the library's name; its text is what recall and people read. The text ends in a
# version, "(v2)": evidence with equal text is merged into one memory, and two versions of a value must stay separate.


def make_note_key(path: str) -> str:
    """Return the key of a note; a digest of the path if that is too long."""
    prefix = path.partition(":")[0]
    return path if len(path) <= MAX_NAME else f"{prefix}:{hashlib.sha256(path.encode()).hexdigest()}"


def make_note(key: str, text: str, importance: float, version: int, data: Mapping[str, Any]) -> Lesson:
    text = text[: MAX_VALUE_CHARS - VERSION_CHARS].strip()
    return Lesson(f"{text} (v{version})", key, importance=importance, owner="user", data=data)


def read_notes(memories: Iterable[Memory], prefix: str, library: str) -> Iterator[tuple[Memory, Mapping[str, Any]]]:
    """Yield the notes of a library, each with the value it stores."""
    for memory in memories:
        if memory.key.startswith(prefix) and library in (memory.data or {}):
            yield memory, (memory.data or {})[library]
