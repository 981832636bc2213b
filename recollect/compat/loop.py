"""One engine for callers that await and callers that do not. An engine belongs to the event loop it was opened on; here
its work is sent to that loop from wherever it is asked for. Used by all the shapes in this room, so that none of them
has a second implementation."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from typing import Any, ParamSpec, TypeVar

from recollect.engine import Engine
from recollect.errors import InvalidInput
from recollect.sync import SyncEngine

P = ParamSpec("P")
T = TypeVar("T")


class EngineLoop:
    """An engine and the loop it works on."""

    def __init__(self, engine: Engine | SyncEngine) -> None:
        if isinstance(engine, SyncEngine):
            self.engine, self._loop = engine._engine, engine._loop
        else:
            self.engine, self._loop = engine, _loop_here()

    async def there(self, work: Coroutine[Any, Any, T]) -> T:
        """For callers that await, on this loop or another."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """For callers that do not, in any thread but the loop's own: that one would wait for itself for ever."""
        if _running() is self._loop:
            work.close()
            raise InvalidInput("call", "this thread runs the engine's event loop; await the async twin of the method")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class OwnEngine(SyncEngine):
    """A SyncEngine that is open at once and closes, if nobody closed it, when the program ends."""

    def __init__(self, connecting: AbstractAsyncContextManager[Engine]) -> None:
        super().__init__(connecting)
        self._loop.set_default_executor(LastCalls())
        self.__enter__()
        atexit.register(self.end)

    def end(self) -> None:
        atexit.unregister(self.end)
        if not self._loop.is_closed():
            self.__exit__()


class LastCalls(ThreadPoolExecutor):
    """Works to the last: a program that ends has no new threads, but the embedded server has yet to be stopped."""

    def submit(self, work: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> Future[T]:
        try:
            return super().submit(work, *given, **named)
        except RuntimeError:
            done: Future[T] = Future()
            done.set_result(work(*given, **named))
            return done


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _loop_here() -> asyncio.AbstractEventLoop:
    loop = _running()
    if loop is None:
        raise InvalidInput("engine", "give it where the engine was opened, or give a SyncEngine (`connect_sync`)")
    return loop
