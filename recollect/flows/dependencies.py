"""Dependencies: what every flow works with, built once in bootstrap.py: settings, store and services, quotas,
background tasks and wake-ups. Losing a background task or a wake-up loses nothing: the work is found again from the
log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from recollect.deadline import Breaker
from recollect.errors import QuotaExceeded, RecollectError
from recollect.flows.embed import Embedding, Outages
from recollect.flows.request_log import RequestLog, UsageCounter
from recollect.ports import Clock, Reasoner
from recollect.providers.jwt import TokenReader
from recollect.settings import Settings
from recollect.store.store import Store
from recollect.store.upkeep import ReportStore, Usage
from recollect.values.document import DocumentId
from recollect.values.scope import ConversationId, Scope, ScopeId
from recollect.values.sensitive_data import mask_text

if TYPE_CHECKING:
    from recollect.flows.cache import TurnCache
    from recollect.providers.files.reader import ConfinedReader

FRESH_SECONDS = 60.0
MOST_PROJECTS = 1_000  # whose usage is remembered


@dataclass(slots=True)
class Quota:
    """The limits of one engine, and the usage of projects as read last."""

    settings: Settings
    store: ReportStore
    _projects: dict[str, tuple[float, Usage]] = field(default_factory=dict)

    async def check(self, scope: Scope, new: Usage, *, is_shared: bool = False) -> None:
        """Raise QuotaExceeded if storing `new` goes beyond a limit. Shared documents count for the project only."""
        limits = self.settings
        if not is_shared and (limits.user_turns or limits.user_document_bytes):
            stored = await self.store.read_usage(scope.id)
            refuse_more(f"user {scope.user!r}", "USER", stored + new, limits.user_turns, limits.user_document_bytes)
        if limits.project_turns or limits.project_document_bytes:
            stored = await self._read_project(scope.project)
            most = limits.project_turns, limits.project_document_bytes
            refuse_more(f"project {scope.project!r}", "PROJECT", stored + new, *most)

    async def _read_project(self, project: str) -> Usage:
        at, usage = self._projects.get(project, (-FRESH_SECONDS, Usage()))
        if time.monotonic() - at >= FRESH_SECONDS:
            usage = await self.store.read_project_usage(project)
            if len(self._projects) >= MOST_PROJECTS:
                self._projects.clear()
            self._projects[project] = (time.monotonic(), usage)
        return usage


def refuse_more(who: str, setting: str, wanted: Usage, most_turns: int, most_bytes: int) -> None:
    if most_turns and wanted.turns > most_turns:
        raise QuotaExceeded(
            f"{who} may store {most_turns:,} messages (RECOLLECT_{setting}_TURNS); forget sessions, or raise the limit"
        )
    if most_bytes and wanted.document_bytes > most_bytes:
        raise QuotaExceeded(
            f"{who} may store {most_bytes:,} bytes of documents (RECOLLECT_{setting}_DOCUMENT_BYTES);"
            " delete documents, or raise the limit"
        )


log = logging.getLogger("recollect.background")


class BackgroundTasks:
    """Runs at most one task per scope at a time."""

    def __init__(self) -> None:
        self._running: dict[ScopeId, asyncio.Task[None]] = {}

    def start(self, scope: ScopeId, work: Coroutine[Any, Any, None]) -> None:
        """Start the work, unless a task of this scope is running."""
        if scope in self._running:
            work.close()
            return
        task = asyncio.create_task(self._run(work))
        self._running[scope] = task
        task.add_done_callback(lambda _: self._running.pop(scope, None))

    async def close(self) -> None:
        """Cancel unfinished tasks; the next request that needs them starts them again."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except RecollectError as error:
            log.warning("a background task failed and is retried later: %s", error)


T = TypeVar("T", ConversationId, DocumentId)
MOST_WAKE_UPS = 10_000


class WakeUps(Generic[T]):
    """What was just written or added, for a worker of the same process."""

    def __init__(self) -> None:
        self._places: dict[tuple[ScopeId, T], None] = {}
        self._added = asyncio.Event()
        self.has_listener = False  # a worker of this process listens

    def add(self, scope: ScopeId, item: T) -> None:
        if self.has_listener and len(self._places) < MOST_WAKE_UPS:
            self._places[scope, item] = None
            self._added.set()

    @property
    def has_some(self) -> bool:
        return bool(self._places)

    async def wait(self, seconds: float) -> None:
        """Wait until there is one, or until the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._added.wait()

    def take(self) -> list[tuple[ScopeId, T]]:
        taken = list(self._places)
        self._places.clear()
        self._added.clear()
        return taken


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The settings, the store and the services of one engine."""

    settings: Settings
    store: Store
    embedding: Embedding
    reasoner: Reasoner | None
    summariser: Reasoner | None  # the same, or a cheaper one
    request_log: RequestLog
    usage: UsageCounter
    background_tasks: BackgroundTasks
    clock: Clock
    files: ConfinedReader
    quota: Quota
    tokens: TokenReader | None = None  # none: no JSON Web Tokens are accepted
    new_conversations: WakeUps[ConversationId] = field(default_factory=WakeUps)
    new_documents: WakeUps[DocumentId] = field(default_factory=WakeUps)
    outages: Outages = field(default_factory=Outages)
    breaker: Breaker = field(default_factory=Breaker)
    cache: TurnCache | None = None  # None: Redis is not used
    large_scopes: set[ScopeId] = field(default_factory=set)  # scopes that are too large to read completely

    def mask(self, text: str) -> str:
        """Return a text as it is stored: without sensitive data, if the setting says so."""
        return mask_text(text) if self.settings.mask_sensitive else text
