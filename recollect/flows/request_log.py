"""What is written after an answer has been sent: one row per request, for metrics and explain(), and how often memories
were used. Callers never wait for it; if the database is down, rows are lost, never answers."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from recollect.errors import InvalidInput, RecollectError
from recollect.ports import Clock
from recollect.recall.lexemes import lexemes
from recollect.store.store import Store
from recollect.values.audit import Outcome
from recollect.values.query import MAX_QUERY_CHARS, Context, Hit, MemoryHit, Recall
from recollect.values.scope import MemoryId, RequestId, Scope, ScopeId, uuid7

log = logging.getLogger("recollect.requests")
WRITE_PAUSE = 0.2  # seconds in which rows gather
USAGE_PAUSE = 1.0  # seconds in which counts gather
MAX_BUFFERED = 10_000  # rows buffered while the database is down; the oldest are dropped first


class BackgroundWriter(ABC):
    """Gathers what is to be written for a moment, then writes all of it. A failure must never break an answer: what
    was gathered stays until the next use tries again."""

    pause = WRITE_PAUSE

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writer: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    @abstractmethod
    async def flush(self) -> None:
        """Write everything gathered so far. Raises if the database is down."""

    @abstractmethod
    def describe_rest(self) -> str:
        """Return what is not written yet, for the log."""

    async def close(self) -> None:
        """Write what is left. A write that is under way is waited for: cancelled, it might be counted twice."""
        async with self._writing:
            if self._writer is not None:
                self._writer.cancel()
        await self._try_flush()

    def _start_writing(self) -> None:
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_soon())

    async def _write_soon(self) -> None:
        await asyncio.sleep(self.pause)
        await self._try_flush()

    async def _try_flush(self) -> None:
        try:
            await self.flush()
        except RecollectError as error:
            log.warning("not written yet: %s: %s", self.describe_rest(), error)


class RequestLog(BackgroundWriter):
    """Buffers one row per request."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._rows: deque[tuple[ScopeId, dict[str, Any]]] = deque(maxlen=MAX_BUFFERED)

    def add(self, scope: ScopeId, row: dict[str, Any]) -> None:
        """Buffer a row; returns at once."""
        self._rows.append((scope, row))
        self._start_writing()

    async def record_outcome(self, scope: ScopeId, request: RequestId, outcome: Outcome) -> None:
        """Update the request's row, whether still buffered or already written."""
        values = {**build_outcome(outcome), "hits_used": outcome.hits_used}
        for owner, row in self._rows:
            if owner == scope and row["id"] == request:
                row.update({name: value for name, value in values.items() if value is not None})
                return
        async with self._writing:
            await self._store.record_outcome(scope, {"id": request, **values})

    async def flush(self) -> None:
        async with self._writing:
            while self._rows:
                scope = self._rows[0][0]
                batch = [row for owner, row in self._rows if owner == scope]
                await self._write(scope, batch)
                written = {row["id"] for row in batch}
                kept = [entry for entry in self._rows if entry[1]["id"] not in written]
                self._rows.clear()
                self._rows.extend(kept)

    async def _write(self, scope: ScopeId, rows: list[dict[str, Any]]) -> None:
        """Write some rows. One that the database refuses is dropped: it would hold back the rows of all users."""
        try:
            await self._store.add_requests(scope, rows)
        except (InvalidInput, UnicodeError) as error:
            if len(rows) == 1:
                log.error("request %s is not logged: %s", rows[0]["id"], error)
                return
            for row in rows:
                await self._write(scope, [row])

    def describe_rest(self) -> str:
        return f"{len(self._rows)} requests"


MOST_TRACED = 50  # hits
MESSAGE = "message"  # the verb of a row for a message that needed no search


def build_outcome(outcome: Outcome) -> dict[str, Any]:
    return {"model": outcome.model, "latency_llm_ms": outcome.latency_ms, "error_stage": outcome.error_stage}


def build_message_row(scope: Scope, text: str, now: datetime, outcome: Outcome) -> dict[str, Any]:
    """Return the row of a message that was answered without a search."""
    counts = ("fts_hits", "trgm_hits", "vector_hits", "hits_found", "hits_used", "context_items", "estimated_tokens")
    return {
        "id": RequestId(uuid7()),
        "project": scope.project,
        "user": scope.user,
        "session": scope.session,
        "created_at": now,
        "verb": MESSAGE,
        "query": text[:MAX_QUERY_CHARS],
        "scope_used": "session",
        **dict.fromkeys((*counts, "budget_tokens", "latency_retrieval_ms"), 0),
        "used_fallback": False,
        "retrieval_path": "none",
        "truncated": False,
        **build_outcome(outcome),
        "trace": msgspec.json.encode(EMPTY_TRACE).decode(),
    }


EMPTY_TRACE: dict[str, Any] = {"widened": None, "notes": [], "terms": {}, "hits": [], "packed": None, "left_out": None}


def build_request_row(
    scope: Scope, verb: str, recall: Recall, used: int, now: datetime, started: float, context: Context | None = None
) -> dict[str, Any]:
    """Return the row of a request. `used` is how many hits the caller got."""
    lines = context.lines if context else ()
    return {
        "id": recall.request_id,
        "project": scope.project,
        "user": scope.user,
        "session": scope.session,
        "created_at": now,
        "verb": verb,
        "query": recall.query.text,
        "scope_used": recall.scope_used,
        "fts_hits": recall.counts.get("bm25", 0),
        "trgm_hits": recall.counts.get("trigram", 0),
        "vector_hits": recall.counts.get("vector", 0),
        "hits_found": recall.found,
        "hits_used": used,
        "used_fallback": recall.path not in ("hybrid", "fts"),
        "retrieval_path": recall.path,
        "context_items": len(lines),
        "estimated_tokens": context.tokens if context else 0,
        "budget_tokens": recall.query.budget,
        "truncated": context.truncated if context else False,
        "latency_retrieval_ms": round((time.perf_counter() - started) * 1000),
        "latency_llm_ms": None,
        "model": None,
        "error_stage": "retrieval" if recall.notes else None,
        "trace": msgspec.json.encode(build_trace(recall, context)).decode(),
    }


def build_trace(recall: Recall, context: Context | None) -> dict[str, Any]:
    """Return references and scores, and of words only the question's own: forgotten text must not stay here."""
    asked = recall.query.text.lower()
    own = lexemes(asked)
    return {
        "widened": recall.widened,
        "notes": recall.notes,
        "terms": {word: worth for word, worth in recall.terms.items() if word in own},
        "hits": [trace_turn(hit, asked) for hit in recall.hits[:MOST_TRACED]],
        "memories": [{**trace_hit(hit, asked), "asked": hit.is_asked} for hit in recall.memories[:MOST_TRACED]],
        "episodes": [hit.source for hit in recall.episodes],
        "packed": context and [line.source for line in context.lines],
        "left_out": context and [[out.source, out.reason] for out in context.left_out],
    }


def trace_turn(hit: Hit, asked: str) -> dict[str, Any]:
    arms = {name: [arm.rank, arm.score] for name, arm in hit.arms.items()}
    place = {"conversation": hit.conversation, "index": hit.turn.index}
    return {**place, **trace_hit(hit, asked), "arms": arms, "parts": hit.parts}


def trace_hit(hit: Hit | MemoryHit, asked: str) -> dict[str, Any]:
    words = [word for word in hit.words if word in asked]
    return {"source": hit.source, "tier": hit.tier, "score": hit.score, "words": words}


MAX_COUNTED = 10_000  # memories counted at a time; while there are so many, others go uncounted


class UsageCounter(BackgroundWriter):
    """Counts used memories; writes one statement per scope."""

    pause = USAGE_PAUSE

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store)
        self._clock = clock
        self._used: dict[ScopeId, Counter[MemoryId]] = {}
        self._size = 0

    def add(self, scope: ScopeId, memories: Iterable[MemoryId]) -> None:
        """Count some memories; returns at once."""
        self._add(scope, Counter(memories))
        if self._used:
            self._start_writing()

    async def flush(self) -> None:
        async with self._writing:
            while self._used:
                scope = next(iter(self._used))
                used = self._used.pop(scope)
                self._size -= len(used)
                try:
                    await self._store.memories.count_use(scope, dict(sorted(used.items())), self._clock.now())
                except BaseException:  # also when cancelled: it may have been written, but twice is better than never
                    self._add(scope, used)
                    raise

    def describe_rest(self) -> str:
        return f"the use of {self._size} memories"

    def _add(self, scope: ScopeId, used: Counter[MemoryId]) -> None:
        counted = self._used.get(scope, Counter())
        for memory, count in used.items():
            if memory in counted or self._size < MAX_COUNTED:
                self._size += memory not in counted
                counted[memory] += count
        if counted:
            self._used[scope] = counted
