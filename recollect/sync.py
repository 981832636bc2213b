"""SyncEngine: the same verbs for code that does not await, over one event loop in one thread.

A test holds the signatures equal to Engine's; there is no second implementation of anything.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Self, TypeVar, overload

from recollect.engine import Engine
from recollect.model.api_key import ApiKey, Grant, KeyId, NewKey
from recollect.model.audit import Audit
from recollect.model.briefing import Brief, Briefing
from recollect.model.conversation import Conversation, Recorded, Turn, TurnLike
from recollect.model.data_source import DataSource
from recollect.model.document_search import ChunkHit, DocumentQuery
from recollect.model.episode import Episode
from recollect.model.explanation import Explanation, Outcome
from recollect.model.health import Health
from recollect.model.identity import Credentials, Identity
from recollect.model.ids import MemoryId, RequestId
from recollect.model.lesson import Lesson, Owner
from recollect.model.library import Document, DocumentId, DocumentStatus, Passage, Upload
from recollect.model.memory import Memory, MemoryKind, Status
from recollect.model.ontology import ImportReport, Term, TermKind
from recollect.model.receipt import Receipt
from recollect.model.report import Report
from recollect.model.resolution import Resolution
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

    def import_ontology(self, scope: Scope, source: str | Mapping[str, Any], *, replace: bool = False) -> ImportReport:
        return self._wait(self._engine.import_ontology(scope, source, replace=replace))

    def terms(
        self, scope: Scope, search: str | None = None, *, kind: TermKind | None = None, limit: int = 100
    ) -> list[Term]:
        return self._wait(self._engine.terms(scope, search, kind=kind, limit=limit))

    def put_term(self, scope: Scope, term: Term) -> Term:
        return self._wait(self._engine.put_term(scope, term))

    def drop_term(self, scope: Scope, name: str, *, kind: TermKind | None = None) -> None:
        return self._wait(self._engine.drop_term(scope, name, kind=kind))

    def data_sources(self, scope: Scope) -> list[DataSource]:
        return self._wait(self._engine.data_sources(scope))

    def data_source(self, scope: Scope, name: str) -> DataSource:
        return self._wait(self._engine.data_source(scope, name))

    def put_data_source(self, scope: Scope, source: DataSource) -> DataSource:
        return self._wait(self._engine.put_data_source(scope, source))

    def drop_data_source(self, scope: Scope, name: str) -> None:
        return self._wait(self._engine.drop_data_source(scope, name))

    def add_document(self, scope: Scope, upload: Upload, *, owner: Owner = "user") -> Document:
        return self._wait(self._engine.add_document(scope, upload, owner=owner))

    def documents(
        self,
        scope: Scope,
        *,
        status: Sequence[DocumentStatus] | None = None,
        owner: Owner | None = None,
        limit: int = 100,
        after: DocumentId | str | None = None,
        ids: Sequence[DocumentId | str] | None = None,
    ) -> list[Document]:
        return self._wait(self._engine.documents(scope, status=status, owner=owner, limit=limit, after=after, ids=ids))

    def document(self, scope: Scope, document: DocumentId | str, *, owner: Owner | None = None) -> Document:
        return self._wait(self._engine.document(scope, document, owner=owner))

    def drop_document(self, scope: Scope, document: DocumentId | str, *, owner: Owner | None = None) -> Receipt:
        return self._wait(self._engine.drop_document(scope, document, owner=owner))

    def passage(self, scope: Scope, document: DocumentId | str, start: int, end: int) -> Passage:
        return self._wait(self._engine.passage(scope, document, start, end))

    def search_documents(self, scope: Scope, query: DocumentQuery | str) -> list[ChunkHit]:
        return self._wait(self._engine.search_documents(scope, query))

    def brief(self, scope: Scope, wanted: Brief) -> Briefing:
        return self._wait(self._engine.brief(scope, wanted))

    def asked(self, scope: Scope, shape: str) -> int:
        return self._wait(self._engine.asked(scope, shape))

    def used(self, scope: Scope, memories: Iterable[MemoryId]) -> None:
        return self._wait(self._engine.used(scope, memories))

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

    def answered(self, scope: Scope, request_id: RequestId | str, outcome: Outcome) -> None:
        return self._wait(self._engine.answered(scope, request_id, outcome))

    def audit(self, scope: Scope, *, owner: Owner = "user") -> list[Audit]:
        return self._wait(self._engine.audit(scope, owner=owner))

    def rejections(self, scope: Scope) -> dict[str, int]:
        return self._wait(self._engine.rejections(scope))

    def report(self, project: Scope | str = "default", *, days: int = 7) -> Report:
        return self._wait(self._engine.report(project, days=days))

    def health(self) -> Health:
        return self._wait(self._engine.health())

    def retry_work(self) -> int:
        return self._wait(self._engine.retry_work())

    def once(self, scope: Scope, key: str, body: bytes, work: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
        return self._wait(self._engine.once(scope, key, body, work))

    def identify(self, credentials: Credentials | None) -> Identity:
        return self._wait(self._engine.identify(credentials))

    def sign_in(self, secret: str) -> NewKey:
        return self._wait(self._engine.sign_in(secret))

    def create_key(self, grant: Grant, *, by: str = "local") -> NewKey:
        return self._wait(self._engine.create_key(grant, by=by))

    def list_keys(self, project: str | None = None) -> list[ApiKey]:
        return self._wait(self._engine.list_keys(project))

    def revoke_key(self, key: KeyId | str, *, project: str | None = None, by: str = "local") -> ApiKey:
        return self._wait(self._engine.revoke_key(key, project=project, by=by))

    def settle(self, scope: Scope) -> None:
        return self._wait(self._engine.settle(scope))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
