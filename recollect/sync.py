"""SyncEngine: the Engine's methods for blocking code, run on one event loop in one thread.

A test keeps the signatures equal to Engine's; nothing is implemented twice.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Self, TypeVar, overload

from recollect.engine import Engine
from recollect.values.api_key import ApiKey, Grant, KeyId, NewKey
from recollect.values.audit import Audit, Receipt
from recollect.values.conversation import Conversation, Episode, Recorded, Turn, TurnLike
from recollect.values.data_source import DataSource, ServerIdentity
from recollect.values.document import ChunkHit, Document, DocumentId, DocumentQuery, DocumentStatus, Passage, Upload
from recollect.values.explanation import Explanation, Outcome
from recollect.values.identity import Credentials, Identity
from recollect.values.lesson import Lesson, Owner
from recollect.values.memory import Memory, MemoryKind, Status
from recollect.values.query import Context, Query, Recall
from recollect.values.report import Report
from recollect.values.resolution import Brief, Briefing, Resolution
from recollect.values.scope import MemoryId, RequestId, Scope
from recollect.values.term import ImportReport, Term, TermKind
from recollect.values.work import Health

T = TypeVar("T")


class Waiting:
    """Runs the engine's coroutines on the loop of a `SyncEngine`."""

    _loop: asyncio.AbstractEventLoop
    _engine: Engine

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class SyncTerms(Waiting):
    """`Engine.terms` for blocking code."""

    def load(self, scope: Scope, source: str | Mapping[str, Any], *, replace: bool = False) -> ImportReport:
        return self._wait(self._engine.terms.load(scope, source, replace=replace))

    def find(
        self, scope: Scope, search: str | None = None, *, kind: TermKind | None = None, limit: int = 100
    ) -> list[Term]:
        return self._wait(self._engine.terms.find(scope, search, kind=kind, limit=limit))

    def put(self, scope: Scope, term: Term) -> Term:
        return self._wait(self._engine.terms.put(scope, term))

    def drop(self, scope: Scope, name: str, *, kind: TermKind | None = None) -> None:
        return self._wait(self._engine.terms.drop(scope, name, kind=kind))


class SyncSources(Waiting):
    """`Engine.sources` for code that does not await."""

    def find(self, scope: Scope) -> list[DataSource]:
        return self._wait(self._engine.sources.find(scope))

    def get(self, scope: Scope, name: str) -> DataSource:
        return self._wait(self._engine.sources.get(scope, name))

    def put(
        self,
        scope: Scope,
        source: DataSource,
        *,
        terms: Mapping[str, Any] | None = None,
        hidden: Collection[tuple[TermKind, str]] = (),
    ) -> DataSource:
        return self._wait(self._engine.sources.put(scope, source, terms=terms, hidden=hidden))

    def drop(self, scope: Scope, name: str) -> None:
        return self._wait(self._engine.sources.drop(scope, name))

    def count_askers(self, scope: Scope, shape: str) -> int:
        return self._wait(self._engine.sources.count_askers(scope, shape))


class SyncDocuments(Waiting):
    """`Engine.documents` for code that does not await."""

    def add(self, scope: Scope, upload: Upload, *, owner: Owner = "user") -> Document:
        return self._wait(self._engine.documents.add(scope, upload, owner=owner))

    def find(
        self,
        scope: Scope,
        *,
        status: Sequence[DocumentStatus] | None = None,
        owner: Owner | None = None,
        limit: int = 100,
        after: DocumentId | str | None = None,
        ids: Sequence[DocumentId | str] | None = None,
    ) -> list[Document]:
        return self._wait(
            self._engine.documents.find(scope, status=status, owner=owner, limit=limit, after=after, ids=ids)
        )

    def get(self, scope: Scope, document: DocumentId | str, *, owner: Owner | None = None) -> Document:
        return self._wait(self._engine.documents.get(scope, document, owner=owner))

    def drop(self, scope: Scope, document: DocumentId | str, *, owner: Owner | None = None) -> Receipt:
        return self._wait(self._engine.documents.drop(scope, document, owner=owner))

    def passage(self, scope: Scope, document: DocumentId | str, start: int, end: int) -> Passage:
        return self._wait(self._engine.documents.passage(scope, document, start, end))

    def search(self, scope: Scope, query: DocumentQuery | str) -> list[ChunkHit]:
        return self._wait(self._engine.documents.search(scope, query))


class SyncKeys(Waiting):
    """`Engine.keys` for code that does not await."""

    def identify(self, credentials: Credentials | None) -> Identity:
        return self._wait(self._engine.keys.identify(credentials))

    def sign_in(self, secret: str) -> NewKey:
        return self._wait(self._engine.keys.sign_in(secret))

    def create(self, grant: Grant, *, by: str = "local") -> NewKey:
        return self._wait(self._engine.keys.create(grant, by=by))

    def find(self, project: str | None = None) -> list[ApiKey]:
        return self._wait(self._engine.keys.find(project))

    def revoke(self, key: KeyId | str, *, project: str | None = None, by: str = "local") -> ApiKey:
        return self._wait(self._engine.keys.revoke(key, project=project, by=by))


class SyncRuntime(Waiting):
    """`Engine.runtime` for code that does not await."""

    def brief(self, scope: Scope, wanted: Brief) -> Briefing:
        return self._wait(self._engine.runtime.brief(scope, wanted))

    def count_use(self, scope: Scope, memories: Iterable[MemoryId]) -> None:
        return self._wait(self._engine.runtime.count_use(scope, memories))

    def record_outcome(self, scope: Scope, request_id: RequestId | str, outcome: Outcome) -> None:
        return self._wait(self._engine.runtime.record_outcome(scope, request_id, outcome))

    def run_once(self, scope: Scope, key: str, body: bytes, work: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
        return self._wait(self._engine.runtime.run_once(scope, key, body, work))

    def server_identity(self) -> ServerIdentity:
        return self._wait(self._engine.runtime.server_identity())

    def retry_work(self) -> int:
        return self._wait(self._engine.runtime.retry_work())


class SyncEngine(Waiting):
    """Get one from `recollect.connect_sync()`. May be used from several threads."""

    def __init__(self, connecting: AbstractAsyncContextManager[Engine]) -> None:
        self._connecting = connecting
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="recollect", daemon=True)
        self.terms, self.sources, self.documents = SyncTerms(), SyncSources(), SyncDocuments()
        self.keys, self.runtime = SyncKeys(), SyncRuntime()

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._engine = self._wait(self._connecting.__aenter__())
        except BaseException:
            self._stop()
            raise
        for group in (self.terms, self.sources, self.documents, self.keys, self.runtime):
            group._loop, group._engine = self._loop, self._engine
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

    def conversation(self, scope: Scope) -> Conversation | None:
        return self._wait(self._engine.conversation(scope))

    def conversations(self, scope: Scope, *, limit: int = 50, offset: int = 0) -> list[Conversation]:
        return self._wait(self._engine.conversations(scope, limit=limit, offset=offset))

    def rename(self, scope: Scope, name: str) -> Conversation:
        return self._wait(self._engine.rename(scope, name))

    def resolve(self, scope: Scope, term: str, *, definitions: Mapping[str, str] | None = None) -> Resolution:
        return self._wait(self._engine.resolve(scope, term, definitions=definitions))

    def resolve_all(
        self, scope: Scope, terms: Sequence[str], *, definitions: Mapping[str, str] | None = None
    ) -> list[Resolution]:
        return self._wait(self._engine.resolve_all(scope, terms, definitions=definitions))

    def standalone(self, question: str, previous: Sequence[str]) -> str:
        return self._wait(self._engine.standalone(question, previous))

    @overload
    def learn(self, scope: Scope, lesson: Lesson | str, *, ending: Iterable[MemoryId | str] = ()) -> Memory: ...

    @overload
    def learn(
        self, scope: Scope, lesson: Sequence[Lesson], *, ending: Iterable[MemoryId | str] = ()
    ) -> list[Memory]: ...

    def learn(
        self, scope: Scope, lesson: Lesson | str | Sequence[Lesson], *, ending: Iterable[MemoryId | str] = ()
    ) -> Memory | list[Memory]:
        work: Coroutine[Any, Any, Memory | list[Memory]] = self._engine.learn(scope, lesson, ending=ending)
        return self._wait(work)

    def correct(self, scope: Scope, memory: MemoryId | str, value: str, *, owner: Owner | None = None) -> Memory:
        return self._wait(self._engine.correct(scope, memory, value, owner=owner))

    def memories(
        self,
        scope: Scope,
        *,
        kinds: Sequence[MemoryKind] | None = None,
        key: str | Sequence[str] | None = None,
        status: Sequence[Status] | None = ("active", "pending"),
        owner: Owner = "user",
        as_of: datetime | None = None,
        limit: int = 200,
        after: MemoryId | str | None = None,
    ) -> list[Memory]:
        return self._wait(
            self._engine.memories(
                scope, kinds=kinds, key=key, status=status, owner=owner, as_of=as_of, limit=limit, after=after
            )
        )

    def close(self, scope: Scope, memory: MemoryId | str, *, owner: Owner | None = None) -> Memory:
        return self._wait(self._engine.close(scope, memory, owner=owner))

    def promote(self, scope: Scope, memory: MemoryId | str) -> Memory:
        return self._wait(self._engine.promote(scope, memory))

    def approve(self, scope: Scope, memory: MemoryId | str) -> Memory:
        return self._wait(self._engine.approve(scope, memory))

    def reject(self, scope: Scope, memory: MemoryId | str) -> Memory:
        return self._wait(self._engine.reject(scope, memory))

    def episodes(self, scope: Scope, *, limit: int = 100) -> list[Episode]:
        return self._wait(self._engine.episodes(scope, limit=limit))

    def mark(self, scope: Scope, ref: str, *, high_value: bool = True) -> None:
        return self._wait(self._engine.mark(scope, ref, high_value=high_value))

    def forget(self, scope: Scope, *, memory: MemoryId | str | None = None, owner: Owner | None = None) -> Receipt:
        return self._wait(self._engine.forget(scope, memory=memory, owner=owner))

    def redact(self, scope: Scope, memory: MemoryId | str, *, owner: Owner | None = None) -> Receipt:
        return self._wait(self._engine.redact(scope, memory, owner=owner))

    def export(self, scope: Scope) -> Iterator[str]:
        lines = self._engine.export(scope)
        while (line := self._wait(anext(lines, None))) is not None:
            yield line

    def explain(self, scope: Scope, request_id: RequestId | str) -> Explanation:
        return self._wait(self._engine.explain(scope, request_id))

    def audit(self, scope: Scope, *, owner: Owner = "user") -> list[Audit]:
        return self._wait(self._engine.audit(scope, owner=owner))

    def rejections(self, scope: Scope) -> dict[str, int]:
        return self._wait(self._engine.rejections(scope))

    def report(self, project: Scope | str = "default", *, days: int = 7) -> Report:
        return self._wait(self._engine.report(project, days=days))

    def health(self) -> Health:
        return self._wait(self._engine.health())

    def settle(self, scope: Scope) -> None:
        return self._wait(self._engine.settle(scope))

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
