"""What is written after an answer has been sent: one row per request, for metrics and explain(), and how often memories
were used. Callers never wait for it; if the database is down, rows are lost, never answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from recollect.errors import RecollectError
from recollect.ports import Clock
from recollect.recall.lexemes import lexemes
from recollect.store.store import Store
from recollect.values.explanation import Outcome
from recollect.values.query import Context, Hit, MemoryHit, Recall
from recollect.values.scope import MemoryId, RequestId, Scope, ScopeId

log = logging.getLogger("recollect.requests")
WRITE_PAUSE = 0.2  # seconds in which rows gather
MAX_BUFFERED = 10_000  # rows buffered while the database is down; the oldest are dropped first


class RequestLog:
    """Buffers one row per request and writes them in the background."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows: deque[tuple[ScopeId, dict[str, Any]]] = deque(maxlen=MAX_BUFFERED)
        self._writer: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def add(self, scope: ScopeId, row: dict[str, Any]) -> None:
        """Buffer a row; returns at once."""
        self._rows.append((scope, row))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_soon())

    async def record_outcome(self, scope: ScopeId, request: RequestId, outcome: Outcome) -> None:
        """Update the request's row, whether still buffered or already written."""
        values = {
            "model": outcome.model,
            "latency_llm_ms": outcome.latency_ms,
            "error_stage": outcome.error_stage,
        }
        for owner, row in self._rows:
            if owner == scope and row["id"] == request:
                row.update({name: value for name, value in values.items() if value is not None})
                return
        async with self._writing:
            await self._store.record_outcome(scope, {"id": request, **values})

    async def flush(self) -> None:
        """Write everything buffered so far, unless the database is down."""
        async with self._writing:
            while self._rows:
                scope = self._rows[0][0]
                batch = [row for owner, row in self._rows if owner == scope]
                await self._store.add_requests(scope, batch)
                written = {row["id"] for row in batch}
                kept = [entry for entry in self._rows if entry[1]["id"] not in written]
                self._rows.clear()
                self._rows.extend(kept)

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.cancel()
        try:
            await self.flush()
        except RecollectError as error:
            log.warning("%d requests were not logged: %s", len(self._rows), error)

    async def _write_soon(self) -> None:
        await asyncio.sleep(WRITE_PAUSE)
        try:
            await self.flush()
        except RecollectError as error:
            # Metrics must never break an answer; the rows stay until the next request tries again.
            log.warning("requests are not being logged: %s", error)


MOST_TRACED = 50  # hits


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
        "trace": encode_trace(build_trace(recall, context)),
    }


def encode_trace(value: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def build_trace(recall: Recall, context: Context | None) -> dict[str, Any]:
    """Return references and scores, and of words only the question's own: forgotten text must not stay here."""
    asked = recall.query.text.lower()
    own = lexemes(asked)
    return {
        "widened": recall.widened,
        "notes": recall.notes,
        "terms": {word: worth for word, worth in recall.terms.items() if word in own},
        "hits": [trace_hit(hit, asked) for hit in recall.hits[:MOST_TRACED]],
        "memories": [trace_memory(hit, asked) for hit in recall.memories[:MOST_TRACED]],
        "episodes": [hit.source for hit in recall.episodes],
        "packed": [line.source for line in context.lines] if context else None,
        "left_out": [[out.source, out.reason] for out in context.left_out] if context else None,
    }


def trace_memory(hit: MemoryHit, asked: str) -> dict[str, Any]:
    return {
        "source": hit.source,
        "tier": hit.tier,
        "score": hit.score,
        "words": [word for word in hit.words if word in asked],
        "asked": hit.is_asked,
    }


def trace_hit(hit: Hit, asked: str) -> dict[str, Any]:
    return {
        "conversation": hit.conversation,
        "index": hit.turn.index,
        "source": hit.source,
        "tier": hit.tier,
        "score": hit.score,
        "arms": {name: [arm.rank, arm.score] for name, arm in hit.arms.items()},
        "parts": hit.parts,
        "words": [word for word in hit.words if word in asked],
    }


USAGE_PAUSE = 1.0  # seconds in which counts gather
MAX_COUNTED = 10_000  # memories counted at a time; while there are so many, others go uncounted


class UsageCounter:
    """Counts used memories and writes the counts in the background, one statement per scope."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._used: dict[ScopeId, Counter[MemoryId]] = {}
        self._size = 0
        self._writer: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def add(self, scope: ScopeId, memories: Iterable[MemoryId]) -> None:
        """Count some memories; returns at once."""
        self._add(scope, Counter(memories))
        if self._used and (self._writer is None or self._writer.done()):
            self._writer = asyncio.create_task(self._write_soon())

    async def flush(self) -> None:
        """Write everything counted so far, unless the database is down."""
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

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.cancel()
        try:
            await self.flush()
        except RecollectError as error:
            log.warning("the use of %d memories was not counted: %s", self._size, error)

    def _add(self, scope: ScopeId, used: Counter[MemoryId]) -> None:
        counted = self._used.get(scope, Counter())
        for memory, count in used.items():
            if memory in counted or self._size < MAX_COUNTED:
                self._size += memory not in counted
                counted[memory] += count
        if counted:
            self._used[scope] = counted

    async def _write_soon(self) -> None:
        await asyncio.sleep(USAGE_PAUSE)
        try:
            await self.flush()
        except RecollectError as error:
            # Counting must never break an answer; the counts stay until the next use tries again.
            log.warning("uses of memories are not being counted: %s", error)
