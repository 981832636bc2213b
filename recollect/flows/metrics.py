"""The diary row of a request: what reports count (hits, latencies) and what explain() shows (the trace)."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from recollect.flows.parts import Parts
from recollect.model.explanation import Outcome
from recollect.model.ids import RequestId
from recollect.model.known import MemoryHit
from recollect.model.scope import Scope
from recollect.model.search import Context, Hit, Recall
from recollect.model.text import lexemes

MOST_TRACED = 50  # hits


def diary_row(
    scope: Scope, verb: str, recall: Recall, used: int, now: datetime, started: float, context: Context | None = None
) -> dict[str, Any]:
    """`used` is how many hits the caller got."""
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
        "trace": encoded(trace(recall, context)),
    }


def encoded(value: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


async def answered(parts: Parts, scope: Scope, request: RequestId, outcome: Outcome) -> None:
    await parts.diary.answered(
        scope.id,
        {
            "id": request,
            "model": outcome.model,
            "latency_llm_ms": outcome.latency_ms,
            "error_stage": outcome.error_stage,
        },
    )


def trace(recall: Recall, context: Context | None) -> dict[str, Any]:
    """References and numbers, and of words only the question's own: what is forgotten must not live on here."""
    asked = recall.query.text.lower()
    own = lexemes(asked)
    return {
        "widened": recall.widened,
        "notes": recall.notes,
        "terms": {word: worth for word, worth in recall.terms.items() if word in own},
        "hits": [traced(hit, asked) for hit in recall.hits[:MOST_TRACED]],
        "memories": [remembered(hit, asked) for hit in recall.memories[:MOST_TRACED]],
        "episodes": [hit.source for hit in recall.episodes],
        "packed": [line.source for line in context.lines] if context else None,
        "left_out": [[out.source, out.reason] for out in context.left_out] if context else None,
    }


def remembered(hit: MemoryHit, asked: str) -> dict[str, Any]:
    return {
        "source": hit.source,
        "tier": hit.tier,
        "score": hit.score,
        "words": [word for word in hit.words if word in asked],
        "asked": hit.is_asked,
    }


def traced(hit: Hit, asked: str) -> dict[str, Any]:
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
