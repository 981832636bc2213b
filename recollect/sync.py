"""SyncEngine: the Engine's methods for blocking code, run on one event loop in one thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast, overload

from recollect.engine import Documents, Engine, Keys, Runtime, Sources, Terms
from recollect.values.lesson import Lesson
from recollect.values.memory import Memory
from recollect.values.scope import MemoryId, Scope

T = TypeVar("T")
P = ParamSpec("P")


class Waiting:
    """Runs coroutines of `_target`, the engine or a group of its methods, on the loop of a `SyncEngine`."""

    _loop: asyncio.AbstractEventLoop
    _target: Any

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def wait_for(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that runs the engine's and waits for its result; it has the same parameters and docstring."""

    @wraps(method)
    def blocking(self: Waiting, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._wait(method(self._target, *args, **kwargs))

    return cast("Callable[Concatenate[Any, P], T]", blocking)


class SyncTerms(Waiting):
    """`Engine.terms` for blocking code."""

    load = wait_for(Terms.load)
    find = wait_for(Terms.find)
    put = wait_for(Terms.put)
    drop = wait_for(Terms.drop)


class SyncSources(Waiting):
    """`Engine.sources` for blocking code."""

    find = wait_for(Sources.find)
    get = wait_for(Sources.get)
    put = wait_for(Sources.put)
    drop = wait_for(Sources.drop)
    count_askers = wait_for(Sources.count_askers)


class SyncDocuments(Waiting):
    """`Engine.documents` for blocking code."""

    add = wait_for(Documents.add)
    find = wait_for(Documents.find)
    get = wait_for(Documents.get)
    drop = wait_for(Documents.drop)
    passage = wait_for(Documents.passage)
    search = wait_for(Documents.search)


class SyncKeys(Waiting):
    """`Engine.keys` for blocking code."""

    identify = wait_for(Keys.identify)
    sign_in = wait_for(Keys.sign_in)
    create = wait_for(Keys.create)
    find = wait_for(Keys.find)
    revoke = wait_for(Keys.revoke)


class SyncRuntime(Waiting):
    """`Engine.runtime` for blocking code."""

    brief = wait_for(Runtime.brief)
    count_use = wait_for(Runtime.count_use)
    record_outcome = wait_for(Runtime.record_outcome)
    record_message = wait_for(Runtime.record_message)
    embed = wait_for(Runtime.embed)
    run_once = wait_for(Runtime.run_once)
    server_identity = wait_for(Runtime.server_identity)
    retry_work = wait_for(Runtime.retry_work)


class SyncEngine(Waiting):
    """Get one from `recollect.connect_sync()`. May be used from several threads."""

    _target: Engine

    record = wait_for(Engine.record)
    recall = wait_for(Engine.recall)
    context = wait_for(Engine.context)
    history = wait_for(Engine.history)
    conversation = wait_for(Engine.conversation)
    conversations = wait_for(Engine.conversations)
    rename = wait_for(Engine.rename)
    resolve = wait_for(Engine.resolve)
    resolve_all = wait_for(Engine.resolve_all)
    standalone = wait_for(Engine.standalone)
    correct = wait_for(Engine.correct)
    memories = wait_for(Engine.memories)
    memory = wait_for(Engine.memory)
    close = wait_for(Engine.close)
    promote = wait_for(Engine.promote)
    approve = wait_for(Engine.approve)
    reject = wait_for(Engine.reject)
    episodes = wait_for(Engine.episodes)
    mark = wait_for(Engine.mark)
    forget = wait_for(Engine.forget)
    redact = wait_for(Engine.redact)
    explain = wait_for(Engine.explain)
    audit = wait_for(Engine.audit)
    rejections = wait_for(Engine.rejections)
    report = wait_for(Engine.report)
    health = wait_for(Engine.health)
    settle = wait_for(Engine.settle)

    def __init__(self, connecting: AbstractAsyncContextManager[Engine]) -> None:
        self._connecting = connecting
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="recollect", daemon=True)
        self.terms, self.sources, self.documents = SyncTerms(), SyncSources(), SyncDocuments()
        self.keys, self.runtime = SyncKeys(), SyncRuntime()

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._target = self._wait(self._connecting.__aenter__())
        except BaseException:
            self._stop()
            raise
        for name in ("terms", "sources", "documents", "keys", "runtime"):
            group: Waiting = getattr(self, name)
            group._loop, group._target = self._loop, getattr(self._target, name)
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._wait(self._connecting.__aexit__(None, None, None))
        finally:
            self._stop()

    @overload
    def learn(self, scope: Scope, lesson: Lesson | str, *, ending: Iterable[MemoryId | str] = ()) -> Memory: ...

    @overload
    def learn(
        self, scope: Scope, lesson: Sequence[Lesson], *, ending: Iterable[MemoryId | str] = ()
    ) -> list[Memory]: ...

    def learn(
        self, scope: Scope, lesson: Lesson | str | Sequence[Lesson], *, ending: Iterable[MemoryId | str] = ()
    ) -> Memory | list[Memory]:
        work: Coroutine[Any, Any, Memory | list[Memory]] = self._target.learn(scope, lesson, ending=ending)
        return self._wait(work)

    def export(self, scope: Scope) -> Iterator[str]:
        lines = self._target.export(scope)
        while (line := self._wait(anext(lines, None))) is not None:
            yield line

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
