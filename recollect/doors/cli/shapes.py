"""Results as programs read them: the library's values, field by field, with what they compute on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from recollect.model.conversation import Recorded, Turn
from recollect.model.explanation import Explanation
from recollect.model.receipt import Receipt
from recollect.model.search import Context, Hit, Recall


def recorded_shape(parts: Sequence[Recorded]) -> dict[str, Any]:
    """One object however many sessions were written; `refs` in the order of writing."""
    sessions = [asdict(part.conversation) | {"refs": part.refs, "replayed": part.replayed} for part in parts]
    return {"refs": [ref for part in parts for ref in part.refs], "sessions": sessions}


def turn_shape(turn: Turn) -> dict[str, Any]:
    return {"source": turn.ref, **asdict(turn)}


def hit_shape(rank: int, hit: Hit) -> dict[str, Any]:
    return {
        "rank": rank,
        **turn_shape(hit.turn),
        "tier": hit.tier,
        "score": hit.score,
        "why": hit.why,
        "words": list(hit.words),
        "arms": {name: asdict(arm) for name, arm in hit.arms.items()},
        "parts": dict(hit.parts),
    }


def recall_shape(found: Recall) -> dict[str, Any]:
    return {
        "request_id": found.request_id,
        "question": found.query.text,
        "scope_used": found.scope_used,
        "widened": found.widened,
        "path": found.path,
        "found": found.found,
        "counts": dict(found.counts),
        "terms": dict(found.terms),
        "notes": list(found.notes),
        "hits": [hit_shape(rank, hit) for rank, hit in enumerate(found.hits, 1)],
    }


def context_shape(packed: Context) -> dict[str, Any]:
    lines = [
        {"number": line.number, "source": line.source, "tokens": line.tokens}
        | {"excerpt": line.excerpt, "recent": line.recent, "text": line.text}
        for line in packed.lines
    ]
    return {
        "request_id": packed.request_id,
        "question": packed.recall.query.text,
        "text": packed.text,
        "tokens": packed.tokens,
        "budget": packed.recall.query.budget,
        "truncated": packed.truncated,
        "lines": lines,
        "left_out": [asdict(item) for item in packed.left_out],
        "scope_used": packed.recall.scope_used,
        "widened": packed.recall.widened,
        "path": packed.recall.path,
        "notes": list(packed.recall.notes),
    }


def explanation_shape(told: Explanation) -> dict[str, Any]:
    return asdict(told) | {
        "hits": [{"why": hit.why, **asdict(hit)} for hit in told.hits],
        "left_out": [{"source": source, "reason": reason} for source, reason in told.left_out],
    }


def receipt_shape(receipt: Receipt) -> dict[str, Any]:
    return asdict(receipt) | {"total": receipt.total}
