"""What was done and why: the audit log, receipts of erasures, and explanations of past requests. Audit entries name
things by id, never by content; an explanation has the texts that are still stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.values.conversation import Turn
from recollect.values.memory import Memory, get_slot
from recollect.values.query import Arm, LeftOut, Reached, explain_hit, explain_memory
from recollect.values.scope import MemoryId, RequestId, Tier


@dataclass(frozen=True, slots=True)
class Audit:
    """A stored audit entry. `subject` is what was changed, e.g. `memory:<id>`; `detail` has kinds and counts."""

    id: UUID
    at: datetime
    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A new audit entry; the store adds id and time."""

    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erasure removed, counted per table. `session` is None if one memory or the whole user was forgotten.
    `rebuilt` counts memories that were rebuilt from evidence that was not erased."""

    user: str
    session: str | None
    at: datetime
    rows: Mapping[str, int]
    memory: MemoryId | None = None
    rebuilt: int = 0

    @property
    def total(self) -> int:
        return sum(self.rows.values())


# The columns of the queries request.find and request.all, in their order.
REQUEST_COLUMNS = (
    *("id", "session", "created_at", "verb", "query", "scope_used", "fts_hits", "trgm_hits", "vector_hits"),
    *("hits_found", "hits_used", "used_fallback", "retrieval_path", "context_items", "estimated_tokens"),
    *("budget_tokens", "truncated", "latency_retrieval_ms", "latency_llm_ms", "model", "error_stage", "trace"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened after memory answered: the model that replied, its latency, the stage that failed, and how many
    hits the reply used, if that is known."""

    model: str | None = None
    latency_ms: int | None = None
    error_stage: str | None = None
    hits_used: int | None = None


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A recalled turn; `text` is None if the turn was forgotten since."""

    source: str
    tier: Tier
    score: float
    arms: Mapping[str, Arm]
    parts: Mapping[str, float]
    words: tuple[str, ...]
    text: str | None
    packed: bool

    @property
    def why(self) -> str:
        return explain_hit(self.words, self.arms, self.parts)


@dataclass(frozen=True, slots=True)
class ExplainedMemory:
    """A memory as it was used; `history` has every value ever stored under its key, oldest first, with its time and the
    reason it ended. Empty if it was forgotten since."""

    source: str
    tier: Tier
    score: float
    words: tuple[str, ...]
    is_asked: bool
    packed: bool
    memory: Memory | None
    history: Sequence[Memory]

    @property
    def why(self) -> str:
        known = self.memory
        if known is None:
            return "forgotten since"
        return explain_memory(self.words, self.is_asked, known.is_always_on, known.reason)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a past request recalled and put into its context."""

    request_id: RequestId
    created_at: datetime
    verb: str
    query: str
    session: str | None
    scope_used: Reached
    widened: str | None
    path: str
    found: int
    used: int
    terms: Mapping[str, float]
    hits: Sequence[ExplainedHit]
    left_out: Sequence[LeftOut]
    notes: tuple[str, ...]
    tokens: int
    budget: int
    latency_ms: int
    memories: Sequence[ExplainedMemory] = ()
    episodes: Sequence[str] = ()  # refs


def build_explanation(row: Mapping[str, Any], turns: Sequence[Turn], known: Sequence[Memory] = ()) -> Explanation:
    trace = row["trace"]
    texts = {turn.ref: turn.text for turn in turns}
    packed = trace["packed"]
    return Explanation(
        request_id=row["id"],
        **{name: row[name] for name in ("created_at", "verb", "query", "session", "scope_used")},
        widened=trace["widened"],
        path=row["retrieval_path"],
        found=row["hits_found"],
        used=row["hits_used"],
        terms=trace["terms"],
        hits=[_build_hit(hit, texts, packed) for hit in trace["hits"]],
        left_out=[LeftOut(source, reason) for source, reason in trace["left_out"] or ()],
        notes=tuple(trace["notes"]),
        tokens=row["estimated_tokens"],
        budget=row["budget_tokens"],
        latency_ms=row["latency_retrieval_ms"],
        memories=[_build_memory(used, known, packed) for used in trace.get("memories", ())],
        episodes=tuple(trace.get("episodes", ())),
    )


def _build_memory(used: Mapping[str, Any], known: Sequence[Memory], packed: Sequence[str] | None) -> ExplainedMemory:
    memory = next((memory for memory in known if memory.ref == used["source"]), None)
    slot = memory and get_slot(memory.kind, memory.key)
    story = [other for other in known if get_slot(other.kind, other.key) == slot]
    return ExplainedMemory(
        **{name: used[name] for name in ("source", "tier", "score")},
        words=tuple(used["words"]),
        is_asked=used["asked"],
        packed=packed is None or used["source"] in packed,
        memory=memory,
        history=sorted(story, key=lambda memory: memory.valid_from),
    )


def _build_hit(hit: Mapping[str, Any], texts: Mapping[str, str], packed: Sequence[str] | None) -> ExplainedHit:
    return ExplainedHit(
        **{name: hit[name] for name in ("source", "tier", "score", "parts")},
        arms={name: Arm(*values) for name, values in hit["arms"].items()},
        words=tuple(hit["words"]),
        text=texts.get(hit["source"]),
        packed=packed is None or hit["source"] in packed,
    )
