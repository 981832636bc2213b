"""Results as programs read them: the library's values, field by field, with what they compute on demand.

`dataclasses.asdict` would copy every value down to its letters, which cost more than all the rest of an HTTP request.
Values are frozen: `own` reads the fields of one, and each shape says which of them are values themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any

from recollect.model.conversation import Recorded, Turn
from recollect.model.episode import Episode
from recollect.model.explanation import ExplainedHit, ExplainedMemory, Explanation
from recollect.model.known import EpisodeHit, MemoryHit
from recollect.model.memory import Memory
from recollect.model.ontology import Term
from recollect.model.receipt import Receipt
from recollect.model.resolution import Resolution
from recollect.model.search import Arm, Context, Hit, Recall


def own(value: object) -> dict[str, Any]:
    """The fields of a dataclass as they are; what they hold is not looked into."""
    names, read = reader(type(value))  # type: ignore[arg-type]
    return dict(zip(names, read(value), strict=True))


@cache
def reader(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(field.name for field in fields(kind))
    return names, attrgetter(*names)


def recorded_shape(parts: Sequence[Recorded]) -> dict[str, Any]:
    """One object however many sessions were written; `refs` in the order of writing."""
    sessions = [own(part.conversation) | {"refs": part.refs, "replayed": part.replayed} for part in parts]
    return {"refs": [ref for part in parts for ref in part.refs], "sessions": sessions}


def turn_shape(turn: Turn) -> dict[str, Any]:
    return {"source": turn.ref, **own(turn)}


def hit_shape(rank: int, hit: Hit) -> dict[str, Any]:
    return {
        "rank": rank,
        **turn_shape(hit.turn),
        "tier": hit.tier,
        "score": hit.score,
        "why": hit.why,
        "words": list(hit.words),
        "arms": arms_shape(hit.arms),
        "parts": dict(hit.parts),
    }


def arms_shape(arms: Mapping[str, Arm]) -> dict[str, Any]:
    return {name: own(arm) for name, arm in arms.items()}


def resolution_shape(found: Resolution) -> dict[str, Any]:
    candidates = [own(meaning) for meaning in found.candidates]
    return {"is_resolved": found.is_resolved, **own(found), "candidates": candidates}


def term_shape(term: Term) -> dict[str, Any]:
    return {"ref": term.ref, **own(term)}


def memory_shape(memory: Memory) -> dict[str, Any]:
    """`ref` is how citations name it; its `source` is how it came to be known."""
    return {"ref": memory.ref, "text": memory.text, **own(memory)}


def episode_shape(episode: Episode) -> dict[str, Any]:
    return {"ref": episode.ref, **own(episode)}


def known_shape(found: Recall) -> dict[str, Any]:
    """What a recall has beside the turns."""
    return {
        "memories": [memory_hit_shape(hit) for hit in found.memories],
        "episodes": [episode_hit_shape(hit) for hit in found.episodes],
        "resolved": [resolution_shape(resolution) for resolution in found.resolved],
    }


def memory_hit_shape(hit: MemoryHit) -> dict[str, Any]:
    return {"source": hit.source, "why": hit.why, **own(hit), "memory": memory_shape(hit.memory)}


def episode_hit_shape(hit: EpisodeHit) -> dict[str, Any]:
    return {"source": hit.source, "why": hit.why, **own(hit), "episode": episode_shape(hit.episode)}


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
        **known_shape(found),
    }


def context_shape(packed: Context) -> dict[str, Any]:
    lines = [
        {"number": line.number, "section": line.section, "source": line.source, "tokens": line.tokens}
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
        "left_out": [own(item) for item in packed.left_out],
        "scope_used": packed.recall.scope_used,
        "widened": packed.recall.widened,
        "path": packed.recall.path,
        "notes": list(packed.recall.notes),
        **known_shape(packed.recall),
    }


def explanation_shape(told: Explanation) -> dict[str, Any]:
    return own(told) | {
        "hits": [explained_hit_shape(hit) for hit in told.hits],
        "memories": [explained_memory_shape(used) for used in told.memories],
        "left_out": [{"source": source, "reason": reason} for source, reason in told.left_out],
    }


def explained_hit_shape(hit: ExplainedHit) -> dict[str, Any]:
    return {"why": hit.why, **own(hit), "arms": arms_shape(hit.arms)}


def explained_memory_shape(used: ExplainedMemory) -> dict[str, Any]:
    """With its history: each value from `valid_from` to `valid_to`, and the `reason` it ended."""
    return own(used) | {
        "why": used.why,
        "memory": memory_shape(used.memory) if used.memory else None,
        "history": [memory_shape(memory) for memory in used.history],
    }


def receipt_shape(receipt: Receipt) -> dict[str, Any]:
    return own(receipt) | {"total": receipt.total}
