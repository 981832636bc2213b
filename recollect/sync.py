"""SyncEngine: the same verbs for code that does not await, over one event loop in one thread.

A test holds the signatures equal to Engine's; there is no second implementation of anything.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Self, TypeVar

from recollect.engine import Engine
from recollect.model.conversation import Recorded, Turn, TurnLike
from recollect.model.explanation import Explanation
from recollect.model.ids import RequestId
from recollect.model.receipt import Receipt
from recollect.model.scope import Scope
from recollect.model.search import Context, Query, Recall

T = TypeVar("T")


class SyncEngine:
    """Get one from `recollect.connect_sync()`. May be used from several threads."""

    def __init__(self, connecting: AbstractAsyncContextManager[Engine]) -> None:
        self._connecting = connecting
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="recollect", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._engine = self._wait(self._connecting.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._wait(self._connecting.__aexit__(None, None, None))
        finally:
            self._stop()

    def record(self, scope: Scope, turns: Turn | Iterable[TurnLike], *, idempotency_key: str | None = None) -> Recorded:
        return self._wait(self._engine.record(scope, turns, idempotency_key=idempotency_key))

    def recall(self, scope: Scope, query: Query | str) -> Recall:
        return self._wait(self._engine.recall(scope, query))

    def context(self, scope: Scope, query: Query | str) -> Context:
        return self._wait(self._engine.context(scope, query))

    def history(self, scope: Scope, *, limit: int = 50, before: int | None = None) -> list[Turn]:
        return self._wait(self._engine.history(scope, limit=limit, before=before))

    def forget(self, scope: Scope) -> Receipt:
        return self._wait(self._engine.forget(scope))

    def export(self, scope: Scope) -> Iterator[str]:
        lines = self._engine.export(scope)
        while (line := self._wait(anext(lines, None))) is not None:
            yield line

    def explain(self, scope: Scope, request_id: RequestId | str) -> Explanation:
        return self._wait(self._engine.explain(scope, request_id))

    def settle(self, scope: Scope) -> None:
        return self._wait(self._engine.settle(scope))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
